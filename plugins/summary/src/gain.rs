//! The largest single gain that is known.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::limit::MAX_GAP;
use crate::sentence::short;

/// Gains below this share of the wall are none.
const MIN_SHARE: f64 = 0.01;

/// Table of what less time of a name would buy.
const HALVED: &str = "critical_path.opportunity";

/// A gain, or why none is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Gain {
    Known {
        /// True for what a finding or a roof says can be had; false for what half the time of a name would buy.
        is_fix: bool,
        fix: String,
        /// By how much the window is shorter, at most.
        ns: i64,
        /// The table that has it.
        source: &'static str,
    },
    /// No table has one.
    NotKnown(&'static str),
}

impl Gain {
    /// The most of what a finding of `bottleneck` saves and what a name saves at its roof; without either, half of the
    /// kernel, operator or brick with the most to save. Half of a name on one rank tells nothing of a job of ranks that was
    /// re-timed.
    pub fn find(facts: &Facts) -> Self {
        if facts.empty_graphs.is_some() {
            return Self::NotKnown("launched work is not recorded");
        }
        if facts.recording_fault().is_some() {
            return Self::NotKnown("launches were serialised, or kernels have no times");
        }
        let is_gap = facts.path_gap.is_some_and(|gap| gap >= MAX_GAP);
        let top = facts.bottlenecks.iter();
        let top = top.filter_map(|top| {
            let (ns, _) = top.gain?;
            let (_, fix) = top.sentence.rsplit_once("; ")?;
            let (fix, _) = fix.split_once(" saves up to")?;
            Some((ns, fix.to_owned(), "bottleneck.top"))
        });
        let mut at_roof = facts.at_roof.iter();
        let at_roof = at_roof.find(|(name, _)| facts.is_enough(name));
        let at_roof = at_roof.map(|(name, ns)| {
            let fix = format!("{} at its roof", short(name));
            (*ns, fix, "critical_path.at_roof")
        });
        let is_worth = |gain: &(i64, String, &str)| {
            let share = facts.share(gain.0);
            share.is_some_and(|share| share >= MIN_SHARE)
        };
        let found = top.chain(at_roof).filter(is_worth);
        // Of equal ones the first.
        let found = found.reduce(|best, gain| if gain.0 > best.0 { gain } else { best });
        let has_halved = !is_gap && facts.job.is_none();
        let found = found.or_else(|| halved(facts).filter(|_| has_halved).filter(is_worth));
        match found {
            None if facts.job.is_some() => {
                Self::NotKnown("re-timing the job finds nothing that slows it down")
            }
            None if is_gap => Self::NotKnown("nothing was recorded for most of the critical path"),
            Some((ns, fix, source)) => Self::Known {
                is_fix: source != HALVED,
                fix,
                ns,
                source,
            },
            None => Self::NotKnown("no name on the critical path gains more than 1 % of the wall"),
        }
    }
}

/// Of names that can be made faster: kernels and operators, or on a host alone its innermost work.
fn halved(facts: &Facts) -> Option<(i64, String, &'static str)> {
    let kernels = facts.kernels.iter().map(|kernel| kernel.name.as_str());
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
    let rows = rows.filter(|(name, _)| facts.is_enough(name));
    let (name, ns) = rows.max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)))?;
    let fix = format!("{} in half the time", short(name));
    Some((*ns, fix, HALVED))
}
