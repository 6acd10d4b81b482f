//! Earliest and latest times.
//!
//! **Slack** of a segment = latest start − earliest start, where the earliest
//! start is the measured one (see [`Graph`] on lags) and the latest is that at
//! which the last end of the run would still be where it was. It holds for one
//! delay at a time.

use trueno_analysis::lanes::Span;
use trueno_analysis::sweep::{OpenIntervals, Step};

use crate::graph::dependency_graph::{Graph, Link};
use crate::graph::walk::PieceKind;
use crate::predict::schedule::{self, Scenario};

/// Start of each segment if it needed `dur_ns`; see [`schedule::retime`].
pub fn retime(graph: &Graph<'_>, dur_ns: impl Fn(u32) -> i64) -> Vec<i64> {
    struct Durations<F>(F);
    impl<F: Fn(u32) -> i64> Scenario<1> for Durations<F> {
        fn dur_ns(&self, segment: u32, _lane: usize) -> [i64; 1] {
            [(self.0)(segment)]
        }

        fn lag_ns(&self, _kind: PieceKind, measured_ns: i64) -> [i64; 1] {
            [measured_ns]
        }
    }
    let durations = Durations(dur_ns);
    let free_ns = schedule::retime(graph, &durations);
    let starts = free_ns.into_iter().zip(0..).map(|([free_ns], segment)| {
        let lane = graph.segments.lane(segment);
        free_ns - schedule::needed(graph, &durations, segment, lane)[0]
    });
    starts.collect()
}

pub fn last_end_ns(graph: &Graph<'_>) -> i64 {
    (0..graph.segments.len())
        .map(|segment| graph.segments.free_ns(segment))
        .max()
        .unwrap_or(0)
}

pub fn slack(graph: &Graph<'_>) -> Vec<i64> {
    let mut out = vec![0; graph.segments.len()];
    each_slack(graph, |segment, _, slack_ns| {
        out[segment as usize] = slack_ns
    });
    out
}

/// Slack of every interval, lane by lane: the smallest of its segments; [`i64::MAX`] if other intervals cover it
/// entirely.
pub fn least_of_spans(graph: &Graph<'_>) -> Vec<Vec<i64>> {
    let lanes = graph.run.lanes.iter();
    let mut out: Vec<Vec<i64>> = lanes.map(|lane| vec![i64::MAX; lane.spans.len()]).collect();
    each_slack(graph, |segment, lane, slack_ns| {
        let least = &mut out[lane][graph.segments.span[segment as usize] as usize];
        *least = (*least).min(slack_ns);
    });
    out
}

/// Calls `tell` with the slack of every segment, last first. Latest ends are stored for few: most segments only
/// have to release the next one on their lane.
fn each_slack(graph: &Graph<'_>, mut tell: impl FnMut(u32, usize, i64)) {
    let (segments, kept) = (&graph.segments, graph.kept());
    let last_ns = last_end_ns(graph);
    let mut latest = vec![last_ns; kept.len()];
    if let Some(place) = graph.last().and_then(|last| kept.rank(last)) {
        // The time after it is part of the path.
        latest[place] = graph
            .last()
            .map_or(0, |last| segments.free_ns(last as usize));
    }
    for stretch in graph.order().iter().rev() {
        let lane = segments.lane(stretch.start);
        let mut late_end_ns = last_ns;
        for segment in stretch.clone().rev() {
            if let Some(place) = kept.rank(segment) {
                late_end_ns = late_end_ns.min(latest[place]);
            }
            let start_ns = segments.start_ns(segment as usize);
            let late_start_ns = late_end_ns - graph.dur_ns(segment);
            tell(segment, lane, late_start_ns - start_ns);
            late_end_ns = last_ns;
            if !graph.targets().contains(segment) {
                if let Some(source) = graph.lane_before(segment, lane) {
                    let lag_ns = start_ns - segments.free_ns(source as usize);
                    late_end_ns = late_end_ns.min(late_start_ns - lag_ns);
                }
            } else if let Some(binding) = graph.binding(segment, lane) {
                for of in graph.predecessors(segment, lane) {
                    let lag_ns = graph.lag_ns(segment, &of, &binding);
                    match (of.link, kept.rank(of.source)) {
                        (Link::Lane, _) => late_end_ns = late_end_ns.min(late_start_ns - lag_ns),
                        (_, Some(place)) => {
                            latest[place] = latest[place].min(late_start_ns - lag_ns);
                        }
                        (_, None) => {}
                    }
                }
            }
        }
        let before = graph.lane_before(stretch.start, lane);
        if let Some(place) = before.and_then(|before| kept.rank(before)) {
            latest[place] = latest[place].min(late_end_ns);
        }
    }
}

/// Gives intervals that others cover entirely the smallest slack of those begun within them.
pub fn settle_covered(spans: &[Span], least: &mut [i64]) {
    let mut open: OpenIntervals<u32> = OpenIntervals::default();
    // For each that is open, the least slack of those that began within it.
    let mut within: Vec<i64> = Vec::new();
    let mut close = |open: &mut OpenIntervals<u32>, within: &mut Vec<i64>, until_ns| {
        while let Some(step) = open.step(until_ns) {
            let Step::Ended(index) = step else { continue };
            let own = &mut least[index as usize];
            let all = within.pop().map_or(*own, |within| within.min(*own));
            if *own == i64::MAX {
                *own = all;
            }
            if let Some(around) = within.last_mut() {
                *around = (*around).min(all);
            }
        }
    };
    for (index, span) in (0..).zip(spans) {
        close(&mut open, &mut within, span.start_ns);
        open.open(span.end_ns, index);
        within.push(i64::MAX);
    }
    close(&mut open, &mut within, i64::MAX);
}
