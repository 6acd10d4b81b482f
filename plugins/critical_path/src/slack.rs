//! Earliest and latest times.
//!
//! **Slack** of a segment = latest start − earliest start, where the earliest
//! start is the measured one (see [`Graph`] on lags) and the latest is that at
//! which the last end of the run would still be where it was. It holds for one
//! delay at a time.

use trueno_analysis::sweep::{OpenIntervals, Step};

use crate::graph::Graph;
use crate::schedule::{self, Scenario};
use crate::walk::PieceKind;

/// Start of each segment if it needed `dur_ns` by itself; see [`schedule::retime`].
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

/// Release time of the last segment.
pub fn last_end_ns(graph: &Graph<'_>) -> i64 {
    (0..graph.segments.len())
        .map(|segment| graph.segments.free_ns(segment))
        .max()
        .unwrap_or(0)
}

/// Slack of every segment.
pub fn slack(graph: &Graph<'_>) -> Vec<i64> {
    let segments = &graph.segments;
    // First the latest end of each segment, then its slack.
    let mut out = vec![last_end_ns(graph); segments.len()];
    if let Some(last) = graph.last() {
        // The time after it is part of the path.
        out[last as usize] = segments.free_ns(last as usize);
    }
    for stretch in graph.order().iter().rev() {
        let lane = segments.lane(stretch.start);
        for segment in stretch.clone().rev() {
            let late_start_ns = out[segment as usize] - graph.dur_ns(segment);
            let mut at_latest = |source: u32, ns: i64| {
                let latest = &mut out[source as usize];
                *latest = (*latest).min(ns);
            };
            if let Some(binding) = graph.binding(segment, lane) {
                for (source, _) in graph.predecessors(segment, lane) {
                    let lag_ns = graph.lag_ns(segment, source, &binding);
                    at_latest(source, late_start_ns - lag_ns);
                }
            }
            out[segment as usize] = late_start_ns - segments.start_ns[segment as usize];
        }
    }
    out
}

/// Slack of every interval of a lane: the least of its segments, or where
/// others covered it wholly, the least of those begun within it.
pub fn slack_of_spans(graph: &Graph<'_>, slack: &[i64], lane: usize) -> Vec<i64> {
    let spans = &graph.run.lanes[lane].spans;
    let mut out = vec![i64::MAX; spans.len()];
    let first = graph.segments.lane_first[lane] as usize;
    let last = graph.segments.lane_first[lane + 1] as usize;
    for segment in first..last {
        let least = &mut out[graph.segments.span[segment] as usize];
        *least = (*least).min(slack[segment]);
    }
    // Parents come before children, so children are settled first.
    let mut within = vec![i64::MAX; spans.len()];
    let mut open: OpenIntervals<u32> = OpenIntervals::default();
    let mut close = |open: &mut OpenIntervals<u32>, until_ns| {
        while let Some(step) = open.step(until_ns) {
            if let Step::Ended(index) = step {
                settle(index, open.innermost(), &mut out, &mut within);
            }
        }
    };
    for (index, span) in (0..).zip(spans) {
        close(&mut open, span.start_ns);
        open.open(span.end_ns, index);
    }
    close(&mut open, i64::MAX);
    out
}

/// An interval has ended: what it found goes to the one around it.
fn settle(index: u32, parent: Option<u32>, out: &mut [i64], within: &mut [i64]) {
    let index = index as usize;
    let least = within[index].min(out[index]);
    if out[index] == i64::MAX {
        out[index] = least;
    }
    if let Some(parent) = parent {
        within[parent as usize] = within[parent as usize].min(least);
    }
}
