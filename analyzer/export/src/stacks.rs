//! Self time by stack of names.
//!
//! Every busy instant of a lane belongs to the innermost interval open on it:
//! the latest started; of equals the shorter, then the higher id. So the self
//! times of a lane add up to its busy time, nested or not. Rows whose times
//! are not those of their work (bound, not valid) are part of no stack.
//!
//! A line of a stack names every frame of it: written out, a recursion of many levels would take the square of their
//! number. So what lies deeper than [`DEEPEST`] intervals is summed up in one frame.

use std::collections::{BTreeMap, HashMap};

use trueno_engine::spans::SPANS;

use super::rows::Source;
use super::sampled_stacks;
use crate::error::ExportError;

pub const DEEPEST: usize = 1000;
/// Common frame of everything deeper.
const DEEPER: &str = "[deeper]";

/// Index of the node above all lanes.
pub(super) const ROOT: usize = 0;

pub(super) struct Node {
    pub(super) name: usize,
    pub(super) parent: usize,
    pub(super) self_ns: i64,
    pub(super) children: BTreeMap<usize, usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Measure {
    /// Durations of intervals, minus those of intervals inside them.
    #[default]
    OwnTime,
    EstimatedCpuTime,
    /// Measured time in which a thread did not run.
    Waits,
}

/// A tree of names. Children of [`ROOT`] are lanes.
#[derive(Default)]
pub(super) struct Stacks {
    pub(super) nodes: Vec<Node>,
    pub(super) names: Vec<String>,
    /// Number of rows without a frame of their own; see [`DEEPEST`].
    pub(super) deeper: u64,
    pub(super) measure: Measure,
    numbers: HashMap<String, usize>,
}

/// Stacks of a run's intervals, or of samples if there are no intervals of work.
pub(super) fn stacks(source: &Source<'_>) -> Result<Stacks, ExportError> {
    let has_samples = source.table("samples").is_some_and(|table| table.rows > 0);
    if has_samples && !has_work(source)? {
        sampled_stacks::stacks(source)
    } else {
        intervals(source)
    }
}

/// Whether a run has rows of work. A sampled run only has waits of its threads and intervals between them, which
/// say nothing about work.
pub(super) fn has_work(source: &Source<'_>) -> Result<bool, ExportError> {
    let is_work = |name: &str| name != "syncs" && name != "calls";
    let mut tables = source.interval_tables();
    let has_rows = tables.any(|table| is_work(&table.name) && table.rows > 0);
    let calls = source.table("calls").is_some_and(|table| table.rows > 0);
    Ok(has_rows || (calls && sampled_stacks::has_calls(source)?))
}

fn intervals(source: &Source<'_>) -> Result<Stacks, ExportError> {
    let mut stacks = Stacks::empty();
    let (lanes, names) = (source.texts(SPANS, "lane")?, source.texts(SPANS, "name")?);
    // Numbers of a text in the run, and here.
    let mut known: HashMap<i64, usize> = HashMap::new();
    for (number, name) in &names {
        known.insert(*number, stacks.number(name));
    }
    let mut branch = Branch::default();
    let mut last = None;
    let sql = format!("SELECT lane_id, name_id, depth, self_ns FROM {SPANS}");
    source.batches(SPANS, &sql, |batch| {
        let (lane, name) = (batch.i64("lane_id")?, batch.i64("name_id")?);
        let (depth, self_ns) = (batch.i64("depth")?, batch.i64("self_ns")?);
        for row in 0..batch.rows() {
            if last != Some(lane.value(row)) {
                last = Some(lane.value(row));
                let name = lanes.get(&lane.value(row)).map_or("?", String::as_str);
                let name = stacks.number(name);
                branch.top = stacks.child(ROOT, name);
            }
            let name = known.get(&name.value(row)).copied().unwrap_or(0);
            let depth = usize::try_from(depth.value(row)).unwrap_or(0);
            stacks.add(&mut branch, depth, name, self_ns.value(row));
        }
        Ok(())
    })?;
    Ok(stacks)
}

/// Nodes of currently open intervals, outermost first.
#[derive(Default)]
struct Branch {
    top: usize,
    nodes: Vec<usize>,
}

impl Stacks {
    pub(super) fn empty() -> Self {
        let mut stacks = Self::default();
        let root = stacks.number("");
        stacks.nodes.push(Node {
            name: root,
            parent: ROOT,
            self_ns: 0,
            children: BTreeMap::new(),
        });
        stacks
    }

    pub(super) fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    pub(super) fn child(&mut self, parent: usize, name: usize) -> usize {
        if let Some(&child) = self.nodes[parent].children.get(&name) {
            return child;
        }
        let child = self.nodes.len();
        self.nodes.push(Node {
            name,
            parent,
            self_ns: 0,
            children: BTreeMap::new(),
        });
        self.nodes[parent].children.insert(name, child);
        child
    }

    /// Adds an interval at this depth. Intervals must be added in order of start.
    fn add(&mut self, branch: &mut Branch, depth: usize, name: usize, self_ns: i64) {
        branch.nodes.truncate(depth);
        let under = branch.nodes.last().copied().unwrap_or(branch.top);
        let node = match depth {
            DEEPEST => {
                let deeper = self.number(DEEPER);
                self.child(under, deeper)
            }
            0..DEEPEST => self.child(under, name),
            _ => under,
        };
        self.deeper += u64::from(depth >= DEEPEST);
        self.nodes[node].self_ns = self.nodes[node].self_ns.saturating_add(self_ns);
        branch.nodes.push(node);
    }

    /// Time of each node including its descendants. Nodes come after their parent.
    pub(super) fn totals(&self) -> Vec<i64> {
        let mut totals: Vec<i64> = self.nodes.iter().map(|node| node.self_ns).collect();
        for at in (1..self.nodes.len()).rev() {
            let parent = self.nodes[at].parent;
            totals[parent] = totals[parent].saturating_add(totals[at]);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::super::folded;
    use super::*;

    fn nested(levels: i64) -> (Stacks, Vec<String>) {
        let mut stacks = Stacks::empty();
        let (lane, name) = (stacks.number("lane"), stacks.number("f"));
        let mut branch = Branch {
            top: stacks.child(ROOT, lane),
            ..Branch::default()
        };
        for level in 0..levels {
            stacks.add(&mut branch, level as usize, name, 2);
        }
        let mut text = Vec::new();
        folded::write(&stacks, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        (stacks, text.lines().map(str::to_owned).collect())
    }

    #[test]
    fn what_lies_deep_is_in_one_frame_and_no_time_is_lost() {
        let time = |lines: &[String]| -> i64 {
            let ns = |line: &String| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap();
            lines.iter().map(ns).sum()
        };
        let deepest = |lines: &[String]| {
            let frames = |line: &String| line.split(';').count();
            lines.iter().map(frames).max().unwrap()
        };
        let most = DEEPEST as i64;
        let (stacks, lines) = nested(most);
        assert_eq!((stacks.deeper, deepest(&lines)), (0, 1 + DEEPEST));
        assert_eq!(time(&lines), 2 * most);
        for levels in [most + 1, 64_000] {
            let (stacks, lines) = nested(levels);
            assert_eq!(stacks.deeper as i64, levels - most);
            assert_eq!((lines.len(), deepest(&lines)), (DEEPEST + 1, 2 + DEEPEST));
            assert_eq!(time(&lines), 2 * levels);
            let in_one = format!("{DEEPER} {}", 2 * (levels - most));
            assert!(lines.iter().any(|line| line.ends_with(&in_one)));
        }
    }
}
