//! `export`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::graph::DotArgs;

/// The format to write.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Trace-event JSON, for Perfetto and chrome://tracing.
    Chrome(ExportArgs),
    /// Perfetto's own format: smaller, exact nanoseconds, and without what has no time.
    Perfetto(ExportArgs),
    /// Self time in nanoseconds by stack, one line each.
    Folded(ExportArgs),
    /// The same as a picture, in SVG.
    Flamegraph(ExportArgs),
    /// OpenTelemetry traces as OTLP/JSON.
    Otlp(ExportArgs),
    /// A run of Parquet files: smaller, sorted by time, for keeping and for warehouses.
    Parquet(ExportArgs),
    /// The execution graph, for Graphviz.
    Dot(Box<DotArgs>),
}

/// A run to write, and where to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run directory.
    pub run: PathBuf,
    /// Where to: a file, packed when its name ends in .gz; - is standard output. A folder for parquet.
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Replace a Parquet run that is there, once the new one is whole; files are replaced anyway.
    #[arg(long)]
    pub overwrite: bool,
}
