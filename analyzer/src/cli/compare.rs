//! `compare`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::PluginArgs;
use super::graph::percent;

const SAMPLING: &str = "Sampling";

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run to compare with
    #[arg(value_name = "BASE")]
    pub base: PathBuf,
    /// The run to judge; repeat for several runs of this side
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// One more run of BASE; repeatable
    #[arg(long = "base", alias = "baseline", value_name = "RUN")]
    pub baseline: Vec<PathBuf>,
    /// Smallest change of a median that counts
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percent)]
    pub threshold: f64,
    /// Share of the reported names that may differ by chance, on average
    ///
    /// The false discovery rate.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent, help_heading = SAMPLING, hide_short_help = true)]
    pub false_discoveries: f64,
    /// Rows sampled per name and run
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..=1_000_000), help_heading = SAMPLING, hide_short_help = true)]
    pub samples: u32,
    /// Bootstrap resamples
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(100..=100_000), help_heading = SAMPLING, hide_short_help = true)]
    pub resamples: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = SAMPLING, hide_short_help = true)]
    pub seed: u64,
    /// Exit with 1 if a name got slower, or changed in any way
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fail_on: Option<CompareFail>,
    /// Let --fail-on judge fewer than three runs per side
    ///
    /// With so few, a change may come from the machine.
    #[arg(long, requires = "fail_on")]
    pub single: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = CompareFormat::Text, value_name = "FORMAT")]
    pub format: CompareFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Rows shown of each table; JSON has all
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,
    /// Write a forest plot of the ratios to DIR, as SVG and PNG
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub charts: Option<PathBuf>,
    /// Also write the comparison as one HTML page; - is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Run no plugins
    ///
    /// Leaves out critical paths, which take most of the time, operators by shape and jobs of ranks.
    #[arg(long, hide_short_help = true)]
    pub no_path: bool,
    /// Compare device time by operator
    #[arg(long, value_enum, default_value_t = CompareOperators::Auto, value_name = "WHEN", hide_short_help = true)]
    pub operators: CompareOperators,
    /// Assign categories to names without one, by the rules in FILE
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub categories: Option<PathBuf>,
    /// Columns of the page, 80 to 200 [default: the terminal's, else 100]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200), hide_short_help = true)]
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
    /// Something got slower or faster, or ran more or less often.
    Changed,
}

/// Form of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Text for people.
    #[value(alias = "table")]
    Text,
    /// All of it, as data.
    Json,
    /// For a pull request.
    Markdown,
}

/// Runs whose operators are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareOperators {
    /// Runs of at most 4 million rows; more take half a gigabyte of memory per million.
    Auto,
    /// All runs.
    Always,
    /// No runs.
    Never,
}
