//! The background: the lane that keeps predictions from being shorter, though nothing recorded connects it with the path.
//!
//! Lanes that nothing connects with the path bound a prediction by their work alone: their gaps wait for something that
//! is not recorded. With the gaps a watchdog would hide every gain; without the work a gain would be promised that is
//! not there. A gain that only such a lane keeps at nothing is null, and the lane is named.

use std::cmp::Reverse;

use trueno_analysis::hash::FastMap;

use crate::graph::dependency_graph::Graph;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    pub lane: String,
    /// Time of its own work without waits.
    pub busy_ns: i64,
    /// The row with the most time of its own.
    pub name: String,
    pub id: u64,
    pub self_ns: i64,
}

/// Ties go to the first lane. `None`: every lane with work is connected with the path.
pub fn background(graph: &Graph<'_>) -> Option<Background> {
    let own = graph.segments.lane(graph.last()?);
    let mut best: Option<(i64, usize)> = None;
    for lane in (0..graph.run.lanes.len()).filter(|lane| !graph.are_connected(*lane, own)) {
        let busy_ns = busy_ns(graph, lane);
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

/// A lane that the path never uses, such as a background thread or a device for which nothing waited long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffPath {
    pub lane: usize,
    pub busy_ns: i64,
    pub rows: u64,
    /// Whether dependencies connect it with the path, directly or through others.
    pub is_connected: bool,
}

pub fn off_path(graph: &Graph<'_>, on_path: &[bool]) -> Vec<OffPath> {
    let own = graph.last().map(|last| graph.segments.lane(last));
    let lanes = (0..graph.run.lanes.len()).filter(|lane| !on_path[*lane]);
    let lanes = lanes.filter(|lane| !graph.run.lanes[*lane].spans.is_empty());
    let mut out: Vec<OffPath> = lanes
        .map(|lane| OffPath {
            lane,
            busy_ns: busy_ns(graph, lane),
            rows: graph.run.lanes[lane].spans.len() as u64,
            is_connected: own.is_some_and(|own| graph.are_connected(lane, own)),
        })
        .collect();
    out.sort_by_key(|lane| Reverse(lane.busy_ns));
    out
}

fn busy_ns(graph: &Graph<'_>, lane: usize) -> i64 {
    works(graph, lane)
        .map(|segment| graph.dur_ns(segment))
        .fold(0, i64::saturating_add)
}

fn works<'g>(graph: &'g Graph<'_>, lane: usize) -> impl Iterator<Item = u32> + 'g {
    let of_lane = graph.segments.lane_first[lane]..graph.segments.lane_first[lane + 1];
    of_lane.filter(move |segment| !graph.only_waits(*segment, lane))
}
