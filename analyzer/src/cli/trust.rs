//! `trust`, as typed.

use std::path::PathBuf;

use clap::Args;

/// `trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The project file [default: the trueno.toml that commands find from here]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// List trusted files, and which have changed since
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    pub list: bool,
    /// Stop trusting the file
    #[arg(long)]
    pub remove: bool,
}
