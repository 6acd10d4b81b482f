//! Rows of a file, line by line.

use std::collections::HashMap;
use trueno_analysis::wording::{agreeing, counted};

use serde_json::json;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{AnnotationRow, SampleRow, ThreadRow};
use trueno_format::stacks::{Frame, Stacks};

use super::frame::{self, FrameLine};
use super::header::{Header, Kind};
use super::{event, host_facts};
use crate::{Error, Import};

/// A clock beyond 31 years counts from 1970: clocks that count from boot do not get so far.
const MIN_REALTIME_NS: i64 = 1_000_000_000_000_000_000;

enum Open {
    Nothing,
    Sample(SampleRow),
    Tracepoint {
        has_stack: bool,
    },
    /// A sample that becomes no row: its functions are skipped.
    IdleTask,
}

struct Thread {
    pid: Option<i64>,
    tid: i64,
    name: Text,
    start_ns: i64,
}

/// A function of the open sample; innermost first.
struct Place {
    printed_address: u64,
    frame: Frame,
    has_source: bool,
    /// It came from the header line, because no call chain was printed.
    is_in_header: bool,
}

pub struct Samples {
    instant: Text,
    unknown: Text,
    origin_ns: Option<i64>,
    ends_ns: Option<(i64, i64)>,
    idle_samples: u64,
    numbers: HashMap<(Option<i64>, i64), u32>,
    threads: Vec<Thread>,
    stacks: Stacks,
    open: Open,
    places: Vec<Place>,
}

impl Samples {
    pub fn new(into: &mut RunWriter) -> Self {
        Self {
            instant: into.text("instant"),
            unknown: into.text("unknown"),
            origin_ns: None,
            ends_ns: None,
            idle_samples: 0,
            numbers: HashMap::new(),
            threads: Vec::new(),
            stacks: Stacks::default(),
            open: Open::Nothing,
            places: Vec::new(),
        }
    }

    pub fn line(&mut self, line: &str, import: &mut Import<'_>) -> Result<(), Error> {
        let line = line.trim_end();
        if let Some(header) = Header::parse(line) {
            self.close(import)?;
            return self.begin(&header, import);
        }
        if line.is_empty() {
            return self.close(import);
        }
        if line.starts_with('#') {
            host_facts::read(line, &mut import.into.run().host);
        } else if let Some(frame) = frame::parse(line) {
            self.function(&frame, false, import);
        } else if !self.source(line, import.into) {
            import.notes.leave_out("line outside of a sample");
        }
        Ok(())
    }

    fn begin(&mut self, header: &Header<'_>, import: &mut Import<'_>) -> Result<(), Error> {
        let kind = header.kind();
        import.notes.read(match kind {
            Kind::Sample => "sample",
            Kind::Tracepoint => "tracepoint",
            Kind::Bookkeeping => "record of perf",
        });
        if kind == Kind::Bookkeeping {
            import.notes.skip("record of perf that is not a sample");
            return Ok(());
        }
        let time_ns = header
            .time_ns
            .saturating_sub(*self.origin_ns.get_or_insert(header.time_ns));
        let (first_ns, last_ns) = self.ends_ns.unwrap_or((time_ns, time_ns));
        self.ends_ns = Some((first_ns.min(time_ns), last_ns.max(time_ns)));
        if kind == Kind::Sample && header.is_idle_task() {
            self.idle_samples += 1;
            self.open = Open::IdleTask;
            return Ok(());
        }
        let thread = self.thread(header, time_ns, import.into);
        let name = header
            .event
            .map(|printed| import.text(event::name(printed)));
        if kind == Kind::Tracepoint {
            self.open = Open::Tracepoint { has_stack: false };
            let arguments = Some(header.text).filter(|text| !text.is_empty());
            let row = AnnotationRow {
                kind: self.instant,
                name: name.unwrap_or(self.unknown),
                thread: Some(thread),
                time_ns,
                arguments: arguments.map(|text| import.text(&json!({ "text": text }).to_string())),
                ..AnnotationRow::default()
            };
            return import.add(&row);
        }
        if name.is_none() {
            import
                .notes
                .warn("samples do not name their event: print it with `perf script -F +event`");
        }
        self.open = Open::Sample(SampleRow {
            time_ns,
            thread,
            stack: None,
            event: name.unwrap_or(self.unknown),
            period: header.period,
            cpu: header.cpu,
        });
        match frame::parse(header.text) {
            Some(frame) => self.function(&frame, true, import),
            None if header.text.is_empty() => (),
            None => import.notes.skip("text of a sample that is not a function"),
        }
        Ok(())
    }

    fn thread(&mut self, header: &Header<'_>, time_ns: i64, into: &mut RunWriter) -> u32 {
        let name = into.text(header.comm);
        let key = (header.pid, header.tid);
        let number = *self.numbers.entry(key).or_insert(self.threads.len() as u32);
        match self.threads.get_mut(number as usize) {
            Some(thread) => {
                thread.name = name;
                thread.start_ns = thread.start_ns.min(time_ns);
            }
            None => self.threads.push(Thread {
                pid: header.pid,
                tid: header.tid,
                name,
                start_ns: time_ns,
            }),
        }
        number
    }

    fn function(&mut self, line: &FrameLine<'_>, is_in_header: bool, import: &mut Import<'_>) {
        match &mut self.open {
            Open::Nothing => import.notes.leave_out("function outside of a sample"),
            Open::Tracepoint { has_stack: true } | Open::IdleTask => (),
            Open::Tracepoint { has_stack } => {
                *has_stack = true;
                import.notes.skip("stack of a tracepoint");
            }
            Open::Sample(_) => {
                let frame = Frame {
                    function: line.function.map(|name| import.text(name)),
                    module: line.module.map(|module| import.text(module)),
                    // With it, each instruction of a function would be a row of its own.
                    address: line.function.is_none().then_some(line.address),
                    inlined: line.is_inlined.then_some(true),
                    ..Frame::default()
                };
                // A number behind the event of a sample with a call chain is of another column.
                if self.places.last().is_some_and(|place| place.is_in_header) {
                    self.places.clear();
                }
                self.places.push(Place {
                    printed_address: line.printed_address,
                    frame,
                    has_source: false,
                    is_in_header,
                });
            }
        }
    }

    /// Parses the source line of the function above it; false if the line is not one.
    fn source(&mut self, line: &str, into: &mut RunWriter) -> bool {
        if matches!(
            self.open,
            Open::Tracepoint { has_stack: true } | Open::IdleTask
        ) {
            return frame::parse_source(line).is_some();
        }
        let Some(place) = self.places.last_mut().filter(|place| !place.has_source) else {
            return false;
        };
        let Some(source) = frame::parse_source(line) else {
            return false;
        };
        place.has_source = true;
        place.frame.file = source.file.map(|file| into.text(file));
        place.frame.line = source.line;
        if source.is_inlined {
            place.frame.inlined = Some(true);
        }
        true
    }

    fn close(&mut self, import: &mut Import<'_>) -> Result<(), Error> {
        let open = std::mem::replace(&mut self.open, Open::Nothing);
        let Open::Sample(mut row) = open else {
            return Ok(());
        };
        let mut caller: Option<(u64, Option<Text>)> = None;
        for mut place in self.places.drain(..).rev() {
            if place.frame.inlined == Some(true) {
                match caller {
                    Some((address, module)) if address == place.printed_address => {
                        place.frame.module = module
                    }
                    // perf marks a function also where its symbol has another name than its source: the outermost
                    // at an address was called.
                    _ => place.frame.inlined = None,
                }
            }
            caller = Some((place.printed_address, place.frame.module));
            row.stack = Some(self.stacks.row(import.into, row.stack, place.frame)?);
        }
        import.add(&row)
    }

    fn note_idle_samples(&self, import: &mut Import<'_>) {
        if self.idle_samples == 0 {
            return;
        }
        let samples = counted(self.idle_samples, "sample", "samples");
        let are = agreeing(self.idle_samples, "is", "are");
        let notes = &mut *import.notes;
        notes.skip_many("sample of the idle task", self.idle_samples);
        if notes.kept.contains_key("samples") {
            notes.warn(format!(
                "{samples} of the idle task (swapper) {are} left out: no thread ran"
            ));
        } else {
            import.problem(format!(
                "no thread was seen running: {samples} {are} of the idle task (swapper), none of a thread"
            ));
        }
    }

    pub fn finish(mut self, import: &mut Import<'_>) -> Result<Option<i64>, Error> {
        self.close(import)?;
        let (Some(origin_ns), Some((first_ns, last_ns))) = (self.origin_ns, self.ends_ns) else {
            return Err(import.refused(
                "expected samples of perf with thread and time, found none; write them with \
                          `perf script -i perf.data > FILE`",
            ));
        };
        self.note_idle_samples(import);
        let clock = &mut import.into.run().clock;
        clock.source = "perf".to_owned();
        if origin_ns >= MIN_REALTIME_NS {
            clock.origin_realtime_ns = origin_ns;
        }
        import.count_stacks();
        let known = |id: i64| u64::try_from(id).ok();
        for (thread, number) in self.threads.iter().zip(0..) {
            let row = ThreadRow {
                thread: number,
                name: Some(thread.name).filter(|name| *name != Text::default()),
                os_id: known(thread.tid),
                start_ns: Some(thread.start_ns),
                process: thread.pid.and_then(known),
                ..ThreadRow::default()
            };
            import.add(&row)?;
        }
        if first_ns < 0 {
            import
                .notes
                .warn("the first line is not the earliest: earlier samples have negative times");
        }
        Ok(Some(last_ns.saturating_sub(first_ns)))
    }
}
