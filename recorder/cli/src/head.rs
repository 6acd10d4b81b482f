//! A run of a program that is recorded from outside: its head, and its end where the program does not begin.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use trueno_format::host;
use trueno_format::run_json::{Clock, Producer, Program, RunJson};

use crate::Failure;
use crate::run::hint;

/// Facts of a run before its program begins.
pub fn head(command: &[OsString], process: i32) -> RunJson {
    let words = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    RunJson {
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
    }
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

/// Removes the run of a program that did not begin: made for it a moment ago, and empty.
pub fn remove_empty(output: &Path) {
    let _ = trueno_format::run_directory::check_removable(output)
        .map(|()| std::fs::remove_dir_all(output));
}

/// The program did not begin.
pub fn not_begun(program: &OsStr, error: &io::Error) -> Failure {
    let hint = hint(error, program);
    let shown = program.display();
    Failure::NotStarted(format!("{shown}: cannot be started: {error}{hint}"))
}
