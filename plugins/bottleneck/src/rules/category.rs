//! Categories: a cause shared by several names of one category, each of which may be too small for a finding of its own.
//!
//! Evidence: points of `roofline.points` by category of their time on the path (`critical_path.by_name`): of one class (memory-, compute-,
//! latency-bound, unoptimised, as for names) at least two names, with at least half of the category's time on the path in
//! points. Gain: the names' gains together, each as far as its time on the path is its own, no more than that time. The finding is in
//! one group with those of its names, of which the one with the most to gain leads: a name that several categories use may have more.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;

use super::draft::Draft;
use super::{Options, Rule, compute, latency, roofs};
use crate::class::Class;
use crate::facts::{Facts, Point, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, many, percent, quoted, short, time};

/// Share of a category's time in points that a class must have.
const MIN_CLASS_SHARE: f64 = 0.5;

#[derive(Default)]
struct Sum<'a> {
    points: Vec<&'a Point>,
    calls: u64,
    path_ns: i64,
    gain_ns: i64,
}

thresholds! {
    pub struct Categories {
    }
}

impl Rule for Categories {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let mut sums: BTreeMap<(&str, Class), Sum<'_>> = BTreeMap::new();
        let mut times: BTreeMap<&str, i64> = BTreeMap::new();
        for point in roofs::points(facts, 0.0) {
            let (class, gain_ns) = compute::class_and_gain(facts, options, point);
            let all_ns = facts.path.name_ns(&point.name).max(1);
            // Own time: what a brick and a kernel in it have in common is that of the kernel, which may be of several categories.
            for (category, path_ns) in facts
                .path
                .own_ns(&point.name, facts.category_of(&point.name))
            {
                // What has no category has nothing in common.
                if !Facts::is_category(category) || path_ns <= 0 {
                    continue;
                }
                let time_ns = times.entry(category).or_default();
                *time_ns = time_ns.saturating_add(path_ns);
                let sum = sums.entry((category, class)).or_default();
                sum.points.push(point);
                sum.calls = sum.calls.saturating_add(point.calls);
                sum.path_ns = sum.path_ns.saturating_add(path_ns);
                let part = (path_ns as f64 / all_ns as f64).min(1.0);
                sum.gain_ns = sum.gain_ns.saturating_add((gain_ns as f64 * part) as i64);
            }
        }
        for ((category, class), sum) in sums {
            let share = sum.path_ns as f64 / times[category].max(1) as f64;
            if sum.points.len() < 2 || share < MIN_CLASS_SHARE || !facts.path.is_known {
                continue;
            }
            let (what, fix) = match class {
                compute::MEMORY_BOUND => ("at the roof of the memory", "moving half the bytes"),
                compute::COMPUTE_BOUND => {
                    ("at the roof of the arithmetic", "computing half the FLOPs")
                }
                latency::CLASS => (
                    "waiting for single accesses",
                    "running two independent chains at once",
                ),
                _ => ("far below their roofs", "reaching them"),
            };
            let doubtful = sum.points.iter().filter(|point| point.doubt.is_some());
            let doubtful = doubtful.count() as u64;
            let mut names: Vec<&str> = sum.points.iter().map(|point| point.name.as_str()).collect();
            names.sort_unstable();
            Draft {
            class,
            code: "category",
            scope_kind: "category",
            scope: category.to_owned(),
            place: category.to_owned(),
            confidence: match doubtful {
                0 => (
                    Confidence::Medium,
                    "each name by its own place below the roof; assumes that their gains add up".into(),
                ),
                n => (Confidence::Low, format!("the roofs of {} are uncertain", many(n, "name"))),
            },
            lead: format!(
                "{} names of {} ({} of its time) are {what}",
                count(names.len() as u64),
                short(category),
                percent(share)
            ),
            fix: fix.into(),
            evidence: format!(
                "SELECT name, calls, dur_ns, flops_per_byte, bound_by, efficiency_share FROM roofline.points WHERE name IN ({}) ORDER BY dur_ns DESC",
                names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            ),
            assumption: "each name gains this much, one after the other on the critical path".into(),
            considered: format!("{} on the critical path in these names; other causes account for less of the category", time(sum.path_ns)),
            suggestion: match class {
                compute::MEMORY_BOUND => "fuse them, so that intermediate results stay out of memory",
                compute::COMPUTE_BOUND => "a lower precision, or a faster algorithm for all of them",
                latency::CLASS => "several independent items at once, or data laid out in the order it is read",
                _ => "start with the name that takes the most time; its fix may help the others",
            }
            .into(),
        }
        .with_gain(facts, options, Evidence::new(sum.calls, sum.path_ns), (sum.gain_ns.min(sum.path_ns), Without::Names(names)), verdicts);
        }
    }
}
