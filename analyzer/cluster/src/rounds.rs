//! Rounds over the tasks, until no answer says that parts are missing.

use std::collections::BTreeSet;

use anyhow::bail;
use serde::Serialize;

use crate::task::{Answer, End, RankTask};

/// More rounds are a bug. A round is needed for each plugin in a chain of plugins that read merged results.
const MAX_ROUNDS: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub rounds: u64,
    pub made: u64,
    pub kept: u64,
    pub not_kept: BTreeSet<u32>,
}

/// Computes all parts. `answers` runs tasks and returns exactly one answer for each, in order.
///
/// # Errors
/// A task failed; a round made nothing, and parts are missing.
pub async fn run(
    mut tasks: Vec<RankTask>,
    mut answers: impl AsyncFnMut(usize, &[RankTask]) -> anyhow::Result<Vec<Answer>>,
) -> anyhow::Result<Summary> {
    let ranks: usize = tasks.iter().map(|task| task.ranks.len()).sum();
    let mut summary = Summary::default();
    for round in 1..=MAX_ROUNDS {
        let answers = answers(round, &tasks).await?;
        let mut made = 0;
        let mut missing = BTreeSet::new();
        let mut left = Vec::new();
        let mut failures = Vec::new();
        for (task, answer) in tasks.into_iter().zip(answers) {
            let progress = match answer.end {
                End::Done(progress) => progress,
                End::Failed(why) => {
                    failures.push(format!("task of {}: {why}", listed(&task.ranks)));
                    continue;
                }
            };
            made += progress.made;
            summary.rounds = summary.rounds.max(progress.rounds);
            summary.not_kept.extend(progress.not_kept);
            if !progress.missing.is_empty() {
                missing.extend(progress.missing);
                left.push(task);
            }
        }
        summary.made += made;
        match failures.as_slice() {
            [] => {}
            [one] => bail!("{one}"),
            [first, more @ ..] => bail!("{first} (and {} more tasks failed)", more.len()),
        }
        let all = summary.rounds * ranks as u64;
        summary.kept = all.saturating_sub(summary.made + summary.not_kept.len() as u64);
        // Whoever makes the report makes what could not be kept, and what needs it.
        if left.is_empty() || !summary.not_kept.is_empty() {
            return Ok(summary);
        }
        if made == 0 {
            let missing: Vec<u32> = missing.into_iter().collect();
            bail!(
                "round {round} made no part, and those of {} are not there (hint: all machines need the same build of \
                 trueno-analyze and of the plugins, and see the job and the parts under the same paths)",
                listed(&missing)
            );
        }
        tasks = left;
    }
    bail!("after {MAX_ROUNDS} rounds there are still parts missing")
}

pub fn listed(ranks: &[u32]) -> String {
    match ranks {
        [] => "no rank".to_owned(),
        [one] => format!("rank {one}"),
        [first, .., last] if ranks.len() > 8 => {
            format!("ranks {first}, …, {last} ({} ranks)", ranks.len())
        }
        several => {
            let several: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("ranks {}", several.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Progress;

    fn tasks() -> Vec<RankTask> {
        let task = |ranks: [u32; 2]| RankTask {
            job: "/job".into(),
            ranks: ranks.to_vec(),
            parts: "/parts".into(),
            catalog: None,
            report: Vec::new(),
        };
        vec![task([0, 1]), task([2, 3])]
    }

    fn done(rounds: u64, made: u64, missing: &[u32], not_kept: &[u32]) -> Answer {
        Answer {
            id: String::new(),
            end: End::Done(Progress {
                rounds,
                made,
                missing: missing.to_vec(),
                not_kept: not_kept.to_vec(),
                kept: 0,
            }),
        }
    }

    async fn ends(script: Vec<Vec<Answer>>) -> (anyhow::Result<Summary>, Vec<usize>) {
        let mut script = script.into_iter();
        let mut asked = Vec::new();
        let summary = run(tasks(), async |_, tasks| {
            asked.push(tasks.len());
            Ok(script.next().expect("no round more"))
        });
        (summary.await, asked)
    }

    #[tokio::test]
    async fn rounds_go_on_until_nothing_is_missing() {
        let first = vec![done(1, 2, &[2, 3], &[]), done(2, 4, &[], &[])];
        let (summary, asked) = ends(vec![first, vec![done(2, 2, &[], &[])]]).await;
        assert_eq!(asked, [2, 1], "who misses nothing is not asked again");
        let summary = summary.unwrap();
        assert_eq!((summary.rounds, summary.made, summary.kept), (2, 8, 0));
        let again = vec![done(2, 0, &[], &[]), done(2, 1, &[], &[])];
        let (summary, _) = ends(vec![again]).await;
        let summary = summary.unwrap();
        assert_eq!((summary.rounds, summary.made, summary.kept), (2, 1, 7));
    }

    #[tokio::test]
    async fn what_gets_nowhere_ends() {
        let stuck = || vec![done(1, 0, &[2, 3], &[]), done(1, 0, &[0, 1], &[])];
        let (summary, asked) = ends(vec![stuck()]).await;
        let why = summary.unwrap_err().to_string();
        assert!(
            why.contains("round 1 made no part, and those of ranks 0, 1, 2, 3"),
            "{why}"
        );
        assert_eq!(asked, [2]);
        let not_kept = vec![done(1, 1, &[3], &[1]), done(1, 1, &[1], &[3])];
        let (summary, _) = ends(vec![not_kept]).await;
        let summary = summary.unwrap();
        assert_eq!(summary.not_kept, BTreeSet::from([1, 3]));
        assert_eq!((summary.made, summary.kept), (2, 0));
        let failed = Answer {
            id: String::new(),
            end: End::Failed("it ended with exit code 2: no".to_owned()),
        };
        let (summary, _) = ends(vec![vec![done(2, 2, &[], &[]), failed]]).await;
        let why = summary.unwrap_err().to_string();
        assert_eq!(why, "task of ranks 2, 3: it ended with exit code 2: no");
    }
}
