//! Elementwise chains: kernels that each read and write all of their elements once, one right after the other on a stream.
//!
//! Evidence: runs of at least two kernels of category `elementwise` on one stream with equal grids, at least `least_gaps` that follow
//! another one. Gain: of each run all but its longest kernel, as one fused kernel reads and writes once; by name through the
//! critical path, no more than the run would save without elementwise work. Whether one reads what the other wrote is not recorded,
//! so the confidence is low. How far their operators are from their roofs stands beside it where that is known: below a half,
//! each kernel is too short to reach it, which fusing mends as well.

use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, SaturatingSum};

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, percent, time};

pub const CLASS: Class = Class::new("unfused", 14);

const ELEMENTWISE: &str = "elementwise";

thresholds! {
    pub struct Unfused {
    }
}

impl Rule for Unfused {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for device in facts.device.devices() {
            of_device(facts, options, device, verdicts);
        }
    }
}

/// Chains of elementwise kernels with equal grids on one stream, each sorted by start.
fn chains(facts: &Facts, device: i64) -> Vec<Vec<&Work>> {
    let is_elementwise = |work: &Work| {
        let category = facts.category_of(facts.device.name(work));
        work.is_kernel() && work.blocks.is_some() && category == Some(ELEMENTWISE)
    };
    let mut streams: BTreeMap<i64, Vec<Vec<&Work>>> = BTreeMap::new();
    for work in facts.device.of(Some(device)) {
        let Some(stream) = work.stream else {
            continue;
        };
        let chains = streams.entry(stream).or_default();
        let last = chains.last_mut();
        match last {
            _ if !is_elementwise(work) => chains.push(Vec::new()),
            Some(chain) if chain.last().is_none_or(|last| last.blocks == work.blocks) => {
                chain.push(work);
            }
            _ => chains.push(vec![work]),
        }
    }
    let all = streams.into_values().flatten();
    all.filter(|chain| chain.len() > 1).collect()
}

fn of_device(facts: &Facts, options: &Options, device: i64, verdicts: &mut Verdicts) {
    let chains = chains(facts, device);
    let kernels: usize = chains.iter().map(Vec::len).sum();
    let fused = kernels.saturating_sub(chains.len()) as u64;
    if fused < options.gaps.least_gaps {
        return;
    }
    // By name, what fusing leaves out.
    let mut saved: BTreeMap<&str, i64> = BTreeMap::new();
    for chain in &chains {
        let longest = chain.iter().enumerate();
        let longest = longest.max_by_key(|(_, work)| work.dur_ns());
        let longest = longest.map(|(at, _)| at);
        for (at, work) in chain.iter().enumerate() {
            if Some(at) != longest {
                let of_name = saved.entry(facts.device.name(work)).or_default();
                *of_name = of_name.saturating_add(work.dur_ns());
            }
        }
    }
    let of_name = |name: &str| {
        let work = facts.device.of(Some(device));
        let own = work.filter(|work| facts.device.name(work) == name);
        own.map(Work::dur_ns).saturating_sum()
    };
    let gains = saved.iter().map(|(name, ns)| {
        let less = *ns as f64 / of_name(name).max(1) as f64;
        facts.path.gain_ns(name, less).min(*ns)
    });
    let gain_ns = gains.saturating_sum();
    let times: IntervalSet<i64> = chains
        .iter()
        .flatten()
        .map(|work| (work.start_ns, work.end_ns))
        .collect();
    let name = Idle::device_name(device);
    let names: Vec<&str> = saved.into_keys().collect();
    Draft {
        class: CLASS,
        code: "elementwise_chains",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (
            Confidence::Low,
            "that the kernels follow each other with equal grids is recorded; that one reads what the other wrote is not".into(),
        ),
        lead: format!(
            "{} elementwise kernels follow one another on {name} with equal grids ({} of the wall)",
            count(kernels as u64),
            percent(facts.share(times.total_ns()))
        ),
        fix: "fusing elementwise kernels".into(),
        evidence: format!(
            "SELECT name, COUNT(*) AS kernels, SUM(dur_ns) AS dur_ns FROM kernels WHERE device = {device} AND {}{} GROUP BY name ORDER BY dur_ns DESC",
            facts.name_groups.condition_of_any(&names),
            facts.window.sql(" AND")
        ),
        assumption: "a fused kernel takes as long as the longest of those that it replaces".into(),
        considered: format!(
            "{} runs of two or more, {} on {name} in all{}",
            count(chains.len() as u64),
            time(times.total_ns()),
            efficiency(facts)
        ),
        suggestion: facts.producer.advice(
            "`torch.compile` fuses them; or fused layers and optimisers (`fused=True`, `foreach=True`)",
            "one kernel for the whole expression, or a compiler that fuses (XLA, Triton, nvFuser)",
        ),
    }
    .during(facts, &times)
    .with_gain(facts, options, facts.evidence(fused, &times), (gain_ns, Without::Elementwise), verdicts);
}

/// For example `; their operators reach 19 % to 38 % of their roofs`; empty if unknown.
fn efficiency(facts: &Facts) -> String {
    let operators = facts.roof.operators.iter();
    let shares = operators.filter(|(name, ..)| facts.category_of(name) == Some(ELEMENTWISE));
    let shares: Vec<f64> = shares.map(|(_, _, share)| *share).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    match shares.len() {
        0 => String::new(),
        1 => format!("; their operator reaches {} of its roof", percent(most)),
        _ => format!(
            "; their operators reach {} to {} of their roofs",
            percent(least),
            percent(most)
        ),
    }
}
