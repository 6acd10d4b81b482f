//! Self time by stack of names.
//!
//! Every busy instant of a lane belongs to the innermost interval open on it:
//! the latest started; of equals the shorter, then the higher id. So the self
//! times of a lane add up to its busy time, nested or not. Rows whose times
//! are not those of their work (bound, not valid) are part of no stack.
//!
//! A line of a stack names every frame of it: written out, a recursion of many levels would take the square of their
//! number. So what lies deeper than [`DEEPEST`] intervals is summed up in one frame.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use trueno_analysis::sweep::{Open, OpenIntervals};
use trueno_engine::Lane;
use trueno_engine::frame::{i64_at, u64_at};

use super::rows::{self, Source};
use crate::error::ExportError;

/// Deepest nesting of intervals with a frame of its own.
pub const DEEPEST: usize = 1000;
/// The frame of all that lies deeper.
const DEEPER: &str = "[deeper]";

/// Number of the node above all lanes.
pub(super) const ROOT: usize = 0;

/// One name below others.
pub(super) struct Node {
    /// Index into [`Stacks::names`].
    pub(super) name: usize,
    pub(super) parent: usize,
    pub(super) self_ns: i64,
    /// Children by name.
    pub(super) children: BTreeMap<usize, usize>,
}

/// A tree of names; the children of [`ROOT`] are lanes.
#[derive(Default)]
pub(super) struct Stacks {
    pub(super) nodes: Vec<Node>,
    pub(super) names: Vec<String>,
    /// Rows without a frame of their own; see [`DEEPEST`].
    pub(super) deeper: u64,
    numbers: HashMap<String, usize>,
}

#[derive(Clone, Copy)]
struct Span {
    start_ns: i64,
    end_ns: i64,
    id: u64,
    name: usize,
}

/// Folds all lanes of a run.
pub(super) fn stacks(source: &Source<'_>) -> Result<Stacks, ExportError> {
    let mut stacks = Stacks::empty();
    let mut lanes: BTreeMap<Lane, Vec<Span>> = BTreeMap::new();
    for table in source.interval_tables() {
        source.each(&table, |frame| {
            for row in 0..frame.height() {
                let (start, dur) = (i64_at(frame, "start_ns", row), i64_at(frame, "dur_ns", row));
                let (None, Some(start_ns), Some(dur_ns)) = (rows::untimed(frame, row), start, dur)
                else {
                    continue;
                };
                let span = Span {
                    start_ns,
                    end_ns: start_ns + dur_ns,
                    id: u64_at(frame, "id", row).unwrap_or_default(),
                    name: stacks.number(&rows::span_name(&table.name, frame, row)),
                };
                let lane = Lane::from_row(&table.name, frame, row);
                lanes.entry(lane).or_default().push(span);
            }
            Ok(())
        })?;
    }
    let threads = rows::thread_names(source)?;
    for (lane, mut spans) in lanes {
        spans.sort_unstable_by_key(|s| (s.start_ns, Reverse(s.end_ns), s.id));
        let name = stacks.number(&lane.name(&threads, source.is_of_ranks()));
        let top = stacks.child(ROOT, name);
        stacks.fold(top, &spans);
    }
    Ok(stacks)
}

impl Stacks {
    /// Nothing but the root.
    fn empty() -> Self {
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

    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn child(&mut self, parent: usize, name: usize) -> usize {
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

    /// Adds one sorted lane below `top`.
    fn fold(&mut self, top: usize, spans: &[Span]) {
        let deeper = self.number(DEEPER);
        let mut open: OpenIntervals<usize> = OpenIntervals::default();
        for span in spans {
            open.advance(span.start_ns, |stack, from_ns, to_ns| {
                self.book(stack, from_ns, to_ns);
            });
            let under = open.innermost().unwrap_or(top);
            let depth = open.stack().len();
            let node = match depth {
                DEEPEST => self.child(under, deeper),
                0..DEEPEST => self.child(under, span.name),
                _ => under,
            };
            self.deeper += u64::from(depth >= DEEPEST);
            open.open(span.end_ns, node);
        }
        open.advance(i64::MAX, |stack, from_ns, to_ns| {
            self.book(stack, from_ns, to_ns);
        });
    }

    /// Books a stretch of time to the innermost node.
    fn book(&mut self, stack: &[Open<usize>], from_ns: i64, to_ns: i64) {
        if let Some(innermost) = stack.last() {
            self.nodes[innermost.item].self_ns += to_ns - from_ns;
        }
    }

    /// Self time of a node and of all below it; children come after their parent.
    pub(super) fn totals(&self) -> Vec<i64> {
        let mut totals: Vec<i64> = self.nodes.iter().map(|node| node.self_ns).collect();
        for at in (1..self.nodes.len()).rev() {
            totals[self.nodes[at].parent] += totals[at];
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::super::folded;
    use super::*;

    /// `levels` intervals, each in the one before, with 2 ns of its own.
    fn nested(levels: i64) -> (Stacks, Vec<String>) {
        let mut stacks = Stacks::empty();
        let (lane, name) = (stacks.number("lane"), stacks.number("f"));
        let top = stacks.child(ROOT, lane);
        let spans: Vec<Span> = (0..levels)
            .map(|level| Span {
                start_ns: level,
                end_ns: 2 * levels - level,
                id: level as u64,
                name,
            })
            .collect();
        stacks.fold(top, &spans);
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
