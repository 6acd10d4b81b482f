//! Latency-bound: each step waits for the one before, and no roof is near.
//!
//! Evidence: a point below `far_roof` of its roof, and one of: on a host, under the memory's roof, less than `latency_bytes_per_s`
//! for each thread of the ceiling (one cache line after another in the time of one access to memory); on a device, most of its
//! launches with fewer than `few_blocks` blocks. Gain: `critical_path` with half of it, for two independent chains.

use super::{Draft, roofs};
use crate::Options;
use crate::class::Class;
use crate::facts::{Facts, Point};
use crate::verdict::Verdicts;

pub fn judge(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    for point in roofs::points(facts, options.least_share) {
        if point.efficiency >= options.far_roof {
            continue;
        }
        let Some(why) = why(facts, options, point) else {
            continue;
        };
        Draft {
            class: Class::LatencyBound,
            code: "latency_bound",
            scope_kind: roofs::scope_kind(point),
            scope: point.name.clone(),
            place: point.name.clone(),
            confidence: roofs::confidence(facts, point),
            lead: format!("{} waits for single accesses ({why})", roofs::name(point)),
            fix: "two chains at once".into(),
            evidence: roofs::evidence(facts, point),
            assumption: "two independent chains run in the time of one".into(),
            considered: format!("{}: neither the bandwidth nor the arithmetic is in use", roofs::place(point)),
            suggestion: "work on several independent items at once, prefetch, or lay the data out in the order it is read".into(),
        }
        .of_name(facts, &point.name)
        .with_gain(facts, options, facts.path.gain_ns(&point.name, 0.5), verdicts);
    }
}

/// What shows that it waits for single accesses; `None`: nothing does.
pub fn why(facts: &Facts, options: &Options, point: &Point) -> Option<String> {
    if point.device == "cpu" {
        let per_thread = point.bytes_per_s / point.threads.unwrap_or(1).max(1) as f64;
        let is_slow = point.is_memory && per_thread < options.latency_bytes_per_s;
        return is_slow.then(|| format!("{:.2} GB/s a thread", per_thread / 1e9));
    }
    let (mut few, mut known) = (0_u64, 0_u64);
    for work in facts
        .device
        .work
        .iter()
        .filter(|work| facts.device.name(work) == point.name)
    {
        if let Some(blocks) = work.blocks {
            known += 1;
            few += u64::from(blocks < options.few_blocks);
        }
    }
    (known > 0 && few * 2 > known).then(|| format!("grids of under {} blocks", options.few_blocks))
}
