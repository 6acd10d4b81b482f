//! The one pass over the events: each becomes a record, or is left out with a reason.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use trueno_recorder::run_writer::{RunWriter, Text};
use xxhash_rust::xxh3::xxh3_64;

use super::category::{Categories, Class};
use super::device::{FILL, direction, memory_kinds, wait_kind};
use super::document::{Failure, Sink};
use super::event::Event;
use super::facts::Facts;
use super::lanes::Lanes;
use super::number::{identity, nanoseconds};
use super::open::{Open, OpenIntervals};
use super::own::Mark;
use super::record::{HOST_WORDS, Host, LINK_WORDS, Link, NO_ID, NONE, Part, What, pair};
use super::scanner::{Scanned, Scanner};
use crate::sorter::{Sorted, Sorter};
use crate::{Error, Notes};

const NO_PHASE: &str = "object without ph";

/// An iteration of a process: work of its other threads belongs to it by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub process: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub number: u64,
}

/// All that was gathered.
pub(super) struct Gather<'a> {
    pub into: &'a mut RunWriter,
    pub notes: &'a mut Notes,
    pub categories: Categories,
    pub lanes: Lanes,
    pub facts: Facts,
    pub host: Sorter<HOST_WORDS>,
    pub links: Sorter<LINK_WORDS>,
    pub steps: Vec<Step>,
    /// Texts by the number that records have.
    pub texts: Vec<Text>,
    /// The earliest start and the latest end, of records.
    pub reach: Option<(i64, i64)>,
    numbers: HashMap<Text, u32>,
    slices: OpenIntervals,
    asynchronous: OpenIntervals,
    order: u64,
    path: PathBuf,
}

impl<'a> Gather<'a> {
    pub fn new(path: &Path, into: &'a mut RunWriter, notes: &'a mut Notes) -> Self {
        let host = Sorter::new(into.path().join("import.lanes"));
        let links = Sorter::new(into.path().join("import.links"));
        Self {
            into,
            notes,
            categories: Categories::default(),
            lanes: Lanes::default(),
            facts: Facts::default(),
            host,
            links,
            steps: Vec::new(),
            texts: Vec::new(),
            reach: None,
            numbers: HashMap::new(),
            slices: OpenIntervals::default(),
            asynchronous: OpenIntervals::default(),
            order: 0,
            path: path.to_owned(),
        }
    }

    /// Whether no event was met, but other objects were.
    pub fn has_only_other_objects(&self) -> bool {
        self.notes.left_out.get(NO_PHASE) == Some(&self.order) && self.order > 0
    }

    /// Records of lanes, in order.
    pub fn take_host(&mut self) -> Result<Sorted<HOST_WORDS>, Error> {
        let path = self.host.path().to_owned();
        let full = std::mem::replace(&mut self.host, Sorter::new(path.clone()));
        full.sorted().map_err(|e| Error::io(&path, "sort it", e))
    }

    /// Records with correlations, in order.
    pub fn take_links(&mut self) -> Result<Sorted<LINK_WORDS>, Error> {
        let path = self.links.path().to_owned();
        let full = std::mem::replace(&mut self.links, Sorter::new(path.clone()));
        full.sorted().map_err(|e| Error::io(&path, "sort it", e))
    }

    /// A record to be linked, of something that is counted already.
    pub fn link(&mut self, link: Link) -> Result<(), Error> {
        let done = self.links.push(link.words());
        done.map_err(|e| Error::io(self.links.path(), "write it", e))
    }

    /// What was begun and never ended.
    pub fn end(&mut self) {
        for _ in 0..self.slices.open() {
            self.notes.leave_out("B without its E: it has no end");
        }
        for _ in 0..self.asynchronous.open() {
            self.notes.leave_out("asynchronous begin without its end");
        }
    }

    fn name(&mut self, text: &[u8]) -> u32 {
        let text = self.into.text(&String::from_utf8_lossy(text));
        let (numbers, texts) = (&mut self.numbers, &mut self.texts);
        *numbers.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() as u32 - 1
        })
    }

    fn reach(&mut self, start_ns: i64, end_ns: i64) {
        let (first, last) = self.reach.get_or_insert((start_ns, end_ns));
        (*first, *last) = ((*first).min(start_ns), (*last).max(end_ns));
    }

    fn push_host(&mut self, record: Host) -> Result<(), Error> {
        self.reach(record.start_ns, record.end_ns);
        let done = self.host.push(record.words());
        done.map_err(|e| Error::io(self.host.path(), "write it", e))
    }

    fn push_link(&mut self, link: Link) -> Result<(), Error> {
        self.reach(
            link.start_ns,
            link.start_ns.max(link.start_ns + link.dur_ns),
        );
        self.link(link)
    }

    /// The start of an event; one without cannot be placed.
    fn start(&mut self, event: &Event) -> Option<i64> {
        let start = nanoseconds(&event.time);
        if start.is_none() {
            self.notes.leave_out(if event.time.is_empty() {
                "without ts"
            } else {
                "ts is no number, or out of range"
            });
        }
        start
    }

    fn interval(&mut self, event: &Event, class: Class) -> Result<(), Error> {
        let Some(start_ns) = self.start(event) else {
            return Ok(());
        };
        if event.duration.is_empty() {
            self.notes.leave_out("X without dur");
            return Ok(());
        }
        let Some(dur_ns) = nanoseconds(&event.duration) else {
            self.notes.leave_out("dur is no number, or out of range");
            return Ok(());
        };
        if class == Class::Window && event.process == b"Spans" {
            self.facts.window(&event.name, dur_ns);
            self.notes
                .leave_out("Trace: the time the profiler was on, in values");
            return Ok(());
        }
        let arguments = &event.arguments;
        let is_device = arguments.device.is_some()
            || arguments.correlation.is_some()
            || arguments.stream.is_some();
        match class {
            Class::Kernel | Class::Copy | Class::Fill | Class::Wait if is_device => {
                self.device_work(event, class, start_ns, dur_ns)
            }
            Class::DeviceAnnotation => {
                self.notes.leave_out(
                    "gpu_user_annotation: the host's annotation, drawn over its kernels",
                );
                Ok(())
            }
            Class::Overhead => {
                self.notes
                    .leave_out("overhead: the profiler's own work, on no thread");
                Ok(())
            }
            _ => {
                let lane = self.lanes.number(&event.process, &event.thread);
                let name = self.name(&event.name);
                let a = if class == Class::Call {
                    arguments.correlation
                } else {
                    arguments.flops
                };
                let open = Open {
                    start_ns,
                    name,
                    lane,
                    class,
                    order: self.order,
                };
                self.slice(open, start_ns + dur_ns, a.unwrap_or(NO_ID))
            }
        }
    }

    /// An interval of a host thread; `a` is its flops or its correlation.
    fn slice(&mut self, open: Open, end_ns: i64, a: u64) -> Result<(), Error> {
        let Open {
            start_ns,
            name,
            lane,
            class,
            order,
        } = open;
        if end_ns < start_ns {
            self.notes.leave_out("negative duration");
            return Ok(());
        }
        let text = self.into.str(self.texts[name as usize]);
        let step = text
            .strip_prefix("ProfilerStep#")
            .and_then(|number| number.trim().parse().ok());
        let (what, a) = match (class, step) {
            (Class::Call, _) => (What::Call, a),
            (Class::Operator, _) => (What::Operator, a),
            (_, Some(number)) => {
                let process = self.lanes.get(lane).process;
                self.steps.push(Step {
                    process,
                    start_ns,
                    end_ns,
                    number,
                });
                (What::Iteration, number)
            }
            _ => (What::Function, NO_ID),
        };
        self.push_host(Host {
            lane,
            start_ns,
            end_ns,
            what,
            order,
            name,
            a,
            b: 0,
        })
    }

    fn device_work(
        &mut self,
        event: &Event,
        class: Class,
        start_ns: i64,
        dur_ns: i64,
    ) -> Result<(), Error> {
        let arguments = &event.arguments;
        let text = String::from_utf8_lossy(&event.name);
        // Kineto writes -1, at times as 32 bits without a sign, for no stream.
        let small = |value: i64| u32::try_from(value).unwrap_or(NONE);
        let number = |given: Option<i64>, lane: &[u8]| {
            given.map_or_else(
                || identity(lane).map_or(NONE, |id| u32::try_from(id).unwrap_or(NONE)),
                small,
            )
        };
        let mut link = Link {
            correlation: arguments.correlation.unwrap_or(NO_ID),
            part: Part::Kernel,
            start_ns,
            dur_ns,
            order: self.order,
            name: 0,
            device: number(arguments.device, &event.process),
            stream: number(arguments.stream, &event.thread),
            more: [0; 5],
        };
        match class {
            Class::Copy | Class::Fill => {
                let to = if class == Class::Fill {
                    Some(FILL)
                } else {
                    direction(&text)
                };
                let bytes = arguments.bytes.and_then(|bytes| u64::try_from(bytes).ok());
                let (Some(to), Some(bytes)) = (to, bytes) else {
                    self.notes
                        .leave_out("copy or fill without a known direction or size");
                    return Ok(());
                };
                if dur_ns < 0 {
                    self.notes.leave_out("negative duration");
                    return Ok(());
                }
                link.part = Part::Copy;
                link.more = [bytes, to, memory_kinds(&text), 0, 0];
            }
            Class::Wait => {
                let Some(kind) = wait_kind(&text).filter(|_| dur_ns >= 0) else {
                    self.notes
                        .leave_out("cuda_sync of an unknown kind, or with a negative duration");
                    return Ok(());
                };
                let event_id = arguments.wait_event.and_then(|id| u64::try_from(id).ok());
                self.recorded(event, event_id, &link)?;
                link.part = Part::Wait;
                link.more = [kind, event_id.unwrap_or(NO_ID), 0, 0, 0];
            }
            _ => {
                let (grid, block) = (
                    arguments.grid.unwrap_or([NONE; 3]),
                    arguments.block.unwrap_or([NONE; 3]),
                );
                let registers = arguments
                    .registers
                    .and_then(|count| u32::try_from(count).ok());
                link.more = [
                    pair(grid[0], grid[1]),
                    pair(grid[2], block[0]),
                    pair(block[1], block[2]),
                    arguments
                        .graph_node
                        .filter(|node| *node != 0)
                        .unwrap_or(NO_ID),
                    u64::from(registers.unwrap_or(NONE)),
                ];
                if arguments.shared_memory {
                    self.notes.warn(
                        "shared memory of kernels is left out: static and dynamic stand in one sum",
                    );
                }
                if arguments.queued.is_some_and(|queued| queued != 0) {
                    self.notes
                        .warn("queued of kernels is left out: its clock is not stated");
                }
            }
        }
        link.name = self.name(&event.name);
        self.push_link(link)
    }

    /// A wait for an event names the call that recorded it, which names no event itself.
    fn recorded(&mut self, event: &Event, event_id: Option<u64>, wait: &Link) -> Result<(), Error> {
        let call = event
            .arguments
            .wait_correlation
            .and_then(|id| u64::try_from(id).ok());
        let (Some(correlation), Some(event_id)) = (call, event_id) else {
            return Ok(());
        };
        let stream = event
            .arguments
            .wait_stream
            .and_then(|id| u32::try_from(id).ok());
        // Without a time of its own; equal records come together and are one row.
        self.push_link(Link {
            correlation,
            part: Part::Recorded,
            dur_ns: 0,
            order: 0,
            name: 0,
            stream: stream.unwrap_or(NONE),
            more: [event_id, 0, 0, 0, 0],
            ..*wait
        })
    }

    fn begin(&mut self, event: &Event, class: Class) {
        if let Some(start_ns) = self.start(event) {
            let lane = self.lanes.number(&event.process, &event.thread);
            let name = self.name(&event.name);
            self.slices.begin(
                u64::from(lane),
                Open {
                    start_ns,
                    name,
                    lane,
                    class,
                    order: self.order,
                },
            );
        }
    }

    fn finish(&mut self, event: &Event) -> Result<(), Error> {
        let Some(end_ns) = self.start(event) else {
            return Ok(());
        };
        let lane = self.lanes.number(&event.process, &event.thread);
        let Some(open) = self.slices.end(u64::from(lane)) else {
            self.notes.leave_out("E without its B");
            return Ok(());
        };
        let name = self.into.str(self.texts[open.name as usize]);
        if !event.name.is_empty() && name.as_bytes() != event.name {
            self.notes.warn(
                "some E have another name than the B they end; the innermost open B was taken",
            );
        }
        self.slice(open, end_ns, NO_ID)
    }

    /// Asynchronous work has an id and no thread: it gets a lane of its process and category.
    fn asynchronous(&mut self, event: &Event) -> Result<(), Error> {
        let Some(time_ns) = self.start(event) else {
            return Ok(());
        };
        let mut key = event.category.clone();
        for text in [
            &event.id,
            if event.phase.is_ascii_uppercase() {
                &event.name
            } else {
                &event.id
            },
        ] {
            key.push(0);
            key.extend_from_slice(text);
        }
        let key = xxh3_64(&key);
        if matches!(event.phase, b'b' | b'S') {
            let thread = [b"async ", event.category.as_slice()].concat();
            let lane = self.lanes.number(&event.process, &thread);
            self.lanes.name_thread(&event.process, &thread, &thread);
            let name = self.name(&event.name);
            self.asynchronous.begin(
                key,
                Open {
                    start_ns: time_ns,
                    name,
                    lane,
                    class: Class::Function,
                    order: self.order,
                },
            );
            return Ok(());
        }
        let Some(open) = self.asynchronous.end(key) else {
            self.notes.leave_out("asynchronous end without its begin");
            return Ok(());
        };
        if time_ns < open.start_ns {
            self.notes.leave_out("negative duration");
            return Ok(());
        }
        self.notes.warn(
            "asynchronous intervals have no thread: they stand on lanes of their own, as tasks",
        );
        self.push_host(Host {
            lane: open.lane,
            start_ns: open.start_ns,
            end_ns: time_ns,
            what: What::Task,
            order: open.order,
            name: open.name,
            a: NO_ID,
            b: 0,
        })
    }

    /// A point of a lane.
    fn point(&mut self, event: &Event, what: What, name: u32, a: u64, b: u64) -> Result<(), Error> {
        let Some(time_ns) = self.start(event) else {
            return Ok(());
        };
        let lane = self.lanes.number(&event.process, &event.thread);
        self.push_host(Host {
            lane,
            start_ns: time_ns,
            end_ns: time_ns,
            what,
            order: self.order,
            name,
            a,
            b,
        })
    }

    fn flow(&mut self, event: &Event) -> Result<(), Error> {
        if matches!(
            event.category.as_slice(),
            b"ac2g" | b"async_gpu" | b"async_cpu_to_gpu"
        ) {
            self.notes
                .leave_out("flow from a call to device work: the correlation says it");
            return Ok(());
        }
        let what = match event.phase {
            b's' => What::FlowStart,
            b't' => What::FlowStep,
            _ if event.binds_around => What::FlowEnd,
            _ => What::FlowEndNext,
        };
        let mut key = event.category.clone();
        for text in [&event.name, &event.id] {
            key.push(0);
            key.extend_from_slice(text);
        }
        self.point(event, what, 0, xxh3_64(&key), 0)
    }

    fn counter(&mut self, event: &Event) -> Result<(), Error> {
        let arguments = &event.arguments;
        for _ in 0..arguments.series_left_out {
            self.notes
                .leave_out("counter series that is no number, or one of very many");
        }
        for (series, value) in &arguments.series {
            let mut name = event.name.clone();
            if !event.id.is_empty() {
                name.extend_from_slice(&[b"[", event.id.as_slice(), b"]"].concat());
            }
            if arguments.series.len() > 1 || !matches!(series.as_slice(), b"value" | b"count") {
                name.push(b'.');
                name.extend_from_slice(series);
            }
            let name = self.name(&name);
            self.point(event, What::Counter, name, value.to_bits(), 0)?;
        }
        Ok(())
    }

    fn instant(&mut self, event: &Event) -> Result<(), Error> {
        let arguments = &event.arguments;
        match arguments.bytes {
            Some(bytes) if event.name == b"[memory]" => {
                // Kineto numbers kinds of devices: 0 is the host.
                let device = match (arguments.device_type, arguments.device) {
                    (Some(0), _) | (_, None) => NONE,
                    (_, Some(device)) => u32::try_from(device).unwrap_or(NONE),
                };
                let address = arguments.address.unwrap_or(NO_ID);
                self.point(
                    event,
                    What::Allocation,
                    device,
                    bytes.cast_unsigned(),
                    address,
                )
            }
            _ => {
                self.notes
                    .leave_out("instant: no table has points with a name");
                Ok(())
            }
        }
    }

    fn metadata(&mut self, event: &Event) {
        let name = &event.arguments.name;
        match event.name.as_slice() {
            b"process_name" if !name.is_empty() => self.lanes.name_process(&event.process, name),
            b"thread_name" if !name.is_empty() => {
                self.lanes.name_thread(&event.process, &event.thread, name);
            }
            _ => self
                .notes
                .leave_out("metadata without a column, such as sort indices and labels"),
        }
    }
}

impl Sink for Gather<'_> {
    type Event = Event;

    fn read<R: Read>(event: &mut Event, from: &mut Scanner<R>) -> Scanned<()> {
        event.read(from)
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        let class = self.categories.met(event.phase, &event.category);
        self.order += 1;
        match event.phase {
            b'X' => self.interval(event, class),
            b'B' => {
                self.begin(event, class);
                Ok(())
            }
            b'E' => self.finish(event),
            b's' | b't' | b'f' => self.flow(event),
            b'b' | b'e' | b'S' | b'F' => self.asynchronous(event),
            b'C' => self.counter(event),
            b'i' | b'I' | b'R' => self.instant(event),
            b'M' => {
                self.metadata(event);
                Ok(())
            }
            b'n' | b'T' | b'p' => {
                self.notes
                    .leave_out("asynchronous step: a point inside its interval");
                Ok(())
            }
            0 => {
                self.notes.leave_out(NO_PHASE);
                Ok(())
            }
            phase => {
                self.notes
                    .leave_out(&format!("phase {}: no table for it", phase.escape_ascii()));
                Ok(())
            }
        }
    }

    fn no_event(&mut self) {
        self.notes.leave_out("element that is no object");
    }

    fn fact(&mut self, key: &str, json: Option<&[u8]>) -> Result<(), Failure> {
        if key == "otherData"
            && let Some(mark) = json.and_then(Mark::of)
        {
            return Err(Failure::Own(mark));
        }
        if !self.facts.take(key, json) {
            self.notes.leave_out(&format!(
                "field {key} beside the events: too long, or lists without names"
            ));
        }
        Ok(())
    }

    fn unclosed_array(&mut self) {
        let path = self.path.display();
        self.notes.warn(format!(
            "{path}: its array has no end, as the format allows; was it cut?"
        ));
    }
}
