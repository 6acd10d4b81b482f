//! Memory-bound and compute-bound: names that the roof above them holds; unoptimised: names far below it.
//!
//! Evidence: a valid point of `roofline.points` with `least_share` of the window on the path. At `near_roof` of the roof or more,
//! the roof is what holds it (memory or compute, by the roof that is lower at its intensity); gain: half the bytes, or half
//! the FLOPs. Below `far_roof` it is unoptimised, unless it is [latency-bound](super::latency); gain: at the roof
//! (`critical_path.at_roof`). Between the two something else holds it besides: it is unoptimised with little confidence, and the gain
//! is that of `near_roof`, from which on the roof is what holds it. Of what has at least half of its calls above the roof nothing
//! is said by that roof: `not_measurable` names the nearer memory to ask about. A roof in doubt leaves little confidence.

use trueno_analysis::evidence::Evidence;

use super::draft::Draft;
use super::{Options, Rule, latency, roofs};
use crate::class::Class;
use crate::facts::{Facts, Point, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::percent;

pub const MEMORY_BOUND: Class = Class::new("memory_bound", 0);

pub const COMPUTE_BOUND: Class = Class::new("compute_bound", 1);

pub const UNOPTIMISED: Class = Class::new("unoptimised", 13);

thresholds! {
    pub struct Compute {
        /// From this efficiency on, the roof is the limit.
        near_roof: f64 = 0.6,
        /// Below this efficiency the predicted gain assumes reaching the roof; above it, reaching
        /// `near_roof`.
        far_roof: f64 = 0.3,
    }
}

impl Rule for Compute {
    fn classes(&self) -> &'static [Class] {
        &[MEMORY_BOUND, COMPUTE_BOUND, UNOPTIMISED]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        if facts.roof.points.is_empty() && facts.window.wall_ns > 0 {
            let missing = if facts.roof.without > 0 {
                "ceilings of the machine, or work that fits below them"
            } else {
                "FLOPs and bytes of kernels or bricks, and ceilings of the machine"
            };
            for class in [MEMORY_BOUND, COMPUTE_BOUND, UNOPTIMISED, latency::CLASS] {
                verdicts.not_measurable(
                class,
                "run",
                missing,
                "declare flops and bytes (or join an Nsight Compute profile), and record ceilings (crate `trueno-ceilings`)",
            );
            }
        }
        roofs::above(facts, options.general.least_share, verdicts);
        for point in roofs::points(facts, options.general.least_share) {
            match class_and_gain(facts, options, point) {
                (latency::CLASS, _) => {}
                (UNOPTIMISED, gain_ns) => below(facts, options, point, gain_ns, verdicts),
                (_, gain_ns) => at_the_roof(facts, options, point, gain_ns, verdicts),
            }
        }
    }
}

/// Class of a point, and the gain of the whole run from fixing it.
pub fn class_and_gain(facts: &Facts, options: &Options, point: &Point) -> (Class, i64) {
    if point.efficiency >= options.compute.near_roof {
        let gain_ns = facts.path.gain_ns(&point.name, 0.5);
        return if point.is_memory {
            (MEMORY_BOUND, gain_ns)
        } else {
            (COMPUTE_BOUND, gain_ns)
        };
    }
    let is_far = point.efficiency < options.compute.far_roof;
    if is_far && latency::why(facts, options, point).is_some() {
        return (latency::CLASS, facts.path.gain_ns(&point.name, 0.5));
    }
    let place = (point.source.clone(), point.name.clone());
    let computed = facts.path.at_roof.get(&place).copied();
    let goal = if is_far {
        1.0
    } else {
        options.compute.near_roof
    };
    let gain_ns = computed.filter(|_| is_far).unwrap_or_else(|| {
        facts
            .path
            .gain_ns(&point.name, 1.0 - point.efficiency / goal)
    });
    (UNOPTIMISED, gain_ns)
}

fn at_the_roof(
    facts: &Facts,
    options: &Options,
    point: &Point,
    gain_ns: i64,
    verdicts: &mut Verdicts,
) {
    let name = roofs::name(point);
    let (class, code, what, fix, suggestion) = if point.is_memory {
        (
            MEMORY_BOUND,
            "memory_bound",
            format!("moves {:.1} GB/s", point.bytes_per_s / 1e9),
            "moving half the bytes",
            "fewer bytes: fuse it with what comes before or after, a narrower type, blocks that stay in cache",
        )
    } else {
        (
            COMPUTE_BOUND,
            "compute_bound",
            format!("computes {:.1} GFLOP/s", point.flops_per_s / 1e9),
            "computing half the FLOPs",
            "fewer operations or a faster kind of them: another algorithm, a lower precision, more threads",
        )
    };
    Draft {
        class,
        code,
        scope_kind: roofs::scope_kind(point),
        scope: point.name.clone(),
        place: point.name.clone(),
        confidence: roofs::confidence(facts, point),
        lead: format!(
            "{name} {what}, {} of the roof{}",
            percent(point.efficiency),
            roofs::in_doubt(point)
        ),
        fix: fix.into(),
        evidence: roofs::evidence(facts, point),
        assumption: "it stays equally close to the roof, with half of what the roof limits".into(),
        considered: format!(
            "{}: tuning alone can gain no more than the remaining distance to the roof",
            roofs::place(point)
        ),
        suggestion: suggestion.into(),
    }
    .during_calls(facts, &point.name)
    .with_gain(
        facts,
        options,
        Evidence::new(point.calls, point.dur_ns),
        (gain_ns, Without::Names(vec![&point.name])),
        verdicts,
    );
}

fn below(facts: &Facts, options: &Options, point: &Point, gain_ns: i64, verdicts: &mut Verdicts) {
    let is_far = point.efficiency < options.compute.far_roof;
    let goal = if is_far {
        1.0
    } else {
        options.compute.near_roof
    };
    let (fix, assumption) = if is_far {
        (
            "reaching that roof".to_owned(),
            "it reaches the roof; half of that distance is what good kernels reach".to_owned(),
        )
    } else {
        (
            format!("reaching {} of it", percent(goal)),
            format!(
                "it reaches {} of the roof, as well-tuned kernels do",
                percent(goal)
            ),
        )
    };
    let (may_wait, waits) = latency::may_wait(facts, options, point);
    Draft {
        class: UNOPTIMISED,
        code: "unoptimised",
        scope_kind: roofs::scope_kind(point),
        scope: point.name.clone(),
        place: point.name.clone(),
        confidence: if is_far && may_wait {
            (Confidence::Low, "the recording does not show whether its accesses depend on each other".into())
        } else if is_far {
            roofs::confidence(facts, point)
        } else {
            (Confidence::Low, "how much of the remaining distance to the roof is reachable is not known".into())
        },
        lead: format!(
            "{} reaches {} of its roof{}{}",
            roofs::name(point),
            percent(point.efficiency),
            roofs::in_doubt(point),
            if is_far && may_wait { ", or waits for single accesses" } else { "" }
        ),
        fix,
        evidence: roofs::evidence(facts, point),
        assumption,
        considered: format!("{}; {waits}", roofs::place(point)),
        suggestion: if is_far && may_wait {
            "read and write in order and once, with vector instructions, on all threads; if each access depends on the previous one, run several chains at once".into()
        } else if point.is_memory {
            "read and write in order and once, with vector instructions, on all threads".into()
        } else {
            "vector instructions, several accumulators, blocks in registers and cache, all threads; or a tuned library".into()
        },
    }
    .during_calls(facts, &point.name)
    .with_gain(facts, options, Evidence::new(point.calls, point.dur_ns), (gain_ns, Without::Names(vec![&point.name])), verdicts);
}
