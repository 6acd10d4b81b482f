//! OTLP/JSON, as exporters and the Collector write it: numbers of 64 bits are texts, ids hexadecimal.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    pub resource_spans: Vec<ResourceSpans>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSpans {
    #[serde(default)]
    pub resource: Resource,
    #[serde(default, alias = "instrumentationLibrarySpans")]
    pub scope_spans: Vec<ScopeSpans>,
}

#[derive(Debug, Default, Deserialize)]
pub struct Resource {
    #[serde(default)]
    pub attributes: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
pub struct ScopeSpans {
    #[serde(default)]
    pub spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    #[serde(default)]
    pub trace_id: String,
    #[serde(default)]
    pub span_id: String,
    #[serde(default)]
    pub parent_span_id: String,
    #[serde(default)]
    pub name: String,
    pub start_time_unix_nano: Option<Number>,
    pub end_time_unix_nano: Option<Number>,
    #[serde(default)]
    pub attributes: Vec<KeyValue>,
    #[serde(default)]
    pub events: Vec<Event>,
    #[serde(default)]
    pub links: Vec<Link>,
    #[serde(default)]
    pub status: Status,
}

#[derive(Debug, Default, Deserialize)]
pub struct Status {
    #[serde(default)]
    pub code: Option<Number>,
    #[serde(default)]
    pub message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub time_unix_nano: Option<Number>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub attributes: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    #[serde(default)]
    pub trace_id: String,
    #[serde(default)]
    pub span_id: String,
    #[serde(default)]
    pub attributes: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
pub struct KeyValue {
    pub key: String,
    #[serde(default)]
    pub value: AnyValue,
}

/// A value of one type; null if it has none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnyValue {
    string_value: Option<String>,
    bool_value: Option<bool>,
    int_value: Option<Number>,
    double_value: Option<Number>,
    bytes_value: Option<String>,
    array_value: Option<Values<AnyValue>>,
    kvlist_value: Option<Values<KeyValue>>,
}

#[derive(Debug, Deserialize)]
pub struct Values<T> {
    #[serde(default = "Vec::new")]
    values: Vec<T>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Number {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Text(String),
}

impl Number {
    pub fn whole(&self) -> Option<i64> {
        match self {
            Number::Signed(number) => Some(*number),
            Number::Unsigned(number) => i64::try_from(*number).ok(),
            Number::Real(_) => None,
            Number::Text(text) => text.trim().parse().ok(),
        }
    }

    fn json(self) -> Value {
        match self {
            Number::Signed(number) => number.into(),
            Number::Unsigned(number) => number.into(),
            Number::Real(number) => number.into(),
            Number::Text(text) => text.into(),
        }
    }
}

impl AnyValue {
    /// As plain JSON. Bytes become base64, numbers that JSON lacks become strings.
    pub fn json(self) -> Value {
        if let Some(number) = self.int_value {
            return number.whole().map_or_else(|| number.json(), Value::from);
        }
        if let Some(values) = self.array_value {
            return values.values.into_iter().map(AnyValue::json).collect();
        }
        if let Some(members) = self.kvlist_value {
            return Value::Object(members_of(members.values));
        }
        (self.string_value.map(Value::from))
            .or_else(|| self.bool_value.map(Value::from))
            .or_else(|| self.double_value.map(Number::json))
            .or_else(|| self.bytes_value.map(Value::from))
            .unwrap_or_default()
    }
}

/// Keys and values as an object; the last of duplicate keys wins.
pub fn members_of(values: Vec<KeyValue>) -> Map<String, Value> {
    let members = values.into_iter().map(|of| (of.key, of.value.json()));
    members.collect()
}
