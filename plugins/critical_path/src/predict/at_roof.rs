//! Gains end to end if work ran as fast as the machine allows: names at their roofs.
//!
//! The plugins `roofline` and `operators` tell how long all rows of a name would take at the roof: by name and not by
//! row, as a table of all rows would be as long as the run. A name that both tell of is taken as `roofline` has it: by
//! the program's own FLOPs. Rows without FLOPs, bytes or a ceiling are taken as measured. Each name's intervals, and all that belongs to them, are stretched
//! alike by time then / time measured, and the graph is re-timed, as `--what-if NAME=FACTOR` would. Gains
//! of several names do not add up. `everything` has all of them at once: work that belongs to several names
//! takes the shortest of the times that these would give it, so that no name alone gains more.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::Class;
use trueno_plugin::{Input, Result, Run};

use crate::graph::chains::Chains;
use crate::graph::dependency_graph::Graph;
use crate::graph::walk::PieceKind;
use crate::predict::opportunity::Opportunity;
use crate::predict::schedule::{Scenario, walls_ns};
use crate::predict::what_if_rule::stretched;

/// Times at the roof by name; present if plugin `roofline` ran.
pub const AT_ROOF: Input = Input::sql(
    "at_roof",
    "SELECT source, name, dur_ns, at_roof_ns FROM roofline.at_roof ORDER BY source, name",
)
.optional();
/// The same for kernels whose operators have shapes; present if plugin `operators` ran.
pub const OPERATORS_AT_ROOF: Input = Input::sql(
    "operators_at_roof",
    "SELECT source, name, dur_ns, at_roof_ns FROM operators.at_roof ORDER BY source, name",
)
.optional();

pub const EVERYTHING: &str = "everything";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoofTime {
    /// True for kernels, false for bricks.
    pub is_kernel: bool,
    pub name: String,
    /// Time of the rows that have a place below the roof.
    pub dur_ns: i64,
    pub at_roof_ns: i64,
}

/// Reads [`AT_ROOF`] and [`OPERATORS_AT_ROOF`]; empty if neither table exists.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run) -> Result<Vec<RoofTime>> {
    let mut out: Vec<RoofTime> = Vec::new();
    for input in [AT_ROOF.name(), OPERATORS_AT_ROOF.name()] {
        let table = run.table(input)?;
        if table.is_missing() {
            continue;
        }
        let (source, name) = (table.text("source")?, table.text("name")?);
        let (dur_ns, at_roof_ns) = (table.i64("dur_ns")?, table.i64("at_roof_ns")?);
        let known = out.len();
        for row in 0..table.rows() {
            let is_kernel = source.value(row) == "kernel";
            let name = name.value(row);
            let is_same = |other: &RoofTime| other.is_kernel == is_kernel && other.name == name;
            if !out[..known].iter().any(is_same) {
                out.push(RoofTime {
                    is_kernel,
                    name: name.to_owned(),
                    dur_ns: dur_ns.value(row),
                    at_roof_ns: at_roof_ns.value(row),
                });
            }
        }
    }
    Ok(out)
}

/// By label: the share of its time that would remain at the roof.
#[derive(Clone, Debug, Default)]
pub struct Roofs {
    of_labels: Vec<Option<f64>>,
}

impl Roofs {
    pub fn new(graph: &Graph<'_>, named: &[RoofTime]) -> Self {
        Self {
            of_labels: factors(graph, named),
        }
    }

    pub fn left(&self, label: u32) -> Option<f64> {
        self.of_labels.get(label as usize).copied().flatten()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gain {
    /// `kernel` or `brick`; `None` for [`EVERYTHING`].
    pub source: Option<&'static str>,
    pub name: String,
    /// Time on the path including what belongs to it; `None` for [`EVERYTHING`].
    pub path_ns: Option<i64>,
    /// By how much the window would be shorter; `None`: not computed.
    pub gain_ns: Option<i64>,
}

/// Gains of the `limit` names with the most time on the path and of all at once, largest first.
pub fn gains(
    graph: &Graph<'_>,
    chains: &Chains,
    named: &[RoofTime],
    roofs: &Roofs,
    opportunities: &[Opportunity],
    limit: usize,
) -> Vec<Gain> {
    let factors = &roofs.of_labels;
    let path_ns: BTreeMap<&str, i64> = opportunities
        .iter()
        .map(|row| (row.name.as_str(), row.path_ns))
        .collect();
    let mut rows: Vec<(i64, &RoofTime)> = named
        .iter()
        .filter_map(|named| {
            // Without time on the path, it would stay as long as it is.
            let path_ns = *path_ns.get(named.name.as_str())?;
            (path_ns > 0).then_some((path_ns, named))
        })
        .collect();
    rows.sort_by_key(|(ns, named)| (std::cmp::Reverse(*ns), &named.name, named.is_kernel));
    let mut out = Vec::new();
    if limit > 0 && factors.iter().any(Option::is_some) {
        out.push(Gain {
            source: None,
            name: EVERYTHING.to_owned(),
            path_ns: None,
            gain_ns: Some(gain_ns(graph, chains, factors)),
        });
    }
    for (rank, (path_ns, named)) in rows.into_iter().enumerate() {
        let gain_ns = (rank < limit).then(|| {
            let own = factors.iter().zip(graph.run.labels.all());
            let own: Vec<Option<f64>> = own
                .map(|(factor, label)| factor.filter(|_| is_of(graph, label, named)))
                .collect();
            gain_ns(graph, chains, &own)
        });
        out.push(Gain {
            source: Some(if named.is_kernel { "kernel" } else { "brick" }),
            name: named.name.clone(),
            path_ns: Some(path_ns),
            gain_ns,
        });
    }
    out.sort_by(|a, b| (b.gain_ns, b.path_ns, &a.name).cmp(&(a.gain_ns, a.path_ns, &b.name)));
    out
}

fn is_of(graph: &Graph<'_>, label: &trueno_analysis::lanes::Label, named: &RoofTime) -> bool {
    let is_class = match label.class {
        Class::Kernel => named.is_kernel,
        Class::Brick | Class::Task | Class::Scope => !named.is_kernel,
        _ => false,
    };
    is_class && graph.run.texts.text(label.name) == named.name
}

/// By label: the share of its time that would remain; `None`: unchanged.
fn factors(graph: &Graph<'_>, named: &[RoofTime]) -> Vec<Option<f64>> {
    let labels = graph.run.labels.all();
    let mut label_ns = vec![0_i64; labels.len()];
    for span in graph.run.lanes.iter().flat_map(|lane| &lane.spans) {
        let sum = &mut label_ns[span.label as usize];
        *sum = sum.saturating_add(span.dur_ns());
    }
    let mut out = vec![None; labels.len()];
    for named in named {
        let of_name: Vec<usize> = (0..labels.len())
            .filter(|at| is_of(graph, &labels[*at], named))
            .collect();
        let all_ns: i64 = of_name
            .iter()
            .map(|at| label_ns[*at])
            .fold(0, i64::saturating_add);
        // In a window the lanes hold less of a row than it took.
        let all_ns = all_ns.max(named.dur_ns);
        if all_ns > 0 && named.dur_ns > 0 {
            let left_ns = all_ns - named.dur_ns + named.at_roof_ns;
            for at in of_name {
                out[at] = Some(left_ns as f64 / all_ns as f64);
            }
        }
    }
    out
}

fn gain_ns(graph: &Graph<'_>, chains: &Chains, factors: &[Option<f64>]) -> i64 {
    let mut sets = Sets::default();
    let none = sets.number(Vec::new());
    let of = chains.inherit(none, |label, around| {
        let is_wait = graph.run.labels.get(label).class == Class::Wait;
        match factors[label as usize] {
            _ if is_wait => none,
            Some(_) => sets.with(around, label),
            None => around,
        }
    });
    let factors = sets.all.iter().map(|labels| {
        let factors = labels.iter().filter_map(|label| factors[*label as usize]);
        factors.collect()
    });
    let scenario = AtRoof {
        graph,
        chains,
        factors: factors.collect(),
        of,
    };
    let [[connected_ns], [background_ns]] = walls_ns(graph, &scenario, &mut Vec::new());
    graph.run.wall_ns - connected_ns.max(background_ns)
}

#[derive(Default)]
struct Sets {
    /// Labels of each set, sorted, by set number.
    all: Vec<Vec<u32>>,
    numbers: FastMap<Vec<u32>, u32>,
    /// Number of the union of a set and a label.
    joined: FastMap<(u32, u32), u32>,
}

impl Sets {
    fn number(&mut self, set: Vec<u32>) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(set.clone()).or_insert(next);
        if number == next {
            self.all.push(set);
        }
        number
    }

    fn with(&mut self, set: u32, label: u32) -> u32 {
        if let Some(&both) = self.joined.get(&(set, label)) {
            return both;
        }
        let mut labels = self.all[set as usize].clone();
        if let Err(at) = labels.binary_search(&label) {
            labels.insert(at, label);
        }
        let both = self.number(labels);
        self.joined.insert((set, label), both);
        both
    }
}

struct AtRoof<'a> {
    graph: &'a Graph<'a>,
    chains: &'a Chains,
    factors: Vec<Vec<f64>>,
    /// By chain: the number of the set of labels with a factor on the way out from it.
    of: Vec<u32>,
}

impl Scenario<1> for AtRoof<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 1] {
        let span = self.graph.segments.span[segment as usize];
        let set = self.of[self.chains.get(lane, span) as usize];
        let (start_ns, end_ns) = self.graph.needs_ns(segment);
        // The least of the times, not the time of the least factor: that may round to one more.
        let times = self.factors[set as usize].iter();
        let least = times.map(|left| stretched(start_ns, end_ns, *left)).min();
        [least.unwrap_or_else(|| self.graph.dur_ns(segment))]
    }

    #[inline]
    fn lag_ns(&self, _kind: PieceKind, measured_ns: i64) -> [i64; 1] {
        [measured_ns]
    }
}
