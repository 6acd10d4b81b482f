//! Lanes that edges tie together: events of lanes that nothing ties have no order by cause.

use crate::edges::Edge;
use crate::events::Events;

/// Connected groups of lanes, joined by the edges between them.
#[derive(Debug)]
pub struct LaneGroups {
    /// By lane: group number, from 0 in the order of lanes; `None` if no edge connects it to another lane.
    pub group: Vec<Option<usize>>,
    pub outgoing: Vec<u64>,
    pub incoming: Vec<u64>,
    pub groups: usize,
}

impl LaneGroups {
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
