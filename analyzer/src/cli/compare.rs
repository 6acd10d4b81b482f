//! `compare`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::PluginArgs;
use super::graph::percent;

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run to compare with.
    #[arg(value_name = "BASE")]
    pub base: PathBuf,
    /// The run that is judged; several are samples of one side.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// One more run of the base; may be given again.
    #[arg(long, value_name = "RUN")]
    pub baseline: Vec<PathBuf>,
    /// Changes of a median by less are none.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percent)]
    pub threshold: f64,
    /// False discovery rate: share of the names said to differ that may do so by chance, on average.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub false_discoveries: f64,
    /// Rows looked at of each name of a run, drawn from all.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..=1_000_000))]
    pub samples: u32,
    /// Draws of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub resamples: u32,
    /// Seed of all that is drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Exit with 1 when something got slower, or when anything differs (time, or number of rows).
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fail_on: Option<CompareFail>,
    /// Let --fail-on judge fewer than three runs a side: what changed may be the machine.
    #[arg(long, requires = "fail_on")]
    pub single: bool,
    /// Form of the result.
    #[arg(long, value_enum, default_value_t = CompareFormat::Table, value_name = "FORMAT")]
    pub format: CompareFormat,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Rows shown of each table; JSON has all.
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,
    /// Write the ratios of medians with their intervals to DIR, as a forest plot in SVG and in PNG.
    #[arg(long, value_name = "DIR")]
    pub charts: Option<PathBuf>,
    /// Write all of it to FILE as one page for a browser; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Run no plugins: leaves out critical paths, which take most of the time, operators by shape and jobs of ranks.
    #[arg(long)]
    pub no_path: bool,
    /// Align the operators of both sides, and compare device time by operator.
    #[arg(long, value_enum, default_value_t = CompareOperators::Auto, value_name = "WHEN")]
    pub operators: CompareOperators,
    /// Give names without a category one by the rules in FILE.
    #[arg(long, value_name = "FILE")]
    pub categories: Option<PathBuf>,
    /// Columns of the page, 80 to 200; the terminal's own when not given, 100 without one.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200))]
    pub width: Option<u16>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Difference that makes a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFail {
    /// A name, or a time of the whole run, got slower.
    Slower,
    /// That, or anything got faster, or ran more or less often.
    Changed,
}

/// Form of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Text for people.
    Table,
    /// All of it, as data.
    Json,
    /// For a pull request.
    Markdown,
}

/// Runs whose operators are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareOperators {
    /// Those of at most 4 million rows: a longer one takes half a gigabyte of memory a million.
    Auto,
    /// All.
    Always,
    /// None.
    Never,
}
