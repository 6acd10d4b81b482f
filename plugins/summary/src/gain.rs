//! The largest single gain that is known.

use std::collections::BTreeSet;

use trueno_analysis::vendors::is_communication;

use crate::facts::{Facts, Prediction};
use crate::limit::{MAX_GAP, MIN_BUSY, Shares};
use crate::sentence::short;

/// Gains below this share of the wall time are ignored.
const MIN_SHARE: f64 = 0.01;

/// A fix that saves less than this share of the wall time, and less than 1 / `TIMES` of what halving a name saves, is not
/// what to begin with.
const SMALL_SHARE: f64 = 0.05;
const TIMES: i64 = 5;

/// From this share of the wall on, the profiler's own work lies within too many operators.
const MUCH_PROFILER: f64 = 0.2;

/// Devices that are busy for this many times as long as they are on the critical path: what the host waited for was not
/// recorded.
const PASSES_BY: f64 = 2.0;

/// Table with the gains from halving the time of a name.
const HALVED: &str = "critical_path.opportunity";

/// The largest gain, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Gain {
    Known {
        kind: Kind,
        fix: String,
        /// Upper limit of the time saved in the window.
        ns: i64,
        source: &'static str,
    },
    /// No table has a gain.
    NotKnown(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A finding or a roof shows that the gain is possible.
    Fix,
    /// The largest effect of halving the time of a name.
    Halved,
    /// The same of the names with enough calls; one with too few has a larger effect.
    HalvedOfRepeated,
}

impl Gain {
    /// The larger of what a finding of `bottleneck` saves, be it explained by another or not, and what a name saves at its roof. If there is
    /// neither, or what they save is small beside it, half the time of the kernel, operator or brick that saves most.
    /// For a re-timed job, halving a
    /// name on one rank is not considered: it says nothing about the job.
    pub fn find(facts: &Facts) -> Self {
        if facts.empty_graphs.is_some() {
            return Self::NotKnown("launched work is not recorded");
        }
        if facts.recording_fault().is_some() {
            return Self::NotKnown("launches were serialised, or kernels have no times");
        }
        let is_gap = facts.path_gap.is_some_and(|gap| gap >= MAX_GAP);
        // The finding that leads a group may gain nothing, or less than one that it explains.
        let top = facts.bottlenecks.iter().map(|one| (one, "bottleneck.top"));
        // In a re-timed job, what explains a rank's findings says what the job gains.
        let all = facts.with_gain.iter().filter(|_| facts.job.is_none());
        let all = all.map(|one| (one, "bottleneck.bottlenecks"));
        let fixes = top.chain(all).filter_map(|(one, source)| {
            let (ns, _) = one.gain?;
            let (_, fix) = one.sentence.rsplit_once("; ")?;
            let (fix, _) = fix.split_once(" saves up to")?;
            Some((ns, fix.to_owned(), source))
        });
        let mut at_roof = facts.at_roof.iter();
        let at_roof = at_roof.find(|(name, _)| facts.is_enough(name));
        let at_roof = at_roof.map(|(name, ns)| {
            let fix = format!("{} at its roof", short(name));
            (*ns, fix, "critical_path.at_roof")
        });
        let is_worth = |gain: &(i64, String, &str)| {
            let share = facts.gain_share(gain.0);
            share.is_some_and(|share| share >= MIN_SHARE)
        };
        let found = fixes.chain(at_roof).filter(is_worth);
        // Of equal ones the first.
        let found = found.reduce(|best, gain| if gain.0 > best.0 { gain } else { best });
        // Half the time of an operator that holds the profiler's own work saves that, too; kernels hold none.
        let profiler = facts.path.map_or(0.0, |path| path.profiler);
        let has_profiler = profiler >= MUCH_PROFILER;
        let has_halved = !is_gap && facts.job.is_none();
        let halved = halved(facts, has_profiler).filter(|_| has_halved);
        let halved = halved.filter(is_worth);
        // Then a small gain of the host need not shorten the run.
        let passes_by = passes_by(facts);
        let is_little = |gain: &(i64, String, &str)| {
            facts
                .gain_share(gain.0)
                .is_none_or(|share| share < SMALL_SHARE)
        };
        let halved = halved.filter(|gain| !(passes_by && is_little(gain)));
        let is_small = |fix: &(i64, String, &str)| {
            let share = facts.gain_share(fix.0).unwrap_or(0.0);
            let halved_ns = halved.as_ref().map_or(0, |halved| halved.0);
            share < SMALL_SHARE && halved_ns / TIMES >= fix.0
        };
        let found = found.filter(|fix| !is_small(fix)).or(halved);
        match found {
            None if facts.job.is_some() => {
                Self::NotKnown("re-timing the job finds nothing that slows it down")
            }
            None if has_profiler => {
                Self::NotKnown("the profiler itself takes much of the critical path")
            }
            None if is_gap => Self::NotKnown("nothing was recorded for most of the critical path"),
            Some((ns, fix, source)) => Self::Known {
                kind: match source {
                    HALVED if is_beside_larger(facts, has_profiler, ns) => Kind::HalvedOfRepeated,
                    HALVED => Kind::Halved,
                    _ => Kind::Fix,
                },
                fix,
                ns,
                source,
            },
            None if communicates(facts) => {
                Self::NotKnown("how long communication takes depends on the other ranks")
            }
            None if passes_by => {
                Self::NotKnown("the critical path does not lead through the busy devices")
            }
            None => Self::NotKnown("no name on the critical path gains more than 1 % of the wall"),
        }
    }
}

fn communicates(facts: &Facts) -> bool {
    let is_much = |ns: i64| facts.gain_share(ns).is_some_and(|share| share >= MIN_SHARE);
    let mut halved = facts.halved.iter();
    halved.any(|(name, ns)| is_communication(name) && is_much(*ns))
}

fn passes_by(facts: &Facts) -> bool {
    let busy = Shares::new(facts).map_or(0.0, |of| of.busy());
    let path = facts.path.as_ref();
    busy >= MIN_BUSY && path.is_some_and(|path| busy >= PASSES_BY * path.devices())
}

/// Only names that can be made faster alone: kernels and operators, or without devices the innermost host work. A
/// collective may wait for other ranks all along.
fn alone(facts: &Facts, only_kernels: bool) -> Vec<&Prediction> {
    let kernels = facts.kernels.iter().map(|kernel| kernel.name.as_str());
    let is_kernel = |name: &str| facts.kernels.iter().any(|kernel| kernel.name == name);
    let operators = facts.operators.iter().map(String::as_str);
    let bricks: &[(String, i64)] = if facts.devices.is_empty() {
        &facts.host.bricks
    } else {
        &[]
    };
    let own = kernels.chain(operators);
    let own: BTreeSet<&str> = own.chain(bricks.iter().map(|row| row.0.as_str())).collect();
    let rows = facts.halved.iter();
    let rows = rows.filter(|(name, _)| own.contains(&**name) || name.starts_with("aten::"));
    let rows = rows.filter(|(name, _)| !only_kernels || is_kernel(name));
    rows.filter(|(name, _)| !is_communication(name)).collect()
}

fn halved(facts: &Facts, only_kernels: bool) -> Option<(i64, String, &'static str)> {
    let rows = alone(facts, only_kernels).into_iter();
    let rows = rows.filter(|(name, _)| facts.is_enough(name));
    let (name, ns) = rows.max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)))?;
    let fix = format!("{} in half the time", short(name));
    Some((*ns, fix, HALVED))
}

/// Half the time of another name, which then has too few calls, would save more.
fn is_beside_larger(facts: &Facts, only_kernels: bool, ns: i64) -> bool {
    let mut rows = alone(facts, only_kernels).into_iter();
    rows.any(|(_, other_ns)| *other_ns > ns)
}
