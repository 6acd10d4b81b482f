//! `trueno-cluster run`: makes all parts of a job, by a deadline.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::FAILED;
use crate::address::Address;
use crate::attempts::repeated;
use crate::cli::RunArgs;
use crate::job_source::Job;
use crate::rank_list::RankList;
use crate::readiness::{self, Readiness};
use crate::rounds::{self, listed};
use crate::submission::Submission;
use crate::task::{Answer, Envelope, RankTask, Remote, matched};

/// Default minimum of ranks per task.
const LEAST_RANKS: usize = 4;
/// Default maximum of tasks per round.
const MOST_TASKS: usize = 256;
/// How long to wait for executors that start at the same time.
const EXECUTORS_START: Duration = Duration::from_secs(20);

/// Computes the parts and prints a summary. Returns the exit code.
pub async fn run(args: &RunArgs, is_verbose: bool) -> anyhow::Result<u8> {
    let deadline = Instant::now() + args.deadline;
    let job = Job::find(&args.job, args.fetch_to.as_deref(), deadline).await?;
    let tasks = tasks(args, &job)?;
    let cluster = Cluster {
        scheduler: &args.engine,
        parts: &tasks[0].parts.clone(),
        folder: std::env::current_dir()?,
        remote: job.remote,
        // Numbers of processes come again, on other machines at the same time.
        name: format!(
            "{}-{:x}",
            std::process::id(),
            std::time::UNIX_EPOCH.elapsed()?.as_nanos()
        ),
        deadline,
        is_verbose,
    };
    let made = async {
        let patience = EXECUTORS_START.min(args.deadline);
        readiness::wait_for_executors(cluster.scheduler, patience).await?;
        rounds::run(tasks, async |round, tasks| {
            cluster.answers(round, tasks).await
        })
        .await
    };
    let summary = made.await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", serde_json::to_string(&summary)?).and_then(|()| stdout.flush())?;
    if summary.not_kept.is_empty() {
        return Ok(0);
    }
    let ranks: Vec<u32> = summary.not_kept.into_iter().collect();
    say(&format!(
        "error: the parts of {} are not saved",
        listed(&ranks)
    ));
    Ok(FAILED)
}

fn tasks(args: &RunArgs, job: &Job) -> anyhow::Result<Vec<RankTask>> {
    let parts = || {
        std::fs::create_dir_all(&args.parts)?;
        args.parts.canonicalize()
    };
    let parts = parts().with_context(|| format!("--parts {}", args.parts.display()))?;
    let catalog = args.catalog.as_ref();
    let catalog = catalog.map(|file| {
        file.canonicalize()
            .with_context(|| format!("--catalog {}", file.display()))
    });
    let catalog = catalog.transpose()?;
    let ranks = match &args.ranks {
        Some(ranks) => ranks.clone(),
        None => RankList::of_job(&job.folder)?,
    };
    let per_task = args.ranks_per_task.map(NonZeroUsize::get);
    let groups = ranks
        .0
        .chunks(per_task.unwrap_or(ranks_of_task(ranks.0.len())));
    let task = |ranks: &[u32]| RankTask {
        job: job.folder.clone(),
        ranks: ranks.to_vec(),
        parts: parts.clone(),
        catalog: catalog.clone(),
        report: args.report.clone(),
    };
    Ok(groups.map(task).collect())
}

/// Ranks per task. Starting a task takes as long as analysing a small rank, and a task without a catalog opens the
/// whole job.
fn ranks_of_task(ranks: usize) -> usize {
    ranks.div_ceil(MOST_TASKS).max(LEAST_RANKS)
}

struct Cluster<'a> {
    scheduler: &'a Address,
    parts: &'a Path,
    folder: PathBuf,
    remote: Option<Remote>,
    name: String,
    deadline: Instant,
    is_verbose: bool,
}

impl Cluster<'_> {
    /// Answers of a round, exactly one per task. If Ballista cannot finish the work, it is submitted again
    /// while there are executors; finished parts are reused.
    async fn answers(&self, round: usize, tasks: &[RankTask]) -> anyhow::Result<Vec<Answer>> {
        let again = |error: &anyhow::Error| {
            say(&format!("round {round}: it is submitted again: {error:#}"))
        };
        repeated(self.scheduler, self.deadline, again, async |attempt| {
            if self.is_verbose {
                say(&format!("round {round}: {} tasks", tasks.len()));
            }
            let envelope = |(number, task): (usize, &RankTask)| Envelope {
                id: format!("{}-{round}-{attempt}-{number}", self.name),
                limit_ms: self.left().as_millis().try_into().unwrap_or(u64::MAX),
                folder: self.folder.clone(),
                remote: self.remote.clone(),
                task: task.clone(),
            };
            let envelopes: Vec<Envelope> = tasks.iter().enumerate().map(envelope).collect();
            let rows = match self.submit(&envelopes).await? {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(error)),
            };
            let answers = matched(&envelopes, &rows);
            answers
                .map(Ok)
                .map_err(|why| anyhow!("the cluster's answers are refused: {why}"))
        })
        .await
    }

    /// Runs tasks. The outer error is final: the deadline has passed, or the user interrupted.
    async fn submit(
        &self,
        tasks: &[Envelope],
    ) -> anyhow::Result<anyhow::Result<Vec<(String, String)>>> {
        let submission = Submission::new(self.scheduler, self.parts, tasks).await?;
        let mut terminate = signal(SignalKind::terminate())?;
        let why = tokio::select! {
            rows = submission.rows() => return Ok(rows),
            () = sleep_until(self.deadline) => self.late().await,
            done = tokio::signal::ctrl_c() => done.map(|()| "interrupted".to_owned())?,
            _ = terminate.recv() => "terminated".to_owned(),
        };
        submission.cancel().await;
        bail!("{why}: finished parts are kept, and the same command continues from there")
    }

    async fn late(&self) -> String {
        let state = match readiness::ask(self.scheduler).await {
            Ok(Readiness::Ready) => format!("the scheduler at {} has executors", self.scheduler),
            Ok(Readiness::NoExecutors) => readiness::no_executors(self.scheduler),
            Err(error) => format!("{error:#}"),
        };
        format!("not done by the deadline ({state})")
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_jobs_have_larger_tasks() {
        let of = [1, 16, 1_024, 1_025, 10_000].map(ranks_of_task);
        assert_eq!(of, [4, 4, 4, 5, 40]);
    }
}
