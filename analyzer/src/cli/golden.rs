//! `golden`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::TextOutput;

/// Commands for golden runs.
#[derive(Debug, Subcommand)]
pub enum GoldenCommand {
    /// Reduce a run to counts, shapes, hashes and distributions, in a text that git keeps and people review.
    Save(GoldenSaveArgs),
    /// List the golden files of a folder.
    List(GoldenListArgs),
    /// Show what a golden file holds.
    Show(GoldenShowArgs),
}

/// `golden save`.
#[derive(Debug, Args)]
pub struct GoldenSaveArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// Output file [default: the run's name with .golden.json, in the working directory]; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that is there.
    #[arg(long)]
    pub overwrite: bool,
    /// Give names without a category one by the rules in FILE.
    #[arg(long, value_name = "FILE")]
    pub categories: Option<PathBuf>,
}

/// `golden list`.
#[derive(Debug, Args)]
pub struct GoldenListArgs {
    /// The folder; its files *.golden.json are listed.
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Form and place of the result.
    #[command(flatten)]
    pub result: TextOutput,
}

/// `golden show`.
#[derive(Debug, Args)]
pub struct GoldenShowArgs {
    /// The golden file.
    pub file: PathBuf,
    /// Rows shown of each table.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Columns of the page, 80 to 200; the terminal's own when not given, 80 without one.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(80..=200))]
    pub width: Option<u16>,
}
