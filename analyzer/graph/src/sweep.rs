//! Self times, and what lies around a row, in one pass over the nodes in the order of time.

use super::{Class, Graph, NONE};

/// Intervals that overlap without nesting may pile up; looking further down than this for the one
/// around another would take a time that grows with the square of their number.
const DEEPEST: usize = 1000;

#[derive(Default)]
struct Open {
    /// End and node, the innermost last.
    stack: Vec<(i64, u32)>,
    now_ns: i64,
}

/// Fills in the self times, and the busy times of lanes; what lies around each node on its host thread,
/// or [`NONE`].
pub(super) fn sweep(graph: &mut Graph) -> Vec<u32> {
    let mut lanes: Vec<Open> = graph.lanes.iter().map(|_| Open::default()).collect();
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
            open.close(graph, start_ns);
            if let Some(&(_, innermost)) = open.stack.last() {
                graph.nodes[innermost as usize].self_ns += start_ns - open.now_ns;
            }
            open.now_ns = start_ns;
        }
        if !graph.lanes[lane].is_device {
            let contains = |&&(end, of): &&(i64, u32)| {
                end >= end_ns && !matches!(graph.nodes[of as usize].class, Class::Sync)
            };
            let found = open.stack.iter().rev().take(DEEPEST).find(contains);
            *around = found.map_or(NONE, |&(_, of)| of);
        }
        if is_timed {
            open.stack.push((end_ns, at as u32));
        }
    }
    for open in &mut lanes {
        open.close(graph, i64::MAX);
    }
    for at in graph.lanes.len()..graph.nodes.len() {
        let (lane, self_ns) = (graph.nodes[at].lane as usize, graph.nodes[at].self_ns);
        graph.nodes[lane].dur_ns += self_ns;
    }
    around
}

impl Open {
    /// Ends what had ended by `until_ns`, innermost first.
    fn close(&mut self, graph: &mut Graph, until_ns: i64) {
        while let Some(&(end_ns, node)) = self.stack.last() {
            if end_ns > until_ns {
                break;
            }
            if self.now_ns < end_ns {
                graph.nodes[node as usize].self_ns += end_ns - self.now_ns;
                self.now_ns = end_ns;
            }
            self.stack.pop();
        }
    }
}
