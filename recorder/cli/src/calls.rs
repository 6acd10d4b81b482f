//! `trueno-record run --calls`.

use std::ffi::OsString;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use trueno_format::host;
use trueno_format::run_json::{Clock, Producer, Program, RunJson};
use trueno_format::run_writer::RunWriter;
use trueno_tracer::{Calls, Counts, Error, trace};

use crate::run::hint;
use crate::{Failure, say, signals};

/// Runs a program and records its system calls. Gives the exit code.
pub fn run(
    command: &[OsString],
    calls: &Calls,
    output: &Path,
    strict: bool,
) -> Result<u8, Failure> {
    signals::prepare();
    let create = |process: i32| {
        RunWriter::create_surviving(output, head(command, calls, process)).map_err(Error::Run)
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
            "warning: {failure}; from then on nothing was recorded, and {} is not whole (hint: trueno-analyze recover)",
            output.display()
        ));
    }
    if strict && traced.status.success() && !is_whole {
        say("the recording is not whole (--strict)");
        return Ok(1);
    }
    Ok(signals::end_as(traced.status))
}

fn head(command: &[OsString], calls: &Calls, process: i32) -> RunJson {
    let words = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let mut run = RunJson {
        producer: Producer {
            name: "trueno-record".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        run_id: run_id(process),
        label: command
            .first()
            .and_then(|program| Path::new(program).file_name())
            .map(|name| name.to_string_lossy().into_owned()),
        program: Program {
            argv: words.collect(),
            pid: u32::try_from(process).ok(),
        },
        host: host::facts(),
        clock: Clock {
            source: "monotonic".to_owned(),
            ..Clock::default()
        },
        ..RunJson::default()
    };
    let calls = ("calls".to_owned(), calls.text().to_owned());
    run.values.extend([calls]);
    run
}

/// Different for every run of this machine.
fn run_id(process: i32) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = now.map_or(0, |since| since.as_nanos() as u64);
    format!(
        "{:016x}",
        now_ns ^ (u64::from(process.unsigned_abs()) << 40)
    )
}

/// The program did not begin, so there is no run.
fn not_started(error: Error, output: &Path) -> Failure {
    match error {
        Error::NotStarted { program, error } => {
            // Made for it a moment ago, and empty.
            let _ = trueno_format::run_directory::check_removable(output)
                .map(|()| std::fs::remove_dir_all(output));
            let hint = hint(&error, &program);
            let shown = program.display();
            Failure::NotStarted(format!("{shown}: cannot be started: {error}{hint}"))
        }
        Error::Forbidden(_) => Failure::NotMeasurable(error.to_string()),
        error => Failure::NotStarted(error.to_string()),
    }
}

fn tell(counts: &Counts, output: &Path) {
    let Counts {
        calls,
        threads,
        processes,
        not_ended,
        foreign,
        ..
    } = counts;
    say(&format!(
        "recorded {calls} calls of {threads} threads in {processes} processes -> {}",
        output.display()
    ));
    if *not_ended > 0 {
        say(&format!(
            "{not_ended} calls did not return before their thread ended, and have no row"
        ));
    }
    if *foreign > 0 {
        say(&format!(
            "warning: {foreign} calls of programs of 32 bits were not recorded"
        ));
    }
}
