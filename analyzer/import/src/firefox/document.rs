//! The document, with its columns as numbers.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::json_list::ListInto;

#[derive(Debug, Default)]
pub struct Document {
    pub meta: Meta,
    pub libs: Vec<Lib>,
    pub shared: Tables,
    pub threads: Vec<Thread>,
    pub counters: Vec<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Milliseconds since the Unix epoch.
    #[serde(rename = "startTime")]
    pub start_time: Option<f64>,
    pub symbolicated: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lib {
    name: Option<String>,
    path: Option<String>,
}

impl Lib {
    pub fn name(&self) -> &str {
        let path = self.path.as_deref().filter(|path| !path.is_empty());
        path.or(self.name.as_deref()).unwrap_or("")
    }
}

pub const NONE: u32 = u32::MAX;

/// A column of numbers. Missing, negative and too large ones become [`NONE`].
#[derive(Debug, Default)]
pub struct Column(pub Vec<u32>);

impl Column {
    pub fn get(&self, at: usize) -> Option<usize> {
        let cell = self.0.get(at).copied();
        cell.filter(|cell| *cell != NONE).map(|cell| cell as usize)
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Cells)
    }
}

struct Cells;

impl<'de> Visitor<'de> for Cells {
    type Value = Column;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a column")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Column, A::Error> {
        let mut cells = Vec::new();
        while let Some(cell) = list.next_element::<Value>()? {
            let number = cell.as_u64().and_then(|number| u32::try_from(number).ok());
            cells.push(number.unwrap_or(NONE));
        }
        Ok(Column(cells))
    }
}

/// Tables that stacks are made of, either per thread or shared.
#[derive(Debug, Default)]
pub struct Tables {
    pub stack_table: StackTable,
    pub frame_table: FrameTable,
    pub func_table: FuncTable,
    pub resource_table: ResourceTable,
    pub sources: Sources,
    pub texts: Vec<Option<String>>,
    /// Per thread in old versions.
    pub libs: Vec<Lib>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StackTable {
    pub frame: Column,
    pub prefix: Column,
    /// Only in profiles as Firefox itself records them.
    schema: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FrameTable {
    pub func: Column,
    pub address: Column,
    pub line: Column,
    #[serde(rename = "inlineDepth")]
    pub inline_depth: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FuncTable {
    pub name: Column,
    pub resource: Column,
    #[serde(rename = "fileName")]
    pub file_name: Column,
    pub source: Column,
    #[serde(rename = "lineNumber")]
    pub line_number: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResourceTable {
    pub lib: Column,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Sources {
    pub filename: Column,
}

/// A thread; also used for the data shared by all threads, which has only tables.
#[derive(Debug, Default)]
pub struct Thread {
    pub name: Option<String>,
    pid: Value,
    tid: Value,
    pub samples: Samples,
    pub markers: Markers,
    pub tables: Tables,
}

impl<'de> Deserialize<'de> for Thread {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Thread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a thread")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Thread, A::Error> {
        let mut thread = Thread::default();
        let tables = &mut thread.tables;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" => thread.name = map.next_value()?,
                "pid" => thread.pid = map.next_value()?,
                "tid" => thread.tid = map.next_value()?,
                "samples" => thread.samples = map.next_value()?,
                "markers" => thread.markers = map.next_value()?,
                "stackTable" => tables.stack_table = map.next_value()?,
                "frameTable" => tables.frame_table = map.next_value()?,
                "funcTable" => tables.func_table = map.next_value()?,
                "resourceTable" => tables.resource_table = map.next_value()?,
                "sources" => tables.sources = map.next_value()?,
                "stringArray" | "stringTable" => tables.texts = map.next_value()?,
                "libs" => tables.libs = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(thread)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Markers {
    pub length: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Samples {
    pub stack: Column,
    time: Option<Vec<f64>>,
    #[serde(rename = "timeDeltas")]
    time_deltas: Option<Vec<f64>>,
    weight: Option<Vec<Option<f64>>>,
    #[serde(rename = "weightType")]
    pub weight_type: Option<String>,
}

impl Samples {
    /// Milliseconds since the start of the profile.
    pub fn times_ms(&self) -> Vec<f64> {
        match (&self.time, &self.time_deltas) {
            (Some(times), _) => times.clone(),
            (None, Some(deltas)) => {
                let mut at = 0.0;
                let times = deltas.iter().map(|delta| {
                    at += delta;
                    at
                });
                times.collect()
            }
            (None, None) => Vec::new(),
        }
    }

    pub fn weight_at(&self, at: usize) -> Option<u64> {
        let weight = self.weight.as_ref()?.get(at).copied().flatten()?;
        (weight >= 0.0).then(|| weight.round() as u64)
    }
}

impl Thread {
    /// The form in which Firefox records: rows with a schema.
    pub fn is_raw(&self) -> bool {
        self.tables.stack_table.schema.is_some()
    }

    pub fn pid(&self) -> Option<u64> {
        number(&self.pid)
    }

    pub fn tid(&self) -> Option<u64> {
        number(&self.tid)
    }
}

/// Process ids are strings since version 44. Thread ids unknown to the system are strings such as `7.1`.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

impl Document {
    /// Reads into `self`, so that what was read before an error is kept.
    pub fn read(&mut self, from: &mut dyn Read) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_reader(from);
        json.deserialize_map(Whole(self))?;
        json.end()
    }
}

struct Whole<'d>(&'d mut Document);

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with meta and threads")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "meta" => self.0.meta = map.next_value()?,
                "libs" => self.0.libs = map.next_value()?,
                "shared" => self.0.shared = map.next_value::<Thread>()?.tables,
                "threads" => map.next_value_seed(ListInto {
                    list: &mut self.0.threads,
                    expected: "a list of threads",
                })?,
                "counters" => self.0.counters = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
