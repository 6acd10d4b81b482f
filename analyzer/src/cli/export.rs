//! `export`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};
use trueno_export::{EXPORTERS, Exporter};

use super::graph::DotArgs;
use super::timeout;

/// The format to write.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// A format that is one file.
    #[command(flatten)]
    File(FileExport),
    /// OpenTelemetry traces as OTLP/JSON, to a file or to a collector.
    Otlp(OtlpArgs),
    /// A run of Parquet files: smaller, sorted by time, for keeping and for warehouses.
    Parquet(ParquetArgs),
    /// The execution graph, for Graphviz.
    Dot(Box<DotArgs>),
}

/// A run to write, and where to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// Output file, packed when its name ends in .gz; - is standard output. A folder for parquet.
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Replace a Parquet run that is there, once the new one is whole; files are replaced anyway.
    #[arg(long)]
    pub overwrite: bool,
}

/// `export parquet`.
#[derive(Debug, Args)]
pub struct ParquetArgs {
    /// The run and the folder.
    #[command(flatten)]
    pub args: ExportArgs,
    /// Of a job of ranks, a folder a table with folders rank=N in it, which databases read as one table; no run.
    #[arg(long)]
    pub by_table: bool,
}

/// `export otlp`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true))]
pub struct OtlpArgs {
    /// The run directory, or a file that `import` knows.
    pub run: PathBuf,
    /// Output file, packed when its name ends in .gz; - is standard output.
    #[arg(short, long, value_name = "PATH", group = "place")]
    pub output: Option<PathBuf>,
    /// Send the spans to the collector at URL, such as http://localhost:4318, by OTLP over HTTP; /v1/traces is added.
    /// Without URL: as the variables OTEL_EXPORTER_OTLP_… say, which count only then.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", group = "place")]
    pub endpoint: Option<String>,
    /// A header of each request; may be given again. Other users see command lines: a secret is better kept in
    /// OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "endpoint")]
    pub headers: Vec<String>,
    /// Time limit of each request with its repetitions, such as 60s [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = timeout, requires = "endpoint")]
    pub timeout: Option<Duration>,
    /// Packing of requests [default: gzip].
    #[arg(long, value_enum, value_name = "FORM", requires = "endpoint")]
    pub compression: Option<OtlpCompression>,
    /// Files are replaced anyway.
    #[arg(long, hide = true)]
    pub overwrite: bool,
}

/// Packing of requests to a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OtlpCompression {
    /// Packed.
    Gzip,
    /// As they are.
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
            command.subcommand(subcommand.about(exporter.about()))
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
