//! `trueno-record run --calls`.

use std::ffi::OsString;

use trueno_tracer::{Calls, Counts, Error, trace};

use crate::head::{Output, head, not_begun};
use crate::{Failure, many, say, signals};

/// Runs a program and records its system calls. Gives the exit code.
pub fn run(
    command: &[OsString],
    calls: &Calls,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    signals::prepare();
    let create = |process: i32| {
        let mut head = head(command, process);
        head.values
            .insert("calls".to_owned(), calls.text().to_owned());
        output.create(head).map_err(Error::Run)
    };
    let mut watch = |process: i32| signals::child(process.unsigned_abs());
    let traced = match trace(command, calls, create, &mut watch) {
        Ok(traced) => traced,
        Err(error) => return Err(not_started(error, output)),
    };
    tell(&traced.counts, output);
    let is_whole = traced.failure.is_none() && traced.counts.foreign == 0;
    if let Some(failure) = traced.failure {
        say(&format!(
            "warning: {failure}; nothing was recorded from then on, and {} is incomplete (hint: trueno-analyze recover)",
            output.path().display()
        ));
    }
    if strict && traced.status.success() && !is_whole {
        say("the recording is incomplete (--strict)");
        return Ok(1);
    }
    Ok(signals::end_as(traced.status))
}

/// The program did not begin, so there is no run.
fn not_started(error: Error, output: &Output) -> Failure {
    match error {
        Error::NotStarted { program, error } => {
            output.remove();
            not_begun(&program, &error)
        }
        Error::NoFilter(_) => {
            output.remove();
            Failure::NotMeasurable(error.to_string())
        }
        Error::Forbidden(_) => Failure::NotMeasurable(error.to_string()),
        error => Failure::NotStarted(error.to_string()),
    }
}

fn tell(counts: &Counts, output: &Output) {
    let Counts {
        calls,
        threads,
        processes,
        not_ended,
        foreign,
        ..
    } = counts;
    say(&format!(
        "recorded {} of {} in {} -> {}",
        many(*calls, "call", "calls"),
        many(*threads, "thread", "threads"),
        many(*processes, "process", "processes"),
        output.path().display()
    ));
    if *not_ended > 0 {
        say(&format!(
            "{} before {} thread ended, and {} no row",
            many(*not_ended, "call did not return", "calls did not return"),
            if *not_ended == 1 { "its" } else { "their" },
            if *not_ended == 1 { "has" } else { "have" }
        ));
    }
    if *foreign > 0 {
        say(&format!(
            "warning: {foreign} calls of programs of 32 bits were not recorded"
        ));
    }
}
