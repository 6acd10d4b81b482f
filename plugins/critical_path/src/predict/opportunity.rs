//! Gains end to end of less time of a name or of a kind of lag.
//!
//! For each name with time on the path the graph is re-timed with 90 %, 50 % and 0 % of the time of its
//! intervals and of all that belongs to them ([`Chains`]). A name without time on the path gains
//! nothing: the path would stay as long as it is. Gains of several names do not add up: they
//! share time, and after the first gain another path may be the longest.
//!
//! Functions that do next to nothing themselves (frames of an interpreter around everything), and names that only wait,
//! come after all other names, in the choice of names whose gains are computed as well: that a program is shorter
//! without its main function is no opportunity.

use std::collections::BTreeSet;

use trueno_analysis::lanes::{Class, Label};

use crate::graph::chains::Chains;
use crate::graph::dependency_graph::Graph;
use crate::graph::walk::PieceKind;
use crate::path::path_sums::PathSums;
use crate::path::path_time_by_name::PathTime;
use crate::predict::schedule::{Scenario, walls_ns};
use crate::predict::shortcuts::{LEFT, Scaled, Shortcut, Shortcuts};
use crate::predict::what_if_rule::{scaled, stretched};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// A name, or `kind:` and a kind of lag, as for `--what-if`.
    pub name: String,
    /// Time on the path of the intervals and what belongs to them, or of the lags.
    pub path_ns: i64,
    pub own_ns: i64,
    /// Gains for 10 %, 50 % and 100 % less time; `None`: not computed, or not predictable.
    pub gains_ns: Option<[i64; 3]>,
    /// There would be a gain, but a lane that no dependency connects with the path prevents it. Because it is
    /// unknown what that lane waits for, no gain can be predicted.
    pub is_bounded: bool,
    pub is_frame: bool,
    /// All its rows do nothing but wait: what they wait for can be faster, and not the wait itself.
    pub is_wait: bool,
}

impl Opportunity {
    /// Returns whether this cannot be made faster by itself: a frame, a wait, or a lag that follows from how work is
    /// launched.
    fn comes_last(&self) -> bool {
        self.is_frame
            || self.is_wait
            || ["kind:queue", "kind:launch_delay"].contains(&self.name.as_str())
    }
}

/// Names and kinds of lag with time on the path, largest gain first. Frames, queues and launch delays come last.
/// Gains are computed for the `limit` names with the most time and for all kinds but gaps.
pub fn opportunities(
    graph: &Graph<'_>,
    chains: &Chains,
    shortcuts: &Shortcuts,
    path: &PathSums<'_>,
    names: Vec<PathTime>,
    limit: usize,
) -> Vec<Opportunity> {
    let mut out = Vec::new();
    let mut kept_ns = Vec::new();
    let mut names = names;
    let frames = frames(graph, &names);
    let waits = waits(graph, &names);
    names.sort_by_key(|row| frames.contains(&row.name) || waits.contains(&row.name));
    for (rank, row) in names.into_iter().enumerate() {
        let PathTime {
            name,
            path_ns,
            own_ns,
        } = row;
        let gains = (rank < limit).then(|| {
            let covered = covered(graph, chains, |label| label.name == name);
            let of_name = OfName {
                graph,
                chains,
                shortcuts,
                covered,
            };
            gains(graph, &of_name, &mut kept_ns)
        });
        out.push(Opportunity {
            name: graph.run.texts.text(name).to_owned(),
            path_ns,
            own_ns,
            gains_ns: gains.flatten(),
            is_bounded: gains == Some(None),
            is_frame: frames.contains(&name),
            is_wait: waits.contains(&name),
        });
    }
    for (kind, (path_ns, _)) in path.by_kind() {
        // Transfers are work, and also go by their directions. Of what was not recorded nobody knows what would make it less.
        if matches!(kind, PieceKind::Work | PieceKind::Gap) {
            continue;
        }
        let of_lag = OfLag {
            graph,
            chains,
            shortcuts,
            kind,
        };
        let gains_ns = gains(graph, &of_lag, &mut kept_ns);
        out.push(Opportunity {
            name: format!("kind:{}", kind.name()),
            path_ns,
            own_ns: path_ns,
            gains_ns,
            is_bounded: gains_ns.is_none(),
            is_frame: false,
            is_wait: false,
        });
    }
    out.sort_by(|a, b| {
        let gains = |row: &Opportunity| row.gains_ns.map(|[ten, half, all]| (half, all, ten));
        let by_gain = (gains(b), b.path_ns, &a.name).cmp(&(gains(a), a.path_ns, &b.name));
        a.comes_last().cmp(&b.comes_last()).then(by_gain)
    });
    out
}

/// Own time of a frame is below 1 / `OWN_PART` of its time on the path.
const OWN_PART: i64 = 10;

/// Names that are only functions, with almost no time of their own on the path.
fn frames(graph: &Graph<'_>, names: &[PathTime]) -> BTreeSet<u32> {
    let holds = |row: &&PathTime| row.own_ns < row.path_ns / OWN_PART;
    let mut frames: BTreeSet<u32> = names.iter().filter(holds).map(|row| row.name).collect();
    let texts = &graph.run.texts;
    for label in graph.run.labels.all() {
        if texts.text(label.kind) != "function" {
            frames.remove(&label.name);
        }
    }
    frames
}

/// Names that have the category `waiting` wherever they occur.
fn waits(graph: &Graph<'_>, names: &[PathTime]) -> BTreeSet<u32> {
    let mut waits: BTreeSet<u32> = names.iter().map(|row| row.name).collect();
    let texts = &graph.run.texts;
    for label in graph.run.labels.all() {
        if texts.get(label.category) != Some("waiting") {
            waits.remove(&label.name);
        }
    }
    waits
}

/// Returns `None` if only background lanes prevent a gain.
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

/// By chain: whether it or a chain around it is chosen.
fn covered(graph: &Graph<'_>, chains: &Chains, is_chosen: impl Fn(&Label) -> bool) -> Vec<bool> {
    chains.inherit(false, |label, around| {
        let label = graph.run.labels.get(label);
        label.class != Class::Wait && (is_chosen(&label) || around)
    })
}

/// Gain without the rows of a category, the same as `--what-if category:NAME=0` predicts. `None` if a lane that no
/// dependency connects with the path leaves it open.
pub fn of_category(
    graph: &Graph<'_>,
    chains: &Chains,
    shortcuts: &Shortcuts,
    is_chosen: impl Fn(&Label) -> bool,
) -> Option<i64> {
    let scenario = OfName {
        graph,
        chains,
        shortcuts,
        covered: covered(graph, chains, is_chosen),
    };
    let gains_ns = gains(graph, &scenario, &mut Vec::new());
    gains_ns.map(|[_, _, all_ns]| all_ns)
}

struct OfName<'a> {
    graph: &'a Graph<'a>,
    chains: &'a Chains,
    shortcuts: &'a Shortcuts,
    covered: Vec<bool>,
}

impl Scenario<3> for OfName<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 3] {
        let span = self.graph.segments.span[segment as usize];
        if self.covered[self.chains.get(lane, span) as usize] {
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

    fn shortcuts(&self) -> Option<&Shortcuts> {
        Some(self.shortcuts)
    }

    fn total_ns(&self, shortcut: &Shortcut) -> [i64; 3] {
        let needed = shortcut.needed.iter();
        let needed = needed.map(|(chain, sum)| (self.covered[*chain as usize], sum));
        let lags = shortcut.lags.iter().map(|(_, sum)| (false, sum));
        total_ns(needed.chain(lags))
    }
}

/// Adds up sums, covered ones with the shares [`LEFT`] of their time.
fn total_ns<'s>(sums: impl Iterator<Item = (bool, &'s Scaled)>) -> [i64; 3] {
    let mut out = [0; 3];
    for (is_covered, sum) in sums {
        let ns = if is_covered {
            sum.left_ns
        } else {
            [sum.measured_ns; 3]
        };
        out = std::array::from_fn(|k| out[k] + ns[k]);
    }
    out
}

struct OfLag<'a> {
    graph: &'a Graph<'a>,
    chains: &'a Chains,
    shortcuts: &'a Shortcuts,
    kind: PieceKind,
}

impl OfLag<'_> {
    fn is_of_kind(&self, label: u32) -> bool {
        let class = self.graph.run.labels.get(label).class;
        match self.kind {
            PieceKind::Transfer => class == Class::Transfer,
            PieceKind::SyncWait => class == Class::Wait,
            _ => false,
        }
    }
}

impl Scenario<3> for OfLag<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 3] {
        let span = self.graph.span(segment, lane);
        if self.is_of_kind(span.label) {
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

    fn shortcuts(&self) -> Option<&Shortcuts> {
        Some(self.shortcuts)
    }

    fn total_ns(&self, shortcut: &Shortcut) -> [i64; 3] {
        let chains = self.chains.all();
        let needed = shortcut.needed.iter().map(|(chain, sum)| {
            let label = chains[*chain as usize].label;
            (self.is_of_kind(label), sum)
        });
        let lags = shortcut.lags.iter();
        total_ns(needed.chain(lags.map(|(kind, sum)| (*kind == self.kind, sum))))
    }
}
