//! Self times, and what lies around a row, in one pass over the nodes in the order of time.

use trueno_analysis::sweep::{Open, OpenIntervals};

use super::{Class, Graph, NONE};

/// Intervals that overlap without nesting may pile up; looking further down than this for the one
/// around another would take a time that grows with the square of their number.
const DEEPEST: usize = 1000;

/// Fills in the self times, and the busy times of lanes; what lies around each node on its host thread,
/// or [`NONE`].
pub(super) fn sweep(graph: &mut Graph) -> Vec<u32> {
    let mut lanes: Vec<OpenIntervals<u32>> = vec![OpenIntervals::default(); graph.lanes.len()];
    let mut around = vec![NONE; graph.nodes.len()];
    for (at, around) in around.iter_mut().enumerate().skip(graph.lanes.len()) {
        let node = &graph.nodes[at];
        let (lane, start_ns, end_ns, is_timed) = (
            node.lane as usize,
            node.start_ns,
            node.end_ns(),
            // What is hidden takes no time from what it lies in.
            node.is_timed() && !graph.hides(node.class),
        );
        let open = &mut lanes[lane];
        if is_timed {
            open.advance(start_ns, |stack, from_ns, to_ns| {
                book(graph, stack, from_ns, to_ns);
            });
        }
        if !graph.lanes[lane].is_device {
            let contains = |open: &&Open<u32>| {
                open.end_ns >= end_ns
                    && !matches!(graph.nodes[open.item as usize].class, Class::Sync)
            };
            let found = open.stack().iter().rev().take(DEEPEST).find(contains);
            *around = found.map_or(NONE, |open| open.item);
        }
        if is_timed {
            open.open(end_ns, at as u32);
        }
    }
    for open in &mut lanes {
        open.advance(i64::MAX, |stack, from_ns, to_ns| {
            book(graph, stack, from_ns, to_ns);
        });
    }
    for at in graph.lanes.len()..graph.nodes.len() {
        let (lane, self_ns) = (graph.nodes[at].lane as usize, graph.nodes[at].self_ns);
        let lane = &mut graph.nodes[lane];
        lane.dur_ns = lane.dur_ns.saturating_add(self_ns);
    }
    around
}

/// Books a stretch of time to the innermost node.
fn book(graph: &mut Graph, stack: &[Open<u32>], from_ns: i64, to_ns: i64) {
    if let Some(innermost) = stack.last() {
        graph.nodes[innermost.item as usize].self_ns += to_ns - from_ns;
    }
}
