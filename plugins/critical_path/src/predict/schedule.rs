//! The graph re-timed: release times of all segments under other durations or lags.

use crate::graph::dependency_graph::{Graph, Link};
use crate::graph::lag_kind;
use crate::graph::walk::PieceKind;
use crate::predict::shortcuts::{Shortcut, Shortcuts};

/// `K` assumptions about durations and lags, computed together.
pub trait Scenario<const K: usize> {
    /// Duration that the segment itself would need. Never called for elastic segments, which need nothing.
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; K];

    fn lag_ns(&self, kind: PieceKind, measured_ns: i64) -> [i64; K];

    /// The lag before a segment of a lane.
    #[inline]
    fn lag_before_ns(
        &self,
        (_segment, _lane): (u32, usize),
        kind: PieceKind,
        measured_ns: i64,
    ) -> [i64; K] {
        self.lag_ns(kind, measured_ns)
    }

    /// Returns whether a dependency of a segment on this lane still applies.
    fn holds(&self, _lane: usize, _link: Link) -> [bool; K] {
        [true; K]
    }

    /// Stretches for which [`total_ns`](Self::total_ns) can be used.
    fn shortcuts(&self) -> Option<&Shortcuts> {
        None
    }

    /// Time of all segments of a stretch, with the lags before them.
    fn total_ns(&self, _shortcut: &Shortcut) -> [i64; K] {
        [0; K]
    }
}

/// Predicted release time of every segment: the time from which its successors may run. A segment begins once all
/// its predecessors are released, plus the lag of the binding one. A segment without predecessors begins as
/// measured.
pub fn retime<const K: usize>(graph: &Graph<'_>, scenario: &impl Scenario<K>) -> Vec<[i64; K]> {
    // Each segment comes after those it looks at.
    let mut free_ns = vec![[0; K]; graph.segments.len()];
    for stretch in graph.order() {
        let lane = graph.segments.lane(stretch.start);
        for segment in stretch.clone() {
            let of = |source: u32, _: Link| free_ns[source as usize];
            let start_ns = begin(graph, scenario, of, segment, lane);
            free_ns[segment as usize] = add(start_ns, needed(graph, scenario, segment, lane));
        }
    }
    free_ns
}

/// Like [`retime`], but stores only the times of the segments in [`Graph::kept`]: in a large run all would take
/// hundreds of megabytes. `kept_ns` may be reused.
pub fn retime_kept<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    kept_ns: &mut Vec<[i64; K]>,
) {
    let (kept, segments) = (graph.kept(), &graph.segments);
    kept_ns.resize(kept.len(), [0; K]);
    for stretch in graph.order() {
        let lane = segments.lane(stretch.start);
        let before = graph.lane_before(stretch.start, lane);
        let mut before_ns =
            before.map_or([0; K], |segment| kept_release_ns(graph, kept_ns, segment));
        let shortcuts = scenario.shortcuts();
        let mut shortcuts = shortcuts.map_or(&[][..], |all| all.from(stretch.start));
        let mut next = stretch.start;
        while next < stretch.end {
            if let [shortcut, rest @ ..] = shortcuts
                && shortcut.segments.start == next
            {
                before_ns = add(before_ns, scenario.total_ns(shortcut));
                (next, shortcuts) = (shortcut.segments.end, rest);
                continue;
            }
            let segment = next;
            next += 1;
            let start_ns = if graph.targets().contains(segment) {
                let of = |source: u32, link: Link| match link {
                    Link::Lane => before_ns,
                    Link::Dependency(_) => kept_release_ns(graph, kept_ns, source),
                };
                begin(graph, scenario, of, segment, lane)
            } else {
                begin_after(graph, scenario, before_ns, segment, lane)
            };
            before_ns = add(start_ns, needed(graph, scenario, segment, lane));
            if kept.contains(segment)
                && let Some(place) = kept.rank(segment)
            {
                kept_ns[place] = before_ns;
            }
        }
    }
}

#[inline]
fn begin_after<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    before_ns: [i64; K],
    segment: u32,
    lane: usize,
) -> [i64; K] {
    let start_ns = graph.segments.start_ns(segment as usize);
    let Some(source) = graph.lane_before(segment, lane) else {
        return [start_ns; K];
    };
    match start_ns - graph.segments.free_ns(source as usize) {
        0 => before_ns,
        lag_ns => {
            let kind = lag_kind::lag_kind(graph, source, Link::Lane, segment, lane);
            add(
                before_ns,
                scenario.lag_before_ns((segment, lane), kind, lag_ns),
            )
        }
    }
}

/// Release time of a segment in [`Graph::kept`]; 0 for any other.
#[inline]
fn kept_release_ns<const K: usize>(
    graph: &Graph<'_>,
    kept_ns: &[[i64; K]],
    segment: u32,
) -> [i64; K] {
    let place = graph.kept().rank(segment);
    place.map_or([0; K], |place| kept_ns[place])
}

#[inline]
fn begin<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    free_ns: impl Fn(u32, Link) -> [i64; K],
    segment: u32,
    lane: usize,
) -> [i64; K] {
    let Some(binding) = graph.binding(segment, lane) else {
        return [graph.segments.start_ns(segment as usize); K];
    };
    let mut out = [i64::MIN; K];
    for of in graph.predecessors(segment, lane) {
        let free = free_ns(of.source, of.link);
        // Without a lag there is nothing to look up.
        let lag_ns = match (binding.lag_ns, of.least_ns) {
            (0, 0) => 0,
            _ => graph.lag_ns(segment, &of, &binding),
        };
        let at = match lag_ns {
            0 => free,
            lag_ns => {
                let kind = lag_kind::lag_kind(graph, of.source, of.link, segment, lane);
                add(free, scenario.lag_before_ns((segment, lane), kind, lag_ns))
            }
        };
        let holds = scenario.holds(lane, of.link);
        out = std::array::from_fn(|k| if holds[k] { out[k].max(at[k]) } else { out[k] });
    }
    // Without any of them it begins as measured.
    let start_ns = graph.segments.start_ns(segment as usize);
    out.map(|ns| if ns == i64::MIN { start_ns } else { ns })
}

#[inline]
pub fn needed<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    segment: u32,
    lane: usize,
) -> [i64; K] {
    if graph.segments.elastic[segment as usize] {
        [0; K]
    } else {
        scenario.dur_ns(segment, lane)
    }
}

#[inline]
fn add<const K: usize>(a: [i64; K], b: [i64; K]) -> [i64; K] {
    std::array::from_fn(|k| a[k].saturating_add(b[k]))
}

/// Time from the release of the last segment to the end of the window, in two parts: what an elastic segment still
/// waited for an unrecorded reason, and the time after its end.
pub fn tail<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    last: u32,
) -> [[i64; K]; 2] {
    let (free_ns, end_ns) = (
        graph.segments.free_ns(last as usize),
        graph.segments.end_ns(last as usize),
    );
    let after_ns = (graph.run.wall_ns - end_ns).max(0);
    [
        scenario.lag_ns(PieceKind::SyncWait, end_ns - free_ns),
        scenario.lag_ns(PieceKind::Gap, after_ns),
    ]
}

/// Predicted length of the window, at least [`background_ns`]. It extends to the release of the path's last segment
/// plus the measured time after that, and to the release of all lanes connected with the path.
pub fn wall_ns<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    free_ns: &[[i64; K]],
) -> [i64; K] {
    let connected = connected_ns(graph, scenario, |segment| free_ns[segment as usize]);
    later(connected, background_ns(graph, scenario))
}

/// Length of the window with only the lanes that are connected with the path, and [`background_ns`]. The predicted
/// window is the longer of the two.
pub fn walls_ns<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    kept_ns: &mut Vec<[i64; K]>,
) -> [[i64; K]; 2] {
    retime_kept(graph, scenario, kept_ns);
    let connected = connected_ns(graph, scenario, |segment| {
        kept_release_ns(graph, kept_ns, segment)
    });
    [connected, background_ns(graph, scenario)]
}

fn connected_ns<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    free_ns: impl Fn(u32) -> [i64; K],
) -> [i64; K] {
    let Some(last) = graph.last() else {
        return scenario.lag_ns(PieceKind::Gap, graph.run.wall_ns);
    };
    let own = graph.segments.lane(last);
    let [waited, after] = tail(graph, scenario, last);
    let mut out = add(add(free_ns(last), waited), after);
    for lane in (0..graph.run.lanes.len()).filter(|lane| graph.are_connected(*lane, own)) {
        let followers = graph.followers(lane);
        // Segments of a lane are released in their order, so the last of the others is their latest.
        let others = graph.segments.lane_first[lane]..followers.start;
        let bound = others.last().map_or([0; K], &free_ns);
        out = later(out, bound);
        if !followers.is_empty() {
            out = later(
                out,
                followers_ns(graph, scenario, &free_ns, bound, followers),
            );
        }
    }
    out
}

/// End of segments that [only follow](Graph::followers), after those before them on their lane. They come after what
/// they depend on and one after another. It is not recorded what their gaps wait for, so gaps and segments that only
/// wait (`wait_functions`) count as zero.
fn followers_ns<const K: usize>(
    graph: &Graph<'_>,
    scenario: &impl Scenario<K>,
    free_ns: impl Fn(u32) -> [i64; K],
    mut now_ns: [i64; K],
    followers: std::ops::Range<u32>,
) -> [i64; K] {
    let lane = graph.segments.lane(followers.start);
    for segment in followers {
        if let Some(binding) = graph.binding(segment, lane) {
            for of in graph.dependencies(segment) {
                if graph.segments.lane(of.source) != lane {
                    let kind = lag_kind::lag_kind(graph, of.source, of.link, segment, lane);
                    let lag_ns = scenario.lag_ns(kind, graph.lag_ns(segment, &of, &binding));
                    now_ns = later(now_ns, add(free_ns(of.source), lag_ns));
                }
            }
        }
        if !graph.only_waits(segment, lane) {
            now_ns = add(now_ns, needed(graph, scenario, segment, lane));
        }
    }
    now_ns
}

/// Time that the busiest lane that is not connected with the path would need. It is unknown what such a lane waits
/// for, so only its own work counts: no gaps, no waits, nothing that only waits (`wait_functions`).
pub fn background_ns<const K: usize>(graph: &Graph<'_>, scenario: &impl Scenario<K>) -> [i64; K] {
    let Some(last) = graph.last() else {
        return [0; K];
    };
    let own = graph.segments.lane(last);
    let lanes = 0..graph.run.lanes.len();
    let others = lanes.filter(|lane| !graph.are_connected(*lane, own));
    let needed = others.map(|lane| {
        let of_lane = graph.segments.lane_first[lane]..graph.segments.lane_first[lane + 1];
        let works = of_lane.filter(|segment| !graph.only_waits(*segment, lane));
        let needed = works.map(|segment| needed(graph, scenario, segment, lane));
        needed.fold([0; K], add)
    });
    needed.fold([0; K], later)
}

#[inline]
fn later<const K: usize>(a: [i64; K], b: [i64; K]) -> [i64; K] {
    std::array::from_fn(|k| a[k].max(b[k]))
}
