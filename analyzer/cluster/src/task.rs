//! Tasks and answers, as they go over the cluster: one text a task, one text an answer.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A task as `trueno-analyze rank-task` reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTask {
    pub job: PathBuf,
    pub ranks: Vec<u32>,
    pub parts: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<PathBuf>,
    pub report: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Unique among all tasks of all drivers.
    pub id: String,
    /// Time limit in milliseconds.
    pub limit_ms: u64,
    /// The driver's working directory, for relative paths in flags.
    pub folder: PathBuf,
    /// Where to mirror the job from, if machines do not see it.
    pub remote: Option<Remote>,
    pub task: RankTask,
}

/// A job in an object store. Credentials and endpoint come from the executor's environment and are never part of a
/// task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    pub uri: String,
    /// Version of its files, as printed by `trueno-store fetch`.
    pub version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub id: String,
    pub end: End,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Done(Progress),
    Failed(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub rounds: u64,
    pub made: u64,
    pub kept: u64,
    pub not_kept: Vec<u32>,
    /// Ranks whose parts the next round needs and that do not exist yet.
    pub missing: Vec<u32>,
}

/// Answers in the order of their tasks. There must be exactly one valid answer for each.
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
                catalog: None,
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
