//! `export`, as typed.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use trueno_export::{EXPORTERS, Exporter};

use super::graph::DotArgs;

/// The format to write.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// A format that is one file.
    #[command(flatten)]
    File(FileExport),
    /// A run of Parquet files: smaller, sorted by time, for keeping and for warehouses.
    Parquet(ExportArgs),
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
