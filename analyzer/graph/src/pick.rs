//! Choice of the rows shown below one; the rest is one row with their sums.

use super::{Graph, Group, Totals};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub top: usize,
    /// Only children with at least this share of the run's length.
    pub min_share: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picked {
    pub shown: Vec<(Group, Totals)>,
    pub rest: Option<Rest>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    pub rows: usize,
    pub totals: Totals,
}

/// Keeps the rows that took longest; for ties, the first. They are sorted longest first or stay in their order. A
/// rest of one row is shown as that row.
pub fn pick(graph: &Graph, groups: Vec<Group>, limits: Limits, longest_first: bool) -> Picked {
    let least_ns = graph
        .wall_ns
        .map_or(0.0, |wall_ns| wall_ns as f64 * limits.min_share);
    let mut weighed: Vec<(Totals, Group)> = groups
        .into_iter()
        .map(|group| (graph.totals(&group.members), group))
        .collect();
    let mut order: Vec<usize> = (0..weighed.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(weighed[*at].0.weight_ns()));
    let enough = |at: &&usize| weighed[**at].0.weight_ns() as f64 >= least_ns;
    let mut kept = order.iter().take_while(enough).count().min(limits.top);
    if kept + 1 == order.len() && limits.min_share <= 0.0 {
        kept += 1;
    }
    let left_out = order.split_off(kept);
    if !longest_first {
        order.sort_unstable();
    }
    let rest = (!left_out.is_empty()).then(|| {
        let members: Vec<u32> = left_out
            .iter()
            .flat_map(|at| weighed[*at].1.members.iter().copied())
            .collect();
        Rest {
            rows: left_out.len(),
            totals: graph.totals(&members),
        }
    });
    let mut take = |at: usize| {
        let (totals, group) = &mut weighed[at];
        let members = std::mem::take(&mut group.members);
        (Group { members, ..*group }, std::mem::take(totals))
    };
    Picked {
        shown: order.into_iter().map(&mut take).collect(),
        rest,
    }
}
