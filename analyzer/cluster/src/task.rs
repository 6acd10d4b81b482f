//! Tasks and answers, as they go over the cluster: one text a task, one text an answer.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A task as `trueno-analyze rank-task` reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTask {
    /// The folder of ranks.
    pub job: PathBuf,
    /// Ranks to make parts of.
    pub ranks: Vec<u32>,
    /// The folder of parts.
    pub parts: PathBuf,
    /// Flags of the report.
    pub report: Vec<String>,
}

/// A task with all that the executor has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Name of this task: no other, of this driver or another, has the same.
    pub id: String,
    /// Milliseconds that it may take.
    pub limit_ms: u64,
    /// The driver's working directory, which relative paths in flags begin at.
    pub folder: PathBuf,
    /// The place that the job is to be mirrored from, where machines do not see it.
    pub remote: Option<Remote>,
    pub task: RankTask,
}

/// A job in a store. Keys and server are those of the executor's environment: none is in a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    pub uri: String,
    /// Version of its files, as `trueno-store fetch` prints it.
    pub version: String,
}

/// End of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// That of the envelope.
    pub id: String,
    pub end: End,
}

/// The way that a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It said how far it came.
    Done(Progress),
    /// It came to no end of its own, and this is why.
    Failed(String),
}

/// The answer of `trueno-analyze rank-task`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Rounds over the ranks that were begun.
    pub rounds: u64,
    /// Parts that were made.
    pub made: u64,
    /// Parts that were there.
    pub kept: u64,
    /// Ranks with parts that could not be kept.
    pub not_kept: Vec<u32>,
    /// Ranks whose parts the next round needs, and which are not there.
    pub missing: Vec<u32>,
}

/// Answers in the order of their tasks: exactly one of each, and each as it was asked for.
///
/// # Errors
/// There are more, fewer, or others.
pub fn matched(tasks: &[Envelope], rows: &[(String, String)]) -> Result<Vec<Answer>, String> {
    let places: HashMap<&str, usize> = tasks
        .iter()
        .enumerate()
        .map(|(place, task)| (task.id.as_str(), place))
        .collect();
    let mut answers: Vec<Option<Answer>> = tasks.iter().map(|_| None).collect();
    for (task, answer) in rows {
        let task: Envelope = serde_json::from_str(task)
            .map_err(|error| format!("an answer does not belong to any of our tasks: {error}"))?;
        let place = places.get(task.id.as_str()).copied();
        let place = place.filter(|place| tasks[*place] == task);
        let place = place
            .ok_or_else(|| format!("an answer belongs to task {}, which is not ours", task.id))?;
        let answer: Answer = serde_json::from_str(answer)
            .map_err(|error| format!("the answer to task {} is not valid: {error}", task.id))?;
        if answer.id != task.id {
            return Err(format!("task {} has the answer of {}", task.id, answer.id));
        }
        if answers[place].replace(answer).is_some() {
            return Err(format!("task {} has two answers", task.id));
        }
    }
    let all = answers.into_iter().zip(tasks);
    all.map(|(answer, task)| answer.ok_or_else(|| format!("task {} has no answer", task.id)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(id: &str) -> Envelope {
        Envelope {
            id: id.to_owned(),
            limit_ms: 1_000,
            folder: "/".into(),
            remote: None,
            task: RankTask {
                job: "/job".into(),
                ranks: vec![0, 1],
                parts: "/parts".into(),
                report: Vec::new(),
            },
        }
    }

    fn row(task: &Envelope, answers: &str) -> (String, String) {
        let answer = Answer {
            id: answers.to_owned(),
            end: End::Done(Progress::default()),
        };
        let text = |json: Result<String, _>| json.unwrap();
        (
            text(serde_json::to_string(task)),
            text(serde_json::to_string(&answer)),
        )
    }

    #[test]
    fn each_task_has_exactly_one_answer() {
        let tasks = [envelope("a"), envelope("b")];
        let [a, b] = [row(&tasks[0], "a"), row(&tasks[1], "b")];
        let found = matched(&tasks, &[b.clone(), a.clone()]).unwrap();
        let ids: Vec<&str> = found.iter().map(|answer| answer.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"], "in the order of the tasks");
        let refused = |rows: &[(String, String)]| matched(&tasks, rows).unwrap_err();
        assert_eq!(refused(std::slice::from_ref(&a)), "task b has no answer");
        assert_eq!(
            refused(&[a.clone(), b.clone(), a.clone()]),
            "task a has two answers"
        );
        let other = row(&envelope("c"), "c");
        assert_eq!(
            refused(&[a.clone(), other]),
            "an answer is to task c, not of ours"
        );
        let mut altered = tasks[1].clone();
        altered.task.ranks.push(7);
        assert!(refused(&[a.clone(), row(&altered, "b")]).contains("not ours"));
        assert!(refused(&[a.clone(), row(&tasks[1], "a")]).contains("has the answer of a"));
        assert!(refused(&[a, (b.0, "{}".to_owned())]).contains("is not valid"));
    }
}
