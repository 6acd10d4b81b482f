//! Lanes that edges tie together: events of lanes that nothing ties have no order by cause.

use crate::edges::Edge;
use crate::events::Events;

/// Lanes by the edges between them.
#[derive(Debug)]
pub struct LaneGroups {
    /// By lane: number of its group, from 0 on in the order of lanes; `None`: no edge leads to another lane or from one.
    pub group: Vec<Option<usize>>,
    /// By lane: edges to other lanes.
    pub outgoing: Vec<u64>,
    /// By lane: edges from other lanes.
    pub incoming: Vec<u64>,
    pub groups: usize,
}

impl LaneGroups {
    /// Ties lanes by the edges.
    pub fn new(events: &Events<'_>, edges: &[Edge]) -> Self {
        let lanes = events.lanes.lanes.len();
        let mut roots: Vec<usize> = (0..lanes).collect();
        let (mut outgoing, mut incoming) = (vec![0; lanes], vec![0; lanes]);
        for edge in edges {
            let (from, to) = (events.lane(edge.from), events.lane(edge.to));
            if from != to {
                outgoing[from] += 1;
                incoming[to] += 1;
                let (a, b) = (root(&mut roots, from), root(&mut roots, to));
                roots[a.max(b)] = a.min(b);
            }
        }
        let mut number = vec![None; lanes];
        let mut groups = 0;
        let group = (0..lanes)
            .map(|lane| {
                if outgoing[lane] + incoming[lane] == 0 {
                    return None;
                }
                let root = root(&mut roots, lane);
                number[root] = number[root].or_else(|| {
                    groups += 1;
                    Some(groups - 1)
                });
                number[root]
            })
            .collect();
        Self {
            group,
            outgoing,
            incoming,
            groups,
        }
    }

    /// Number of lanes that are tied to another.
    pub fn tied(&self) -> usize {
        self.group.iter().flatten().count()
    }
}

fn root(roots: &mut [usize], mut lane: usize) -> usize {
    while roots[lane] != lane {
        roots[lane] = roots[roots[lane]];
        lane = roots[lane];
    }
    lane
}
