//! OpenTelemetry traces as OTLP/JSON: one trace, a span for each interval.
//!
//! Ids come from the run's and the rows' own; times are nanoseconds since the
//! Unix epoch; all columns are attributes `trueno.<column>`, but file and line those that the semantic conventions
//! name; attributes that the program gave have their own keys; explicit dependencies are links of the span that had to wait.

mod answer;
mod collector;
mod document;
mod endpoint;
mod push;

pub use endpoint::Endpoint;
pub use push::{Pushed, push};

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use serde_json::{Value, json};
use trueno_engine::attributes::{AttributeValue, Attributes};
use trueno_engine::run::Run;
use xxhash_rust::xxh3::xxh3_64;

use self::document::Document;
use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::json::text;
use super::rows::{Row, Source};

#[derive(Debug)]
pub(super) struct Otlp;

impl Exporter for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry traces as OTLP/JSON, to a file or to a collector"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        let source = Source::open(run)?;
        let spans = Spans::open(&source)?;
        let mut document = Document::begin(to, &spans.resource())?;
        spans.hand_to(&mut document)?;
        document.finish()?.write_all(b"\n")?;
        Ok(Written::default())
    }
}

/// Receives spans as JSON, in order. Each belongs to the last scope.
trait Sink {
    fn scope(&mut self, name: &str) -> Result<(), ExportError>;
    fn span(&mut self, json: &str) -> Result<(), ExportError>;
}

struct Spans<'a> {
    source: &'a Source<'a>,
    origin_ns: i64,
    trace: String,
    links: BTreeMap<u64, Vec<(u64, String)>>,
    attributes: Attributes,
}

impl<'a> Spans<'a> {
    fn open(source: &'a Source<'a>) -> Result<Self, ExportError> {
        let facts = source.run.facts();
        let Some(origin_ns) = facts.clock.origin_realtime_ns else {
            let text = "the start time of the run was not recorded, and OTLP needs it (hint: run.json lacks clock.origin_realtime_ns)";
            return Err(ExportError::Lacking(text.to_owned()));
        };
        let run_id = facts.run_id.as_deref().unwrap_or_default();
        let trace = format!(
            "{:016x}{:016x}",
            u64::from_str_radix(run_id, 16).unwrap_or_else(|_| xxh3_64(b"run")),
            xxh3_64(run_id.as_bytes())
        );
        let mut links: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
        if let Some(edges) = source.table("edges") {
            source.each(&edges, |row| {
                if let (Some(from), Some(to)) = (row.u64_of("from"), row.u64_of("to")) {
                    let kind = row.text_of("kind").unwrap_or("?").to_owned();
                    links.entry(to).or_default().push((from, kind));
                }
                Ok(())
            })?;
        }
        Ok(Self {
            source,
            origin_ns,
            trace,
            links,
            attributes: source.attributes()?,
        })
    }

    fn resource(&self) -> Value {
        let facts = self.source.run.facts();
        json!({"attributes": [
            attribute("service.name", facts.label.as_deref().unwrap_or("trueno")),
            attribute("service.instance.id", facts.run_id.as_deref().unwrap_or_default()),
            attribute("host.name", facts.host.name.as_deref().unwrap_or_default()),
        ]})
    }

    fn hand_to(&self, sink: &mut dyn Sink) -> Result<(), ExportError> {
        let mut line = String::new();
        for table in self.source.span_tables() {
            sink.scope(&table.name)?;
            self.source.each(&table, |row| {
                line.clear();
                self.span(&mut line, row);
                sink.span(&line)
            })?;
        }
        Ok(())
    }

    fn span(&self, line: &mut String, row: Row<'_>) {
        let trace = &self.trace;
        let id = row.id();
        let parent = row.u64_of("parent").or_else(|| row.u64_of("brick"));
        let start_ns = row.start_ns().unwrap_or(0);
        let start_ns = self.origin_ns.saturating_add(start_ns).max(0);
        let end_ns = start_ns.saturating_add(row.dur_ns().unwrap_or(0).max(0));
        let _ = write!(line, "{{\"traceId\":\"{trace}\",\"spanId\":\"{id:016x}\"");
        if let Some(parent) = parent {
            let _ = write!(line, ",\"parentSpanId\":\"{parent:016x}\"");
        }
        line.push_str(",\"name\":");
        text(line, row.span_name());
        let _ = write!(
            line,
            ",\"kind\":1,\"startTimeUnixNano\":\"{start_ns}\",\"endTimeUnixNano\":\"{end_ns}\",\"attributes\":["
        );
        attributes(line, row);
        for (key, value) in self.attributes.of(id) {
            let comma = if line.ends_with('[') { "" } else { "," };
            let key = declared_name(key);
            let value = attribute_value(value);
            let _ = write!(line, "{comma}{}", json!({"key": key, "value": value}));
        }
        line.push(']');
        if let Some(links) = self.links.get(&id) {
            line.push_str(",\"links\":[");
            for (i, (from, kind)) in links.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                let kind = attribute("trueno.kind", kind);
                let _ = write!(
                    line,
                    "{comma}{{\"traceId\":\"{trace}\",\"spanId\":\"{from:016x}\",\"attributes\":[{kind}]}}"
                );
            }
            line.push(']');
        }
        line.push('}');
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Writes columns that are not part of the span itself. OTLP/JSON represents 64-bit integers as strings.
fn attributes(out: &mut String, row: Row<'_>) {
    const STATED: [&str; 4] = ["id", "name", "start_ns", "dur_ns"];
    let mut comma = "";
    for (at, column) in row.table.columns.iter().enumerate() {
        if STATED.contains(&column.as_str()) {
            continue;
        }
        let Some(value) = row.value(at) else {
            continue;
        };
        let (name, value) = (attribute_name(column), attribute_value(value));
        let _ = write!(out, "{comma}{{\"key\":\"{name}\",\"value\":{value}}}");
        comma = ",";
    }
}

/// The attribute for a column, named by the semantic conventions if they have one.
fn attribute_name(column: &str) -> String {
    match column {
        "file" => "code.file.path".to_owned(),
        "line" => "code.line.number".to_owned(),
        column => format!("trueno.{column}"),
    }
}

/// The key of a program's attribute: its own, unless it collides with a column.
fn declared_name(key: &str) -> String {
    let is_taken = key.starts_with("trueno.")
        || ["file", "line"]
            .map(attribute_name)
            .contains(&key.to_owned());
    if is_taken {
        format!("attribute.{key}")
    } else {
        key.to_owned()
    }
}

/// An `AnyValue` of OTLP. Signed 64-bit integers are strings there, and so are doubles that are not finite.
fn attribute_value(value: AttributeValue<'_>) -> Value {
    match value {
        AttributeValue::Text(text) => json!({"stringValue": text}),
        AttributeValue::Truth(value) => json!({"boolValue": value}),
        AttributeValue::Integer(value) => json!({"intValue": value.to_string()}),
        AttributeValue::Unsigned(value) => match i64::try_from(value) {
            Ok(value) => json!({"intValue": value.to_string()}),
            Err(_) => json!({"stringValue": value.to_string()}),
        },
        AttributeValue::Number(value) if value.is_finite() => json!({"doubleValue": value}),
        AttributeValue::Number(value) if value.is_nan() => json!({"doubleValue": "NaN"}),
        AttributeValue::Number(value) if value > 0.0 => json!({"doubleValue": "Infinity"}),
        AttributeValue::Number(_) => json!({"doubleValue": "-Infinity"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_the_types_that_the_protocol_has() {
        for (value, expected) in [
            (AttributeValue::Text("a"), json!({"stringValue": "a"})),
            (AttributeValue::Truth(true), json!({"boolValue": true})),
            (AttributeValue::Unsigned(7), json!({"intValue": "7"})),
            (
                AttributeValue::Integer(i64::MIN),
                json!({"intValue": i64::MIN.to_string()}),
            ),
            (
                AttributeValue::Unsigned(u64::MAX),
                json!({"stringValue": u64::MAX.to_string()}),
            ),
            (AttributeValue::Number(0.5), json!({"doubleValue": 0.5})),
            (
                AttributeValue::Number(f64::NAN),
                json!({"doubleValue": "NaN"}),
            ),
            (
                AttributeValue::Number(f64::NEG_INFINITY),
                json!({"doubleValue": "-Infinity"}),
            ),
        ] {
            assert_eq!(attribute_value(value), expected);
        }
    }
}
