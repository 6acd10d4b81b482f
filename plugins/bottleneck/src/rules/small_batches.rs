//! Small batches: calls too small for their fixed cost, or grids too small for the device.
//!
//! Evidence, one of:
//! - a brick that ran with several numbers of elements (the largest at least twice the smallest): a [line](super::linear_fit) through the
//!   medians of sizes, time = fixed + per element × elements; *fixed share* = fixed × calls / time of all, at least `small_share`. Where
//!   calls of equal elements declare other flops or bytes, elements are not the size, and the line is drawn by those. Larger calls that
//!   take no longer tell nothing of fixed cost. Gain: the same elements in an eighth of the calls. The line is that of the whole run,
//!   also where a part of it is looked at.
//! - kernels of fewer than `few_blocks` blocks, or of fewer threads than one multiprocessor holds, take at least `small_share` of a
//!   device's kernel time. Gain: twice the work in each, in the same time. How far the work divides is not recorded, so no roof
//!   bounds it, and no gain beyond the first doubling is claimed. A kernel of 100 µs on under 1 % of the device is long because of its
//!   grid: its gain is that of the whole device, and its own time is evidence, however often it ran.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::evidence::{Evidence, Pattern};
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};

use super::draft::Draft;
use super::linear_fit::{Fit, Unfit};
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, many, percent, short, time};

/// Number of calls that the proposed fix merges into one.
const FEWER: f64 = 8.0;

/// Calls that are too small for their fixed cost or for the device.
pub const CLASS: Class = Class::new("small_batches", 9).explaining(&[
    "launch_bound",
    "latency_bound",
    "blocking_copies",
    "sync_bound",
]);

thresholds! {
    pub struct SmallBatches {
        /// A grid of fewer blocks leaves most of a device idle.
        few_blocks: i64 = 32,
        /// Reported from this share of device time in small grids, or this share of a call that is fixed
        /// cost.
        small_share: f64 = 0.5,
    }
}

impl Rule for SmallBatches {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let mut told = false;
        for (name, sizes) in &facts.bricks.sizes {
            let fit = match Fit::through(sizes) {
                Ok(fit) => fit,
                Err(Unfit::OneSize) => continue,
                Err(Unfit::Other(why)) => {
                    told = true;
                    // Of what is next to nothing nobody asks.
                    if facts.share(facts.path.gain_ns(name, 1.0)) >= options.general.least_share {
                        verdicts.not_measurable(
                        CLASS,
                        name,
                        format!("how the time of {} depends on its size: {why}", short(name)),
                        "declare elements in proportion to the work of a call, or its flops and bytes, and record a few steps at another batch size",
                    );
                    }
                    continue;
                }
            };
            told = true;
            let share = fit.fixed_share();
            if share < self.small_share
                || facts.window.per_rank(fit.calls) < options.gaps.least_gaps
            {
                continue;
            }
            let less = share * (1.0 - 1.0 / FEWER);
            let measure = fit.measure.name();
            Draft {
            class: CLASS,
            code: "fixed_cost",
            scope_kind: "brick",
            scope: name.clone(),
            place: "host".into(),
            confidence: fit.confidence(),
            lead: format!("{}: {} of each call is fixed cost ({} calls)", short(name), percent(share), count(fit.calls)),
            fix: "batching 8 calls into one".into(),
            evidence: format!(
                "SELECT {} AS {measure}, COUNT(*) AS calls, MEDIAN(dur_ns) AS median_ns FROM bricks WHERE {}{} GROUP BY {measure} ORDER BY {measure}",
                fit.measure.sql(),
                facts.name_groups.condition(name),
                facts.window.sql(" AND")
            ),
            assumption: format!("a call takes {} and then the same time for each of its {measure}, at every size", time(fit.fixed_ns as i64)),
            considered: match fit.against {
                Some(against) => format!("{against}, so sizes are distinguished by {measure}"),
                None => "calls of a single size do not show the fixed cost".into(),
            },
            suggestion: "put more elements in a call (a larger batch, several requests together)".into(),
        }
        .during_calls(facts, name)
        .with_gain(facts, options, Evidence::new(fit.calls, facts.path.name_ns(name)), (facts.path.gain_ns(name, less), Without::Names(vec![name])), verdicts);
        }
        if !told && facts.bricks.names.iter().any(|row| row.kind == "brick") {
            verdicts.not_measurable(
            CLASS,
            "bricks",
            "how the time of a call depends on its size: no brick declares two sizes, one at least twice the other",
            "declare elements on bricks, and record a few steps at another batch size",
        );
        }
        for device in facts.device.devices() {
            grids(facts, options, device, verdicts);
        }
    }
}

/// Threads that a multiprocessor of any device can hold at once; most hold 1,536 or 2,048 (CUDA C++ Programming
/// Guide, technical specifications per compute capability).
const HELD_THREADS: i64 = 1024;

/// Returns whether a kernel has few blocks or few threads; collectives do not count.
pub fn is_small(facts: &Facts, options: &Options, work: &Work) -> bool {
    let few_blocks = |blocks| blocks < options.small_batches.few_blocks;
    let is_few =
        work.blocks.is_some_and(few_blocks) || threads(work).is_some_and(|all| all < HELD_THREADS);
    is_few && work.is_kernel() && !super::sync::is_collective(facts.device.name(work))
}

fn threads(work: &Work) -> Option<i64> {
    Some(work.blocks?.saturating_mul(work.threads?))
}

/// Shares are shown in whole percent.
const WHOLE_PERCENT: f64 = 0.01;

/// A kernel takes some microseconds whatever it does: one that takes much longer is long because of its work.
const LONG_NS: i64 = 100_000;

/// Share of the threads that the device holds at once; `None` if it is not known.
fn held_share(facts: &Facts, work: &Work) -> Option<f64> {
    let held = facts.device.multiprocessors?.saturating_mul(HELD_THREADS);
    Some(threads(work)? as f64 / held as f64)
}

/// The share of the device that a long kernel works on, if that is under 1 %.
fn tiny_share(facts: &Facts, work: &Work) -> Option<f64> {
    // Of a device of unknown size, at most the share of one multiprocessor.
    let of_one = threads(work).map(|threads| threads as f64 / HELD_THREADS as f64);
    let share = held_share(facts, work).or(of_one);
    share.filter(|share| *share < WHOLE_PERCENT && work.dur_ns() >= LONG_NS)
}

/// What a kernel can be shortened by: a long one on under 1 % of the device by all of the device, any other one by
/// half.
fn reducible_ns(facts: &Facts, work: &Work) -> i64 {
    let dur_ns = work.dur_ns();
    match tiny_share(facts, work) {
        Some(share) => (dur_ns as f64 * (1.0 - share)) as i64,
        None => dur_ns / 2,
    }
}

/// For example `, most in gemm with 1 block of 1 thread, under 1 % of what gpu0 holds`: the name with the most
/// time in small grids, with its largest grid.
fn largest(facts: &Facts, small: &[&Work], device: &str) -> String {
    let mut by_name: BTreeMap<u32, (i64, &Work)> = BTreeMap::new();
    for work in small {
        let (ns, largest) = by_name.entry(work.name).or_insert((0, work));
        *ns = ns.saturating_add(work.dur_ns());
        if threads(work) > threads(largest) {
            *largest = work;
        }
    }
    let most = by_name.values().max_by_key(|(ns, _)| *ns);
    let Some((_, work)) = most.filter(|(_, work)| work.threads.is_some()) else {
        return String::new();
    };
    let number = |n: Option<i64>| u64::try_from(n.unwrap_or(0)).unwrap_or(0);
    let (blocks, of) = (number(work.blocks), number(work.threads));
    let held = held_share(facts, work).map(|share| {
        let (word, share) = if share < WHOLE_PERCENT {
            ("under", WHOLE_PERCENT)
        } else {
            ("at most", share)
        };
        format!(", {word} {} of what {device} holds", percent(share))
    });
    format!(
        ", most in {} with {} of {}{}",
        short(facts.device.name(work)),
        many(blocks, "block"),
        many(of, "thread"),
        held.unwrap_or_default()
    )
}

/// Share of the window that small grids must take if there are too few of them for a pattern.
const MUCH: f64 = 0.2;

fn grids(facts: &Facts, options: &Options, device: i64, verdicts: &mut Verdicts) {
    let (mut all_ns, mut small_ns, mut n, mut known) = (0_i64, 0_i64, 0_u64, 0_u64);
    let (mut names, mut small) = (BTreeSet::new(), Vec::<&Work>::new());
    let kernels = facts.device.of(Some(device));
    for work in kernels.filter(|work| work.is_kernel()) {
        let ns = work.dur_ns();
        all_ns = ns.saturating_add(all_ns);
        known += u64::from(work.blocks.is_some());
        if is_small(facts, options, work) {
            (small_ns, n) = (ns.saturating_add(small_ns), n + 1);
            names.insert(work.name);
            small.push(work);
        }
    }
    let name = Idle::device_name(device);
    if known == 0 {
        verdicts.not_measurable(
            CLASS,
            &name,
            "grids of kernels",
            "record the launch grid (CUPTI kernel activity has it)",
        );
        return;
    }
    let share = small_ns as f64 / all_ns.max(1) as f64;
    let tiny = small
        .iter()
        .filter(|work| tiny_share(facts, work).is_some());
    let tiny_ns = tiny.map(|work| work.dur_ns()).saturating_sum();
    let by_itself = Evidence::once(tiny_ns);
    let is_by_itself = tiny_ns.saturating_mul(2) >= small_ns && facts.is_enough(by_itself);
    // A few kernels are no pattern, but one long kernel in a small grid is worth more than many short ones.
    let is_much = facts.share(small_ns) >= MUCH || is_by_itself;
    if share < options.small_batches.small_share || (n < options.gaps.least_gaps && !is_much) {
        return;
    }
    let names = names.into_iter();
    let names: Vec<&str> = names
        .map(|name| facts.device.names[name as usize].as_str())
        .collect();
    let on_path = names.iter().map(|name| facts.path.name_ns(name));
    let on_path = on_path.saturating_sum();
    let largest = largest(facts, &small, &name);
    let few = small.iter().filter(|work| {
        let few_blocks = |blocks| blocks < options.small_batches.few_blocks;
        work.blocks.is_some_and(few_blocks)
    });
    let is_of_few_blocks = few.count() == small.len();
    let reducible = small.iter().map(|work| reducible_ns(facts, work));
    let reducible_ns = reducible.saturating_sum();
    let fills = reducible_ns > small_ns / 2;
    let small: IntervalSet<i64> = small
        .into_iter()
        .map(|work| (work.start_ns, work.end_ns))
        .collect();
    let on_path = on_path.saturating_add(facts.waited_ns(&small, Some(device)));
    // Those of several streams at once hold the device once.
    let share_saved = reducible_ns as f64 / small_ns.max(1) as f64;
    let gain_ns = (small.total_ns().min(on_path) as f64 * share_saved) as i64;
    let evidence = match facts.evidence(n, &small) {
        evidence if is_by_itself && evidence.pattern == Pattern::Recurs => by_itself,
        evidence => evidence,
    };
    Draft {
        class: CLASS,
        code: "small_grids",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (Confidence::Medium, format!("grids of {} are recorded; the number of blocks that the device holds at once is assumed", many(known, "kernel"))),
        lead: format!(
            "{} of {name}'s time is in grids of under {}{largest}",
            percent(share),
            if is_of_few_blocks {
                format!("{} blocks", options.small_batches.few_blocks)
            } else {
                format!("{} blocks or {HELD_THREADS} threads", options.small_batches.few_blocks)
            }
        ),
        fix: if fills { "dividing the work over the device" } else { "twice the work per launch" }.into(),
        evidence: format!(
            "SELECT name, grid_x * grid_y * grid_z AS blocks, block_x * block_y * block_z AS threads, COUNT(*) AS kernels, \
             SUM(dur_ns) AS dur_ns FROM kernels WHERE device = {device} AND (grid_x * grid_y * grid_z < {} \
             OR grid_x * grid_y * grid_z * block_x * block_y * block_z < {HELD_THREADS}) \
             GROUP BY name, blocks, threads ORDER BY dur_ns DESC",
            options.small_batches.few_blocks
        ),
        assumption: if fills {
            "work of a long kernel on under 1 % of the device can be divided over all of it; other grids of twice the size take no longer; whether the work can be divided is not recorded"
        } else {
            "a grid of twice the size takes no longer while most of the device is idle; whether the work can be divided is not recorded"
        }.into(),
        considered: format!("{} of {} kernels; those of collectives are not counted", count(n), count(known)),
        suggestion: "divide the work over more blocks and threads, one for each element; a larger batch, several problems in one launch, or several streams at once".into(),
    }
    .during(facts, &small)
    .with_gain(facts, options, evidence, (gain_ns, Without::Names(names)), verdicts);
}
