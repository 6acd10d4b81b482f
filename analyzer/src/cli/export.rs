//! `export`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use trueno_export::{EXPORTERS, Exporter};
use trueno_model::time_text::parse_duration;

use super::examples;
use super::graph::DotArgs;

/// The format to write.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// A format that is one file.
    #[command(flatten)]
    File(FileExport),
    /// OpenTelemetry traces as OTLP/JSON, to a file or a collector
    #[command(after_help = examples::EXPORT_OTLP)]
    Otlp(OtlpArgs),
    /// A run of Parquet files: smaller, and readable by databases
    #[command(after_help = examples::EXPORT_PARQUET)]
    Parquet(ParquetArgs),
    /// The execution graph, for Graphviz
    #[command(after_help = examples::EXPORT_DOT)]
    Dot(Box<DotArgs>),
}

/// A run to write, and where to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// The file to write (- for standard output), or the folder of a Parquet run
    ///
    /// A file whose name ends in .gz is compressed.
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Replace a Parquet run that is already there
    ///
    /// It is replaced once the new one is complete. Files are always replaced.
    #[arg(long)]
    pub overwrite: bool,
}

/// `export parquet`.
#[derive(Debug, Args)]
pub struct ParquetArgs {
    /// The run and the folder.
    #[command(flatten)]
    pub args: ExportArgs,
    /// Write a folder per table, which databases read as one table
    ///
    /// For jobs of ranks: each folder holds folders rank=N. The result is not a run.
    #[arg(long)]
    pub by_table: bool,
}

/// `export otlp`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true))]
pub struct OtlpArgs {
    /// A run directory, or a trace of another profiler
    pub run: PathBuf,
    /// The file to write, - for standard output
    ///
    /// A file whose name ends in .gz is compressed.
    #[arg(short, long, value_name = "PATH", group = "place")]
    pub output: Option<PathBuf>,
    /// Send the spans to a collector, such as http://localhost:4318
    ///
    /// By OTLP over HTTP; /v1/traces is added. Without URL, the variables OTEL_EXPORTER_OTLP_… apply.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", group = "place")]
    pub endpoint: Option<String>,
    /// Add a header to each request; repeatable
    ///
    /// Other users can see command lines: put secrets in OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "endpoint")]
    pub headers: Vec<String>,
    /// Time limit of each request with its retries, such as 60s [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "endpoint")]
    pub timeout: Option<Duration>,
    /// Compression of requests [default: gzip]
    #[arg(long, value_enum, value_name = "FORM", requires = "endpoint")]
    pub compression: Option<OtlpCompression>,
    /// Files are always replaced.
    #[arg(long, hide = true)]
    pub overwrite: bool,
}

/// Compression of requests to a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OtlpCompression {
    /// Compressed.
    Gzip,
    /// Not compressed.
    None,
}

/// An export to one file, with a subcommand of each exporter's name.
#[derive(Debug)]
pub struct FileExport {
    /// The format.
    pub exporter: &'static dyn Exporter,
    /// The run and the file.
    pub args: ExportArgs,
}

impl Subcommand for FileExport {
    fn augment_subcommands(command: Command) -> Command {
        EXPORTERS.iter().fold(command, |command, exporter| {
            let subcommand = ExportArgs::augment_args(Command::new(exporter.name()));
            let example = examples::export_to_file(exporter.name());
            // Files are always replaced.
            let subcommand = subcommand.mut_arg("overwrite", |flag| flag.hide(true));
            command.subcommand(subcommand.about(exporter.about()).after_help(example))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        trueno_export::exporter(name).is_some()
    }
}

impl FromArgMatches for FileExport {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let found = matches.subcommand();
        let found = found.and_then(|(name, args)| Some((trueno_export::exporter(name)?, args)));
        let (exporter, args) = found.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let args = ExportArgs::from_arg_matches(args)?;
        Ok(Self { exporter, args })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
