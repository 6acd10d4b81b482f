//! Self time by stack of names.
//!
//! Every busy instant of a lane belongs to the innermost interval open on it:
//! the latest started; of equals the shorter, then the higher id. So the self
//! times of a lane add up to its busy time, nested or not. Rows whose times
//! are not those of their work (bound, not valid) are part of no stack.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::ExportError;
use super::rows::{self, Lane, SPAN_TABLES, Source};

/// Number of the node above all lanes.
pub(super) const ROOT: usize = 0;

/// One name below others.
pub(super) struct Node {
    /// Index into [`Stacks::names`].
    pub(super) name: usize,
    pub(super) parent: usize,
    pub(super) self_ns: i64,
    /// By name.
    pub(super) children: BTreeMap<usize, usize>,
}

/// A tree of names; the children of [`ROOT`] are lanes.
#[derive(Default)]
pub(super) struct Stacks {
    pub(super) nodes: Vec<Node>,
    pub(super) names: Vec<String>,
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
    let mut stacks = Stacks::default();
    let root = stacks.number("");
    stacks.nodes.push(Node {
        name: root,
        parent: ROOT,
        self_ns: 0,
        children: BTreeMap::new(),
    });
    let mut lanes: BTreeMap<Lane, Vec<Span>> = BTreeMap::new();
    for table in SPAN_TABLES.iter().filter_map(|name| source.table(name)) {
        source.each(&table, |frame| {
            for row in 0..frame.height() {
                let (start, dur) = (
                    rows::i64_at(frame, "start_ns", row),
                    rows::i64_at(frame, "dur_ns", row),
                );
                let (None, Some(start_ns), Some(dur_ns)) = (rows::untimed(frame, row), start, dur)
                else {
                    continue;
                };
                let span = Span {
                    start_ns,
                    end_ns: start_ns + dur_ns,
                    id: rows::u64_at(frame, "id", row).unwrap_or_default(),
                    name: stacks.number(&rows::span_name(&table.name, frame, row)),
                };
                let lane = Lane::of(&table.name, frame, row);
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
        let mut open: Vec<(i64, usize)> = Vec::new(); // end, node
        let mut now_ns = i64::MIN;
        for span in spans {
            self.close(&mut open, &mut now_ns, span.start_ns);
            if let Some(&(_, node)) = open.last() {
                self.nodes[node].self_ns += span.start_ns - now_ns;
            }
            now_ns = span.start_ns;
            let under = open.last().map_or(top, |&(_, node)| node);
            let node = self.child(under, span.name);
            open.push((span.end_ns, node));
        }
        self.close(&mut open, &mut now_ns, i64::MAX);
    }

    /// Ends what had ended by `until_ns`, innermost first.
    fn close(&mut self, open: &mut Vec<(i64, usize)>, now_ns: &mut i64, until_ns: i64) {
        while let Some(&(end_ns, node)) = open.last() {
            if end_ns > until_ns {
                break;
            }
            if *now_ns < end_ns {
                self.nodes[node].self_ns += end_ns - *now_ns;
                *now_ns = end_ns;
            }
            open.pop();
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
