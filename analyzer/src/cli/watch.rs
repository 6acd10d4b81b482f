//! `watch`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{PluginArgs, TextFormat, timeout};

/// Lengths that a window may have.
const WINDOWS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(600));

/// `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The run directory that a program records into.
    pub run: PathBuf,
    /// Print one picture and leave; so it is too where standard output is no terminal and the form is text.
    #[arg(long)]
    pub once: bool,
    /// Form of the pictures; as JSON one a line, until the run ends.
    #[arg(long, value_enum, default_value_t = TextFormat::Text, value_name = "FORMAT")]
    pub format: TextFormat,
    /// Length of the window that sums are of, from 500ms to 600s.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = window)]
    pub window: Duration,
    /// Wait for a run that has not begun yet.
    #[arg(long)]
    pub wait: bool,
    /// Columns of the page, 80 to 200; the terminal's own when not given, 80 without one.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200))]
    pub width: Option<u16>,
    /// Give names without a category one by the rules in FILE; `trueno-analyze categories` prints the default ones.
    #[arg(long, value_name = "FILE")]
    pub categories: Option<PathBuf>,
    /// Plugins to load, for the report's head at the end.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

fn window(text: &str) -> Result<Duration, String> {
    let length = timeout(text)?;
    match (WINDOWS.0..=WINDOWS.1).contains(&length) {
        true => Ok(length),
        false => Err("expected a time from 500ms to 600s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_a_length_that_makes_sense() {
        assert_eq!(window("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(window("500ms"), Ok(WINDOWS.0));
        for wrong in ["", "5", "499ms", "601s", "0s", "-1s"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }
}
