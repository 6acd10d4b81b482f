//! The document, with its columns as numbers.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};
use serde_json::Value;

use crate::json::{self, Members, Object, list, list_into};

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
    /// Milliseconds between samples.
    interval: Option<f64>,
    #[serde(rename = "sampleUnits")]
    sample_units: Option<SampleUnits>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SampleUnits {
    #[serde(rename = "threadCPUDelta")]
    cpu_delta: Option<String>,
}

impl Meta {
    /// Nanoseconds in a unit of CPU time. `None` if it is counted in cycles.
    pub fn cpu_unit_ns(&self) -> Option<f64> {
        let units = self.sample_units.as_ref();
        match units.and_then(|units| units.cpu_delta.as_deref()) {
            Some("ns") => Some(1.0),
            Some("ms") => Some(1e6),
            Some("variable CPU cycles") => None,
            Some(_) | None => Some(1e3),
        }
    }

    pub fn interval_ns(&self) -> f64 {
        const USUAL_MS: f64 = 1.0;
        let interval_ms = self.interval.filter(|ms| *ms > 0.0 && ms.is_finite());
        interval_ms.unwrap_or(USUAL_MS) * 1e6
    }
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
        let mut cells = Vec::new();
        let take = |cell: Value| {
            let number = cell.as_u64().and_then(|number| u32::try_from(number).ok());
            cells.push(number.unwrap_or(NONE));
            Ok(())
        };
        list("a column", take).deserialize(from)?;
        Ok(Self(cells))
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
        let mut thread = Self::default();
        Object(&mut thread).deserialize(from)?;
        Ok(thread)
    }
}

impl Members for Thread {
    const EXPECTED: &'static str = "a thread";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let tables = &mut self.tables;
        match key {
            "name" => self.name = map.next_value()?,
            "pid" => self.pid = map.next_value()?,
            "tid" => self.tid = map.next_value()?,
            "samples" => self.samples = map.next_value()?,
            "markers" => self.markers = map.next_value()?,
            "stackTable" => tables.stack_table = map.next_value()?,
            "frameTable" => tables.frame_table = map.next_value()?,
            "funcTable" => tables.func_table = map.next_value()?,
            "resourceTable" => tables.resource_table = map.next_value()?,
            "sources" => tables.sources = map.next_value()?,
            "stringArray" | "stringTable" => tables.texts = map.next_value()?,
            "libs" => tables.libs = map.next_value()?,
            _ => json::ignore(map)?,
        }
        Ok(())
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
    weight_type: Option<String>,
    /// CPU time of the thread since the sample before.
    #[serde(rename = "threadCPUDelta")]
    cpu_deltas: Option<Vec<Option<f64>>>,
}

/// Larger weights and times are no measurements, and sums of them would lose all others.
const MOST: f64 = 1e18;

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

    pub fn weight_type(&self) -> &str {
        self.weight_type.as_deref().unwrap_or("samples")
    }

    /// `None` of a thread without weights. In a list of weights, one that is missing or absurd is 1.
    pub fn weight_at(&self, at: usize) -> Option<f64> {
        let weight = self.weight.as_ref()?.get(at).copied().flatten();
        let weight = weight.filter(|weight| weight.abs() <= MOST);
        Some(weight.unwrap_or(1.0))
    }

    pub fn has_cpu_times(&self) -> bool {
        self.cpu_deltas.is_some()
    }

    pub fn cpu_delta_at(&self, at: usize) -> Option<f64> {
        let delta = self.cpu_deltas.as_ref()?.get(at).copied().flatten();
        delta.filter(|delta| (0.0..=MOST).contains(delta))
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

impl Members for Document {
    const EXPECTED: &'static str = "an object with meta and threads";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "meta" => self.meta = map.next_value()?,
            "libs" => self.libs = map.next_value()?,
            "shared" => self.shared = map.next_value::<Thread>()?.tables,
            "threads" => map.next_value_seed(list_into("a list of threads", &mut self.threads))?,
            "counters" => self.counters = map.next_value()?,
            _ => json::ignore(map)?,
        }
        Ok(())
    }
}
