//! `trueno-record run --keep-last`: the last part of a recording, also as separate runs whenever a signal arrives.

use std::path::{Path, PathBuf};
use std::time::Duration;

use trueno_format::kept_rows::KeepLast;
use trueno_format::run_json::{Kept, RunJson};
use trueno_format::run_writer::{Cuts, RunWriter};

use crate::signals::{self, ControlSignal};
use crate::window::shown;
use crate::{many, say};

/// Most memory of the rows that are kept.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Clone, Copy, Debug)]
pub struct Keep {
    pub last: Duration,
    pub signal: Option<ControlSignal>,
}

impl Keep {
    /// Call once the program gets its signals, and this command may take one.
    pub fn begin(self, run: &mut RunWriter, output: &Path) {
        let cuts = self.signal.map(|signal| {
            signals::count(signal);
            say(&format!(
                "keeping the last {}: `kill -{} {}` writes it as a run",
                shown(self.last),
                signal.name(),
                std::process::id()
            ));
            let output = std::path::absolute(output).unwrap_or_else(|_| output.to_owned());
            let cuts: Box<dyn Cuts> = Box::new(SignalledCuts {
                output,
                seen: 0,
                last_number: 0,
            });
            cuts
        });
        let limits = KeepLast {
            last_ns: i64::try_from(self.last.as_nanos()).unwrap_or(i64::MAX),
            max_bytes: MAX_BYTES,
        };
        run.keep_last(limits, cuts);
    }
}

/// Prints how much of the recording a run is.
pub fn tell(kept: Option<&Kept>) {
    if let Some(kept) = kept {
        say(&kept.text());
    }
}

/// `job.cut-1.run` for `job.run`.
pub fn path_of_cut(run: &Path, number: u32) -> PathBuf {
    let mut name = run.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".cut-{number}"));
    if let Some(extension) = run.extension() {
        name.push(".");
        name.push(extension);
    }
    run.with_file_name(name)
}

struct SignalledCuts {
    output: PathBuf,
    seen: u32,
    last_number: u32,
}

impl Cuts for SignalledCuts {
    fn is_due(&self) -> bool {
        signals::control_signals() > self.seen
    }

    /// A path where nothing is.
    fn path(&mut self) -> Option<PathBuf> {
        // Two signals within a moment are one.
        self.seen = signals::control_signals();
        loop {
            self.last_number = self.last_number.checked_add(1)?;
            let path = path_of_cut(&self.output, self.last_number);
            if path.symlink_metadata().is_err() {
                return Some(path);
            }
        }
    }

    fn done(&mut self, path: &Path, cut: Result<&RunJson, &trueno_format::Error>) {
        match cut {
            Ok(run) => {
                let rows = run.tables.values().map(|table| table.rows).sum();
                let text = run.kept.as_ref().map(Kept::text).unwrap_or_default();
                let rows = many(rows, "row", "rows");
                say(&format!("cut: {rows} -> {}: {text}", path.display()));
            }
            Err(error) => say(&format!("warning: not cut: {error}; the recording goes on")),
        }
    }
}
