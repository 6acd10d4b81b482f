//! `trueno-record run --calls`.

use std::process::ExitStatus;

use trueno_tracer::{Calls, Counts, Error, REFUSED_STRICT, Traced, attach, trace};

use crate::attach::Means;
use crate::head::{Output, head, not_begun};
use crate::subject::{Part, Subject, Target, Way, end_before_begin, say_end, say_processes};
use crate::{Failure, many, say, signals};

/// Records system calls of a program or process. Returns the exit code.
pub fn run(
    subject: Subject<'_>,
    calls: &Calls,
    part: &Part,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    let way = subject.way(&part.window, Means::Tracing)?;
    record(way, calls, part, output, strict)
}

/// Returns the exit code.
pub fn record(
    way: Way<'_>,
    calls: &Calls,
    part: &Part,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    let window = &part.window;
    let is_over = || window.is_over();
    let recorded = trueno_tracer::Part {
        calls,
        processes: &part.processes,
        end: window.ends().then_some(&is_over),
    };
    let mut watch = |process: i32| signals::child(process.unsigned_abs());
    match way {
        Way::Over(status) => Ok(end_before_begin(window, status)),
        Way::Start(command) => {
            let mut id = 0;
            let create = |process: i32| {
                id = process;
                let mut head = head(command, process);
                head.values
                    .insert("calls".to_owned(), calls.text().to_owned());
                output.create(head).map_err(Error::Run)
            };
            let traced = trace(command, recorded, create, &mut watch)
                .map_err(|error| not_started(error, output))?;
            Ok(end(traced, part, output, strict, |status| {
                status.or_else(|| signals::wait_for(id))
            }))
        }
        Way::Attach(target) => {
            let create = || {
                let mut head = target.head();
                head.values
                    .insert("calls".to_owned(), calls.text().to_owned());
                output.create(head).map_err(Error::Run)
            };
            let begun = || target.say_begun(window);
            let id = target.process.id;
            let traced = match attach(id, recorded, create, begun, &mut watch) {
                Ok(traced) => traced,
                Err(error) => return not_attached(error, &target, output),
            };
            Ok(end(traced, part, output, strict, |status| {
                target.status(status)
            }))
        }
    }
}

/// Prints what was recorded, waits for the program's end, and returns the exit code.
fn end(
    traced: Traced,
    part: &Part,
    output: &Output,
    strict: bool,
    status: impl FnOnce(Option<ExitStatus>) -> Option<ExitStatus>,
) -> u8 {
    let is_whole = traced.failure.is_none()
        && traced.counts.foreign == 0
        && traced.counts.refused_strict == 0
        && traced.left_out == 0;
    say_end(&part.window, traced.goes_on && traced.failure.is_none());
    tell(&traced.counts, output);
    say_processes(&part.processes, traced.counts.processes, traced.left_out);
    if let Some(failure) = traced.failure {
        say(&format!(
            "warning: {failure}; nothing was recorded from then on, and {} is incomplete (hint: trueno-analyze recover)",
            output.path().display()
        ));
    }
    let status = status(traced.status);
    if strict && status.is_none_or(|status| status.success()) && !is_whole {
        say("the recording is incomplete (--strict)");
        return 1;
    }
    // That of a process that is no child is not this one's.
    status.map_or(0, signals::end_as)
}

/// Reports that the process cannot be traced. A child goes on unrecorded.
fn not_attached(error: Error, target: &Target, output: &Output) -> Result<u8, Failure> {
    let problem = match error {
        Error::NotAttached { error, .. } => {
            output.remove();
            target.process.refused(Means::Tracing, &error)
        }
        error => Failure::NotStarted(error.to_string()),
    };
    match target.status(None) {
        Some(status) => {
            say(&format!("warning: {problem}"));
            Ok(signals::end_as(status))
        }
        None => Err(problem),
    }
}

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
        left_open,
        foreign,
        refused_strict,
        kept,
        ..
    } = counts;
    say(&format!(
        "recorded {} of {} in {} -> {}",
        many(*calls, "call", "calls"),
        many(*threads, "thread", "threads"),
        many(*processes, "process", "processes"),
        output.path().display()
    ));
    crate::kept::tell(kept.as_ref());
    if *not_ended > 0 {
        say(&format!(
            "{} before {} thread ended, and {} no row",
            many(*not_ended, "call did not return", "calls did not return"),
            if *not_ended == 1 { "its" } else { "their" },
            if *not_ended == 1 { "has" } else { "have" }
        ));
    }
    if *left_open > 0 {
        say(&format!(
            "{} when the recording ended, and {} no row of `calls`; waits among them are rows of `syncs`",
            many(
                *left_open,
                "call had not returned",
                "calls had not returned"
            ),
            if *left_open == 1 { "has" } else { "have" }
        ));
    }
    if *refused_strict > 0 {
        say(&format!("warning: {REFUSED_STRICT}"));
    }
    if *foreign > 0 {
        say(&format!(
            "warning: {foreign} calls of 32-bit programs were not recorded"
        ));
    }
}
