//! The command line as it was typed.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};

use crate::address::Address;
use crate::rank_list::RankList;

const EXAMPLES: &str = "\
EXAMPLES:
  A cluster on this machine, each command in a terminal of its own:
    trueno-cluster scheduler
    trueno-cluster executor --scheduler 127.0.0.1:50050 --tasks 2
  A report computed by it:
    trueno-analyze report job --parts parts --engine ballista://127.0.0.1:50050
  The same for a job in an object store; each executor mirrors it:
    trueno-store report s3://bucket/job --parts parts --engine ballista://127.0.0.1:50050";

/// Compute the parts of a job's ranks on several machines, with Apache Ballista
#[derive(Debug, Parser)]
#[command(name = "trueno-cluster", version, after_help = EXAMPLES, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Log more on standard error; given twice, also more of Ballista's log
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Assign tasks to executors; a cluster has one scheduler
    Scheduler(SchedulerArgs),
    /// Run tasks, each a process of `trueno-analyze rank-task`.
    Executor(ExecutorArgs),
    /// Compute all parts of a job
    Run(RunArgs),
    /// Answer queries over the tables of a job, for `trueno-analyze query --engine`; they come as JSON on standard input
    Query(QueryArgs),
}

/// `scheduler`.
#[derive(Debug, Args)]
pub struct SchedulerArgs {
    /// Address to listen on; anyone who can reach it can run tasks; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50050")]
    pub bind: SocketAddr,
    /// Time without a heartbeat after which an executor counts as lost, and its tasks go to others
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub executor_timeout: Duration,
}

/// `executor`.
#[derive(Debug, Args)]
pub struct ExecutorArgs {
    /// The scheduler to ask for tasks.
    #[arg(long, value_name = "HOST:PORT")]
    pub scheduler: Address,
    /// Address to serve results on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub bind: SocketAddr,
    /// Tasks to run at once.
    #[arg(long, value_name = "N", default_value = "1")]
    pub tasks: NonZeroUsize,
    /// Folder for results until they are fetched [default: a temporary one].
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
    /// The analyzer to run [default: the one beside this command, or else in PATH].
    #[arg(long, value_name = "FILE")]
    pub analyze: Option<PathBuf>,
    /// Folder for mirrors of jobs in object stores; none is ever removed [default: trueno-analyze/mirrors in the user's
    /// cache].
    #[arg(long, value_name = "DIR")]
    pub fetch_to: Option<PathBuf>,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The scheduler of the cluster, as ballista://HOST:PORT.
    #[arg(long, value_name = "URL")]
    pub engine: Address,
    /// The folder of ranks, which all machines see under this path; or its mirror, which only this one sees, or its address
    /// in an object store.
    #[arg(long, value_name = "DIR|URI")]
    pub job: PathBuf,
    /// Folder for mirrors [default: trueno-analyze/mirrors in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub fetch_to: Option<PathBuf>,
    /// The folder of parts, that of `trueno-analyze report --parts`; all machines see it under this path.
    #[arg(long, value_name = "DIR")]
    pub parts: PathBuf,
    /// The catalog of the job, which `trueno-analyze rank-task --write-catalog` writes; all machines see it under this path.
    /// Without it, each task opens the whole job.
    #[arg(long, value_name = "FILE")]
    pub catalog: Option<PathBuf>,
    /// Ranks to make parts of, such as 0-15,17 [default: all folders rank=N of the job].
    #[arg(long, value_name = "RANKS")]
    pub ranks: Option<RankList>,
    /// Ranks per task [default: 4; above 1,024 ranks, one 256th].
    #[arg(long, value_name = "N")]
    pub ranks_per_task: Option<NonZeroUsize>,
    /// Fail if parts are still missing after this time, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub deadline: Duration,
    /// A flag of the report that the parts are for, such as --report=--window=iteration=3; may be given again.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub report: Vec<String>,
}

/// `query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// The scheduler of the cluster, as ballista://HOST:PORT.
    #[arg(long, value_name = "URL")]
    pub engine: Address,
    /// The folder of tables, as `trueno-analyze export parquet --by-table` writes it; all machines see it under this path.
    #[arg(long, value_name = "DIR")]
    pub tables: PathBuf,
    /// Folder for the answers: `0.arrow`, `1.arrow` and so on, Arrow streams.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Fail if the answers have more rows in total
    #[arg(long = "max-rows", alias = "most-rows", value_name = "N")]
    pub max_rows: u64,
    /// Number of tasks that read a table, each for some ranks
    #[arg(long, value_name = "N", default_value = "16")]
    pub tasks: NonZeroUsize,
    /// Fail if there is no answer after this time, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub deadline: Duration,
}

/// Parses a time, such as 500ms, 90s, 10m or 2h.
fn time(text: &str) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .with_context(|| format!("{text}: not a time (hint: 500ms, 90s, 10m, 2h)"))?;
    let millis = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        unit => bail!("{text}: unknown unit {unit:?} (hint: 500ms, 90s, 10m, 2h)"),
    };
    match number.checked_mul(millis) {
        Some(millis) if (1..=MAX_MILLIS).contains(&millis) => Ok(Duration::from_millis(millis)),
        _ => bail!("{text}: it is not between 1ms and 8760h"),
    }
}

/// A year.
const MAX_MILLIS: u64 = 8_760 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(time("10m").unwrap(), Duration::from_secs(600));
        assert_eq!(time("2h").unwrap(), Duration::from_secs(7_200));
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "1d",
            "0s",
            "99999999999999999999h",
            "5000000h",
            "1 s",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
