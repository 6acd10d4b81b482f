//! Dependencies between intervals: found, checked against the times, cycles named.
//!
//! A dependency that contradicts the measured times cannot be part of a graph
//! of them; it is left out and counted. So is one that closes a cycle. Nothing
//! is turned around or clipped to make it fit.

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, Lanes, Span};

use crate::load::edges::{DependencyKind, Edge};
use crate::load::row_index::{RowIndex, row_index};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanAt {
    pub lane: u32,
    pub index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    pub from: SpanAt,
    pub to: SpanAt,
    pub kind: DependencyKind,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Dependencies for the graph, in the order of the edges.
    pub good: Vec<Dependency>,
    /// Edges with an end that is no timed interval of the window.
    pub unknown: Vec<Edge>,
    pub contradicted: Vec<Edge>,
    /// Edges of kind `joins` or `wakes` whose target is no wait.
    pub not_waits: Vec<Edge>,
    /// Ids that wait for each other in a cycle, each list sorted.
    pub cycles: Vec<Vec<u64>>,
}

impl Dependencies {
    /// Moves good dependencies, by number, to the contradicted ones.
    pub fn contradict(&mut self, run: &Lanes, numbers: &[u32]) {
        for &number in numbers {
            let dependency = self.good[number as usize];
            self.contradicted.push(Edge {
                from: span(run, dependency.from).id,
                to: span(run, dependency.to).id,
                kind: dependency.kind,
                implied: false,
            });
        }
        let mut number = 0;
        self.good.retain(|_| {
            number += 1;
            !numbers.contains(&(number - 1))
        });
    }
}

pub fn span(run: &Lanes, at: SpanAt) -> &Span {
    &run.lanes[at.lane as usize].spans[at.index as usize]
}

/// Looks up both ends of every edge and sorts out the impossible ones.
pub fn dependencies(run: &Lanes, edges: &[Edge]) -> Dependencies {
    let mut out = Dependencies::default();
    if edges.is_empty() {
        return out;
    }
    let rows = row_index(run);
    let mut suspicious = false;
    for edge in edges {
        match look_up(run, &rows, edge) {
            Found::Dependency(dependency, fits) => {
                suspicious |= !fits || instant(run, &dependency);
                if fits {
                    out.good.push(dependency);
                } else {
                    out.contradicted.push(*edge);
                }
            }
            Found::Unknown => out.unknown.push(*edge),
            Found::NoWait => out.not_waits.push(*edge),
            Found::Nesting => {}
        }
    }
    if suspicious {
        with_circles(run, &rows, edges, &mut out);
    }
    // Not the order of the rows of `edges`: several that take hold at one instant would be told apart by it.
    let order = |d: &Dependency| (d.to, d.from, d.kind);
    if !out.good.is_sorted_by_key(order) {
        out.good.sort_unstable_by_key(order);
    }
    out
}

enum Found {
    /// The dependency, and whether the times allow it.
    Dependency(Dependency, bool),
    Unknown,
    /// The target of `joins` or `wakes` is no wait.
    NoWait,
    /// The parent is on the same lane: nesting is not an edge.
    Nesting,
}

fn look_up(run: &Lanes, rows: &RowIndex, edge: &Edge) -> Found {
    let (Some(from), Some(to)) = (rows.get(edge.from), rows.get(edge.to)) else {
        return Found::Unknown;
    };
    let may_nest = matches!(edge.kind, DependencyKind::Blocks | DependencyKind::Awaits);
    if edge.implied && from.lane == to.lane && !may_nest {
        return Found::Nesting;
    }
    let wait = || run.labels.get(span(run, to).label).class == Class::Wait;
    let is_for_waits = matches!(edge.kind, DependencyKind::Joins | DependencyKind::Wakes);
    if is_for_waits && !wait() {
        return Found::NoWait;
    }
    let dependency = Dependency {
        from,
        to,
        kind: edge.kind,
    };
    let fits = fits(span(run, from), span(run, to), edge.kind) && from != to;
    Found::Dependency(dependency, fits)
}

/// Sorts the edges again, looking at all dependencies together, because there may be cycles.
fn with_circles(run: &Lanes, rows: &RowIndex, edges: &[Edge], out: &mut Dependencies) {
    let found: Vec<(Edge, Dependency, bool)> = edges
        .iter()
        .filter_map(|edge| match look_up(run, rows, edge) {
            Found::Dependency(dependency, fits) => Some((*edge, dependency, fits)),
            _ => None,
        })
        .collect();
    let circle = circles(run, &found, &mut out.cycles);
    (out.good, out.contradicted) = (Vec::new(), Vec::new());
    for (edge, dependency, fits) in found {
        let in_circle = circle
            .get(&dependency.from)
            .is_some_and(|c| circle.get(&dependency.to) == Some(c));
        match fits {
            false => out.contradicted.push(edge),
            // Both ends at one instant: only the circle tells that it cannot be.
            true if in_circle && instant(run, &dependency) => out.contradicted.push(edge),
            true => out.good.push(dependency),
        }
    }
}

fn fits(from: &Span, to: &Span, kind: DependencyKind) -> bool {
    match kind {
        DependencyKind::DependsOn | DependencyKind::Follows => from.end_ns <= to.start_ns,
        DependencyKind::Joins => from.end_ns <= to.end_ns,
        // The call may return while the last of the copy still goes on, and what was woken before its waker has returned.
        DependencyKind::Awaits | DependencyKind::Wakes => {
            from.end_ns <= to.end_ns || from.start_ns < to.end_ns
        }
        DependencyKind::Blocks => {
            to.start_ns <= from.start_ns && (from.end_ns <= to.end_ns || from.start_ns < to.end_ns)
        }
        DependencyKind::Launches | DependencyKind::Spawns => from.start_ns <= to.start_ns,
    }
}

/// Returns whether both ends are the same instant, so that times do not order them.
fn instant(run: &Lanes, dependency: &Dependency) -> bool {
    let (from, to) = (span(run, dependency.from), span(run, dependency.to));
    from.dur_ns() == 0 && to.dur_ns() == 0 && from.start_ns == to.start_ns
}

/// Records every cycle, and maps each interval in one to the number of its cycle. The graph holds all dependencies
/// and the lane order of intervals at one instant. Times order everything else.
fn circles(
    run: &Lanes,
    found: &[(Edge, Dependency, bool)],
    cycles: &mut Vec<Vec<u64>>,
) -> FastMap<SpanAt, usize> {
    let mut ends: Vec<SpanAt> = found.iter().flat_map(|(_, d, _)| [d.from, d.to]).collect();
    ends.sort_unstable();
    ends.dedup();
    let node: FastMap<SpanAt, NodeIndex> = ends
        .iter()
        .enumerate()
        .map(|(i, at)| (*at, NodeIndex::new(i)))
        .collect();
    let mut graph: DiGraph<SpanAt, ()> = DiGraph::with_capacity(ends.len(), found.len());
    for at in &ends {
        graph.add_node(*at);
    }
    // A call that waits for what it launched is no circle: one holds for its start, the other for its end.
    let holds_for_start = |d: &Dependency| {
        d.from == d.to || !matches!(d.kind, DependencyKind::Blocks | DependencyKind::Awaits)
    };
    for (_, dependency, _) in found.iter().filter(|(_, d, _)| holds_for_start(d)) {
        graph.add_edge(node[&dependency.from], node[&dependency.to], ());
    }
    for pair in ends.windows(2) {
        let order = Dependency {
            from: pair[0],
            to: pair[1],
            kind: DependencyKind::DependsOn,
        };
        if pair[0].lane == pair[1].lane && instant(run, &order) {
            graph.add_edge(node[&pair[0]], node[&pair[1]], ());
        }
    }
    let mut circles: Vec<Vec<SpanAt>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|nodes| nodes.len() > 1 || graph.contains_edge(nodes[0], nodes[0]))
        .map(|nodes| nodes.into_iter().map(|n| graph[n]).collect())
        .collect();
    for circle in &mut circles {
        circle.sort_unstable_by_key(|at| (span(run, *at).id, *at));
    }
    circles.sort_unstable_by_key(|circle| (span(run, circle[0]).id, circle[0]));
    let mut number = FastMap::default();
    for (i, circle) in circles.iter().enumerate() {
        number.extend(circle.iter().map(|at| (*at, i)));
        cycles.push(circle.iter().map(|at| span(run, *at).id).collect());
    }
    number
}
