//! The document, one value at a time.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::Error;
use crate::chrome::feed::{COUNTED_ALONE, Feed, Kind, NO_BYTES, Slice};
use crate::device_csv::in_blocks;
use crate::json::{self, Members, Object, list};
use crate::rocpd::name_of_copy;

pub trait Parts {
    fn begin(&mut self);
    /// Whether to read a field other than the records, such as `agents`.
    fn wants(&self, field: &str) -> bool;
    fn field(&mut self, field: &str, value: Value);
    fn wants_records(&self, kind: &str) -> bool;
    /// The number of kernels, if their records are not wanted.
    fn kernels(&mut self, _count: u64) {}
    fn record(&mut self, kind: &str, record: Record);
}

pub struct Document<'p, P>(pub &'p mut P);

/// A record of any kind; missing fields are `None`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Record {
    kind: Loose,
    operation: Loose,
    thread_id: Loose,
    correlation_id: Correlation,
    start_timestamp: Loose,
    end_timestamp: Loose,
    stream_id: Handle,
    // Kernels.
    dispatch_info: Option<Dispatch>,
    // Copies.
    dst_agent_id: Handle,
    src_agent_id: Handle,
    bytes: Loose,
    // Allocations.
    agent_id: Handle,
    address: Loose,
    allocation_size: Loose,
    // Counters of kernels.
    dispatch_data: Option<Box<Record>>,
    records: Vec<Counted>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Correlation {
    internal: Loose,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Dispatch {
    dispatch_id: Loose,
    kernel_id: Loose,
    agent_id: Handle,
    queue_id: Handle,
    group_segment_size: Loose,
    workgroup_size: Axes,
    grid_size: Axes,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Axes {
    x: Loose,
    y: Loose,
    z: Loose,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counted {
    counter_id: Handle,
    value: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Loose(Option<i64>);

/// `{"handle": 7}`, or the number itself.
#[derive(Clone, Copy, Debug, Default)]
struct Handle(Option<i64>);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(whole(&Value::deserialize(from)?)))
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        Ok(Self(whole(value.get("handle").unwrap_or(&value))))
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_u64().map(u64::cast_signed)),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
            None => text.parse().ok(),
        },
        // Addresses are objects in some versions.
        Value::Object(fields) => whole(fields.get("value").or(fields.get("ptr"))?),
        _ => None,
    }
}

impl Loose {
    fn unsigned(self) -> Option<u64> {
        self.0.map(i64::cast_unsigned)
    }
}

impl Axes {
    fn three(self) -> Option<[u32; 3]> {
        let small = |of: Loose| of.0.and_then(|value| u32::try_from(value).ok());
        Some([
            small(self.x)?,
            small(self.y).unwrap_or(1),
            small(self.z).unwrap_or(1),
        ])
    }
}

impl<P: Parts> Members for Document<'_, P> {
    const EXPECTED: &'static str = "an object with rocprofiler-sdk-tool";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "rocprofiler-sdk-tool" => map.next_value_seed(Processes(self.0)),
            _ => json::ignore(map),
        }
    }
}

struct Processes<'p, P>(&'p mut P);

impl<'de, P: Parts> DeserializeSeed<'de> for Processes<'_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, P: Parts> Visitor<'de> for Processes<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of processes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        loop {
            self.0.begin();
            if list
                .next_element_seed(Object(&mut Process(self.0)))?
                .is_none()
            {
                return Ok(());
            }
        }
    }
}

struct Process<'p, P>(&'p mut P);

impl<P: Parts> Members for Process<'_, P> {
    const EXPECTED: &'static str = "a process";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "buffer_records" | "callback_records" => {
                map.next_value_seed(Object(&mut Kinds(self.0)))?;
            }
            key if self.0.wants(key) => self.0.field(key, map.next_value()?),
            _ => json::ignore(map)?,
        }
        Ok(())
    }
}

struct Kinds<'p, P>(&'p mut P);

impl<P: Parts> Members for Kinds<'_, P> {
    const EXPECTED: &'static str = "records by their kind";

    fn member<'de, A: MapAccess<'de>>(&mut self, kind: &str, map: &mut A) -> Result<(), A::Error> {
        if !self.0.wants_records(kind) {
            if kind != "kernel_dispatch" {
                return json::ignore(map);
            }
            let mut count = 0;
            map.next_value_seed(list("a list of records", |_: IgnoredAny| {
                count += 1;
                Ok(())
            }))?;
            self.0.kernels(count);
            return Ok(());
        }
        map.next_value_seed(list("a list of records", |record: Record| {
            self.0.record(kind, record);
            Ok(())
        }))
    }
}

#[derive(Debug, Default)]
pub struct Facts(Vec<OfProcess>);

#[derive(Debug, Default)]
struct OfProcess {
    id: u64,
    /// Kernels were traced; else counters give them.
    has_kernels: bool,
    kernels: HashMap<i64, (String, Option<u64>)>,
    /// Names of calls by kind and operation.
    operations: Vec<Vec<String>>,
    markers: HashMap<i64, String>,
    counters: HashMap<i64, String>,
    /// GPUs by agent: number, name, compute units.
    agents: HashMap<i64, (u32, String, Option<u32>)>,
}

impl Parts for Facts {
    fn begin(&mut self) {
        self.0.push(OfProcess::default());
    }

    fn wants(&self, field: &str) -> bool {
        matches!(
            field,
            "metadata" | "agents" | "strings" | "kernel_symbols" | "counters"
        )
    }

    fn field(&mut self, field: &str, value: Value) {
        let Some(process) = self.0.last_mut() else {
            return;
        };
        let id_of = |item: &Value, key: &str| {
            let id = item.get(key)?;
            whole(id.get("handle").unwrap_or(id))
        };
        let text = |item: &Value, keys: &[&str]| {
            let texts = keys.iter().filter_map(|key| item.get(key)?.as_str());
            texts
                .map(str::trim)
                .find(|text| !text.is_empty())
                .map(str::to_owned)
        };
        match field {
            "metadata" => process.id = value.get("pid").and_then(Value::as_u64).unwrap_or(0),
            "kernel_symbols" => {
                let names = [
                    "formatted_kernel_name",
                    "demangled_kernel_name",
                    "kernel_name",
                ];
                for symbol in value.as_array().into_iter().flatten() {
                    let (Some(id), Some(name)) = (id_of(symbol, "kernel_id"), text(symbol, &names))
                    else {
                        continue;
                    };
                    let name = name.strip_suffix(".kd").map_or(name.clone(), str::to_owned);
                    let registers = symbol.get("arch_vgpr_count").and_then(Value::as_u64);
                    process.kernels.insert(id, (name, registers));
                }
            }
            "agents" => {
                let mut gpus: Vec<(i64, i64, String, Option<u32>)> = Vec::new();
                for agent in value.as_array().into_iter().flatten() {
                    // 1 is a processor, 2 a GPU.
                    let is_gpu = match agent.get("type") {
                        Some(Value::String(kind)) => kind.contains("GPU"),
                        Some(kind) => kind.as_i64() == Some(2),
                        None => true,
                    };
                    if let (true, Some(id)) = (is_gpu, id_of(agent, "id")) {
                        let place = id_of(agent, "logical_node_id").or(id_of(agent, "node_id"));
                        let name = text(agent, &["product_name", "model_name", "name"]);
                        let units = agent.get("cu_count").and_then(Value::as_u64);
                        let units = units.and_then(|units| u32::try_from(units).ok());
                        let name = name.unwrap_or_else(|| "GPU".to_owned());
                        gpus.push((place.unwrap_or(0), id, name, units));
                    }
                }
                gpus.sort();
                for (number, (_, id, name, units)) in (0..).zip(gpus) {
                    process.agents.insert(id, (number, name, units));
                }
            }
            "strings" => {
                let kinds = value.get("buffer_records").and_then(Value::as_array);
                for kind in kinds.into_iter().flatten() {
                    let operations = kind.get("operations").and_then(Value::as_array);
                    let operations = operations.into_iter().flatten();
                    let names = operations.map(|name| name.as_str().unwrap_or("").to_owned());
                    process.operations.push(names.collect());
                }
                let markers = value.get("marker_api").and_then(Value::as_array);
                for marker in markers.into_iter().flatten() {
                    let message = text(marker, &["value"]);
                    process.markers.extend(id_of(marker, "key").zip(message));
                }
            }
            "counters" => {
                for counter in value.as_array().into_iter().flatten() {
                    let name = text(counter, &["name"]);
                    process.counters.extend(id_of(counter, "id").zip(name));
                }
            }
            _ => {}
        }
    }

    fn wants_records(&self, _: &str) -> bool {
        false
    }

    fn kernels(&mut self, count: u64) {
        if let Some(process) = self.0.last_mut() {
            process.has_kernels |= count > 0;
        }
    }

    fn record(&mut self, _: &str, _: Record) {}
}

/// Correlation ids of the processes of one file are distinguished above this bit.
const PROCESS_SHIFT: u32 = 44;

pub struct Records<'r, 'a> {
    facts: &'r Facts,
    feed: &'r mut Feed<'a>,
    process: Option<usize>,
    pub failed: Option<Error>,
    nobody: OfProcess,
}

impl<'r, 'a> Records<'r, 'a> {
    pub fn new(facts: &'r Facts, feed: &'r mut Feed<'a>) -> Result<Self, Error> {
        let mut devices: Vec<(u32, &str, Option<u32>)> = Vec::new();
        // Processes of one machine describe the same agents.
        for (number, name, units) in facts.0.iter().flat_map(|process| process.agents.values()) {
            if !devices.iter().any(|(known, ..)| known == number) {
                devices.push((*number, name, *units));
            }
        }
        devices.sort_unstable();
        for (number, name, units) in devices {
            feed.device(number, name, units)?;
        }
        Ok(Self {
            facts,
            feed,
            process: None,
            failed: None,
            nobody: OfProcess::default(),
        })
    }

    fn device(of: &OfProcess, agent: Handle) -> Option<u32> {
        of.agents.get(&agent.0?).map(|(number, ..)| *number)
    }

    fn write(&mut self, kind: &str, record: &Record) -> Result<(), Error> {
        let place = self.process.unwrap_or(0);
        let of = self.facts.0.get(place).unwrap_or(&self.nobody);
        if kind == "counter_collection" {
            return counters(self.feed, (place, of), record);
        }
        let times = record.start_timestamp.0.zip(record.end_timestamp.0);
        let Some(times_ns) = times else {
            return self.feed.leave_out("record without times that are numbers");
        };
        let thread = record.thread_id.unsigned().unwrap_or(0);
        let slice = Slice {
            process: of.id,
            thread,
            correlation: record.correlation(place),
            ..Slice::new(Kind::Call, "", times_ns)
        };
        let operation = || {
            let names = of.operations.get(usize::try_from(record.kind.0?).ok()?)?;
            let name = names.get(usize::try_from(record.operation.0?).ok()?)?;
            (!name.is_empty()).then_some(name.as_str())
        };
        match kind {
            "kernel_dispatch" => kernel(self.feed, (place, of), record, slice),
            "memory_copy" => {
                let (from, to) = (
                    Self::device(of, record.src_agent_id),
                    Self::device(of, record.dst_agent_id),
                );
                let name = operation().filter(|name| name.contains("_TO_"));
                self.feed.slice(&Slice {
                    kind: Kind::Copy,
                    name: name.unwrap_or(name_of_copy(from, to)),
                    device: to.or(from),
                    stream: record.stream(Handle::default()),
                    bytes: record.bytes.unsigned(),
                    ..slice
                })
            }
            "memory_allocation" => {
                let is_freed = operation().is_some_and(|name| name.contains("FREE"));
                let bytes = record.allocation_size.0.filter(|bytes| *bytes > 0);
                let Some(bytes) = bytes else {
                    return self.feed.leave_out(NO_BYTES);
                };
                self.feed.allocation(
                    (of.id, thread),
                    times_ns.1,
                    if is_freed { -bytes } else { bytes },
                    record.address.unsigned(),
                    Self::device(of, record.agent_id),
                    None,
                )
            }
            "marker_api" => {
                let message = record
                    .correlation_id
                    .internal
                    .0
                    .and_then(|id| of.markers.get(&id));
                let name = message
                    .map(String::as_str)
                    .or_else(operation)
                    .unwrap_or("marker");
                if times_ns.0 == times_ns.1 {
                    return self.feed.instant((of.id, thread), name, times_ns.0);
                }
                self.feed.slice(&Slice {
                    kind: Kind::Range,
                    name,
                    correlation: None,
                    ..slice
                })
            }
            _ => {
                let unnamed = format!("{kind} {}", record.operation.0.unwrap_or(0));
                self.feed.slice(&Slice {
                    name: operation().unwrap_or(&unnamed),
                    ..slice
                })
            }
        }
    }
}

impl Record {
    /// Correlates rows of one process among those of all processes of the file.
    fn correlation(&self, place: usize) -> Option<u64> {
        let id = self.correlation_id.internal.unsigned();
        let id = id.filter(|id| *id != 0)?;
        Some(id.wrapping_add((place as u64) << PROCESS_SHIFT))
    }

    /// The stream; the queue of work of no stream.
    fn stream(&self, queue: Handle) -> Option<u32> {
        let small = |handle: Handle| handle.0.and_then(|number| u32::try_from(number).ok());
        let stream = small(self.stream_id).filter(|stream| *stream != 0);
        stream.or(small(queue))
    }
}

impl Dispatch {
    /// Identifies the dispatch among those of all processes of the file.
    fn key(&self, place: usize) -> Option<u64> {
        let id = self.dispatch_id.unsigned()?;
        Some(id.wrapping_add((place as u64) << PROCESS_SHIFT))
    }
}

fn kernel(
    feed: &mut Feed<'_>,
    (place, of): (usize, &OfProcess),
    record: &Record,
    slice: Slice<'_>,
) -> Result<(), Error> {
    let Some(dispatch) = &record.dispatch_info else {
        return feed.leave_out("dispatch without its kernel");
    };
    let id = dispatch.kernel_id.0.unwrap_or(0);
    let unnamed = format!("kernel {id}");
    let (name, registers) = match of.kernels.get(&id) {
        Some((name, registers)) => (name.as_str(), *registers),
        None => (unnamed.as_str(), None),
    };
    let block = dispatch.workgroup_size.three();
    let grid = dispatch.grid_size.three();
    feed.slice(&Slice {
        kind: Kind::Kernel,
        name,
        device: Records::device(of, dispatch.agent_id),
        stream: record.stream(dispatch.queue_id),
        grid: grid.zip(block).map(|(grid, block)| in_blocks(grid, block)),
        block,
        registers,
        shared_memory_bytes: dispatch.group_segment_size.unsigned(),
        key: dispatch.key(place),
        ..slice
    })
}

/// Without a trace of kernels, the dispatches whose counters were collected are the kernels.
fn counters(
    feed: &mut Feed<'_>,
    (place, of): (usize, &OfProcess),
    record: &Record,
) -> Result<(), Error> {
    let data = record.dispatch_data.as_deref();
    let Some(time_ns) = data
        .and_then(|data| data.start_timestamp.0)
        .filter(|ns| *ns != 0)
    else {
        return feed.leave_out("counter of a kernel without times: no time to put it at");
    };
    // Instances of one counter, such as those of the shader engines, are one sum.
    let mut sums: Vec<(i64, f64)> = Vec::new();
    for counted in &record.records {
        let id = counted.counter_id.0.unwrap_or(0);
        match sums.iter_mut().find(|(known, _)| *known == id) {
            Some((_, sum)) => *sum += counted.value,
            None => sums.push((id, counted.value)),
        }
    }
    let dispatch = data.and_then(|data| data.dispatch_info.as_ref());
    let key = dispatch.and_then(|dispatch| dispatch.key(place));
    let times = data.and_then(|data| Some((time_ns, data.end_timestamp.0?)));
    if let (false, Some(data), Some(times_ns), true) = (of.has_kernels, data, times, key.is_some())
    {
        feed.notes().warn(COUNTED_ALONE);
        let slice = Slice {
            process: of.id,
            thread: record.thread_id.unsigned().unwrap_or(0),
            correlation: data.correlation(place),
            ..Slice::new(Kind::Kernel, "", times_ns)
        };
        kernel(feed, (place, of), data, slice)?;
    }
    for (id, value) in sums {
        let unnamed = format!("counter {id}");
        let name = of.counters.get(&id).unwrap_or(&unnamed);
        match key {
            Some(_) => feed.dispatch_counter(key, Some(name), Some(time_ns), Some(value))?,
            None => feed.counter(of.id, name, time_ns, value)?,
        }
    }
    Ok(())
}

impl Parts for Records<'_, '_> {
    fn begin(&mut self) {
        self.process = Some(self.process.map_or(0, |place| place + 1));
    }

    fn wants(&self, _: &str) -> bool {
        false
    }

    fn field(&mut self, _: &str, _: Value) {}

    fn wants_records(&self, kind: &str) -> bool {
        let is_known = kind.ends_with("_api")
            || matches!(
                kind,
                "kernel_dispatch" | "memory_copy" | "memory_allocation" | "counter_collection"
            );
        self.failed.is_none() && is_known
    }

    fn record(&mut self, kind: &str, record: Record) {
        if self.failed.is_none()
            && let Err(error) = self.write(kind, &record)
        {
            self.failed = Some(error);
        }
    }
}
