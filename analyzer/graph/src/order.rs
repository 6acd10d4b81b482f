//! Puts the nodes in the order of their starts, the outer first.

use trueno_analysis::start_order::{Interval, sort_by_start, start_key};

use super::durations::Durations;
use super::node::Nodes;
use super::{Class, NONE, Timing};

#[derive(Clone, Copy)]
struct Times {
    start_ns: i64,
    end_ns: i64,
    id: u64,
    at: u32,
}

impl Interval for Times {
    #[inline]
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

fn times(nodes: &Nodes, at: usize) -> Times {
    Times {
        start_ns: nodes.starts_ns[at],
        end_ns: nodes.end_ns(at),
        id: nodes.ids[at],
        at: at as u32,
    }
}

/// Builds the order of the nodes, table by table. Ties keep their order. Each table is sorted alone before the next
/// is read, and merged with the others.
#[derive(Default)]
pub(super) struct Order {
    places: Vec<u32>,
    end: usize,
}

impl Order {
    pub(super) fn table(&mut self, nodes: &Nodes) {
        let table = table_in_order(nodes, self.end..nodes.len());
        self.places = merged(nodes, std::mem::take(&mut self.places), table);
        self.end = nodes.len();
    }

    pub(super) fn into_places(self) -> Vec<u32> {
        self.places
    }
}

fn table_in_order(nodes: &Nodes, table: std::ops::Range<usize>) -> Vec<u32> {
    if table
        .clone()
        .is_sorted_by_key(|at| start_key(&times(nodes, at)))
    {
        return table.map(|at| at as u32).collect();
    }
    let mut order: Vec<Times> = table.map(|at| times(nodes, at)).collect();
    sort_by_start(&mut order);
    for same in order.chunk_by_mut(|a, b| start_key(a) == start_key(b)) {
        if same.len() > 1 {
            same.sort_unstable_by_key(|times| times.at);
        }
    }
    order.into_iter().map(|times| times.at).collect()
}

/// For ties, the first list's nodes come first.
fn merged(nodes: &Nodes, first: Vec<u32>, second: Vec<u32>) -> Vec<u32> {
    if first.is_empty() || second.is_empty() {
        return if first.is_empty() { second } else { first };
    }
    let key = |at: u32| {
        let at = at as usize;
        (nodes.starts_ns[at], at)
    };
    let is_before = |a: (i64, usize), b: (i64, usize)| {
        a.0 < b.0 || (a.0 == b.0 && start_key(&times(nodes, a.1)) < start_key(&times(nodes, b.1)))
    };
    let mut both = Vec::with_capacity(first.len() + second.len());
    let mut second = second.into_iter().map(key).peekable();
    for at in first {
        let key = key(at);
        while let Some(other) = second.next_if(|other| is_before(*other, key)) {
            both.push(other.1 as u32);
        }
        both.push(at);
    }
    both.extend(second.map(|(_, at)| at as u32));
    both
}

/// Sorts the nodes and puts lanes in front. Columns are processed one by one, so that at most one is duplicated in
/// memory.
pub(super) fn put_in_order(
    nodes: Nodes,
    order: &[u32],
    lane_names: &[u32],
    lane_numbers: &[u32],
) -> Nodes {
    let lanes = lane_names.len();
    let row_lanes = order.iter().map(|at| nodes.lanes[*at as usize]);
    let row_lanes = row_lanes.map(|lane| lane_numbers[lane as usize]);
    let lane_column: Vec<u32> = (0..lanes as u32).chain(row_lanes).collect();
    drop(nodes.lanes);
    let names = order.iter().map(|at| nodes.names[*at as usize]);
    let names: Vec<u32> = lane_names.iter().copied().chain(names).collect();
    drop(nodes.names);
    Nodes {
        ids: gathered(nodes.ids, 0, lanes, order),
        starts_ns: gathered(nodes.starts_ns, 0, lanes, order),
        durs_ns: nodes.durs_ns.gathered(lanes, order),
        selfs_ns: Durations::default(),
        devices_ns: Durations::default(),
        has_devices: Vec::new(),
        names,
        parents: vec![NONE; lanes + order.len()],
        lanes: lane_column,
        details: gathered(nodes.details, NONE, lanes, order),
        classes: gathered(nodes.classes, Class::Lane, lanes, order),
        timings: gathered(nodes.timings, Timing::Measured, lanes, order),
    }
}

fn gathered<T: Copy>(column: Vec<T>, of_lane: T, lanes: usize, order: &[u32]) -> Vec<T> {
    let rows = order.iter().map(|at| column[*at as usize]);
    std::iter::repeat_n(of_lane, lanes).chain(rows).collect()
}
