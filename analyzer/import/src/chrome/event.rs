//! One trace event, as it stands in the file.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

use super::decimal::{float, identity, integer};
use super::event_arguments::EventArguments;
use super::scanner::{Scanned, Scanner, Value};
use super::shapes::Shapes;
use super::unused_arguments::UnusedArguments;
use crate::cuda::cupti_enums::Direction;
use crate::signatures::MAX_SHAPE_BYTES;

/// Ids of a file are below this power of two; the bits between it and the highest bit number the files.
const PART_SHIFT: u32 = 40;
/// Ascend's connection id of tasks without a call.
const NO_CONNECTION: u64 = u32::MAX as u64;
const MAX_SERIES: usize = 64;
/// Limit for arguments that are parsed only once the rest of their event is known.
const MAX_RAW_BYTES: usize = 1 << 20;

/// The members of an event that are read. One value is reused for all events to reuse its memory.
#[derive(Debug, Default)]
pub(super) struct Event {
    /// 0 if there is none.
    pub phase: u8,
    pub category: Vec<u8>,
    pub name: Vec<u8>,
    pub process: Vec<u8>,
    pub thread: Vec<u8>,
    /// Decimal microseconds; empty if there is none.
    pub time: Vec<u8>,
    /// Decimal microseconds; empty if there is none.
    pub duration: Vec<u8>,
    pub id: Vec<u8>,
    /// The flow ends in the enclosing slice, not in the next.
    pub binds_around: bool,
    /// For an instant `g`, `p` or `t`; 0 if not stated.
    pub scope: u8,
    pub arguments: Arguments,
    /// The unparsed arguments of an instant; empty if there are none.
    pub raw: Vec<u8>,
    pub is_raw_cut: bool,
    /// Arguments without a column.
    pub others: EventArguments,
    pub unused: UnusedArguments,
    /// Number of the file, if a trace consists of several; ids are unique only within a file.
    pub part: u64,
    key: Vec<u8>,
    inner_key: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub correlation: Option<u64>,
    /// For an operator its own id; for device work that of the operator that launched it.
    pub external: Option<u64>,
    pub index: Option<u64>,
    pub device: Option<i64>,
    pub stream: Option<i64>,
    pub bytes: Option<i64>,
    pub direction: Option<Direction>,
    pub size: Option<i64>,
    pub address: Option<u64>,
    pub device_type: Option<i64>,
    /// Bytes that the allocator had handed out and reserved on the device after this event.
    pub allocated: Option<u64>,
    pub reserved: Option<u64>,
    pub registers: Option<u64>,
    pub shared_memory: Option<u64>,
    pub blocks_per_sm: Option<f64>,
    pub occupancy_percent: Option<f64>,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub graph_node: Option<u64>,
    pub flops: Option<u64>,
    /// Number of an autograd node, and the thread that created it; 0 in the forward pass.
    pub sequence: Option<u64>,
    pub forward_thread: Option<u64>,
    pub wait_stream: Option<i64>,
    pub wait_correlation: Option<i64>,
    pub wait_event: Option<i64>,
    pub name: Vec<u8>,
    /// Label of a process, in a metadata event.
    pub label: Vec<u8>,
    /// Number that links Ascend's calls to their tasks.
    pub connection: Option<u64>,
    /// Of a call that copies, as rocprof states its parameters.
    pub call_bytes: Option<u64>,
    pub shapes: Shapes,
    pub series: Vec<(Vec<u8>, f64)>,
    pub series_left_out: u64,
}

impl Event {
    /// The rank in the arguments, where a tool that merges traces states it.
    pub fn stated_rank(&self) -> Option<u32> {
        if !self.raw.is_empty() {
            // Arguments of an instant are kept unparsed.
            let arguments: serde_json::Value = serde_json::from_slice(&self.raw).ok()?;
            return arguments.get("rank")?.as_u64()?.try_into().ok();
        }
        let rank = self.others.iter().find(|of| of.name == b"rank")?;
        std::str::from_utf8(&rank.text).ok()?.parse().ok()
    }

    /// Equal for rows with equal arguments. Separates a row that is in the file twice from two rows of equal times.
    pub fn hash_of_arguments(&self) -> u32 {
        let of = &self.arguments;
        let signed = |value: Option<i64>| value.map(i64::cast_unsigned);
        let numbers = [
            of.correlation,
            of.connection,
            of.external,
            of.index,
            signed(of.device),
            signed(of.stream),
            signed(of.bytes),
            of.address,
            of.registers,
            of.shared_memory,
            of.graph_node,
            of.flops,
        ];
        let mut hash = DefaultHasher::new();
        (numbers, of.grid, of.block, &self.id).hash(&mut hash);
        for argument in self.others.iter() {
            (&argument.name, &argument.text).hash(&mut hash);
        }
        (hash.finish() as u32).saturating_sub(1)
    }

    fn clear(&mut self) {
        self.phase = 0;
        self.binds_around = false;
        (self.scope, self.is_raw_cut) = (0, false);
        for text in [
            &mut self.category,
            &mut self.name,
            &mut self.process,
            &mut self.thread,
            &mut self.time,
            &mut self.duration,
            &mut self.id,
            &mut self.raw,
            &mut self.arguments.name,
            &mut self.arguments.label,
        ] {
            text.clear();
        }
        self.others.clear();
        self.arguments.shapes.clear();
        self.arguments = Arguments {
            name: std::mem::take(&mut self.arguments.name),
            label: std::mem::take(&mut self.arguments.label),
            shapes: std::mem::take(&mut self.arguments.shapes),
            ..Arguments::default()
        };
    }

    /// Resets the event for the next record of a format other than JSON.
    pub fn reset(&mut self) {
        self.clear();
    }

    /// Reads an object; its opening brace comes next.
    pub fn read<R: Read>(&mut self, from: &mut Scanner<R>) -> Scanned<()> {
        self.clear();
        let mut key = std::mem::take(&mut self.key);
        let done = from.members(&mut key, |key, from| self.field(key, from));
        self.key = key;
        done?;
        self.read_raw()?;
        self.part = from.part;
        if self.part > 0 {
            self.arguments.belong_to(self.part);
        }
        Ok(())
    }

    fn field<R: Read>(&mut self, key: &[u8], from: &mut Scanner<R>) -> Scanned<()> {
        let into = match key {
            b"name" => &mut self.name,
            b"cat" => &mut self.category,
            b"pid" => &mut self.process,
            b"tid" => &mut self.thread,
            b"ts" => &mut self.time,
            b"dur" => &mut self.duration,
            b"id" => &mut self.id,
            // {"local": id} or {"global": id}
            b"id2" if from.space()? == Some(b'{') => {
                let id = &mut self.id;
                return from.members(&mut self.inner_key, |_, from| from.value(id).map(drop));
            }
            b"ph" | b"bp" | b"s" => {
                from.value(&mut self.value)?;
                match key {
                    b"bp" => self.binds_around = self.value == b"e",
                    _ if self.value.len() != 1 => {}
                    b"s" => self.scope = self.value[0],
                    _ => self.phase = self.value[0],
                }
                return Ok(());
            }
            b"args" if from.space()? == Some(b'{') => {
                // Those of instants are kept as they are; and in files whose keys are sorted the phase comes later.
                let is_kept = matches!(self.phase, 0 | b'i' | b'I' | b'R');
                if is_kept && self.name != b"[memory]" {
                    return from.copy(&mut self.raw, MAX_RAW_BYTES);
                }
                return self.read_arguments(from);
            }
            _ => return from.skip(),
        };
        from.plain(into)
    }

    fn read_raw(&mut self) -> Scanned<()> {
        self.is_raw_cut = self.raw.len() > MAX_RAW_BYTES;
        if self.raw.is_empty() || self.is_raw_cut {
            self.raw.clear();
            return Ok(());
        }
        let mut from = Scanner::over(std::mem::take(&mut self.raw));
        let done = self.read_arguments(&mut from);
        self.raw = from.into_buffer();
        done
    }

    fn read_arguments<R: Read>(&mut self, from: &mut Scanner<R>) -> Scanned<()> {
        let has_series = self.phase == b'C' || self.category == b"cuda_profiler_range";
        // Those of metadata are names and places in a viewer; those of instants are kept whole.
        let may_be_unused = !has_series && !matches!(self.phase, b'M' | b'i' | b'I' | b'R');
        let is_metadata = self.phase == b'M';
        let (arguments, value) = (&mut self.arguments, &mut self.value);
        let (unused, others) = (&mut self.unused, &mut self.others);
        from.members(&mut self.inner_key, |key, from| {
            match key {
                b"grid" => arguments.grid = three(from, value)?,
                b"block" => arguments.block = three(from, value)?,
                b"name" => {
                    if from.value(&mut arguments.name)? != Value::Text {
                        arguments.name.clear();
                    }
                }
                b"labels" if is_metadata => {
                    if from.value(&mut arguments.label)? != Value::Text {
                        arguments.label.clear();
                    }
                }
                key => {
                    if let Some(into) = arguments.shapes.of(key) {
                        return from.copy(into, MAX_SHAPE_BYTES);
                    }
                    let is_nested = matches!(from.space()?, Some(b'{' | b'['));
                    if is_nested && may_be_unused {
                        if !others.take_nested(key, from)? {
                            unused.count(key);
                        }
                        return Ok(());
                    }
                    let kind = from.value(value)?;
                    let is_scalar = matches!(kind, Value::Number | Value::Text);
                    let is_used = is_scalar && arguments.set(key, value);
                    if is_scalar && has_series {
                        arguments.count(key, value);
                    } else if may_be_unused && !is_used && !others.take(key, kind, value) {
                        unused.count(key);
                    }
                }
            }
            Ok(())
        })
    }
}

impl Arguments {
    /// Makes ids distinct from those of other files.
    fn belong_to(&mut self, part: u64) {
        let ids = [
            &mut self.correlation,
            &mut self.connection,
            &mut self.external,
            &mut self.index,
            &mut self.sequence,
        ];
        for id in ids.into_iter().flatten() {
            *id = id.wrapping_add(part << PART_SHIFT);
        }
        if let Some(id) = self.wait_correlation.as_mut().filter(|id| **id > 0) {
            *id = id.wrapping_add_unsigned(part << PART_SHIFT);
        }
    }

    /// Stores a value; false if it is not used.
    fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        let signed = || integer(value).and_then(|value| i64::try_from(value).ok());
        match key {
            // CUPTI counts from 1.
            b"correlation" => self.correlation = identity(value).filter(|id| *id != 0),
            b"External id" | b"external id" => self.external = identity(value),
            b"Ev Idx" => self.index = identity(value),
            b"device" | b"Device Id" => self.device = signed(),
            b"stream" => self.stream = signed(),
            b"bytes" | b"Bytes" => self.bytes = signed(),
            b"Addr" => self.address = identity(value),
            b"Device Type" => self.device_type = signed(),
            b"Total Allocated" => self.allocated = identity(value),
            b"Total Reserved" => self.reserved = identity(value),
            b"registers per thread" => self.registers = identity(value),
            b"shared memory" => self.shared_memory = identity(value),
            b"blocks per SM" => self.blocks_per_sm = float(value),
            b"est. achieved occupancy %" => self.occupancy_percent = float(value),
            b"graph node id" => self.graph_node = identity(value),
            b"flops" => self.flops = identity(value),
            b"Sequence number" => self.sequence = identity(value),
            b"Fwd thread id" => self.forward_thread = identity(value),
            b"wait_on_stream" => self.wait_stream = signed(),
            b"wait_on_cuda_event_record_corr_id" => self.wait_correlation = signed(),
            b"wait_on_cuda_event_id" => self.wait_event = signed(),
            _ => {
                self.set_other(key, value);
                return self.shapes.set_collective(key, value);
            }
        }
        true
    }

    /// Stores a value under a name used by producers other than Kineto. It is kept as an attribute too: on a
    /// host thread the name may mean anything.
    fn set_other(&mut self, key: &[u8], value: &[u8]) {
        let signed = || integer(value).and_then(|value| i64::try_from(value).ok());
        match key {
            b"correlation_id" | b"correlationId" => {
                self.correlation = identity(value).filter(|id| *id != 0)
            }
            b"connection_id" => self.connection = identity(value).filter(|id| *id != NO_CONNECTION),
            b"device_id" | b"dev-id" => self.device = signed(),
            b"Stream Id" | b"stream_id" | b"stream-id" => self.stream = signed(),
            b"queue-id" | b"queue_id" if self.stream.is_none() => self.stream = signed(),
            b"args" => self.call_bytes = copied_bytes(value),
            b"direction" => self.direction = Direction::from_words(&String::from_utf8_lossy(value)),
            b"size" => self.size = signed(),
            b"grid_x" | b"grid_y" | b"grid_z" => set_axis(&mut self.grid, key, value),
            b"block_x" | b"block_y" | b"block_z" => set_axis(&mut self.block, key, value),
            _ => {}
        }
    }

    fn count(&mut self, key: &[u8], value: &[u8]) {
        match float(value) {
            Some(value) if self.series.len() < MAX_SERIES => {
                self.series.push((key.to_owned(), value));
            }
            _ => self.series_left_out += 1,
        }
    }
}

/// The bytes in `( dst(0x7f28) src(0x7f6a) sizeBytes(4096) kind(1))`.
fn copied_bytes(parameters: &[u8]) -> Option<u64> {
    let parameters = std::str::from_utf8(parameters).ok()?;
    let (_, bytes) = parameters.split_once("sizeBytes(")?;
    bytes.split_once(')')?.0.parse().ok()
}

fn set_axis(of: &mut Option<[u32; 3]>, key: &[u8], value: &[u8]) {
    let Some(value) = identity(value).and_then(|value| u32::try_from(value).ok()) else {
        return;
    };
    let axes = of.get_or_insert([1; 3]);
    match key.last() {
        Some(b'x') => axes[0] = value,
        Some(b'y') => axes[1] = value,
        _ => axes[2] = value,
    }
}

/// `[x, y, z]`; `None` if it is anything else.
fn three<R: Read>(from: &mut Scanner<R>, scratch: &mut Vec<u8>) -> Scanned<Option<[u32; 3]>> {
    if from.space()? != Some(b'[') {
        return from.skip().map(|()| None);
    }
    from.take();
    let (mut out, mut count, mut good, mut first) = ([0; 3], 0, true, true);
    while from.more(b']', &mut first)? {
        from.value(scratch)?;
        let value = identity(scratch).and_then(|value| u32::try_from(value).ok());
        match (value, out.get_mut(count)) {
            (Some(value), Some(place)) => *place = value,
            _ => good = false,
        }
        count += 1;
    }
    Ok((good && count == 3).then_some(out))
}
