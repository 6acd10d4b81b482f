//! The command line as it was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::uri::StoreUri;

const EXAMPLES: &str = "\
EXAMPLES:
  A report of a job in an object store, made here, and by a cluster:
    trueno-store report s3://bucket/job --html job.html
    trueno-store report s3://bucket/job --parts parts --engine ballista://127.0.0.1:50050
  A folder to work in:
    trueno-store fetch s3://bucket/job job

ENVIRONMENT:
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION
  AWS_ENDPOINT_URL         server of a store other than Amazon's
  AWS_ALLOW_HTTP=true      for a server without encryption
  AWS_SKIP_SIGNATURE=true  for public buckets";

/// Read jobs from S3-compatible object stores by mirroring them into local folders
#[derive(Debug, Parser)]
#[command(name = "trueno-store", version, after_help = EXAMPLES, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Mirror a job or run into a folder, fetching only what is missing or has changed
    Fetch(FetchArgs),
    /// Mirror a job or run, and run `trueno-analyze report` on it
    Report(ReportArgs),
}

/// `fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// The job or run, as s3://BUCKET/PREFIX or file:///FOLDER.
    #[arg(value_name = "URI")]
    pub uri: StoreUri,
    /// The folder to mirror it in: a new one, an empty one, or its mirror [default: one in the folder for mirrors].
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Folder for mirrors [default: trueno-analyze/mirrors in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub fetch_to: Option<PathBuf>,
    /// Require this version of its files; a mirror that has it is not compared with the store again
    #[arg(long, value_name = "VERSION")]
    pub expect: Option<String>,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder for mirrors; none is ever removed [default: trueno-analyze/mirrors in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub fetch_to: Option<PathBuf>,
    /// The analyzer to run [default: the one beside this command, or else in PATH].
    #[arg(long, value_name = "FILE")]
    pub analyze: Option<PathBuf>,
    /// The job or run, as s3://BUCKET/PREFIX or file:///FOLDER.
    #[arg(value_name = "URI")]
    pub uri: StoreUri,
    /// Flags of `trueno-analyze report`.
    #[arg(
        value_name = "FLAGS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub flags: Vec<OsString>,
}
