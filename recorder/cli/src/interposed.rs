//! `trueno-record run --libs` and `--alloc`.

use std::ffi::OsString;

use trueno_preload_rows::{Counts, Error, Options, Part, record};

use crate::head::{Output, head, not_begun};
use crate::subject::{end_before_begin, say_end};
use crate::window::{Window, shown};
use crate::{Failure, libraries, say, signals};

/// Runs a program and records its calls of BLAS and LAPACK, and one allocation in this many bytes (0: none).
/// Returns the exit code.
pub fn run(
    command: &[OsString],
    (calls, mean_bytes): (bool, u64),
    window: &Window,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    let (program, rest) = command
        .split_first()
        .ok_or_else(|| Failure::NotStarted("no program given".to_owned()))?;
    let options = Options {
        library: libraries::interpose().map_err(Failure::NotStarted)?,
        calls,
        mean_bytes,
    };
    signals::prepare();
    let mut process = 0;
    let create = || {
        let mut head = head(command, -1);
        if let Some(delay) = window.delay {
            let from = format!("{} after the process began", shown(delay));
            head.values.insert("recorded_from".to_owned(), from);
        }
        output.create(head).map_err(Error::Run)
    };
    let mut watch = |number: i32| {
        if number > 0 {
            process = number;
        }
        signals::child(number.unsigned_abs());
    };
    let is_over = || window.is_over();
    let part = Part {
        delay: window.delay,
        end: window.ends().then_some(&is_over),
    };
    let mut started = signals::command(program);
    started.args(rest);
    let recorded = match record(started, &options, part, create, &mut watch) {
        Ok(recorded) => recorded,
        Err(Error::NotStarted { program, error }) => {
            output.remove();
            return Err(not_begun(&program, &error));
        }
        Err(error @ (Error::NotLoadable { .. } | Error::NoMemory(_))) => {
            return Err(Failure::NotMeasurable(error.to_string()));
        }
        Err(error) => return Err(Failure::NotStarted(error.to_string())),
    };
    let Some(counts) = &recorded.counts else {
        if let (Some(failure), Some(status)) = (&recorded.failure, recorded.status) {
            say(&format!("warning: {failure}; nothing was recorded"));
            return Ok(signals::end_as(status));
        }
        return Ok(end_before_begin(window, recorded.status));
    };
    say_end(window, recorded.status.is_none());
    tell(counts, &options, window, output);
    let is_whole = recorded.failure.is_none()
        && counts.lost == 0
        && counts.images > 0
        && counts.others.is_empty();
    if let Some(failure) = recorded.failure {
        say(&format!(
            "warning: {failure}; nothing was recorded from then on, and {} is incomplete (hint: trueno-analyze recover)",
            output.path().display()
        ));
    }
    let status = recorded.status.or_else(|| signals::wait_for(process));
    if strict && status.is_some_and(|status| status.success()) && !is_whole {
        say("the recording is incomplete (--strict)");
        return Ok(1);
    }
    Ok(status.map_or(2, signals::end_as))
}

fn tell(counts: &Counts, options: &Options, window: &Window, output: &Output) {
    let calls = options
        .calls
        .then(|| format!("{} calls of BLAS and LAPACK", counts.calls));
    let samples = (options.mean_bytes > 0).then(|| {
        format!(
            "{} samples of {} allocations ({} bytes)",
            counts.samples, counts.allocations, counts.allocated_bytes
        )
    });
    let recorded: Vec<String> = calls.into_iter().chain(samples).collect();
    let programs = match counts.images {
        1 => "1 program".to_owned(),
        images => format!("{images} programs"),
    };
    say(&format!(
        "recorded {} in {programs} -> {}",
        recorded.join(" and "),
        output.path().display()
    ));
    if counts.images == 0 && window.delay.is_some() {
        say(
            "warning: nothing was recorded: after the delay the program made no recorded call, or the library was not loaded",
        );
        return;
    }
    if counts.images == 0 {
        say("warning: nothing was recorded: the library was not loaded into the program");
        return;
    }
    if options.calls && counts.calls == 0 {
        say(
            "warning: no known routine of BLAS or LAPACK was called (hint: those that are linked statically, or looked up by `dlsym`, cannot be seen)",
        );
    }
    if options.mean_bytes > 0 && counts.allocations == 0 {
        // As `true` does; it is no fault of the recording.
        say("no memory was allocated by `malloc` (a custom allocator cannot be seen)");
    }
    if !counts.others.is_empty() {
        let names = Vec::from_iter(counts.others.iter().map(String::as_str)).join(", ");
        say(&format!(
            "warning: processes that ran as another user were not recorded: {names} (hint: record as that user, from within `su` or `sudo`)"
        ));
    }
    if counts.lost > 0 {
        say(&format!(
            "warning: {} calls and samples did not fit and were lost",
            counts.lost
        ));
    }
}
