//! Gains end to end of less time of a name or of a kind of lag.
//!
//! For each name with time on the path the graph is re-timed with 90 %, 50 % and 0 % of the time of its
//! intervals and of all that belongs to them ([`Ownership`]). A name without time on the path gains
//! nothing: the path would stay as long as it is. Gains of several names do not add up: they
//! share time, and after the first gain another path may be the longest.

use std::collections::BTreeMap;

use trueno_analysis::lanes::Class;

use crate::graph::Graph;
use crate::ownership::{Own, Ownership};
use crate::path_time_by_name::{PathTime, path_time_by_name};
use crate::rule::{scaled, stretched};
use crate::schedule::{Scenario, walls_ns};
use crate::walk::{Piece, PieceKind, durations};

/// Remaining share of the time in each of the three columns.
pub const LEFT: [f64; 3] = [0.9, 0.5, 0.0];

/// Row of table `opportunity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// As `--what-if` takes it: a name, or `kind:` and a kind of lag.
    pub name: String,
    /// Time on the path of the intervals and of what belongs to them, or of the lags.
    pub path_ns: i64,
    /// Of that the time of the intervals themselves; of lags all of it.
    pub own_ns: i64,
    /// Gain of 10 %, 50 % and 100 % less; `None`: not computed, or not predictable.
    pub gains_ns: Option<[i64; 3]>,
    /// True if there would be a gain if it were not for a lane that nothing connects with the path: as it is
    /// not known what that lane waits for, there is no telling.
    pub is_bounded: bool,
}

/// Names and kinds of lag with time on the path, the most gain first; gains of the `limit`
/// names with the most time, and of all kinds.
pub fn opportunities(
    graph: &Graph<'_>,
    ownership: &Ownership,
    path: &[Piece],
    limit: usize,
) -> Vec<Opportunity> {
    let mut out = Vec::new();
    let mut kept_ns = Vec::new();
    for (rank, row) in path_time_by_name(graph, ownership, path)
        .into_iter()
        .enumerate()
    {
        let PathTime {
            name,
            path_ns,
            own_ns,
        } = row;
        let gains = (rank < limit).then(|| {
            let covered = covered(graph, ownership, name);
            gains(
                graph,
                &OfName {
                    graph,
                    ownership,
                    covered,
                },
                &mut kept_ns,
            )
        });
        out.push(Opportunity {
            name: graph.run.texts.text(name).to_owned(),
            path_ns,
            own_ns,
            gains_ns: gains.flatten(),
            is_bounded: gains == Some(None),
        });
    }
    for (kind, path_ns) in lags(graph, path) {
        let gains_ns = gains(graph, &OfLag { graph, kind }, &mut kept_ns);
        out.push(Opportunity {
            name: format!("kind:{}", kind.name()),
            path_ns,
            own_ns: path_ns,
            gains_ns,
            is_bounded: gains_ns.is_none(),
        });
    }
    out.sort_by(|a, b| {
        let gains = |row: &Opportunity| row.gains_ns.map(|[ten, half, all]| (half, all, ten));
        (gains(b), b.path_ns, &a.name).cmp(&(gains(a), a.path_ns, &b.name))
    });
    out
}

/// `None` where only the background keeps the window as long as it is.
fn gains(
    graph: &Graph<'_>,
    scenario: &impl Scenario<3>,
    kept_ns: &mut Vec<[i64; 3]>,
) -> Option<[i64; 3]> {
    let [connected, background] = walls_ns(graph, scenario, kept_ns);
    let gain = |wall_ns: i64| graph.run.wall_ns - wall_ns;
    let is_bounded = gain(connected[2]) > 0 && gain(background[2]) <= 0;
    (!is_bounded).then(|| std::array::from_fn(|k| gain(connected[k].max(background[k]))))
}

/// Kinds of lag on the path and how long they are there.
fn lags(graph: &Graph<'_>, path: &[Piece]) -> BTreeMap<PieceKind, i64> {
    let mut out = BTreeMap::new();
    for (piece, dur_ns) in durations(path, graph.run.wall_ns) {
        // Transfers are work, and also go by their directions.
        if piece.kind != PieceKind::Work {
            *out.entry(piece.kind).or_default() += dur_ns;
        }
    }
    out
}

/// Intervals of a name, and all that belongs to them.
fn covered(graph: &Graph<'_>, ownership: &Ownership, name: u32) -> Vec<bool> {
    ownership.inherit(false, |number| {
        let place = ownership.place(number);
        let span = &graph.run.lanes[place.lane as usize].spans[place.index as usize];
        let label = graph.run.labels.get(span.label);
        match label.class {
            Class::Wait => Own::Alone,
            _ if label.name == name => Own::Has(true),
            _ => Own::Inherits,
        }
    })
}

struct OfName<'a> {
    graph: &'a Graph<'a>,
    ownership: &'a Ownership,
    covered: Vec<bool>,
}

impl Scenario<3> for OfName<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 3] {
        let span = self.graph.segments.span[segment as usize];
        if self.covered[(self.ownership.first(lane) + span) as usize] {
            let (start_ns, end_ns) = self.graph.needs_ns(segment);
            LEFT.map(|left| stretched(start_ns, end_ns, left))
        } else {
            [self.graph.dur_ns(segment); 3]
        }
    }

    #[inline]
    fn lag_ns(&self, _kind: PieceKind, measured_ns: i64) -> [i64; 3] {
        [measured_ns; 3]
    }
}

struct OfLag<'a> {
    graph: &'a Graph<'a>,
    kind: PieceKind,
}

impl Scenario<3> for OfLag<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 3] {
        let span = self.graph.span(segment, lane);
        let class = self.graph.run.labels.get(span.label).class;
        let is_of_kind = match self.kind {
            PieceKind::Transfer => class == Class::Transfer,
            PieceKind::SyncWait => class == Class::Wait,
            _ => false,
        };
        if is_of_kind {
            let (start_ns, end_ns) = self.graph.needs_ns(segment);
            LEFT.map(|left| stretched(start_ns, end_ns, left))
        } else {
            [self.graph.dur_ns(segment); 3]
        }
    }

    #[inline]
    fn lag_ns(&self, kind: PieceKind, measured_ns: i64) -> [i64; 3] {
        if kind == self.kind {
            LEFT.map(|left| scaled(measured_ns, left))
        } else {
            [measured_ns; 3]
        }
    }
}
