//! Lines in their order to rows.

use trueno_format::run_writer::RunWriter;
use trueno_format::stacks::{Frame, Stacks};

use super::arguments;
use super::call_kind;
use super::frame::{FrameText, is_stack_line};
use super::instants::Arguments;
use super::line::{self, Beginning, Body, End, Event};
use super::outcome::Outcome;
use super::stamp::Timeline;
use super::system_calls::{SystemCall, SystemCalls};
use super::threads::{OpenCall, Threads};
use crate::{Error, Import};

const NO_TIMES: &str = "the file has no times: its calls keep their order, and those with a duration are placed end to end in \
                        each thread; record with `strace -f -ttt -T`";
const MESSAGE: &str = "message of strace itself";
const NOT_ENDED: &str = "unfinished call";

#[derive(Default)]
pub struct Reader {
    timeline: Timeline,
    /// Earliest time; 0 if the file is in order.
    first_ns: i64,
    last_ns: i64,
    threads: Threads,
    calls: SystemCalls,
    stacks: Stacks,
    /// The beginning of a line that is interrupted by a message of strace.
    cut: String,
    /// The last record, whose stack may follow.
    pending: Option<Pending>,
}

struct Pending {
    thread: u32,
    start_ns: i64,
    record: Record,
    frames: Vec<Frame>,
}

enum Record {
    Call {
        name: String,
        arguments: String,
        dur_ns: Option<i64>,
        outcome: Outcome<'static>,
    },
    Event {
        name: String,
        arguments: Arguments<'static>,
        signal: Option<String>,
    },
}

impl Reader {
    pub fn line(&mut self, text: &str, import: &mut Import<'_>) -> Result<(), Error> {
        if is_stack_line(text) {
            import.notes.read("stack frame");
            match (FrameText::parse(text), &mut self.pending) {
                (Some(frame), Some(pending)) => pending.frames.push(frame.intern(import.into)),
                (None, Some(_)) => import.notes.skip("stack frame without a location"),
                (_, None) => import.notes.skip("stack frame without a call"),
            }
            return Ok(());
        }
        self.flush(import)?;
        if let Some((before, thread)) = attached(text) {
            self.threads.attach(thread);
            self.cut.push_str(before);
            import.notes.skip(MESSAGE);
            return Ok(());
        }
        let joined = if self.cut.is_empty() {
            None
        } else {
            Some(std::mem::take(&mut self.cut) + text)
        };
        let text = joined.as_deref().unwrap_or(text);
        let Some(line) = line::parse(text) else {
            if text.starts_with("strace: ") {
                import.notes.skip(MESSAGE);
            } else if !text.trim().is_empty() {
                import.notes.leave_out("line that is not a call");
            }
            return Ok(());
        };
        import.notes.read(line.kind());
        let time_ns = self.timeline.time_ns(line.stamp, line.since_last_ns);
        let thread = self
            .threads
            .number(line.thread_id, line.thread_name, time_ns);
        match line.body {
            Body::Call(beginning, end) => {
                let open = open(&beginning, time_ns, import.into);
                self.ended(thread, open, "", end);
            }
            Body::Unfinished(beginning) => {
                let open = open(&beginning, time_ns, import.into);
                if self.threads.get(thread).open.replace(open).is_some() {
                    import.notes.leave_out(NOT_ENDED);
                }
            }
            Body::Resumed(name, arguments, end) => match self.threads.get(thread).open.take() {
                Some(open) if name.is_empty() || open.name == name => {
                    self.ended(thread, open, arguments, end);
                }
                open => {
                    if open.is_some() {
                        import.notes.leave_out(NOT_ENDED);
                    }
                    import
                        .notes
                        .leave_out("end of a call without its beginning");
                }
            },
            Body::Event(event) => self.event(thread, time_ns, event),
        }
        Ok(())
    }

    /// Keeps a call that has ended until its stack was read.
    fn ended(&mut self, thread: u32, open: OpenCall, more_arguments: &str, end: End<'_>) {
        let errno = end.outcome.errno.map(|name| name.into_owned().into());
        let mut arguments = open.arguments;
        arguments.push_str(more_arguments);
        self.pending = Some(Pending {
            thread,
            start_ns: open.start_ns,
            record: Record::Call {
                name: open.name,
                arguments,
                dur_ns: end.dur_ns,
                outcome: Outcome {
                    status: end.outcome.status,
                    errno,
                },
            },
            frames: open.source.into_iter().collect(),
        });
    }

    fn event(&mut self, thread: u32, time_ns: i64, event: Event<'_>) {
        let arguments = Arguments {
            kind: if event.is_exit { "exit" } else { "signal" },
            code: event.code,
            args: event.arguments.map(|text| text.to_owned().into()),
            ..Arguments::default()
        };
        if event.is_exit {
            self.threads.end(thread);
        }
        self.pending = Some(Pending {
            thread,
            start_ns: time_ns,
            record: Record::Event {
                name: event.name.to_owned(),
                arguments,
                signal: event.signal.map(str::to_owned),
            },
            frames: Vec::new(),
        });
    }

    fn flush(&mut self, import: &mut Import<'_>) -> Result<(), Error> {
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        let Pending {
            thread,
            mut start_ns,
            record,
            frames,
        } = pending;
        let outermost_first = frames.into_iter().rev();
        let stack = self.stacks.innermost(import.into, outermost_first)?;
        if !self.timeline.is_timed() {
            start_ns = self.threads.get(thread).reached_ns;
        }
        self.first_ns = self.first_ns.min(start_ns);
        self.last_ns = self.last_ns.max(start_ns);
        let (name, text, dur_ns, outcome) = match record {
            Record::Call {
                name,
                arguments,
                dur_ns,
                outcome,
            } => (name, arguments, dur_ns, outcome),
            Record::Event {
                name,
                arguments,
                signal,
            } => {
                let arguments = Arguments {
                    signal: signal.as_deref(),
                    stack,
                    ..arguments
                };
                let place = (Some(thread), start_ns);
                let instants = &mut self.calls.instants;
                return instants.add(place, &name, arguments, import);
            }
        };
        let end_ns = start_ns.saturating_add(dur_ns.unwrap_or(0));
        self.threads.get(thread).reached_ns = end_ns;
        self.last_ns = self.last_ns.max(end_ns);
        let arguments = arguments::split(&text);
        let child = outcome.status.and_then(|status| u64::try_from(status).ok());
        let child = child.filter(|child| *child > 0);
        let joined = child.filter(|_| dur_ns.is_some() && call_kind::joins(&name));
        let call = SystemCall {
            name: &name,
            arguments: &arguments,
            text: text.trim(),
            thread,
            start_ns,
            dur_ns,
            outcome,
            stack,
            source: None,
            joined: joined.and_then(|child| self.threads.join(child)),
        };
        let row = self.calls.add(&call, import)?;
        if let Some(row) = row
            && let Some(edge) = self.threads.wrote(thread, row)
        {
            self.calls.spawn(edge, import)?;
        }
        if let Some(child) = child.filter(|_| call_kind::spawns(&name)) {
            let is_same_process = call_kind::begins_thread(&arguments);
            let edge = self.threads.spawn(thread, child, is_same_process, row);
            if let Some(edge) = edge {
                self.calls.spawn(edge, import)?;
            }
        }
        Ok(())
    }

    /// Ends the run. Returns its length, if the file has times.
    pub fn finish(mut self, import: &mut Import<'_>) -> Result<Option<i64>, Error> {
        self.flush(import)?;
        for _ in self
            .threads
            .iter_mut()
            .filter_map(|thread| thread.open.take())
        {
            import.notes.leave_out(NOT_ENDED);
        }
        self.threads.write(import)?;
        import.count_stacks();
        if self.calls.untimed > 0 {
            import.notes.warn(format!(
                "{} calls have no duration and became instants: how long they took is not known; record with \
                 `strace -f -ttt -T`",
                self.calls.untimed
            ));
        }
        if self.first_ns < 0 {
            import
                .notes
                .warn("the first line is not the earliest: earlier calls have negative times");
        }
        if self.timeline.is_coarse() {
            import.notes.warn(
                "times are whole seconds: calls of one second begin together; record with `-ttt`",
            );
        }
        if !self.timeline.is_timed() {
            import.into.run().clock.source = "none".to_owned();
            import.notes.warn(NO_TIMES);
            return Ok(None);
        }
        import.into.run().clock.source = "strace".to_owned();
        import.into.run().clock.origin_realtime_ns = self.timeline.origin_realtime_ns();
        Ok(Some(self.last_ns))
    }
}

/// Parses `strace: Process 7 attached`; the beginning of a call may precede it.
fn attached(text: &str) -> Option<(&str, u64)> {
    let (before, message) = text.rsplit_once("strace: Process ")?;
    let number = message.trim_end().strip_suffix(" attached")?;
    Some((before, number.parse().ok()?))
}

fn open(beginning: &Beginning<'_>, start_ns: i64, into: &mut RunWriter) -> OpenCall {
    OpenCall {
        name: beginning.name.to_owned(),
        arguments: beginning.arguments.to_owned(),
        start_ns,
        source: beginning.source.map(|source| source.intern(into)),
    }
}
