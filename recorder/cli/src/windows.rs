//! `trueno-record run --signal`: the time between two signals is recorded, each time as a run of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use trueno_format::run_directory::Destination;
use trueno_processes::{Ended, ProcessEnd};

use crate::attach::{Means, Process};
use crate::head::{Output, not_begun};
use crate::run::not_started;
use crate::signals::{self, ControlSignal};
use crate::subject::{Part, Subject, Target};
use crate::window::SignalledEnd;
use crate::{Failure, say};

pub struct Windows<'a> {
    pub signal: ControlSignal,
    pub means: Means,
    /// Path of the first run; the others have their number in front of the extension.
    pub output: &'a Path,
    pub overwrite: bool,
    pub strict: bool,
    pub part: &'a dyn Fn() -> Part,
}

impl Windows<'_> {
    /// Records each window of a program or process by `record`, which returns an exit code. Returns that of the program.
    pub fn run(
        &self,
        subject: Subject<'_>,
        mut record: impl FnMut(Target, &Part, &Output) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        Destination::check(self.output, self.overwrite).map_err(not_started)?;
        let command = match &subject {
            Subject::Program(command) => Some(command.to_vec()),
            Subject::Process(_) => None,
        };
        let is_child = command.is_some();
        let id = self.start(subject)?;
        let process_end = ProcessEnd::of(id)
            .map_err(|error| Failure::NotStarted(format!("process {id}: {error}")))?;
        say(&format!(
            "not recording yet: `kill -{} {}` begins it, and ends it",
            self.signal.name(),
            std::process::id()
        ));
        let was_asked_to_end = || !is_child && signals::was_asked_to_end();
        let (mut seen, mut runs, mut exit_code, mut is_whole) = (0, 0, 0, true);
        loop {
            if is_child {
                signals::child(id.unsigned_abs());
            }
            let wakes = || signals::control_signals() > seen || was_asked_to_end();
            if process_end.wait(Some(&wakes)) == Ended::Process || was_asked_to_end() {
                break;
            }
            seen += 1;
            let mut part = (self.part)();
            part.window.ends_at = Some(SignalledEnd {
                signal: self.signal,
                nth: seen + 1,
            });
            let output = self.path(runs + 1);
            let recorded = self.target(id, command.as_deref(), &output);
            let recorded = recorded.and_then(|target| record(target, &part, &Output::new(&output)));
            match recorded {
                Ok(code) => {
                    runs += 1;
                    exit_code = code;
                    is_whole &= code == 0;
                }
                Err(problem) if is_child || runs > 0 => say(&format!("warning: {problem}")),
                Err(problem) => return Err(problem),
            }
            // One that came later begins the next window.
            seen += u32::from(part.window.was_ended_by_signal());
        }
        if seen == 0 {
            say(&format!(
                "nothing was recorded: no {} came",
                self.signal.name()
            ));
        } else if runs == 0 {
            say("nothing was recorded, for the reason above");
        }
        if !is_child {
            return Ok(if runs == 0 { 2 } else { u8::from(!is_whole) });
        }
        // None: it ended in a window, and its exit code is that of the window.
        let Some(status) = signals::wait_for(id) else {
            return Ok(exit_code);
        };
        if self.strict && status.success() && !is_whole {
            say("the recording is incomplete (--strict)");
            return Ok(1);
        }
        Ok(signals::end_as(status))
    }

    fn start(&self, subject: Subject<'_>) -> Result<i32, Failure> {
        let command = match subject {
            Subject::Program(command) => command,
            Subject::Process(process) => {
                signals::count(self.signal);
                return Ok(process.id);
            }
        };
        let (program, rest) = command
            .split_first()
            .ok_or_else(|| Failure::NotStarted("no program given".to_owned()))?;
        signals::prepare();
        signals::count(self.signal);
        let started = signals::command(program).args(rest).spawn();
        let child = started.map_err(|error| not_begun(program, &error))?;
        Ok(child.id().cast_signed())
    }

    fn target(
        &self,
        id: i32,
        command: Option<&[OsString]>,
        output: &Path,
    ) -> Result<Target, Failure> {
        let mut process = Process::find(id, self.means)?;
        if let Some(command) = command {
            process.command = command.to_vec();
        }
        let destination = Destination::check(output, self.overwrite);
        destination
            .and_then(Destination::clear)
            .map_err(not_started)?;
        Ok(Target {
            process,
            is_child: command.is_some(),
            waits_for_end: false,
        })
    }

    fn path(&self, number: u32) -> PathBuf {
        if number == 1 {
            return self.output.to_owned();
        }
        let mut name = self.output.file_stem().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        if let Some(extension) = self.output.extension() {
            name.push(".");
            name.push(extension);
        }
        self.output.with_file_name(name)
    }
}
