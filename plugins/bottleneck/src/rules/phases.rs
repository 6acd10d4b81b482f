//! Phases of a finding: before the program settled, or in single slow iterations; and what `divergence` says of
//! its name.
//!
//! A finding whose time lies before the first steady iteration, at least [`NEARLY_ALL`] of it, begins with that, for a
//! longer run would hardly feel it; from [`HALF`] on it gives the share. One with [`HALF`] of its time in slow
//! iterations, themselves at most [`FEW`] of the steady time, names these.

use trueno_analysis::intervals::IntervalSet;

use super::draft::Draft;
use crate::facts::Facts;
use crate::wording::{count, many, percent, short, time};

/// From this share on, all of it counts.
const NEARLY_ALL: f64 = 0.9;
/// From this share on, the text names the part.
const HALF: f64 = 0.5;
/// Slow iterations must be at most this share of steady time to be named.
const FEW: f64 = 0.25;

impl Draft {
    pub fn during(mut self, facts: &Facts, times: &IntervalSet<i64>) -> Self {
        let steps = &facts.steps;
        if let Some(before) = steps.before_steady(times).filter(|share| *share > 0.0) {
            let in_warm_up = times.common_ns(&steps.warm_up);
            if before >= NEARLY_ALL {
                let is_warm_up = in_warm_up.saturating_mul(2) >= times.total_ns();
                let when = if is_warm_up {
                    "in warm-up"
                } else {
                    "before the first iteration"
                };
                self.lead = format!("{when} {}", self.lead);
            } else if before >= HALF {
                self.lead += &format!(", {} of it before the steady state", percent(before));
            }
            self.considered += &format!(
                "; {} of its time is before the steady state ({} in {} of warm-up)",
                percent(before),
                time(in_warm_up),
                many(steps.warming, "iteration")
            );
        }
        if let Some((share, of_all)) = steps.in_slow(times) {
            let n = steps.slow.len() as u64;
            if share >= HALF && of_all <= FEW {
                self.lead += &format!(", mostly in {}", many(n, "slow iteration"));
            }
            if share >= 2.0 * of_all {
                self.considered += &format!(
                    "; {} of its time in steady iterations is in the {} slow ones, which are {} of that time (throughput.iterations)",
                    percent(share),
                    count(n),
                    percent(of_all)
                );
            }
        }
        self
    }

    /// Like `during`, for all calls of a name. Also says whether the name made iterations slow and whether its
    /// results match the baseline.
    pub fn during_calls(mut self, facts: &Facts, name: &str) -> Self {
        let of_device = facts
            .device
            .work
            .iter()
            .filter(|work| work.is_kernel() && facts.device.name(work) == name);
        let times: IntervalSet<i64> = of_device.map(|work| (work.start_ns, work.end_ns)).collect();
        let (steps, end_ns) = (&facts.steps, facts.bricks.ends_ns.get(name));
        if !times.is_empty() {
            self = self.during(facts, &times);
        } else if let Some((steady_ns, end_ns)) = steps.steady_ns.zip(end_ns) {
            let first_ns = steps.warm_up.ranges().first().map(|range| range.0);
            if *end_ns <= steady_ns {
                let is_set_up = first_ns.is_none_or(|first_ns| *end_ns <= first_ns);
                let when = if is_set_up {
                    "before the first iteration"
                } else {
                    "in warm-up"
                };
                self.lead = format!("{when} {}", self.lead);
                self.considered += "; no call of it is in the steady state";
            }
        }
        if let Some((n, ns)) = steps.caused_by(name) {
            self.considered += &format!(
                "; it caused {} of {} slow iterations, by {} (throughput.iterations)",
                count(n),
                count(steps.slow.len() as u64),
                time(ns as i64)
            );
        }
        if let Some(n) = facts.diverged.get(name) {
            self.considered += &format!(
                "; {} of its tensors differ from the baseline (divergence.pairs): check first whether {} is right",
                count(*n),
                short(name)
            );
        }
        self
    }
}
