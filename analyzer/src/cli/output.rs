//! Form and place of a result: the same two options wherever there is a choice.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Form of a result that is text for people or data for programs, and where it goes.
#[derive(Debug, Args)]
pub struct TextOutput {
    /// Form of the result
    #[arg(long, value_enum, default_value_t = TextFormat::Text, value_name = "FORMAT")]
    format: TextFormat,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Old spelling of `--format json`.
    #[arg(long, hide = true, conflicts_with = "format")]
    json: bool,
}

impl TextOutput {
    /// Tells whether the result is to be JSON.
    pub fn is_json(&self) -> bool {
        self.json || self.format == TextFormat::Json
    }
}

/// Form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}
