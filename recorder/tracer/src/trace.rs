//! The loop that follows a program from its start to the end of all that it began.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use libc::{c_int, pid_t};
use trueno_format::run_writer::RunWriter;

use crate::ptrace::{self, Call, Event, Resume};
use crate::rows::{Counts, Rows, Thread};
use crate::start::start;
use crate::{Calls, Error};

/// Traced program, when all of it has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Traced {
    /// End of the program itself.
    pub status: ExitStatus,
    /// Rows of the run.
    pub counts: Counts,
    /// Reason why nothing is recorded from some time on, while the program went on.
    pub failure: Option<Error>,
}

/// Is told the number of the program once it is there, and 0 when it has ended.
pub type Watch<'a> = &'a mut dyn FnMut(pid_t);

/// Runs a program with its arguments and writes its system calls to a run. Ends when the program and all processes that
/// it began have ended.
///
/// # Errors
/// The program did not begin: nothing is in the run then. What fails later is in [`Traced::failure`]: the program goes
/// on.
pub fn trace(
    command: &[OsString],
    calls: &Calls,
    run: impl FnOnce(pid_t) -> Result<RunWriter, Error>,
    watch: Watch<'_>,
) -> Result<Traced, Error> {
    let numbers = calls.numbers();
    let mut started = start(command, numbers.as_deref())?;
    watch(started.process);
    let run = match run(started.process) {
        Ok(run) => run,
        Err(error) => {
            // SAFETY: takes numbers.
            unsafe { libc::kill(started.process, libc::SIGKILL) };
            let _ = ptrace::wait_for_end(started.process);
            return Err(error);
        }
    };
    let mut trace = Trace {
        root: started.process,
        sees_all_calls: numbers.is_none(),
        threads: HashMap::new(),
        children: HashMap::new(),
        rows: Rows::new(run, numbers.is_none()),
        status: None,
        failure: None,
        last_ns: 0,
    };
    loop {
        match ptrace::wait() {
            Ok(Some((thread, event))) => {
                trace.last_ns = now_ns();
                trace.event(thread, event);
            }
            Ok(None) => break,
            // What was recorded stays.
            Err(error) => {
                trace.note(Err(Error::Trace(error)));
                break;
            }
        }
        if trace.status.is_some() {
            watch(0);
        }
    }
    if !trace.rows.has_begun()
        && let Some(error) = (started.why)()
    {
        return Err(error);
    }
    let Trace {
        rows,
        status,
        mut failure,
        last_ns,
        ..
    } = trace;
    let counts = rows.counts.clone();
    if failure.is_none() {
        failure = rows.finish(last_ns).err();
    }
    Ok(Traced {
        status: status.unwrap_or(ExitStatus::from_raw(libc::SIGKILL)),
        counts,
        failure,
    })
}

/// Facts of a thread from the call that began it.
#[derive(Clone, Copy)]
struct Born {
    by: u64,
    clears: Option<u64>,
    /// Memory that it shares with another process.
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

struct Trace {
    root: pid_t,
    sees_all_calls: bool,
    threads: HashMap<pid_t, Thread>,
    /// Calls that began threads which are not seen yet.
    children: HashMap<pid_t, Born>,
    rows: Rows,
    status: Option<ExitStatus>,
    failure: Option<Error>,
    last_ns: i64,
}

impl Trace {
    fn event(&mut self, thread: pid_t, event: Event) {
        let (mut how, mut signal) = (self.usual(), 0);
        match event {
            Event::Exited(code) => return self.ended(thread, code << 8),
            Event::Killed(by) => return self.ended(thread, by),
            Event::JobStop(_) => how = Resume::Listen,
            Event::Signal(number) => {
                self.rows.counts.signals += u64::from(self.rows.has_begun());
                signal = number;
                let told = ptrace::signal(thread);
                if let (Some(told), Some(thread)) = (told, self.threads.get(&thread)) {
                    self.rows.signal(thread, &told);
                }
            }
            Event::Attached => {}
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
        // Behind a call that the filter has shown, its end is to be seen too; an exec stands inside its call.
        let state = self.threads.get_mut(&thread);
        if let Some(call) = state.and_then(|thread| thread.call.as_mut()) {
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

    /// Way in which a thread that is in no call goes on.
    fn usual(&self) -> Resume {
        if self.sees_all_calls && self.failure.is_none() {
            Resume::UntilCall
        } else {
            Resume::Run
        }
    }

    fn call(&mut self, id: pid_t) {
        let Some(call) = ptrace::call(id) else { return };
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

    /// A thread has begun another one.
    fn began(&mut self, thread: pid_t) {
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

    /// A process has become another program: of its threads only this one is left, under the number of the process.
    fn exec(&mut self, process: pid_t) {
        let former = ptrace::event_message(process).unwrap_or(0) as pid_t;
        if former != process && former > 0 {
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
        if process == self.root && !self.rows.has_begun() {
            let call = self
                .threads
                .get(&process)
                .and_then(|thread| thread.call.as_ref());
            let at_ns = call.map_or(self.last_ns, |call| call.start_ns);
            self.rows.begin(process, at_ns, now_ns());
        }
    }

    fn ended(&mut self, thread: pid_t, status: c_int) {
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

    /// Keeps the first failure: from then on the program runs on, unrecorded.
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
