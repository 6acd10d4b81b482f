//! Latency-bound: each step waits for the one before, and no roof is near.
//!
//! Evidence: a point below `far_roof` of its roof, and one of:
//! - on a host, under the memory's roof: less than `latency_bytes_per_s` for each thread of the ceiling (one cache line after
//!   another in the time of one access to memory);
//! - on a host, where misses of the last cache were counted: with `miss_ns` each they fill at least half of its time, and there
//!   is at least half of that for each, so that they do not overlap;
//! - on a device: most of its launches with fewer than `few_blocks` blocks.
//!
//! Gain: `critical_path` with half of it, for two independent chains. Where nothing of this is so, and misses were not counted, a chain
//! through caches looks like any slow loop: [`may_wait`] says whether it can be one.

use trueno_analysis::evidence::Evidence;

use super::draft::Draft;
use super::{Options, Rule, roofs};
use crate::class::Class;
use crate::facts::{Facts, Point, Without};
use crate::options::thresholds;
use crate::verdict::Verdicts;

/// Rate of dependent accesses that a second-level cache serves: 64 bytes in 4 ns. Anything faster is no dependent
/// chain.
const CHAIN_BYTES_PER_S: f64 = 16e9;

/// Each step waits for the one before; neither roof is near.
pub const CLASS: Class = Class::new("latency_bound", 2);

thresholds! {
    pub struct Latency {
        /// A thread with a lower rate waits for each access before the next (64 B in 64 ns).
        latency_bytes_per_s: f64 = 1e9,
        /// Time of each miss if last-level cache misses follow one another.
        miss_ns: f64 = 80.0,
    }
}

impl Rule for Latency {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for point in roofs::points(facts, options.general.least_share) {
            if point.efficiency >= options.compute.far_roof {
                continue;
            }
            let Some(why) = why(facts, options, point) else {
                continue;
            };
            Draft {
            class: CLASS,
            code: "latency_bound",
            scope_kind: roofs::scope_kind(point),
            scope: point.name.clone(),
            place: point.name.clone(),
            confidence: roofs::confidence(facts, point),
            lead: format!("{} waits for single memory accesses ({why})", roofs::name(point)),
            fix: "running two independent chains at once".into(),
            evidence: roofs::evidence(facts, point),
            assumption: "two independent chains run in the time of one".into(),
            considered: format!("{}: it uses neither the bandwidth nor the arithmetic", roofs::place(point)),
            suggestion: "work on several independent items at once, prefetch, or lay the data out in the order it is read".into(),
        }
        .during_calls(facts, &point.name)
        .with_gain(facts, options, Evidence::new(point.calls, point.dur_ns), (facts.path.gain_ns(&point.name, 0.5), Without::Names(vec![&point.name])), verdicts);
        }
    }
}

/// Bytes per second per thread and the unit's suffix; over all threads if their number is unknown.
fn rate(point: &Point) -> (f64, &'static str) {
    match point.threads.filter(|threads| *threads > 0) {
        Some(threads) => (point.bytes_per_s / threads as f64, " a thread"),
        None => (point.bytes_per_s, ""),
    }
}

/// Evidence that a point waits for single accesses; `None`: there is none.
pub fn why(facts: &Facts, options: &Options, point: &Point) -> Option<String> {
    if point.device == "cpu" {
        let (per_thread, each) = rate(point);
        if point.is_memory && per_thread < options.latency.latency_bytes_per_s {
            return Some(format!("{:.2} GB/s{each}", per_thread / 1e9));
        }
        let each_ns = facts.roof.ns_per_miss.get(&point.name)?;
        let is_chain = (0.5..=2.0).contains(&(each_ns / options.latency.miss_ns));
        return is_chain.then(|| format!("a cache miss every {each_ns:.0} ns"));
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
            few += u64::from(blocks < options.small_batches.few_blocks);
        }
    }
    (known > 0 && few * 2 > known)
        .then(|| format!("grids of under {} blocks", options.small_batches.few_blocks))
}

/// Returns whether a point without such evidence may still wait for single accesses, and why.
pub fn may_wait(facts: &Facts, options: &Options, point: &Point) -> (bool, String) {
    if point.device != "cpu" {
        return (false, "its grids are not small (latency-bound)".into());
    }
    let (per_thread, each) = rate(point);
    if per_thread >= CHAIN_BYTES_PER_S {
        let why = format!(
            "{:.0} GB/s{each} is too fast for accesses one after another (latency-bound)",
            per_thread / 1e9
        );
        return (false, why);
    }
    if !point.is_memory {
        let why = "the arithmetic has the lower roof here, so dependent accesses (latency-bound) are unlikely";
        return (false, why.into());
    }
    // Few misses say nothing of accesses that a nearer cache answers.
    match facts.roof.ns_per_miss.get(&point.name) {
        Some(each_ns) if *each_ns < options.latency.miss_ns => (
            false,
            format!(
                "misses of the last cache, one every {each_ns:.0} ns, overlap: it is not waiting for single accesses (latency-bound)"
            ),
        ),
        Some(_) => (
            true,
            "or dependent accesses (latency-bound), most of them served by nearer caches".into(),
        ),
        None => (
            true,
            "or dependent accesses (latency-bound): cache misses were not counted".into(),
        ),
    }
}
