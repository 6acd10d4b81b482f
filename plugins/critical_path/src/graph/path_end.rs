//! Choice of the segment that the path ends with.
//!
//! The segment released last may have nothing to do with the program's work: a watchdog, a progress bar, the profiler's own
//! thread. The path back from there would be one long gap, or one long sleep. So lanes are taken in the groups that
//! recorded dependencies connect; the group with the most segments comes first. The path ends with that last segment
//! of a lane of the group from which the way back leaves the least of the window unexplained: as gap, in functions that
//! only wait, and the time up to the end of the window. When that is more than half of the window, the
//! next group is tried; when all leave more, the least of all wins. Those that leave hardly more than the least
//! count as equal: of these it is what lets go last, work of a device before the host by `AHEAD_PART`, for the host is
//! ahead of it, and will have to wait for it; then the lane that comes first. Ids decide nothing: with other ids the
//! path is the same.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::lanes::Class;

use crate::graph::dependency_graph::{Graph, Link};
use crate::graph::lag_kind;
use crate::graph::walk::PieceKind;

/// At most this many lanes are tried, those with the latest release.
const TRIED: usize = 64;

/// Ends count as equal if they leave at most 1 / `EQUAL_PART` of the window more unexplained.
const EQUAL_PART: i64 = 20;
/// A device that is released at most 1 / `AHEAD_PART` of the window before the host counts as released as late.
const AHEAD_PART: i64 = 1_000;

/// Unexplained time, then what decides ties.
type Key = (i64, Reverse<i64>, bool);

pub fn last(graph: &Graph<'_>, connected: &[usize]) -> Option<u32> {
    let first = &graph.segments.lane_first;
    let mut lanes = (0..connected.len()).filter(|lane| first[*lane] < first[lane + 1]);
    if let (Some(only), None) = (lanes.next(), lanes.next()) {
        return Some(first[only + 1] - 1);
    }
    let mut groups: BTreeMap<usize, (u64, Vec<usize>)> = BTreeMap::new();
    for (lane, group) in connected.iter().enumerate() {
        let group = groups.entry(*group).or_default();
        group.0 += u64::from(first[lane + 1] - first[lane]);
        group.1.push(lane);
    }
    let mut groups: Vec<(u64, Vec<usize>)> = groups.into_values().collect();
    groups.sort_by_key(|(segments, _)| Reverse(*segments));
    let mut best: Option<(Key, u32)> = None;
    for (_, lanes) in groups {
        let Some(found) = last_of(graph, &lanes, best) else {
            continue;
        };
        if found.0.0 <= graph.run.wall_ns / 2 {
            return Some(found.1);
        }
        best = Some(best.map_or(found, |best| best.min(found)));
    }
    best.map(|best| best.1)
}

fn last_of(graph: &Graph<'_>, lanes: &[usize], before: Option<(Key, u32)>) -> Option<(Key, u32)> {
    let segments = &graph.segments;
    let mut candidates: Vec<(Reverse<i64>, u32, usize)> = lanes
        .iter()
        .filter_map(|&lane| {
            let segment = segments.lane_first[lane + 1].checked_sub(1)?;
            (segment >= segments.lane_first[lane]).then(|| {
                let free_ns = segments.free_ns(segment as usize);
                (Reverse(free_ns), segment, lane)
            })
        })
        .collect();
    candidates.sort_unstable();
    let wall_ns = graph.run.wall_ns;
    let mut least_ns = before.map_or(i64::MAX, |before| before.0.0);
    let mut all: Vec<(Key, u32)> = Vec::new();
    for (Reverse(free_ns), segment, lane) in candidates.into_iter().take(TRIED) {
        let most_ns = least_ns.saturating_add(wall_ns / EQUAL_PART);
        let end_ns = segments.end_ns(segment as usize);
        let tail_ns = (graph.run.wall_ns - end_ns).max(0);
        if tail_ns > most_ns {
            continue;
        }
        let unexplained_ns = tail_ns + unexplained_ns(graph, segment, lane, most_ns);
        let is_device = graph.is_device(lane);
        let ahead_ns = if is_device { wall_ns / AHEAD_PART } else { 0 };
        least_ns = least_ns.min(unexplained_ns);
        let key = (unexplained_ns, Reverse(free_ns + ahead_ns), !is_device);
        all.push((key, segment));
    }
    // Of those that count as equal to the least.
    let most_ns = least_ns.saturating_add(wall_ns / EQUAL_PART);
    all.retain(|(key, _)| key.0 <= most_ns);
    all.into_iter()
        .min_by_key(|((_, free_ns, is_host), segment)| (*free_ns, *is_host, *segment))
}

/// Time on the way back from a segment that nothing recorded explains. Stops counting beyond `enough_ns`.
fn unexplained_ns(graph: &Graph<'_>, mut segment: u32, mut lane: usize, enough_ns: i64) -> i64 {
    let mut sum_ns = 0;
    while sum_ns <= enough_ns {
        let class = graph.run.labels.get(graph.span(segment, lane).label).class;
        if graph.only_waits(segment, lane) && class != Class::Wait {
            sum_ns += graph.dur_ns(segment);
        }
        let Some(binding) = graph.binding(segment, lane) else {
            return sum_ns + graph.segments.start_ns(segment as usize).max(0);
        };
        if lag_kind::lag_kind(graph, binding.source, binding.link, segment, lane) == PieceKind::Gap
        {
            sum_ns += binding.lag_ns;
        }
        if binding.link != Link::Lane {
            lane = graph.segments.lane(binding.source);
        }
        segment = binding.source;
    }
    sum_ns
}

/// By lane: the first segment after all on which other lanes depend. The end of the lane for devices and where the path
/// ends.
pub fn follows_from(graph: &Graph<'_>) -> Vec<u32> {
    let lanes = graph.run.lanes.len();
    let last = graph.last().map(|last| graph.segments.lane(last));
    let mut out: Vec<u32> = (0..lanes)
        .map(|lane| {
            let only_bounds = graph.is_device(lane) || Some(lane) == last;
            graph.segments.lane_first[lane + usize::from(only_bounds)]
        })
        .collect();
    for target in graph.targets().iter() {
        let lane = graph.segments.lane(target);
        for source in graph.sources(target) {
            let of_source = graph.segments.lane(*source);
            if of_source != lane {
                out[of_source] = out[of_source].max(source + 1);
            }
        }
    }
    out
}

/// A group number for each lane; lanes connected directly or through others share it. `edges` are target and source
/// of all dependencies, sorted by target.
pub fn connected(graph: &Graph<'_>, edges: impl Iterator<Item = (u32, u32)>) -> Vec<usize> {
    let lanes = graph.run.lanes.len();
    let mut sets = petgraph::unionfind::UnionFind::<usize>::new(lanes);
    let mut known: Vec<usize> = Vec::new();
    let mut lane = 0;
    for (target, source) in edges {
        while graph.segments.lane_first[lane + 1] <= target {
            lane += 1;
            known.clear();
        }
        let other = graph.segments.lane(source);
        if other != lane && !known.contains(&other) {
            known.push(other);
            sets.union(lane, other);
        }
    }
    sets.into_labeling()
}
