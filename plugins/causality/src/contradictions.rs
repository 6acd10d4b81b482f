//! Edges that recorded times contradict: the event that came first is recorded as the later one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;

use crate::edges::{Edge, EdgeKind};
use crate::events::Events;

/// An edge that contradicts the recorded times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    pub edge: Edge,
    /// How much later the cause was recorded than its effect; more than 0.
    pub late_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfLanes {
    pub kind: EdgeKind,
    pub from: usize,
    pub to: usize,
    pub edges: u64,
    pub contradicted: u64,
    pub max_late_ns: u64,
}

#[derive(Debug, Default)]
pub struct Contradictions {
    pub all: Vec<Contradiction>,
    /// By kind and pair of lanes, the largest first.
    pub by_lanes: Vec<OfLanes>,
    /// By kind: number of contradictions, and the largest `late_ns`.
    pub by_kind: BTreeMap<EdgeKind, (u64, u64)>,
}

impl Contradictions {
    pub fn new(events: &Events<'_>, edges: &[Edge]) -> Self {
        let mut out = Self::default();
        let mut places: FastMap<(EdgeKind, usize, usize), usize> = FastMap::default();
        for edge in edges {
            let key = (edge.kind, events.lane(edge.from), events.lane(edge.to));
            let place = *places.entry(key).or_insert_with(|| {
                out.by_lanes.push(OfLanes {
                    kind: key.0,
                    from: key.1,
                    to: key.2,
                    edges: 0,
                    contradicted: 0,
                    max_late_ns: 0,
                });
                out.by_lanes.len() - 1
            });
            let of_lanes = &mut out.by_lanes[place];
            of_lanes.edges += 1;
            let (first, second) = edge.events();
            let (first_ns, second_ns) = (events.time_ns(first), events.time_ns(second));
            if first_ns > second_ns {
                let late_ns = first_ns.abs_diff(second_ns);
                of_lanes.contradicted += 1;
                of_lanes.max_late_ns = of_lanes.max_late_ns.max(late_ns);
                let (count, max) = out.by_kind.entry(edge.kind).or_default();
                (*count, *max) = (*count + 1, late_ns.max(*max));
                out.all.push(Contradiction {
                    edge: *edge,
                    late_ns,
                });
            }
        }
        out.by_lanes.retain(|of| of.contradicted > 0);
        out.by_lanes
            .sort_unstable_by_key(|of| (Reverse(of.max_late_ns), of.from, of.to, of.kind));
        out.all
            .sort_unstable_by_key(|of| (Reverse(of.late_ns), of.edge));
        out
    }
}
