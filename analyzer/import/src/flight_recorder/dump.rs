//! What a dump says, read from its pickle or from JSON.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use serde::Deserialize;
use serde::de::MapAccess;
use serde_json::Value as Json;

use crate::json::{self, list_into};
use crate::pickle::{self, Damage, Sink, Value, item};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    pub record_id: i64,
    pub pg_id: i64,
    /// Name and description of the process group.
    pub group: String,
    pub description: String,
    pub collective_seq_id: i64,
    pub p2p_seq_id: i64,
    pub op_id: i64,
    pub name: String,
    pub state: String,
    pub is_p2p: bool,
    /// Times since the Unix epoch.
    pub created_ns: i64,
    pub started_ns: Option<i64>,
    pub completed_ns: Option<i64>,
    pub duration_ms: Option<f64>,
    pub timeout_ms: Option<i64>,
    pub retired: bool,
    pub input_sizes: Vec<Vec<i64>>,
    pub input_dtypes: Vec<String>,
    pub output_sizes: Vec<Vec<i64>>,
    pub output_dtypes: Vec<String>,
    pub thread: Option<String>,
    /// Where in the program it was scheduled: a number of [`Dump::place`].
    pub place: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub description: String,
    pub ranks: Option<Vec<u32>>,
    pub last_enqueued: Option<i64>,
    pub last_completed: Option<i64>,
}

#[derive(Debug, Default)]
pub struct Dump {
    pub version: Option<String>,
    pub entries: Vec<Entry>,
    /// By name.
    config: BTreeMap<String, Group>,
    /// Last enqueued and completed, by the number of the group in its process.
    status: BTreeMap<i64, (Option<i64>, Option<i64>)>,
    places: Vec<String>,
    has_groups: bool,
}

/// Half of the range, so that differences of times fit too.
pub fn is_time(ns: i64) -> bool {
    (1..i64::MAX / 2).contains(&ns)
}

impl Entry {
    pub fn times(&self) -> impl Iterator<Item = i64> {
        let discovered = [self.started_ns, self.completed_ns].into_iter().flatten();
        discovered.chain([self.created_ns])
    }
}

impl Dump {
    /// Reads a dump. What was read before damage remains.
    ///
    /// # Errors
    /// The file is damaged, or neither a pickle nor JSON.
    pub fn read(&mut self, from: &mut impl BufRead) -> Result<(), Damage> {
        let first = from.fill_buf().ok().and_then(|bytes| bytes.first());
        if first == Some(&0x80) {
            return pickle::read(from, self);
        }
        let read = self.read_json(from);
        read.map_err(|error| Damage {
            place: format!("line {}, column {}", error.line(), error.column()),
            text: format!("expected JSON of PyTorch's Flight Recorder: {error}"),
        })
    }

    pub fn is_one(&self) -> bool {
        self.has_groups || !self.entries.is_empty()
    }

    pub fn place(&self, number: u32) -> Option<&str> {
        self.places.get(number as usize).map(String::as_str)
    }

    /// Process groups by name: those that the dump lists, and those of entries.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = self.config.clone();
        let mut numbers: BTreeMap<&str, i64> = BTreeMap::new();
        for entry in &self.entries {
            numbers.insert(&entry.group, entry.pg_id);
            if !groups.contains_key(&entry.group) {
                let group = Group {
                    name: entry.group.clone(),
                    description: entry.description.clone(),
                    ..Group::default()
                };
                groups.insert(entry.group.clone(), group);
            }
        }
        for group in groups.values_mut() {
            // The status has the number of a group in its process, which entries alone connect with a name.
            let number = numbers.get(group.name.as_str());
            let status = number.and_then(|number| self.status.get(number));
            if let Some((enqueued, completed)) = status {
                (group.last_enqueued, group.last_completed) = (*enqueued, *completed);
            }
        }
        groups.into_values().collect()
    }

    fn configure(&mut self, name: &str, description: Option<&str>, ranks: Option<Vec<u32>>) {
        let group = Group {
            name: name.to_owned(),
            description: description.unwrap_or_default().to_owned(),
            ranks: ranks.filter(|ranks| !ranks.is_empty()),
            ..Group::default()
        };
        self.config.insert(name.to_owned(), group);
    }

    fn set_status(&mut self, number: &str, enqueued: Option<i64>, completed: Option<i64>) {
        // -1: none.
        let known = |last: Option<i64>| last.filter(|last| *last >= 0);
        if let Ok(number) = number.parse() {
            let status = (known(enqueued), known(completed));
            self.status.insert(number, status);
        }
    }

    /// The innermost frame of a Python file that is not PyTorch's, else the innermost.
    fn innermost(&self, frames: &[u32]) -> Option<u32> {
        let is_of_program = |number: &&u32| {
            let place = self.place(**number);
            place.is_some_and(|place| place.contains(".py:") && !place.contains("/torch/"))
        };
        let found = frames.iter().find(is_of_program);
        found.or(frames.first()).copied()
    }

    fn add_place(&mut self, file: &str, line: i64, function: &str) -> u32 {
        self.places.push(format!("{file}:{line} {function}"));
        (self.places.len() - 1) as u32
    }
}

fn ranks_of(text: &str) -> Option<Vec<u32>> {
    serde_json::from_str(text).ok()
}

impl Sink for Dump {
    fn dict(&mut self, items: &[(Value, Value)]) -> Option<u32> {
        let number = |key: &str| item(items, key).and_then(Value::number);
        let text = |key: &str| item(items, key).and_then(Value::text);
        if let (Some(file), Some(line), Some(name)) =
            (text("filename"), number("line"), text("name"))
        {
            return Some(self.add_place(file, line, name));
        }
        let name = text("profiling_name")?;
        let record_id = number("record_id")?;
        let group = item(items, "process_group").map(texts).unwrap_or_default();
        let mut group = group.into_iter();
        let frames = item(items, "frames").map(made).unwrap_or_default();
        let sizes = |key: &str| item(items, key).map(sizes).unwrap_or_default();
        let dtypes = |key: &str| item(items, key).map(texts).unwrap_or_default();
        let time = |key: &str| number(key).filter(|ns| is_time(*ns));
        let sequence = number("collective_seq_id").or(number("seq_id"));
        let entry = Entry {
            record_id,
            pg_id: number("pg_id").unwrap_or(0),
            group: group.next().unwrap_or_default(),
            description: group.next().unwrap_or_default(),
            collective_seq_id: sequence.unwrap_or(0),
            p2p_seq_id: number("p2p_seq_id").unwrap_or(0),
            op_id: number("op_id").unwrap_or(0),
            name: name.to_owned(),
            state: text("state").unwrap_or_default().to_owned(),
            is_p2p: number("is_p2p") == Some(1),
            created_ns: number("time_created_ns").unwrap_or(0),
            started_ns: time("time_discovered_started_ns"),
            completed_ns: time("time_discovered_completed_ns"),
            duration_ms: item(items, "duration_ms").and_then(Value::real),
            timeout_ms: number("timeout_ms"),
            retired: number("retired") == Some(1),
            input_sizes: sizes("input_sizes"),
            input_dtypes: dtypes("input_dtypes"),
            output_sizes: sizes("output_sizes"),
            output_dtypes: dtypes("output_dtypes"),
            thread: text("thread_name").map(str::to_owned),
            place: self.innermost(&frames),
        };
        self.entries.push(entry);
        Some(u32::MAX)
    }

    fn end(&mut self, value: Value) {
        let Value::Dict(top) = value else {
            return;
        };
        let top = top.borrow();
        let version = item(&top, "version").and_then(Value::text);
        self.version = version.map(str::to_owned);
        if let Some(Value::Dict(groups)) = item(&top, "pg_config") {
            self.has_groups = true;
            for (name, group) in groups.borrow().iter() {
                if let (Some(name), Value::Dict(group)) = (name.text(), group) {
                    let group = group.borrow();
                    let text = |key: &str| item(&group, key).and_then(Value::text);
                    let ranks = text("ranks").and_then(ranks_of);
                    self.configure(name, text("desc"), ranks);
                }
            }
        }
        if let Some(Value::Dict(groups)) = item(&top, "pg_status") {
            for (number, status) in groups.borrow().iter() {
                if let (Some(number), Value::Dict(status)) = (number.text(), status) {
                    let status = status.borrow();
                    let last = |key: &str| item(&status, key).and_then(Value::number);
                    let enqueued = last("last_enqueued_collective");
                    self.set_status(number, enqueued, last("last_completed_collective"));
                }
            }
        }
    }
}

fn list<T>(value: &Value, of: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    match value {
        Value::List(list) => list.borrow().iter().filter_map(of).collect(),
        _ => Vec::new(),
    }
}

fn texts(value: &Value) -> Vec<String> {
    list(value, |value| value.text().map(str::to_owned))
}

fn made(value: &Value) -> Vec<u32> {
    list(value, |value| match value {
        Value::Made(number) => Some(*number),
        _ => None,
    })
}

fn sizes(value: &Value) -> Vec<Vec<i64>> {
    list(value, |value| Some(list(value, Value::number)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonEntry {
    record_id: i64,
    pg_id: i64,
    process_group: Vec<String>,
    collective_seq_id: i64,
    p2p_seq_id: i64,
    op_id: i64,
    profiling_name: String,
    state: String,
    is_p2p: bool,
    time_created_ns: i64,
    /// PyTorch writes 0 where it knows no time, Python null.
    time_discovered_started_ns: Option<i64>,
    time_discovered_completed_ns: Option<i64>,
    duration_ms: Option<f64>,
    timeout_ms: Option<i64>,
    retired: bool,
    input_sizes: Vec<Vec<i64>>,
    input_dtypes: Vec<String>,
    output_sizes: Vec<Vec<i64>>,
    output_dtypes: Vec<String>,
    thread_name: Option<String>,
    frames: Vec<JsonFrame>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonFrame {
    name: String,
    filename: String,
    line: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonGroup {
    desc: Option<String>,
    ranks: Json,
}

/// Numbers are texts where PyTorch wrote the JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonStatus {
    last_enqueued_collective: Json,
    last_completed_collective: Json,
}

fn json_number(value: &Json) -> Option<i64> {
    match value {
        Json::String(text) => text.parse().ok(),
        value => value.as_i64(),
    }
}

/// The members of a dump in JSON, in any order. Entries that come before damage are kept.
#[derive(Default)]
struct Members {
    entries: Vec<JsonEntry>,
    version: Option<Json>,
    config: Option<BTreeMap<String, JsonGroup>>,
    status: BTreeMap<String, JsonStatus>,
}

impl json::Members for Members {
    const EXPECTED: &'static str = "an object with entries";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "entries" => map.next_value_seed(list_into("a list of entries", &mut self.entries))?,
            "version" => self.version = Some(map.next_value()?),
            "pg_config" => self.config = Some(map.next_value()?),
            "pg_status" => self.status = map.next_value()?,
            _ => json::ignore(map)?,
        }
        Ok(())
    }
}

impl Dump {
    fn read_json(&mut self, from: &mut impl Read) -> Result<(), serde_json::Error> {
        let mut members = Members::default();
        let read = json::read_object(&mut members, from);
        self.version = members.version.map(|version| match version {
            Json::String(text) => text,
            other => other.to_string(),
        });
        self.has_groups = members.config.is_some();
        for (name, group) in members.config.into_iter().flatten() {
            let ranks = match group.ranks {
                Json::String(text) => ranks_of(&text),
                list => serde_json::from_value(list).ok(),
            };
            self.configure(&name, group.desc.as_deref(), ranks);
        }
        for (number, status) in members.status {
            let enqueued = json_number(&status.last_enqueued_collective);
            let completed = json_number(&status.last_completed_collective);
            self.set_status(&number, enqueued, completed);
        }
        for entry in members.entries {
            self.add_json(entry);
        }
        read
    }

    fn add_json(&mut self, of: JsonEntry) {
        let frames = of.frames.iter();
        let frames: Vec<u32> = frames
            .map(|frame| self.add_place(&frame.filename, frame.line, &frame.name))
            .collect();
        let time = |ns: Option<i64>| ns.filter(|ns| is_time(*ns));
        let mut group = of.process_group.into_iter();
        let entry = Entry {
            record_id: of.record_id,
            pg_id: of.pg_id,
            group: group.next().unwrap_or_default(),
            description: group.next().unwrap_or_default(),
            collective_seq_id: of.collective_seq_id,
            p2p_seq_id: of.p2p_seq_id,
            op_id: of.op_id,
            name: of.profiling_name,
            state: of.state,
            is_p2p: of.is_p2p,
            created_ns: of.time_created_ns,
            started_ns: time(of.time_discovered_started_ns),
            completed_ns: time(of.time_discovered_completed_ns),
            duration_ms: of.duration_ms,
            timeout_ms: of.timeout_ms,
            retired: of.retired,
            input_sizes: of.input_sizes,
            input_dtypes: of.input_dtypes,
            output_sizes: of.output_sizes,
            output_dtypes: of.output_dtypes,
            thread: of.thread_name,
            place: self.innermost(&frames),
        };
        self.entries.push(entry);
    }
}
