//! The loop that follows a program from its start, or from when it was attached to, to the end of all that it began, or
//! of the recording.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use libc::{c_int, pid_t};
use trueno_format::run_writer::RunWriter;
use trueno_processes::{Selection, is_over};

use crate::attach::{Attached, attach_to, is_ours};
use crate::filter::Special;
use crate::poll::{Inside, Poll};
use crate::ptrace::{self, Call, Event, Resume, Waited};
use crate::rows::{Counts, Rows, Thread};
use crate::start::start;
use crate::ticks::Ticks;
use crate::{Calls, Error, descriptors};

#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub calls: &'a Calls,
    pub processes: &'a Selection,
    /// Returns true once the recording should end before the program, which then continues untraced.
    pub end: Option<&'a dyn Fn() -> bool>,
}

/// The program, after all of it or its recording has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Traced {
    /// Exit status of the program itself. `None` if it is still running, or was attached to and is not a child.
    pub status: Option<ExitStatus>,
    pub goes_on: bool,
    pub counts: Counts,
    /// Why recording stopped while the program continued.
    pub failure: Option<Error>,
    pub left_out: u64,
}

/// Is called with the program's process id when it exists, and with 0 when it has ended.
pub type Watch<'a> = &'a mut dyn FnMut(pid_t);

/// Runs a program with its arguments and writes its system calls to a run. Ends when the program and all its
/// descendants have ended, or with the recording.
///
/// # Errors
/// The program did not start: the run is then empty. Later failures are in [`Traced::failure`], and the program
/// continues.
pub fn trace(
    command: &[OsString],
    part: Part<'_>,
    run: impl FnOnce(pid_t) -> Result<RunWriter, Error>,
    watch: Watch<'_>,
) -> Result<Traced, Error> {
    // Behind a filter nothing goes on without a tracer.
    let is_held = part.end.is_none() && *part.processes == Selection::All;
    let numbers = part.calls.numbers().filter(|_| is_held);
    let mut started = start(command, numbers.as_deref())?;
    let process = started.process;
    watch(process);
    let run = match run(process) {
        Ok(run) => run,
        Err(error) => {
            // SAFETY: takes numbers.
            unsafe { libc::kill(process, libc::SIGKILL) };
            let _ = ptrace::wait_for_end(process);
            return Err(error);
        }
    };
    let mut trace = Trace::new(process, part, run, numbers.is_some());
    trace.traced.insert(process);
    trace.follow(watch);
    if !trace.rows.has_begun()
        && trace.status.is_some()
        && let Some(error) = (started.why)()
    {
        return Err(error);
    }
    Ok(trace.finish())
}

/// Writes the system calls of a running process, its threads, its children and all their descendants to a run, from
/// now on. Calls `begun` once tracing has started. Ends when all of them have ended, or with the recording. The
/// process may be a child.
///
/// # Errors
/// The process cannot be traced; it continues as before.
pub fn attach(
    process: pid_t,
    part: Part<'_>,
    run: impl FnOnce() -> Result<RunWriter, Error>,
    begun: impl FnOnce(),
    watch: Watch<'_>,
) -> Result<Traced, Error> {
    let mut trace = Trace::new(process, part, run()?, false);
    let Attached {
        stops,
        threads,
        left_out,
    } = attach_to(process, part.processes)?;
    let begun_ns = now_ns();
    trace.left_out = left_out;
    trace.begin_attached(begun_ns, &threads);
    for (thread, event) in stops {
        trace.last_ns = now_ns();
        trace.event(thread, event);
    }
    begun();
    trace.follow(watch);
    Ok(trace.finish())
}

#[derive(Clone, Copy)]
struct Born {
    by: u64,
    clears: Option<u64>,
    memory: Option<pid_t>,
}

impl Born {
    fn tell(self, thread: &mut Thread) {
        thread.begun_by = Some(self.by);
        // It may have said otherwise since.
        thread.clears = thread.clears.or(self.clears);
        thread.memory = self.memory.unwrap_or(thread.memory);
    }
}

struct Trace<'a> {
    root: pid_t,
    part: Part<'a>,
    /// Numbers of the recorded calls; `None`: all are.
    numbers: Option<HashSet<u64>>,
    /// True if all calls stop the program because there is no filter.
    stops_at_all: bool,
    traced: HashSet<pid_t>,
    /// Started by traced threads and not seen yet.
    expected: HashSet<pid_t>,
    /// The recording is over: every thread that stops is released.
    is_ending: bool,
    threads: HashMap<pid_t, Thread>,
    /// Calls that started threads which are not seen yet.
    children: HashMap<pid_t, Born>,
    /// For a selection by name only: whether each process is recorded.
    named: HashMap<pid_t, bool>,
    unrecorded: HashSet<pid_t>,
    rows: Rows,
    status: Option<ExitStatus>,
    failure: Option<Error>,
    last_ns: i64,
    left_out: u64,
    poll: Poll,
    resumed: Inside,
}

impl<'a> Trace<'a> {
    fn new(root: pid_t, part: Part<'a>, run: RunWriter, has_filter: bool) -> Self {
        let listed = part.calls.numbers();
        let sees_all_calls = listed.is_none();
        Self {
            root,
            part,
            numbers: listed.map(|listed| listed.into_iter().map(u64::from).collect()),
            stops_at_all: !has_filter,
            traced: HashSet::new(),
            expected: HashSet::new(),
            is_ending: false,
            threads: HashMap::new(),
            children: HashMap::new(),
            named: HashMap::new(),
            unrecorded: HashSet::new(),
            rows: Rows::new(run, sees_all_calls, *part.processes == Selection::All),
            status: None,
            failure: None,
            last_ns: 0,
            left_out: 0,
            poll: Poll::default(),
            resumed: Inside::Program,
        }
    }

    fn begin_attached(&mut self, at_ns: i64, threads: &[(pid_t, pid_t)]) {
        let processes: HashSet<pid_t> = threads.iter().map(|(_, process)| *process).collect();
        let objects = processes.iter().filter_map(|of| descriptors::objects(*of));
        self.rows
            .begin(objects.flatten().collect(), at_ns, now_ns());
        for (thread, process) in threads {
            self.traced.insert(*thread);
            if self.takes(*thread, *process) {
                let known = self.rows.thread(*thread, at_ns);
                self.threads.insert(*thread, known);
            }
        }
    }

    fn follow(&mut self, watch: Watch<'_>) {
        let end = self.part.end;
        let has_cuts = self.rows.takes_cuts();
        let _ticks = (end.is_some() || has_cuts).then(Ticks::start);
        loop {
            // The end counts from the beginning of the recording.
            let asks = !self.is_ending && self.rows.has_begun();
            if asks && (is_over(end) || self.must_let_go()) {
                self.let_go();
            }
            if self.is_ending && self.traced.is_empty() {
                break;
            }
            if asks && self.rows.is_cut_due() {
                self.last_ns = now_ns();
                self.rows.cut(self.threads.values(), self.last_ns);
            }
            let rows = &self.rows;
            let is_due = || asks && (is_over(end) || rows.is_cut_due());
            match self.poll.wait(self.resumed, &is_due) {
                Ok(Waited::Event(thread, event)) => {
                    self.last_ns = now_ns();
                    self.event(thread, event);
                }
                Ok(Waited::Over) => {}
                Ok(Waited::NoneLeft) => break,
                // What was recorded stays.
                Err(error) => {
                    self.note(Err(Error::Trace(error)));
                    break;
                }
            }
            if self.status.is_some() {
                watch(0);
            }
        }
    }

    /// True if nothing is recorded any more and nothing prevents detaching.
    fn must_let_go(&self) -> bool {
        self.failure.is_some() && self.stops_at_all
    }

    fn let_go(&mut self) {
        self.is_ending = true;
        self.last_ns = now_ns();
        let mut left: Vec<Thread> = self.threads.drain().map(|(_, thread)| thread).collect();
        left.sort_by_key(|thread| thread.number);
        for thread in left {
            let done = self.rows.thread_is_left(thread, self.last_ns);
            self.note(done);
        }
        let expected = self.expected.drain().filter(|thread| is_ours(*thread));
        self.traced.extend(expected);
        self.traced
            .iter()
            .for_each(|thread| ptrace::interrupt(*thread));
        self.rows.program_goes_on();
    }

    fn release(&mut self, thread: pid_t, event: Event) {
        let signal = match event {
            Event::Signal(signal) => signal,
            Event::Began => {
                // It is traced as its parent is, and stands soon.
                let child = ptrace::event_message(thread).unwrap_or(0) as pid_t;
                if is_ours(child) {
                    self.traced.insert(child);
                }
                0
            }
            Event::Exec => {
                let former = ptrace::event_message(thread).unwrap_or(0) as pid_t;
                self.traced.remove(&former);
                0
            }
            _ => 0,
        };
        ptrace::detach(thread, signal);
        self.traced.remove(&thread);
    }

    fn finish(self) -> Traced {
        let Trace {
            rows,
            status,
            mut failure,
            last_ns,
            is_ending,
            left_out,
            ..
        } = self;
        let mut counts = rows.counts.clone();
        if failure.is_none() {
            match rows.finish(last_ns) {
                Ok(all) => counts = all,
                Err(error) => failure = Some(error),
            }
        }
        Traced {
            status,
            goes_on: is_ending,
            counts,
            failure,
            left_out,
        }
    }

    fn takes(&mut self, thread: pid_t, process: pid_t) -> bool {
        match self.part.processes {
            Selection::All => true,
            Selection::First => process == self.root,
            Selection::Named(_) => {
                let (processes, is_first) = (self.part.processes, process == self.root);
                let takes = *self
                    .named
                    .entry(process)
                    .or_insert_with(|| processes.takes_process(is_first, process));
                if !takes {
                    self.unrecorded.insert(thread);
                }
                takes
            }
        }
    }

    fn event(&mut self, thread: pid_t, event: Event) {
        let (mut how, mut signal) = (Resume::Run, 0);
        match event {
            Event::Exited(code) => return self.ended(thread, code << 8),
            Event::Killed(by) => return self.ended(thread, by),
            _ if self.is_ending => return self.release(thread, event),
            Event::JobStop(_) => how = Resume::Listen,
            Event::Signal(number) => {
                self.rows.counts.signals += u64::from(self.rows.has_begun());
                signal = number;
                let told = ptrace::signal(thread);
                if let (Some(told), Some(thread)) = (told, self.threads.get(&thread)) {
                    self.rows.signal(thread, &told);
                }
            }
            Event::Attached => {
                self.expected.remove(&thread);
                if self.traced.insert(thread) && !self.meets(thread) {
                    return;
                }
            }
            Event::Began => self.began(thread),
            Event::Exec => self.exec(thread),
            Event::Ending => {
                if let Some(ending) = self.threads.remove(&thread) {
                    let done = self.rows.thread_ends(ending);
                    self.note(done);
                }
            }
            Event::Call | Event::Filtered => {}
        }
        let at_call = matches!(event, Event::Call | Event::Filtered);
        if at_call && self.failure.is_none() {
            self.call(thread);
        }
        if how == Resume::Run {
            how = self.usual(thread);
        }
        // Behind a call that the filter has shown, its end is to be seen too; an exec stands inside its call.
        let state = self.threads.get_mut(&thread);
        self.resumed = Inside::Program;
        if let Some(call) = state.and_then(|thread| thread.call.as_mut()) {
            self.resumed = Inside::Call;
            if how == Resume::Run {
                how = Resume::UntilCall;
            }
            if at_call {
                call.start_ns = now_ns();
            }
        }
        let done = ptrace::resume(thread, how, signal);
        self.note(done.map_err(Error::Trace));
    }

    /// A thread is seen for the first time. False if it is not recorded and was released.
    fn meets(&mut self, thread: pid_t) -> bool {
        if *self.part.processes == Selection::All {
            return true;
        }
        let process = trueno_processes::Status::of(thread).map_or(thread, |status| status.process);
        let takes = self.takes(thread, process);
        // By name it may be one later.
        let stays = takes || matches!(self.part.processes, Selection::Named(_));
        if !stays {
            self.release(thread, Event::Attached);
        }
        stays
    }

    fn usual(&self, thread: pid_t) -> Resume {
        if self.stops_at_all && self.failure.is_none() && !self.unrecorded.contains(&thread) {
            Resume::UntilCall
        } else {
            Resume::Run
        }
    }

    fn call(&mut self, id: pid_t) {
        let Some(call) = ptrace::call(id) else { return };
        if let Call::Entry {
            number,
            is_native: true,
            arguments,
        } = &call
        {
            match Special::of(*number, arguments) {
                Some(Special::Untraced) => {
                    let flags = arguments[0] & !(libc::CLONE_UNTRACED as u64);
                    let done = ptrace::set_first_argument(id, flags);
                    self.note(done.map_err(Error::Trace));
                }
                Some(Special::StrictSeccomp) if !self.stops_at_all => {
                    self.rows.counts.refused_strict += 1;
                }
                _ => {}
            }
        }
        if let (
            Call::Entry {
                number,
                is_native: true,
                ..
            },
            Some(listed),
        ) = (&call, &self.numbers)
            && !listed.contains(number)
        {
            return;
        }
        let now_ns = self.last_ns;
        let (rows, children) = (&mut self.rows, &mut self.children);
        let thread = self.threads.entry(id).or_insert_with(|| {
            let mut thread = rows.thread(id, now_ns);
            if let Some(born) = children.remove(&id) {
                born.tell(&mut thread);
            }
            thread
        });
        let done = match call {
            Call::Entry {
                is_native: false, ..
            } => {
                rows.counts.foreign += 1;
                Ok(())
            }
            Call::Entry {
                number, arguments, ..
            } => {
                rows.call_begins(thread, number, &arguments);
                Ok(())
            }
            // What the child did before it became the program is not the program's.
            Call::Exit { .. } if !rows.has_begun() => {
                thread.call = None;
                Ok(())
            }
            Call::Exit { result, is_error } => rows.call_ends(thread, (result, is_error), now_ns),
        };
        self.note(done);
    }

    fn began(&mut self, thread: pid_t) {
        if let Ok(child) = ptrace::event_message(thread)
            && !self.traced.contains(&(child as pid_t))
        {
            self.expected.insert(child as pid_t);
        }
        let parent = self.threads.get(&thread);
        let call = parent.and_then(|parent| Some((parent.memory, parent.call.as_ref()?)));
        let (Some((memory, call)), Ok(child)) = (call, ptrace::event_message(thread)) else {
            return;
        };
        let born = Born {
            by: call.id,
            clears: call.begins.and_then(|begins| begins.clears),
            memory: call
                .begins
                .filter(|begins| begins.shares_memory)
                .map(|_| memory),
        };
        match self.threads.get_mut(&(child as pid_t)) {
            Some(seen) => born.tell(seen),
            None => {
                self.children.insert(child as pid_t, born);
            }
        }
    }

    /// A process has run an exec: only this thread remains, with the number of the process.
    fn exec(&mut self, process: pid_t) {
        let former = ptrace::event_message(process).unwrap_or(0) as pid_t;
        if former != process && former > 0 {
            self.traced.remove(&former);
            self.unrecorded.remove(&former);
            if let Some(gone) = self.threads.remove(&process) {
                let done = self.rows.thread_ends(gone);
                self.note(done);
                self.rows.thread_is_gone(process);
            }
            if let Some(mut caller) = self.threads.remove(&former) {
                caller.id = process;
                self.threads.insert(process, caller);
            }
        }
        if let Some(caller) = self.threads.get_mut(&process) {
            // The memory is new, and so are the words in it.
            caller.memory = process;
            caller.clears = None;
        }
        let is_first = process == self.root && !self.rows.has_begun();
        if is_first {
            let call = self
                .threads
                .get(&process)
                .and_then(|thread| thread.call.as_ref());
            let at_ns = call.map_or(self.last_ns, |call| call.start_ns);
            let inherited = descriptors::objects(process).unwrap_or_default();
            self.rows.begin(inherited, at_ns, now_ns());
        }
        if let Selection::Named(_) = self.part.processes {
            self.named.remove(&process);
            self.unrecorded.remove(&process);
            if !self.takes(process, process) {
                self.leave(process, is_first);
            }
        }
    }

    fn leave(&mut self, process: pid_t, has_no_row: bool) {
        let Some(mut left) = self.threads.remove(&process) else {
            return;
        };
        // What it was in is its exec.
        left.call = None;
        if has_no_row {
            self.rows.forget(&left);
        } else {
            let done = self.rows.thread_is_left(left, self.last_ns);
            self.note(done);
        }
    }

    fn ended(&mut self, thread: pid_t, status: c_int) {
        self.traced.remove(&thread);
        self.expected.remove(&thread);
        self.unrecorded.remove(&thread);
        self.named.remove(&thread);
        if let Some(gone) = self.threads.remove(&thread) {
            let done = self.rows.thread_ends(gone);
            self.note(done);
        }
        self.rows.thread_is_gone(thread);
        self.children.remove(&thread);
        if thread == self.root {
            self.status = Some(ExitStatus::from_raw(status));
        }
    }

    /// Keeps the first failure. From then on the program runs unrecorded.
    fn note(&mut self, done: Result<(), Error>) {
        if let Err(error) = done
            && self.failure.is_none()
        {
            self.failure = Some(error);
            for thread in self.threads.values_mut() {
                thread.call = None;
            }
        }
    }
}

fn now_ns() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call, which cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
