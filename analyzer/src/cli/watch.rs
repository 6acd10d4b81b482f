//! `watch`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trueno_model::time_text::parse_duration;

use super::{PluginArgs, TextFormat};

/// Lengths that a window may have.
const WINDOWS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(600));

/// `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The run directory that a program records into
    pub run: PathBuf,
    /// Print one picture and exit
    ///
    /// This is the default for text that does not go to a terminal.
    #[arg(long)]
    pub once: bool,
    /// Form of the pictures; json prints one per line until the run ends
    #[arg(long, value_enum, default_value_t = TextFormat::Text, value_name = "FORMAT")]
    pub format: TextFormat,
    /// Sum over the last TIME, from 500ms to 10m
    #[arg(long = "last", alias = "window", value_name = "TIME", default_value = "5s", value_parser = window)]
    pub last: Duration,
    /// Wait for a run that has not started yet
    #[arg(long)]
    pub wait: bool,
    /// Columns of the page, 80 to 200 [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200), hide_short_help = true)]
    pub width: Option<u16>,
    /// Assign categories to names without one, by the rules in FILE
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub categories: Option<PathBuf>,
    /// Plugins to load, for the report's head at the end.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

fn window(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text)?;
    if (WINDOWS.0..=WINDOWS.1).contains(&length) {
        Ok(length)
    } else {
        Err("expected a time from 500ms to 10m".to_owned())
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
