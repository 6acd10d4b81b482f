//! Self times, and what lies around a row, in one pass over the nodes in the order of time.

use trueno_analysis::sweep::{Open, OpenIntervals};

use super::durations::Durations;
use super::{Class, Graph, NONE};

/// Limit on the search for an enclosing interval. Overlapping intervals that do not nest may pile up, and searching
/// all would take quadratic time.
const DEEPEST: usize = 1000;

/// Computes self times, and busy times of lanes. Rows of host threads without a parent get the enclosing row, if
/// there is one.
pub(super) fn sweep(graph: &mut Graph) {
    let first = graph.lanes.len();
    let mut lanes: Vec<OpenIntervals<u32>> = vec![OpenIntervals::default(); first];
    let mut selfs_ns = Durations::zeros(graph.nodes.len());
    for at in first..graph.nodes.len() {
        let nodes = &graph.nodes;
        let lane = nodes.lanes[at] as usize;
        let (start_ns, end_ns) = (nodes.starts_ns[at], nodes.end_ns(at));
        // What is hidden takes no time from what it lies in.
        let is_timed = nodes.is_timed(at) && !graph.hides(nodes.classes[at]);
        let open = &mut lanes[lane];
        if is_timed {
            open.advance(start_ns, |stack, from_ns, to_ns| {
                book(&mut selfs_ns, stack, from_ns, to_ns);
            });
        }
        if nodes.parents[at] == NONE && !graph.lanes[lane].is_device {
            let contains = |open: &&Open<u32>| {
                open.end_ns >= end_ns && nodes.classes[open.item as usize] != Class::Sync
            };
            let found = open.stack().iter().rev().take(DEEPEST).find(contains);
            let found = found.map(|open| open.item);
            if let Some(found) = found {
                graph.nodes.parents[at] = found;
            }
        }
        if is_timed {
            open.open(end_ns, at as u32);
        }
    }
    for open in &mut lanes {
        open.advance(i64::MAX, |stack, from_ns, to_ns| {
            book(&mut selfs_ns, stack, from_ns, to_ns);
        });
    }
    for at in first..graph.nodes.len() {
        let lane = graph.nodes.lanes[at] as usize;
        graph.nodes.durs_ns.add(lane, selfs_ns.ns(at));
    }
    graph.nodes.selfs_ns = selfs_ns;
}

fn book(selfs_ns: &mut Durations, stack: &[Open<u32>], from_ns: i64, to_ns: i64) {
    if let Some(innermost) = stack.last() {
        selfs_ns.add(innermost.item as usize, to_ns - from_ns);
    }
}
