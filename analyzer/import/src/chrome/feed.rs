//! Records of other formats as trace events: calls, work of devices, ranges and counters become rows by the same rules,
//! whichever file they stand in, and in as little memory.

use std::io::Write;
use std::path::Path;

use trueno_format::schema::DeviceRow;

use super::collector::Collector;
use super::document::Sink;
use super::event::Event;
use super::scanner::Value;

pub(crate) use super::collector::{PART_OF_COLLECTIVE, WAIT_OF_LOWER_LAYER};
use crate::doubtful::Memory;
use crate::source::Source;
use crate::{Error, Import, Notes, Options};

/// Why records of other formats are left out.
pub(crate) const NO_TIMES: &str = "row without times that are numbers";
pub(crate) const NO_NAME_OR_TIMES: &str = "row without a name, or without times";
pub(crate) const NO_COUNTER: &str = "counter without a name or a number";
pub(crate) const NO_BYTES: &str = "allocation or release that states no bytes";

/// A warning about counters of rocprofv3 without a kernel trace beside them.
pub(crate) const COUNTED_ALONE: &str = "kernels come from counter_collection, and there is no kernel trace: rocprofv3 runs kernels \
     one at a time while it counts, so gaps between them are its own";

/// Text of the fact with code `kernels_one_by_one`.
const ONE_BY_ONE: &str =
    "the profiler collected counters of single kernels, and ran kernels one by one meanwhile";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Range,
    Operator,
    /// Of Python.
    Function,
    Call,
    Kernel,
    Copy,
    Fill,
    /// Work on a device; its name says of which kind.
    Work,
}

/// An interval. `None` means not stated.
#[derive(Clone, Debug)]
pub(crate) struct Slice<'s> {
    pub kind: Kind,
    pub name: &'s str,
    pub process: u64,
    pub thread: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub correlation: Option<u64>,
    pub device: Option<u32>,
    pub stream: Option<u32>,
    pub bytes: Option<u64>,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub registers: Option<u64>,
    pub shared_memory_bytes: Option<u64>,
    pub attributes: &'s [(&'s str, &'s str)],
    /// Identifies the kernel for counters that are given without it.
    pub key: Option<u64>,
    pub counters: &'s [(&'s str, f64)],
}

impl Slice<'_> {
    pub fn new(kind: Kind, name: &str, times_ns: (i64, i64)) -> Slice<'_> {
        Slice {
            kind,
            name,
            process: 0,
            thread: 0,
            start_ns: times_ns.0,
            end_ns: times_ns.1,
            correlation: None,
            device: None,
            stream: None,
            bytes: None,
            grid: None,
            block: None,
            registers: None,
            shared_memory_bytes: None,
            attributes: &[],
            key: None,
            counters: &[],
        }
    }
}

/// True for the name of a copy, as [`Kind::Work`] reads it.
pub(crate) fn is_copy(name: &str) -> bool {
    super::collector::class_of_work(name) == super::category::Class::Copy
}

/// Accepts records in any order.
pub(crate) struct Feed<'a> {
    collector: Collector<'a>,
    event: Event,
    path: &'a Path,
    options: &'a Options,
    progress: &'a mut dyn FnMut(u64),
    /// The profiler counted for single kernels, and so ran one after the other.
    has_one_by_one: bool,
}

impl<'a> Feed<'a> {
    pub fn new(import: Import<'a>, maker: &'static str) -> Self {
        let Import { path, options, .. } = import;
        let mut collector = Collector::new(path, import.into, import.notes);
        collector.believable.turn_off(options);
        collector.memory = Memory::new(options);
        collector.is_survey = false;
        collector.maker = Some(maker);
        Self {
            collector,
            event: Event::default(),
            path,
            options,
            progress: import.progress,
            has_one_by_one: false,
        }
    }

    pub fn notes(&mut self) -> &mut Notes {
        self.collector.notes
    }

    pub fn leave_out(&mut self, reason: &str) -> Result<(), Error> {
        self.collector.notes.leave_out(reason);
        Ok(())
    }

    pub fn import(&mut self) -> Import<'_> {
        Import {
            path: self.path,
            options: self.options,
            into: self.collector.into,
            notes: self.collector.notes,
            progress: self.progress,
        }
    }

    /// Reports the number of bytes read so far.
    pub fn progress(&mut self, bytes: u64) {
        (self.progress)(bytes);
    }

    pub fn name_thread(&mut self, process: u64, thread: u64, name: &str) {
        let (process, thread) = (process.to_string(), thread.to_string());
        let lanes = &mut self.collector.lanes;
        lanes.name_thread(process.as_bytes(), thread.as_bytes(), name.as_bytes());
    }

    pub fn device(&mut self, number: u32, name: &str, units: Option<u32>) -> Result<(), Error> {
        let into = &mut self.collector.into;
        let row = DeviceRow {
            device: into.text(&format!("gpu:{number}")),
            name: Some(into.text(name)),
            memory_bytes: None,
            multiprocessors: units,
            ..DeviceRow::default()
        };
        self.collector.add(&row)
    }

    pub fn slice(&mut self, slice: &Slice<'_>) -> Result<(), Error> {
        let event = &mut self.event;
        event.reset();
        event.phase = b'X';
        let category: &[u8] = match slice.kind {
            Kind::Range => b"user_annotation",
            Kind::Operator => b"cpu_op",
            Kind::Function => b"python_function",
            Kind::Call => b"cuda_runtime",
            Kind::Copy => b"gpu_memcpy",
            Kind::Fill => b"gpu_memset",
            Kind::Kernel => b"kernel",
            Kind::Work => match super::collector::class_of_work(slice.name) {
                super::category::Class::Copy => b"gpu_memcpy",
                super::category::Class::Fill => b"gpu_memset",
                _ => b"kernel",
            },
        };
        event.category.extend_from_slice(category);
        event.name.extend_from_slice(slice.name.as_bytes());
        let _ = write!(event.process, "{}", slice.process);
        let _ = write!(event.thread, "{}", slice.thread);
        microseconds(slice.start_ns, &mut event.time);
        microseconds(
            slice.end_ns.saturating_sub(slice.start_ns),
            &mut event.duration,
        );
        let arguments = &mut event.arguments;
        arguments.correlation = slice.correlation;
        let is_work = !matches!(
            slice.kind,
            Kind::Range | Kind::Operator | Kind::Function | Kind::Call
        );
        let device = slice.device.or(is_work.then_some(0));
        arguments.device = device.map(i64::from);
        arguments.stream = slice.stream.map(i64::from);
        arguments.bytes = slice.bytes.and_then(|bytes| i64::try_from(bytes).ok());
        (arguments.grid, arguments.block) = (slice.grid, slice.block);
        arguments.registers = slice.registers;
        arguments.shared_memory = slice.shared_memory_bytes;
        for (name, value) in slice.attributes {
            let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
            let kind = if is_number {
                Value::Number
            } else {
                Value::Text
            };
            if !event.others.take(name.as_bytes(), kind, value.as_bytes()) {
                event.unused.count(name.as_bytes());
            }
        }
        self.collector.event(event)?;
        if let Some(key) = slice.key {
            self.collector.key_of_kernel(key)?;
        }
        for (name, value) in slice.counters {
            self.collector
                .counter_of_event(name, slice.start_ns, *value)?;
        }
        Ok(())
    }

    /// A counter that AMD's profiler read around one dispatch. It then runs kernels one by one, whether it traces them too or
    /// not.
    pub fn dispatch_counter(
        &mut self,
        key: Option<u64>,
        name: Option<&str>,
        time_ns: Option<i64>,
        value: Option<f64>,
    ) -> Result<(), Error> {
        self.has_one_by_one = true;
        self.kernel_counter(key, name, time_ns, value)
    }

    /// A counter of the kernel with a key, wherever in the files it stands. Without one of these it is left out.
    pub fn kernel_counter(
        &mut self,
        key: Option<u64>,
        name: Option<&str>,
        time_ns: Option<i64>,
        value: Option<f64>,
    ) -> Result<(), Error> {
        match (key, name, time_ns, value) {
            (Some(key), Some(name), Some(time_ns), Some(value)) => {
                self.collector.counter_of_key(key, name, time_ns, value)
            }
            _ => self.leave_out(NO_COUNTER),
        }
    }

    pub fn counter(
        &mut self,
        process: u64,
        name: &str,
        time_ns: i64,
        value: f64,
    ) -> Result<(), Error> {
        let event = &mut self.event;
        event.reset();
        event.phase = b'C';
        event.name.extend_from_slice(name.as_bytes());
        let _ = write!(event.process, "{process}");
        microseconds(time_ns, &mut event.time);
        event.arguments.series.push((b"value".to_vec(), value));
        self.collector.event(event)
    }

    /// The totals are what the allocator had handed out and reserved on the device after it.
    pub fn allocation(
        &mut self,
        (process, thread): (u64, u64),
        time_ns: i64,
        bytes: i64,
        address: Option<u64>,
        device: Option<u32>,
        totals_bytes: Option<(u64, u64)>,
    ) -> Result<(), Error> {
        let event = &mut self.event;
        event.reset();
        event.phase = b'i';
        event.scope = b't';
        event.category.extend_from_slice(b"cpu_instant_event");
        event.name.extend_from_slice(b"[memory]");
        let _ = write!(event.process, "{process}");
        let _ = write!(event.thread, "{thread}");
        microseconds(time_ns, &mut event.time);
        let arguments = &mut event.arguments;
        arguments.bytes = Some(bytes);
        arguments.address = address;
        arguments.device = device.map(i64::from);
        arguments.device_type = Some(i64::from(device.is_some()));
        (arguments.allocated, arguments.reserved) = totals_bytes.unzip();
        self.collector.event(event)
    }

    pub fn instant(
        &mut self,
        (process, thread): (u64, u64),
        name: &str,
        time_ns: i64,
    ) -> Result<(), Error> {
        let event = &mut self.event;
        event.reset();
        event.phase = b'i';
        event.scope = b't';
        event.name.extend_from_slice(name.as_bytes());
        let _ = write!(event.process, "{process}");
        let _ = write!(event.thread, "{thread}");
        microseconds(time_ns, &mut event.time);
        self.collector.event(event)
    }

    /// Writes the rows. Returns the length of the run.
    pub fn finish(self) -> Result<Option<i64>, Error> {
        let hash = Source::hash_of(self.path, self.options)?;
        self.finish_as(hash)
    }

    /// The same with a hash that is not that of the file.
    pub fn finish_as(mut self, hash: u64) -> Result<Option<i64>, Error> {
        self.collector.end()?;
        self.collector.check_times()?;
        if self.has_one_by_one {
            self.collector
                .diagnostic("kernels_one_by_one", ONE_BY_ONE, 1)?;
        }
        super::write(self.collector, hash)
    }
}

/// Writes nanoseconds as decimal microseconds, exactly.
fn microseconds(ns: i64, into: &mut Vec<u8>) {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let _ = write!(into, "{sign}{}.{:03}", ns / 1_000, ns % 1_000);
}
