//! Recomputation: a brick gives the same tensors again.
//!
//! Evidence: checksums of all elements, taken inside bricks. A run of a brick repeats an earlier one when *all* its checksums (by
//! tensor) are equal to those of the earlier one; at least `repeats` runs that repeat one, tensors of nothing but zeros not
//! counted. Gain: the repeated runs' share of the brick, on the path.

use std::collections::BTreeMap;

use trueno_plugin::rank;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, quoted, short};
use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::SaturatingSum;

/// Runs of a brick with equal results: their number, and their time without the first.
#[derive(Default)]
struct RepeatedResult {
    runs: u64,
    again_ns: i64,
}

/// Tensors by name and hash, sorted.
type Results<'a> = Vec<(&'a str, u64)>;

struct BrickRun<'a> {
    brick: &'a str,
    dur_ns: i64,
    is_zero: bool,
    results: Results<'a>,
}

#[derive(Default)]
struct BrickRuns<'a> {
    dur_ns: i64,
    by_results: BTreeMap<Results<'a>, RepeatedResult>,
}

impl BrickRuns<'_> {
    fn again_ns(&self) -> i64 {
        self.by_results
            .values()
            .map(|of| of.again_ns)
            .saturating_sum()
    }
}

pub const CLASS: Class = Class::new("recomputation", 14).explaining(&[
    "memory_bound",
    "compute_bound",
    "latency_bound",
    "unoptimised",
]);

thresholds! {
    pub struct Recomputation {
        repeats: u64 = 3,
    }
}

impl Rule for Recomputation {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        if facts.tensors.is_empty() {
            if !facts.bricks.names.is_empty() {
                verdicts.not_measurable(
                    CLASS,
                    "run",
                    "checksums of results",
                    facts.producer.to_record_here(
                        "take Recorder::checksum of what a brick computes, inside the brick",
                    ),
                );
            }
            return;
        }
        let mut runs: BTreeMap<u64, BrickRun<'_>> = BTreeMap::new();
        for tensor in &facts.tensors {
            let run = runs.entry(tensor.span).or_insert_with(|| BrickRun {
                brick: &tensor.brick,
                dur_ns: tensor.dur_ns,
                is_zero: true,
                results: Vec::new(),
            });
            run.is_zero &= tensor.is_zero;
            run.results.push((&tensor.tensor, tensor.hash));
        }
        // Ranks that compute the same do so side by side: each for itself.
        let mut bricks: BTreeMap<(&str, u64), BrickRuns<'_>> = BTreeMap::new();
        for (span, mut run) in runs {
            run.results.sort_unstable();
            let of = bricks.entry((run.brick, rank::of_key(span))).or_default();
            of.dur_ns = run.dur_ns.saturating_add(of.dur_ns);
            if !run.is_zero {
                let equal = of.by_results.entry(run.results).or_default();
                if equal.runs > 0 {
                    equal.again_ns = run.dur_ns.saturating_add(equal.again_ns);
                }
                equal.runs += 1;
            }
        }
        // Of each brick the rank that does so longest.
        let mut worst: BTreeMap<&str, &BrickRuns<'_>> = BTreeMap::new();
        for ((brick, _), all) in &bricks {
            let of = worst.entry(brick).or_insert(all);
            if all.again_ns() > of.again_ns() {
                *of = all;
            }
        }
        for (brick, all) in worst {
            let (all_ns, results) = (all.dur_ns, &all.by_results);
            let repeated: Vec<_> = results.iter().filter(|(_, equal)| equal.runs > 1).collect();
            let runs: u64 = repeated.iter().map(|(_, equal)| equal.runs).sum();
            let again_ns = repeated
                .iter()
                .map(|(_, equal)| equal.again_ns)
                .saturating_sum();
            let Some((tensors, _)) = repeated.first() else {
                continue;
            };
            // The first of each had to be computed.
            if runs - (repeated.len() as u64) < self.repeats {
                continue;
            }
            let less = again_ns as f64 / all_ns.max(1) as f64;
            Draft {
            class: CLASS,
            code: "recomputation",
            scope_kind: "brick",
            scope: brick.to_owned(),
            place: brick.to_owned(),
            confidence: (Confidence::High, "hashes over all bits of all recorded results are equal".into()),
            lead: format!(
                "{} computes {} {} times; {} would be enough",
                short(brick),
                if repeated.len() == 1 { "the same result".to_owned() } else { format!("{} results", repeated.len()) },
                count(runs),
                count(repeated.len() as u64)
            ),
            fix: "computing it once".into(),
            evidence: format!(
                "SELECT hash, COUNT(*) AS times, MIN(span) AS first_span FROM checksums WHERE name = {} GROUP BY hash ORDER BY times DESC",
                quoted(tensors.first().map_or("", |tensor| tensor.0))
            ),
            assumption: "looking up a stored result takes no time, and nothing else that the brick does is needed".into(),
            considered: "calls with a different checksum, and results that are all zeros, are not counted".into(),
            suggestion: "compute it once, outside the loop, and keep it".into(),
        }
        .during_calls(facts, brick)
        .with_gain(facts, options, Evidence::new(runs, again_ns), (facts.path.gain_ns(brick, less), Without::Names(vec![brick])), verdicts);
        }
    }
}
