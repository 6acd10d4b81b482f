//! The JSON, as far as it can be read.

use std::collections::HashSet;
use std::fmt;
use std::io::Read;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub enum Value {
    Nothing,
    Number(f64),
    /// Members in file order, with unique names.
    Group(Vec<(String, Value)>),
    Other,
}

/// The kernel. 0 means not measured.
#[derive(Debug, Deserialize, Serialize)]
pub struct Kernel {
    #[serde(skip_serializing)]
    pub name: String,
    #[serde(default)]
    pub dimensions: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "is_unknown")]
    pub shared_memory_bytes: Option<u32>,
    #[serde(skip_serializing_if = "is_unknown")]
    pub registers_per_thread: Option<u32>,
}

fn is_unknown(value: &Option<u32>) -> bool {
    value.unwrap_or(0) == 0
}

/// A whole file, or the part before the damage.
#[derive(Debug, Default)]
pub struct Profile {
    pub version: String,
    pub timestamp: Option<String>,
    pub kernel: Option<Kernel>,
    /// In file order.
    pub groups: Vec<(String, Value)>,
}

impl Profile {
    /// Reads into `self`, so that what was read before an error is kept.
    pub fn read(&mut self, reader: impl Read) -> Result<(), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_reader(reader);
        json.deserialize_map(self)?;
        json.end()
    }
}

impl<'de> Visitor<'de> for &mut Profile {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with version and metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = next_name(&mut map, &mut names)? {
            match name.as_str() {
                "version" => self.version = map.next_value()?,
                "timestamp" => self.timestamp = map.next_value()?,
                "kernel" => self.kernel = map.next_value()?,
                _ => self.groups.push((name, map.next_value()?)),
            }
        }
        Ok(())
    }
}

/// The name of the next member; an error if the name is a duplicate.
fn next_name<'de, A: MapAccess<'de>>(
    map: &mut A,
    names: &mut HashSet<String>,
) -> Result<Option<String>, A::Error> {
    let name = map.next_key::<String>()?;
    match &name {
        Some(name) if !names.insert(name.clone()) => {
            let name: String = name.chars().take(64).collect();
            Err(A::Error::custom(format_args!(
                "member {name:?} appears twice"
            )))
        }
        _ => Ok(name),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a metric or a group of them")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut value = Value::Nothing;
        while list.next_element::<IgnoredAny>()?.is_some() {
            value = Value::Other;
        }
        Ok(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let (mut names, mut members) = (HashSet::new(), Vec::new());
        while let Some(name) = next_name(&mut map, &mut names)? {
            members.push((name, map.next_value()?));
        }
        Ok(Value::Group(members))
    }
}
