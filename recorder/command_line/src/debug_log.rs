//! The debug log: steps of a command on standard error, for `TRUENO_LOG=debug`.

use std::io::{self, Write};

use tracing_subscriber::filter::LevelFilter;

/// Starts the log if the variable `TRUENO_LOG` asks for one: `error`, `warn`, `info`, `debug` or `trace`.
pub fn start_debug_log() {
    let Some(level) = std::env::var_os("TRUENO_LOG") else {
        return;
    };
    let level = level.to_string_lossy();
    let Ok(level) = level.parse::<LevelFilter>() else {
        let _ = writeln!(
            io::stderr(),
            "warning: TRUENO_LOG={level:?} is ignored: expected off, error, warn, info, debug or trace"
        );
        return;
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .with_ansi(false)
        .with_writer(io::stderr)
        .init();
}
