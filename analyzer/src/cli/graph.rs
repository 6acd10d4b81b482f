//! `tree`, `export dot`, `ptx` and `tui`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::{PluginArgs, TextOutput};

/// Input of `tree`, `export dot` and `tui`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// Include tiles
    ///
    /// Without it, their time counts for the kernel or brick around them.
    #[arg(long, hide_short_help = true)]
    pub tiles: bool,
    /// Skip the critical path, which takes most of the time
    #[arg(long)]
    pub no_path: bool,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// `tree`.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// Find the critical path of a run with more than 4 million rows too
    ///
    /// JSON has it always.
    #[arg(long, conflicts_with = "no_path")]
    pub path: bool,
    /// Levels shown, lanes first [default: as many as fit 200 rows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Rows shown below each row, longest first [default: 10; JSON has all]
    ///
    /// The others become one row.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Merge rows of the same name below the same row
    #[arg(long)]
    pub merge: bool,
    /// Fold rows below this share of wall time
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = percent)]
    pub min_share: f64,
    /// Show only this lane (thread 1, gpu0) or names that contain TEXT
    ///
    /// With their ancestors and descendants.
    #[arg(long = "name", alias = "only", value_name = "TEXT")]
    pub only: Option<String>,
    /// Columns of the page, 80 to 200 [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200), hide_short_help = true)]
    pub width: Option<u16>,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
    /// The input.
    #[command(flatten)]
    pub graph: GraphArgs,
}

/// `export dot`.
#[derive(Debug, Args)]
pub struct DotArgs {
    /// Levels shown, lanes first [default: as many as fit 150 nodes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Nodes shown below each node, longest first
    ///
    /// The others become one node.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub top: usize,
    /// Do not merge rows of the same name into one node
    #[arg(long)]
    pub each: bool,
    /// Show only this lane (thread 1, gpu0) or names that contain TEXT
    ///
    /// With their ancestors and descendants.
    #[arg(long = "name", alias = "only", value_name = "TEXT")]
    pub only: Option<String>,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The input.
    #[command(flatten)]
    pub graph: GraphArgs,
}

/// `ptx`.
#[derive(Debug, Args)]
pub struct PtxArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// Start of a source's hash, or a kernel's name [default: list all sources]
    #[arg(value_name = "HASH|KERNEL")]
    pub which: Option<String>,
    /// Print only the launches, not the source
    #[arg(long)]
    pub launches: bool,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `tui`.
#[derive(Debug, Args)]
pub struct TuiArgs {
    /// While the run is being recorded, show it as `watch` does
    #[arg(long)]
    pub follow: bool,
    /// The input.
    #[command(flatten)]
    pub graph: GraphArgs,
}

pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a percentage from 0 to 100".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_share_is_given_in_per_cent() {
        assert_eq!(percent("50"), Ok(0.5));
        assert_eq!(percent("12.5 %"), Ok(0.125));
        for wrong in ["", "%", "-1", "101", "nan", "inf", "x"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
