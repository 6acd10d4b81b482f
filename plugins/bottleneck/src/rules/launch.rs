//! Launch-bound: the device is done before the host has launched the next piece, again and again.
//!
//! Evidence: at least `least_gaps` gaps of cause `launch` (see [`idle`](crate::facts::Idle)): the host asked after
//! the device had fallen idle, within `prepare_ns`, no wait held it, and the launch was not the first of its kernel, in which
//! code is loaded ([`idle_stretch`](super::idle_stretch) counts those). Gain: those of the gaps that a graph could span, as if
//! the work followed back to back, but no more than the path spends on the host (of a rank: on its lanes). A graph spans launches
//! with no wait, blocking copy, call for memory or loading of input between them ([`LaunchRuns`](crate::facts::LaunchRuns)), and
//! saves something where it holds `least_gaps` launches or more: launching it costs some of what it saves.
//! A graph of a whole step also leaves out what the host does between some launches for longer: where gaps of launches are at least
//! as much, the gaps of cause `host` that it spans count, too, and [`serial`](super::serial) leaves them out.
//! (Three eager trainings of 39 kernels a step on an H200: 84, 77 and 78 % is what the path
//! spends on the host; a graph saved 84, 77 and 78 %.)

use std::collections::BTreeMap;

use super::draft::Draft;
use super::gaps::{gap_confidence, gaps, gaps_sql, host_path_ns, other_causes, times, total_ns};
use super::serialised::is_serialised;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Cause, Facts, Gap, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::{Severity, Verdicts};
use crate::wording::{count, percent, time};
use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::SaturatingSum;

/// The device waits for the host to launch the next short kernel.
pub const CLASS: Class = Class::new("launch_bound", 3);

/// Idle time of a device that a graph would close.
pub struct Claim<'f> {
    launches_ns: i64,
    pub prepared: Vec<&'f Gap>,
    spanned: u64,
    gain_ns: i64,
    evidence: Evidence,
}

impl<'f> Claim<'f> {
    /// `None`: a graph would save too little to report.
    pub fn find(facts: &'f Facts, options: &Options, device: i64) -> Option<Self> {
        let launches = gaps(facts, device, Cause::Launch).0;
        if (launches.len() as u64) < options.gaps.least_gaps
            || is_serialised(facts, options, device)
        {
            return None;
        }
        let spanned = |gaps: &[&'f Gap]| {
            let min_launches = options.gaps.least_gaps;
            facts
                .launch_runs
                .spanned(&facts.device, device, min_launches, gaps)
        };
        let launches = spanned(&launches);
        let launches_ns = total_ns(&launches);
        let mut prepared = spanned(&gaps(facts, device, Cause::Host).0);
        if total_ns(&prepared) > launches_ns {
            prepared.clear();
        }
        let all_ns = launches_ns.saturating_add(total_ns(&prepared));
        let gain_ns = all_ns.min(bound_ns(facts, device));
        let evidence = facts.evidence(launches.len() as u64, &times(&launches));
        let is_reported = gain_ns > 0 && facts.share(gain_ns) >= options.general.least_share;
        is_reported.then_some(Self {
            launches_ns,
            prepared,
            spanned: launches.len() as u64,
            gain_ns,
            evidence,
        })
    }

    /// The gaps that no other finding may count.
    pub fn counted(facts: &'f Facts, options: &Options, device: i64) -> Vec<&'f Gap> {
        let claim = Self::find(facts, options, device);
        let claim = claim.filter(|claim| facts.is_enough(claim.evidence));
        claim.map_or_else(Vec::new, |claim| claim.prepared)
    }
}

fn bound_ns(facts: &Facts, device: i64) -> i64 {
    host_path_ns(facts, device).min(facts.most_ns(&Without::Host))
}

thresholds! {
    pub struct LaunchBound {
    }
}

impl Rule for LaunchBound {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for (device, ..) in &facts.idle.spans {
            let name = Idle::device_name(*device);
            let (unknown, unknown_ns) = facts.idle.total(*device, Cause::Unknown);
            if unknown >= options.gaps.least_gaps
                && facts.share(unknown_ns) >= options.general.least_share
            {
                verdicts.not_measurable(
                CLASS,
                &name,
                format!(
                    "when the host launched the work after {} gaps ({}){}",
                    count(unknown),
                    time(unknown_ns),
                    if facts.device.has_unknown() { ", or on which device it ran" } else { "" }
                ),
                "record API calls with their correlation (CUPTI runtime activity, nsys --trace=cuda, Kineto's CPU activity)",
            );
            }
            let launches = gaps(facts, *device, Cause::Launch).0;
            let (n, ns) = (launches.len() as u64, total_ns(&launches));
            if n < options.gaps.least_gaps || is_serialised(facts, options, *device) {
                continue;
            }
            let during = times(&launches);
            let work = facts.device.of(Some(*device));
            // Nodes of one graph have one launch.
            let mut launches_of: BTreeMap<(i64, i64), u64> = BTreeMap::new();
            for launch in work.clone().filter_map(|work| work.launch) {
                *launches_of.entry(launch).or_default() += 1;
            }
            let is_launched =
                |work: &&Work| work.launch.is_none_or(|launch| launches_of[&launch] == 1);
            let kernels = work.filter(|work| work.is_kernel()).filter(is_launched);
            let durs: Vec<i64> = kernels.map(|kernel| kernel.dur_ns()).collect();
            let kernels = durs.len() as u64;
            let mean = durs.into_iter().saturating_sum() / (kernels.max(1) as i64);
            let claim = Claim::find(facts, options, *device);
            let bounded_ns = ns.min(bound_ns(facts, *device));
            if claim.is_none() && facts.share(bounded_ns) < options.general.least_share {
                continue;
            }
            let prepared_ns = claim.as_ref().map_or(0, |claim| total_ns(&claim.prepared));
            let draft = Draft {
            class: CLASS,
            code: "launch_bound",
            scope_kind: "device",
            scope: name.clone(),
            place: name.clone(),
            confidence: gap_confidence(facts, n, options),
            lead: format!(
                "{name} waits for kernel launches for {} of the wall ({} kernels of {}{}",
                percent(facts.share(ns)),
                count(kernels),
                time(mean),
                match prepared_ns {
                    0 => ")".to_owned(),
                    ns => format!("), and for {} while the host works between them", percent(facts.share(ns))),
                }
            ),
            fix: match (&claim, facts.producer.compile_launches()) {
                (None, _) => "keep waits, copies and allocations out of the loop, then capture it in a graph",
                (Some(_), Some(_)) => "compiling the launches as one program",
                (Some(_), None) => "capturing the launches in a graph",
            }
            .into(),
            evidence: gaps_sql(launches),
            assumption: match &claim {
                None => format!(
                    "none: the waits, blocking copies, allocations and loading between the launches leave too few of them in a row ({} or more) for a graph",
                    options.gaps.least_gaps
                ),
                Some(claim) => {
                    let together = format!(
                        "work launched together runs back to back, and launching costs the host nothing; a graph spans {} of {} gaps ({} of {}), with no wait, blocking copy, allocation or loading between launches",
                        count(claim.spanned),
                        count(n),
                        time(claim.launches_ns),
                        time(ns)
                    );
                    match prepared_ns {
                        0 => together,
                        ns => format!("{together}, and the {} that the host works between some launches", time(ns)),
                    }
                }
            },
            considered: other_causes(facts, *device, Cause::Launch),
            suggestion: match facts.producer.compile_launches() {
                Some(compile) => compile.to_owned(),
                None => facts.producer.advice(
                    "`torch.compile(mode=\"reduce-overhead\")` or CUDA graphs (`torch.cuda.graph`), optimizers with `fused=True` or `foreach=True`, or a larger batch",
                    "capture the launches in a CUDA or HIP graph, fuse small kernels, or give each kernel more work (a larger batch)",
                ),
            },
        }
        .during(facts, &during);
            match claim {
                Some(claim) => draft.with_gain(
                    facts,
                    options,
                    claim.evidence,
                    (claim.gain_ns, Without::Host),
                    verdicts,
                ),
                None => {
                    let severity = Severity::from_share(facts.share(bounded_ns), &options.general);
                    draft.without_gain(facts, facts.evidence(n, &during), severity, verdicts);
                }
            }
        }
    }
}
