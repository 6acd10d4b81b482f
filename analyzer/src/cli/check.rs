//! `check`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{AnnotationForm, PluginArgs};

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Run directories, or files that `import` knows: each is checked, and the worst outcome is that of all.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The assertions, in TOML [default: those of the project file].
    #[arg(long = "assert", value_name = "FILE")]
    pub assertions: Option<PathBuf>,
    /// A run that was as it should be, or its golden file (golden save), for the assertions that compare.
    #[arg(long, value_name = "RUN|FILE")]
    pub golden: Option<PathBuf>,
    /// A third run, or its golden file, such as one of scalar code in f64: says which side moved where tensors diverge
    /// from those of the golden run.
    #[arg(long, value_name = "RUN|FILE", requires = "golden")]
    pub reference: Option<PathBuf>,
    /// Form of the outcomes.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text, value_name = "FORMAT")]
    pub format: CheckFormat,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// As JSON: `--format json` is the spelling of today.
    #[arg(long, hide = true, conflicts_with = "format")]
    pub json: bool,
    /// Write the outcomes as JUnit XML too; - is standard output, and nothing else goes there then.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Say what does not hold as annotations of a build too, on standard error.
    #[arg(long, value_name = "FORM", value_enum)]
    pub annotations: Option<AnnotationForm>,
    /// Give names without a category one by the rules in FILE.
    #[arg(long, value_name = "FILE")]
    pub categories: Option<PathBuf>,
    /// Columns of the page, 80 to 200; the terminal's own when not given, 80 without one.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200))]
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
    /// JUnit XML, for what shows tests.
    Junit,
}
