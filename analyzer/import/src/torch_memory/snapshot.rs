//! What a snapshot says: events of devices, and the state at its end.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::pickle::{Sink, Value, item};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Allocate,
    Free,
    /// Allocated from the device driver.
    Reserve,
    Release,
    OutOfMemory,
}

impl Action {
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocate => "alloc",
            Self::Free => "free_completed",
            Self::Reserve => "segment_alloc",
            Self::Release => "segment_free",
            Self::OutOfMemory => "oom",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub time_ns: i64,
    /// Of [`Action::OutOfMemory`], the bytes that the device had free, as in PyTorch's own entry.
    pub address: u64,
    pub bytes: u64,
    pub frame: Option<u32>,
    pub device: u32,
    pub action: Action,
}

impl Event {
    /// Bytes that the device had free when it ran out of memory.
    pub fn device_free(&self) -> Option<i64> {
        let is_one = self.action == Action::OutOfMemory;
        i64::try_from(self.address).ok().filter(|_| is_one)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub address: u64,
    pub bytes: u64,
    /// Bytes that the program requested, where they are stated.
    pub requested: Option<u64>,
    pub is_free: bool,
}

/// A segment at the end.
#[derive(Clone, Debug)]
pub struct Segment {
    pub device: u32,
    pub address: u64,
    pub bytes: u64,
    pub is_expandable: bool,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub allocated: i64,
    pub reserved: i64,
}

/// A device at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub totals: Totals,
    /// Bytes that the program requested in its blocks, which are rounded up from these.
    pub requested: i64,
    /// Reserved bytes in segments without a block.
    pub in_free_segments: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    file: Rc<str>,
    line: i64,
    name: Rc<str>,
    is_plumbing: bool,
}

#[derive(Debug, Default)]
pub struct Snapshot {
    pub events: Vec<Event>,
    pub ends: BTreeMap<u32, End>,
    pub segments: Vec<Segment>,
    /// Blocks of the segment that is being read.
    blocks: Vec<Block>,
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
    pub left_out: BTreeMap<String, u64>,
    pub out_of_range: u64,
    /// Events have no times, as before PyTorch 2.2: [`Event::time_ns`] counts them in the order of their device.
    pub has_order_only: bool,
    has_segments: bool,
    has_traces: bool,
}

/// Half of the range, so that differences of times fit too.
const LATEST_NS: u64 = i64::MAX.cast_unsigned() / 2;

impl Sink for Snapshot {
    fn dict(&mut self, items: &[(Value, Value)]) -> Option<u32> {
        let number = |key: &str| item(items, key).and_then(Value::number);
        if let (Some(file), Some(line), Some(name)) =
            (item(items, "filename"), number("line"), item(items, "name"))
        {
            return Some(self.frame(file, line, name));
        }
        if let Some(action) = item(items, "action").and_then(Value::text) {
            let action = match action {
                "alloc" => Action::Allocate,
                "free_completed" | "free" => Action::Free,
                "segment_alloc" | "segment_map" => Action::Reserve,
                "segment_free" | "segment_unmap" => Action::Release,
                "oom" => Action::OutOfMemory,
                other => {
                    let reason = format!("event {other}: changes no sizes");
                    *self.left_out.entry(reason).or_default() += 1;
                    return Some(u32::MAX);
                }
            };
            let time_us = number("time_us");
            self.has_order_only |= time_us.is_none();
            let time_ns = time_us.unwrap_or(0).checked_mul(1_000);
            let Some(time_ns) = time_ns.filter(|ns| ns.unsigned_abs() < LATEST_NS) else {
                self.out_of_range += 1;
                return Some(u32::MAX);
            };
            let frame = item(items, "frames").and_then(|frames| self.innermost(frames));
            self.events.push(Event {
                time_ns,
                address: match number("device_free").or(number("addr")) {
                    Some(address) => address.cast_unsigned(),
                    None if action == Action::OutOfMemory => u64::MAX,
                    None => 0,
                },
                bytes: number("size").map_or(0, i64::cast_unsigned),
                frame,
                // The list that it lies in says which.
                device: u32::MAX,
                action,
            });
            return Some(self.events.len() as u32 - 1);
        }
        if let (Some(state), Some(bytes)) =
            (item(items, "state").and_then(Value::text), number("size"))
        {
            self.blocks.push(Block {
                // Blocks of a segment follow one another; PyTorch 2.0 does not state their addresses.
                address: 0,
                bytes: bytes.cast_unsigned(),
                requested: number("requested_size").map(i64::cast_unsigned),
                is_free: state == "inactive",
            });
            return Some(u32::MAX);
        }
        if let (Some(device), Some(reserved)) = (number("device"), number("total_size")) {
            let device = u32::try_from(device).unwrap_or(0);
            self.add_segment(items, device, reserved);
            let active = number("active_size");
            let allocated = number("allocated_size").or(active).unwrap_or(0);
            let requested = number("requested_size").unwrap_or(allocated);
            let end = self.ends.entry(device).or_default();
            let totals = &mut end.totals;
            totals.reserved = totals.reserved.saturating_add(reserved);
            totals.allocated = totals.allocated.saturating_add(allocated);
            end.requested = end.requested.saturating_add(requested);
            // Freed blocks that a stream still uses are active.
            if allocated.max(active.unwrap_or(0)) == 0 {
                end.in_free_segments = end.in_free_segments.saturating_add(reserved);
            }
            return Some(u32::MAX);
        }
        None
    }

    fn end(&mut self, value: Value) {
        let Value::Dict(items) = value else { return };
        let items = items.borrow();
        self.has_segments = item(&items, "segments").is_some();
        let Some(Value::List(devices)) = item(&items, "device_traces") else {
            return;
        };
        self.has_traces = true;
        for (device, trace) in (0..).zip(devices.borrow().iter()) {
            let Value::List(trace) = trace else { continue };
            for event in trace.borrow().iter() {
                if let Value::Made(number) = event
                    && let Some(event) = self.events.get_mut(*number as usize)
                {
                    event.device = device;
                }
            }
        }
        // Of what no device lists nothing is known.
        self.events.retain(|event| event.device != u32::MAX);
    }
}

/// Parts of PyTorch that take memory for an operator, by the beginnings of their functions' names: the unwinder, the
/// allocator, and what makes a tensor for a result.
const PLUMBING: [&str; 11] = [
    "torch::unwind::",
    "torch::CapturedTraceback::",
    "torch::cuda::gather_with_cpp",
    "c10::",
    "at::detail::",
    "at::meta::",
    "at::empty",
    "at::_ops::empty",
    "at::native::empty",
    "at::native::resize",
    "at::TensorIteratorBase::",
];

/// The same, by parts of their names.
const PLUMBING_PARTS: [&str; 4] = [
    "CachingAllocator",
    "::create_out",
    "::set_output",
    "::wrapper_",
];

/// True for a C++ function that only hands memory on.
fn is_plumbing(name: &str) -> bool {
    let name = name.replace("(anonymous namespace)::", "");
    let path = name.split(['(', '<']).next().unwrap_or("");
    // A template's name begins with the type that it returns.
    let path = path.rsplit(' ').next().unwrap_or(path);
    PLUMBING.iter().any(|begin| path.starts_with(begin))
        || PLUMBING_PARTS.iter().any(|part| path.contains(part))
}

impl Snapshot {
    pub fn is_one(&self) -> bool {
        self.has_segments || self.has_traces || !self.events.is_empty()
    }

    fn add_segment(&mut self, items: &[(Value, Value)], device: u32, bytes: i64) {
        let mut blocks = std::mem::take(&mut self.blocks);
        let Some(address) = item(items, "address").and_then(Value::number) else {
            return;
        };
        let address = address.cast_unsigned();
        let mut next = address;
        for block in &mut blocks {
            block.address = next;
            next = next.saturating_add(block.bytes);
        }
        let is_expandable = item(items, "is_expandable").and_then(Value::number);
        self.segments.push(Segment {
            device,
            address,
            bytes: bytes.cast_unsigned(),
            is_expandable: is_expandable.is_some_and(|is| is != 0),
            blocks,
        });
    }

    fn frame(&mut self, file: &Value, line: i64, name: &Value) -> u32 {
        let text = |value: &Value| match value {
            Value::Text(text) => Rc::clone(text),
            _ => Rc::from(""),
        };
        let name = text(name);
        let key = Frame {
            file: text(file),
            line,
            is_plumbing: is_plumbing(&name),
            name,
        };
        let next = self.frames.len() as u32;
        let frames = &mut self.frames;
        *self.numbers.entry(key).or_insert_with_key(|key| {
            frames.push(key.clone());
            next
        })
    }

    /// The innermost frame of a Python file, else the innermost that is not of the allocator, else the innermost.
    fn innermost(&self, frames: &Value) -> Option<u32> {
        let Value::List(frames) = frames else {
            return None;
        };
        let frames = frames.borrow();
        let numbers: Vec<u32> = frames
            .iter()
            .filter_map(|frame| match frame {
                Value::Made(number) => Some(*number),
                _ => None,
            })
            .collect();
        let find = |is_one: &dyn Fn(&Frame) -> bool| {
            let found = numbers.iter().find(|number| {
                let frame = self.frames.get(**number as usize);
                frame.is_some_and(is_one)
            });
            found.copied()
        };
        find(&|frame| frame.file.ends_with(".py"))
            .or_else(|| find(&|frame| !frame.is_plumbing))
            .or(numbers.first().copied())
    }

    pub fn frames(&self) -> impl Iterator<Item = String> {
        self.frames.iter().map(|frame| match &*frame.file {
            "" | "??" => frame.name.to_string(),
            file => format!("{file}:{} {}", frame.line, frame.name),
        })
    }

    /// Numbers the events of each device in their order, in place of times.
    pub fn count_as_times(&mut self) {
        let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
        for event in &mut self.events {
            let count = counts.entry(event.device).or_default();
            event.time_ns = *count;
            *count += 1;
        }
    }

    fn has_sizes(&self) -> bool {
        let is_size = |event: &Event| matches!(event.action, Action::Allocate | Action::Free);
        self.events.iter().any(is_size)
    }

    /// True if events state the sizes of blocks. Those of PyTorch state the bytes that the program requested; a block that is
    /// still in use shows which.
    fn events_state_blocks(&self) -> bool {
        let mut live: HashMap<(u32, u64), u64> = HashMap::new();
        for event in &self.events {
            let at = (event.device, event.address);
            match event.action {
                Action::Allocate => {
                    live.insert(at, event.bytes);
                }
                Action::Free => {
                    live.remove(&at);
                }
                _ => {}
            }
        }
        let segments = self.segments.iter();
        let mut blocks =
            segments.flat_map(|of| of.blocks.iter().map(move |block| (of.device, block)));
        blocks.any(|(device, block)| {
            let is_rounded = block.requested.is_some_and(|bytes| bytes < block.bytes);
            is_rounded && !block.is_free && live.get(&(device, block.address)) == Some(&block.bytes)
        })
    }

    /// What devices had allocated and reserved before their first event.
    pub fn totals_before(&mut self) -> BTreeMap<u32, Totals> {
        let states_requests = self.has_sizes() && !self.events_state_blocks();
        let ends = self.ends.iter().map(|(device, end)| {
            let mut totals = end.totals;
            if states_requests {
                totals.allocated = end.requested;
            }
            (*device, totals)
        });
        let mut totals: BTreeMap<u32, Totals> = ends.collect();
        // A cut snapshot has no device for its events, and no end to count back from.
        for event in &mut self.events {
            if event.device == u32::MAX {
                event.device = 0;
            }
        }
        if self.ends.is_empty() {
            return totals;
        }
        for event in &self.events {
            let bytes = i64::try_from(event.bytes).unwrap_or(i64::MAX);
            let of = totals.entry(event.device).or_default();
            match event.action {
                Action::Allocate => of.allocated = of.allocated.saturating_sub(bytes),
                Action::Free => of.allocated = of.allocated.saturating_add(bytes),
                Action::Reserve => of.reserved = of.reserved.saturating_sub(bytes),
                Action::Release => of.reserved = of.reserved.saturating_add(bytes),
                Action::OutOfMemory => {}
            }
        }
        for of in totals.values_mut() {
            // The trace of a long program holds its latest events only: then nothing is known of before.
            of.allocated = of.allocated.max(0);
            of.reserved = of.reserved.max(0);
        }
        totals
    }
}
