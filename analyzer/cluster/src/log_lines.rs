//! Lines that Ballista logs, on standard error.

use std::io::Write;

use log::{LevelFilter, Log, Metadata, Record};

use crate::cli::Command;

struct Lines;

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let level = record.level().as_str().to_lowercase();
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(
            std::io::stderr(),
            "{level}: {}: {}",
            record.target(),
            record.args()
        );
    }

    fn flush(&self) {}
}

/// Starts logging. A driver reports errors itself, so its log is off by default.
pub fn begin(verbose: u8, command: &Command) {
    let level = match (verbose, command) {
        (0 | 1, Command::Run(_) | Command::Query(_)) => LevelFilter::Off,
        (0, _) => LevelFilter::Error,
        (1, _) | (2, Command::Run(_) | Command::Query(_)) => LevelFilter::Info,
        _ => LevelFilter::Debug,
    };
    if log::set_logger(&Lines).is_ok() {
        log::set_max_level(level);
    }
}
