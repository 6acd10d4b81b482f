//! The background: the lane that keeps predictions from being shorter, though nothing recorded connects it with the path.
//!
//! Lanes that nothing connects with the path bound a prediction by their work alone: their gaps wait for something that
//! is not recorded. With the gaps a watchdog would hide every gain; without the work a gain would be promised that is
//! not there. A gain that only such a lane keeps at nothing is null, and the lane is named.

use std::cmp::Reverse;

use trueno_analysis::hash::FastMap;

use crate::graph::Graph;

/// The busiest lane that nothing connects with the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    /// The lane.
    pub lane: String,
    /// Time of its own work, waits left out.
    pub busy_ns: i64,
    /// The row that takes most of that by itself.
    pub name: String,
    /// Its id.
    pub id: u64,
    /// Its self time.
    pub self_ns: i64,
}

/// Finds it; of equals the lane that comes first. `None`: all that works is connected with the path.
pub fn background(graph: &Graph<'_>) -> Option<Background> {
    let own = graph.segments.lane(graph.last()?);
    let mut best: Option<(i64, usize)> = None;
    for lane in (0..graph.run.lanes.len()).filter(|lane| !graph.are_connected(*lane, own)) {
        let busy_ns: i64 = works(graph, lane)
            .map(|segment| graph.dur_ns(segment))
            .sum();
        if busy_ns > best.map_or(0, |best| best.0) {
            best = Some((busy_ns, lane));
        }
    }
    let (busy_ns, lane) = best?;
    let mut of_span: FastMap<u32, i64> = FastMap::default();
    for segment in works(graph, lane) {
        let span = graph.segments.span[segment as usize];
        *of_span.entry(span).or_default() += graph.dur_ns(segment);
    }
    let most = of_span
        .into_iter()
        .max_by_key(|(span, ns)| (*ns, Reverse(*span)));
    let (span, self_ns) = most?;
    let span = graph.run.lanes[lane].spans[span as usize];
    let name = graph.run.labels.get(span.label).name;
    Some(Background {
        lane: graph.run.lanes[lane].name.clone(),
        busy_ns,
        name: graph.run.texts.text(name).to_owned(),
        id: span.id,
        self_ns,
    })
}

fn works<'g>(graph: &'g Graph<'_>, lane: usize) -> impl Iterator<Item = u32> + 'g {
    let of_lane = graph.segments.lane_first[lane]..graph.segments.lane_first[lane + 1];
    of_lane.filter(move |segment| !graph.only_waits(*segment, lane))
}
