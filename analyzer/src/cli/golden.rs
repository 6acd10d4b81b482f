//! `golden`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{TextOutput, examples};

/// Commands for golden runs.
#[derive(Debug, Subcommand)]
pub enum GoldenCommand {
    /// Save the counts, shapes, hashes and distributions of a run as text for version control
    #[command(after_help = examples::GOLDEN_SAVE)]
    Save(GoldenSaveArgs),
    /// List the golden files of a folder
    #[command(after_help = examples::GOLDEN_LIST)]
    List(GoldenListArgs),
    /// Show the contents of a golden file
    #[command(after_help = examples::GOLDEN_SHOW)]
    Show(GoldenShowArgs),
}

/// `golden save`.
#[derive(Debug, Args)]
pub struct GoldenSaveArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// The file to write, - for standard output [default: NAME.golden.json of the run's name]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that is already there
    #[arg(long)]
    pub overwrite: bool,
    /// Assign categories to names without one, by the rules in FILE
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub categories: Option<PathBuf>,
}

/// `golden list`.
#[derive(Debug, Args)]
pub struct GoldenListArgs {
    /// The folder with files *.golden.json
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `golden show`.
#[derive(Debug, Args)]
pub struct GoldenShowArgs {
    /// The golden file
    pub file: PathBuf,
    /// Rows shown of each table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Columns of the page, 80 to 200 [default: the terminal's, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200), hide_short_help = true)]
    pub width: Option<u16>,
}
