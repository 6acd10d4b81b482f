//! `check`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{AnnotationForm, PluginArgs};

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Run directories, or traces of other profilers
    ///
    /// Each is checked, and the worst outcome decides the exit code.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The assertions, in TOML [default: those of the project file]
    #[arg(long = "assert", value_name = "FILE")]
    pub assertions: Option<PathBuf>,
    /// A known-good run or its golden file, for assertions that compare
    #[arg(long, value_name = "RUN|FILE")]
    pub golden: Option<PathBuf>,
    /// A third run or golden file that shows which side of a divergence moved
    ///
    /// For example, a run of scalar code in f64.
    #[arg(
        long,
        value_name = "RUN|FILE",
        requires = "golden",
        hide_short_help = true
    )]
    pub reference: Option<PathBuf>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = CheckFormat::Text, value_name = "FORMAT")]
    pub format: CheckFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Old spelling of `--format json`.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub json: bool,
    /// Also write the result as JUnit XML; - is standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print violations as annotations of a CI build, on standard error
    #[arg(long, value_name = "FORM", value_enum)]
    pub annotations: Option<AnnotationForm>,
    /// Assign categories to names without one, by the rules in FILE
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub categories: Option<PathBuf>,
    /// Columns of the page, 80 to 200 [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200), hide_short_help = true)]
    pub width: Option<u16>,
    /// Plugins to load.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// Form of the outcomes of assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
    /// JUnit XML, for CI systems.
    Junit,
    /// Markdown of one screen, for a pull request.
    Markdown,
}
