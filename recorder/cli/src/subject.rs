//! Programs and processes that are recorded from outside.

use std::ffi::OsString;
use std::process::ExitStatus;

use trueno_format::run_json::RunJson;
use trueno_processes::{Ended, Selection};

use crate::attach::{Means, Process};
use crate::head::{head, not_begun};
use crate::window::{Window, shown};
use crate::{Failure, many, say, signals};

#[derive(Debug)]
pub enum Subject<'a> {
    Program(&'a [OsString]),
    Process(Process),
}

#[derive(Debug, Default)]
pub struct Part {
    pub window: Window,
    pub processes: Selection,
}

#[derive(Debug)]
pub struct Target {
    pub process: Process,
    pub is_child: bool,
    /// True if the end of a child is waited for after its recording.
    pub waits_for_end: bool,
}

pub enum Way<'a> {
    Start(&'a [OsString]),
    Attach(Target),
    Over(Option<ExitStatus>),
}

impl<'a> Subject<'a> {
    /// Waits until the recording begins. With a delay, a program is started here and attached to afterwards.
    pub fn way(self, window: &Window, means: Means) -> Result<Way<'a>, Failure> {
        match self {
            Self::Program(command) if window.delay.is_none() => {
                signals::prepare();
                Ok(Way::Start(command))
            }
            Self::Program(command) => delayed(command, window, means),
            Self::Process(process) => match window.wait(process.id)? {
                Ended::Process => Ok(Way::Over(None)),
                Ended::Asked if window.was_asked_to_end() => Ok(Way::Over(None)),
                Ended::Asked => Ok(Way::Attach(Target {
                    process,
                    is_child: false,
                    waits_for_end: false,
                })),
            },
        }
    }
}

fn delayed<'a>(command: &[OsString], window: &Window, means: Means) -> Result<Way<'a>, Failure> {
    let (program, rest) = command
        .split_first()
        .ok_or_else(|| Failure::NotStarted("no program given".to_owned()))?;
    signals::prepare();
    let started = signals::command(program).args(rest).spawn();
    let child = started.map_err(|error| not_begun(program, &error))?;
    signals::child(child.id());
    let id = child.id().cast_signed();
    if window.wait(id)? == Ended::Process {
        return Ok(Way::Over(signals::wait_for(id)));
    }
    match Process::find(id, means) {
        Ok(found) => {
            let process = Process {
                command: command.to_vec(),
                ..found
            };
            Ok(Way::Attach(Target {
                process,
                is_child: true,
                waits_for_end: true,
            }))
        }
        Err(problem) => {
            say(&format!("warning: {problem}"));
            Ok(Way::Over(signals::wait_for(id)))
        }
    }
}

impl Target {
    pub fn head(&self) -> RunJson {
        let process = &self.process;
        let mut head = head(&process.command, process.id);
        head.values
            .insert("recorded_from".to_owned(), process.recorded_from());
        head
    }

    pub fn say_begun(&self, window: &Window) {
        let Process { id, name, .. } = &self.process;
        let from = self.process.recorded_from();
        let how = match window.ends_at {
            Some(end) => format!("; {} ends the recording", end.signal.name()),
            None if self.is_child => String::new(),
            None => "; Ctrl-C ends the recording, and the process goes on".to_owned(),
        };
        say(&format!("recording process {id} ({name}) from {from}{how}"));
        if self.process.is_stopped {
            say("it is stopped, and stays so (hint: `kill -CONT` continues it)");
        }
    }

    /// The exit status of a child whose recording has ended, and for which the tracer may have waited.
    pub fn status(&self, status: Option<ExitStatus>) -> Option<ExitStatus> {
        match status {
            _ if !self.is_child => None,
            None if self.waits_for_end => signals::wait_for(self.process.id),
            status => status,
        }
    }
}

pub fn say_end(window: &Window, goes_on: bool) {
    if goes_on {
        let why = window.why();
        say(&format!("{why}; the program goes on, unrecorded"));
    }
}

pub fn say_processes(selection: &Selection, processes: u64, left_out: u64) {
    if let Selection::Named(name) = selection
        && processes == 0
    {
        say(&format!(
            "warning: no process of the name {name} ran (hint: `ps -e` shows names)"
        ));
    }
    if left_out > 0 {
        let processes = many(left_out, "child process", "child processes");
        say(&format!("warning: {processes} could not be attached to"));
    }
}

/// Prints that nothing was recorded. Returns the exit code.
pub fn end_before_begin(window: &Window, status: Option<ExitStatus>) -> u8 {
    if window.was_asked_to_end() {
        say("nothing was recorded: stopped before the recording began");
    } else {
        let delay = window.delay.map(shown).unwrap_or_default();
        say(&format!(
            "nothing was recorded: the program ended before the recording began, {delay} after its start (--delay)"
        ));
    }
    status.map_or(2, signals::end_as)
}
