//! Tasks on threads, and who waited for them.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::name_groups::NameGroups;
use trueno_plugin::{Result, Run, rank};

use super::Window;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: u64,
    pub parent: Option<u64>,
    pub name: String,
    pub thread: i64,
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Task {
    pub fn dur_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Tasks {
    pub tasks: Vec<Task>,
    /// Ids of waits for which it is recorded what they waited for, in the window or outside.
    pub explained_waits: BTreeSet<u64>,
    /// Waits for tasks: id, start, end, indexes into `tasks`.
    pub joins: Vec<(u64, i64, i64, Vec<usize>)>,
}

impl Tasks {
    /// Reads inputs `tasks` and `joins`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run, window: &Window, groups: &NameGroups) -> Result<Self> {
        let mut out = Self::default();
        let table = run.table("tasks")?;
        let (id, parent) = (table.u64("id")?, table.u64("parent")?);
        let (name, thread) = (table.text("name")?, table.i64("thread")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let mut places = BTreeMap::new();
        for row in 0..table.rows() {
            let (Some(id), Some(name), Some(thread)) =
                (id.get(row), name.get(row), thread.get(row))
            else {
                continue;
            };
            if window.row(start.get(row), dur.get(row)).is_none() {
                continue;
            }
            let start_ns = start.get(row).unwrap_or(0);
            places.insert(id, out.tasks.len());
            out.tasks.push(Task {
                id,
                parent: parent.get(row),
                name: groups.group(name).to_owned(),
                thread,
                start_ns,
                end_ns: start_ns.saturating_add(dur.get(row).unwrap_or(0)),
            });
        }
        let table = run.table("joins")?;
        let (task, wait) = (table.u64("task")?, table.u64("wait")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let mut at: BTreeMap<u64, usize> = BTreeMap::new();
        for row in 0..table.rows() {
            out.explained_waits.extend(wait.get(row));
            let place = task.get(row).and_then(|task| places.get(&task));
            let (Some(place), Some(wait), Some(start_ns), Some(dur_ns)) =
                (place, wait.get(row), start.get(row), dur.get(row))
            else {
                continue;
            };
            let join = *at.entry(wait).or_insert_with(|| {
                let end_ns = start_ns.saturating_add(dur_ns);
                out.joins.push((wait, start_ns, end_ns, Vec::new()));
                out.joins.len() - 1
            });
            out.joins[join].3.push(*place);
        }
        Ok(out)
    }

    pub fn most_at_once(&self) -> usize {
        let ranks: BTreeSet<u64> = self
            .tasks
            .iter()
            .map(|task| rank::of_key(task.id))
            .collect();
        let most = ranks.into_iter().map(|rank| self.most_of(rank)).max();
        most.unwrap_or(0)
    }

    fn most_of(&self, rank: u64) -> usize {
        let tasks = || {
            self.tasks
                .iter()
                .filter(|task| rank::of_key(task.id) == rank)
        };
        let starts = tasks().map(|task| (task.start_ns, 1));
        let ends = tasks().map(|task| (task.end_ns, -1));
        let mut moments: Vec<(i64, i64)> = starts.chain(ends).collect();
        // Of one moment ends come first: what follows at once is not at once.
        moments.sort_unstable();
        let mut open = 0;
        let most = moments.into_iter().map(|(_, step)| {
            open += step;
            open
        });
        most.max().unwrap_or(0).max(0) as usize
    }

    /// Groups of tasks and when the wait for each ended. A group is what one wait waited for. Without recorded
    /// joins, it is tasks of one parent and stem that began before the first of them ended.
    pub fn groups(&self) -> Vec<(Vec<usize>, i64)> {
        if !self.joins.is_empty() {
            let joins = self.joins.iter().filter(|join| join.3.len() > 1);
            return joins.map(|join| (join.3.clone(), join.2)).collect();
        }
        let mut open: BTreeMap<(u64, String), (Vec<usize>, i64)> = BTreeMap::new();
        let mut out = Vec::new();
        for (at, task) in self.tasks.iter().enumerate() {
            let Some(parent) = task.parent else { continue };
            let (group, first_end) = open
                .entry((parent, stem(&task.name)))
                .or_insert_with(|| (Vec::new(), i64::MAX));
            if task.start_ns >= *first_end {
                out.push(std::mem::take(group));
                *first_end = i64::MAX;
            }
            group.push(at);
            *first_end = (*first_end).min(task.end_ns);
        }
        out.extend(open.into_values().map(|(group, _)| group));
        let end = |group: &Vec<usize>| {
            group
                .iter()
                .map(|at| self.tasks[*at].end_ns)
                .max()
                .unwrap_or(0)
        };
        let mut out: Vec<_> = out
            .into_iter()
            .filter(|group| group.len() > 1)
            .map(|group| {
                let end_ns = end(&group);
                (group, end_ns)
            })
            .collect();
        out.sort();
        out
    }
}

/// The name without digits, so that `head 3` and `head 4` are the same.
pub fn stem(name: &str) -> String {
    name.chars()
        .filter(|letter| !letter.is_ascii_digit())
        .collect()
}
