//! Data-load-bound: work waits for its input.
//!
//! Evidence: bricks that get input (category `data loading`, or a word of `loader_words` in the name) with at least
//! `least_share` of the window on the critical path; of names inside one another the outer counts, and of ranks each for itself.
//! Gain: loading beside the work: the loaders' time on the path. With one loader the run cannot be shorter than its
//! loading; where nothing says what follows what on several lanes (TensorFlow's timelines), re-timing does not know what waits for
//! loading, and no gain is predicted of loading that has `medium_share` of the window; where devices wait for loading that takes longer than all else, several loaders are assumed. A first call of at least five
//! that took [`START_UP`] times as long as the median of the others, and longer than each of them, starts the loader (its worker
//! processes): it counts as no loading. It saves no more than it would without any of it; what is loaded once, before the first iteration, is [set-up](super::set_up); where loading already goes on nearly all the time, half of it, for two loaders.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder, SaturatingSum};

use trueno_plugin::counted;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Cause, Facts, Load, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{percent, short, time};

pub const CLASS: Class = Class::new("data_load_bound", 6).explaining(&["transfer_bound"]);

thresholds! {
    pub struct DataLoad {
    }
}

impl Rule for DataLoad {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        if facts.bricks.loader_names.is_empty() {
            verdicts.not_measurable(
                CLASS,
                "run",
                "which rows load input",
                "name such bricks load…, fetch… or read…, or give them the category `data loading`",
            );
            return;
        }
        // What is loaded once, before the steps, is set-up.
        let in_steps = |name: &&String| !facts.bricks.is_before_steps(name);
        let rows = facts.bricks.loaders.iter();
        let mut rows: Vec<&Load> = rows.filter(|row| in_steps(&&row.name)).collect();
        let starts = take_starts(&mut rows);
        let start_ns = |name: &str| {
            let of_name = starts.iter().filter(|row| row.name == name);
            of_name
                .map(|row| row.range.1.saturating_sub(row.range.0))
                .saturating_sum()
        };
        let loading = rows.iter().map(|row| row.range).collect();
        // Ranks load side by side.
        let mut by_rank: BTreeMap<i64, IntervalSetBuilder<i64>> = BTreeMap::new();
        for row in &rows {
            by_rank
                .entry(row.rank)
                .or_default()
                .add(row.range.0, row.range.1);
        }
        let by_rank = by_rank
            .into_values()
            .map(|ranges| ranges.finish().total_ns());
        let by_rank: Vec<i64> = by_rank.collect();
        let all_ns = by_rank.iter().copied().max().unwrap_or(0);
        let ranks = by_rank.len();
        let outermost = outermost(&rows);
        let mut names: Vec<(i64, &String)> = facts
            .bricks
            .loader_names
            .iter()
            .filter(in_steps)
            .map(|name| {
                let share = outermost.get(name.as_str()).copied().unwrap_or(1.0);
                let loading_ns = facts.path.name_ns(name).saturating_sub(start_ns(name));
                ((loading_ns.max(0) as f64 * share) as i64, name)
            })
            .collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let on_path = names.iter().map(|row| row.0).saturating_sum();
        let path_ns = if facts.path.is_known {
            on_path.min(by_rank.into_iter().saturating_sum())
        } else {
            all_ns
        };
        let Some((_, name)) = names.first() else {
            return;
        };
        if facts.share(path_ns) < options.general.least_share {
            return;
        }
        let rest_ns = facts.window.wall_ns.saturating_sub(all_ns);
        // Loading goes on beside the work already, or is nearly all there is.
        let is_alongside = rest_ns.saturating_mul(4) < path_ns;
        let in_starts: IntervalSet<i64> = starts.iter().map(|row| row.range).collect();
        let idle_ns = facts
            .idle
            .gaps
            .iter()
            .filter(|gap| gap.cause == Cause::Loader)
            .map(|gap| {
                gap.loading_ns
                    .saturating_sub(in_starts.within_ns(gap.start_ns, gap.end_ns))
                    .max(0)
            })
            .saturating_sum();
        let has_workers = name.contains("MultiProcessingDataLoader");
        let (gain_ns, fix, assumption) = if all_ns > rest_ns && idle_ns > 0 {
            (
                path_ns,
                if has_workers {
                    "adding loader workers"
                } else {
                    "loading ahead in several workers"
                },
                "as many workers load side by side as it takes for no step to wait, and their processors are free".to_owned(),
            )
        } else if is_alongside {
            (
                facts.path.gain_ns(name, 0.5).min(path_ns / 2),
                "running two loaders at once",
                "two loaders at once take half the time".to_owned(),
            )
        } else {
            (
                path_ns.min(rest_ns),
                if has_workers {
                    "adding loader workers"
                } else {
                    "loading the next input ahead"
                },
                format!(
                    "the next input loads while this one is processed; the run cannot be shorter than its loading, {}",
                    time(all_ns)
                ),
            )
        };
        let gain_ns = gain_ns.min(most_ns(facts, &names, start_ns));
        let on_path = percent(facts.share(path_ns));
        let others = names.iter().skip(1).filter(|row| row.0 > 0).count();
        let loaders = match others {
            0 => short(name),
            others => format!(
                "{} and {}",
                short(name),
                counted(others as u64, "other", "others")
            ),
        };
        let lead = match idle_ns / facts.idle.spans.len().max(1) as i64 {
            0 => format!("the program waits for {loaders} for {on_path} of the wall"),
            // Of the mean device.
            idle_ns => format!(
                "the {} waits for {loaders} for {} of the wall ({on_path} of the critical path)",
                facts.device.accelerator(),
                percent(facts.share(idle_ns))
            ),
        };
        let place = facts.idle.spans.first().map_or("host".to_owned(), |span| {
            crate::facts::Idle::device_name(span.0)
        });
        let draft = Draft {
        class: CLASS,
        code: "data_load_bound",
        scope_kind: "brick",
        scope: (*name).clone(),
        place: if idle_ns > 0 { place } else { "host".into() },
        confidence: if facts.path.is_known {
            (Confidence::High, "loading is on the critical path".into())
        } else {
            (Confidence::Low, "the critical path is not known; loading may run beside the work".into())
        },
        lead,
        fix: fix.into(),
        evidence: format!(
            "SELECT id, name, thread, start_ns, dur_ns FROM bricks WHERE {}{} ORDER BY dur_ns DESC",
            facts.name_groups.condition_of_any(&names.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>()),
            facts.window.sql(" AND")
        ),
        assumption,
        considered: format!(
            "loading takes {}{}, {} of it on the critical path; devices idled for {} because of it{}",
            time(all_ns),
            if ranks > 1 { " on the rank that has most" } else { " in all" },
            time(path_ns),
            time(idle_ns),
            starts.iter().max_by_key(|row| row.range.1.saturating_sub(row.range.0)).map_or(String::new(), |first| format!(
                "; the first call of {} ({}) starts the loader and is not counted",
                short(&first.name),
                time(first.range.1.saturating_sub(first.range.0))
            ))
        ),
        suggestion: facts.producer.advice(
            "`DataLoader(num_workers=…, prefetch_factor=…, persistent_workers=True, pin_memory=True)` loads ahead in other processes; if it already does, add workers",
            "load on other threads, a few steps ahead (prefetch), in larger reads, or from a decoded cache",
        ),
    }
    .during(facts, &loading);
        let evidence = facts.evidence(rows.len() as u64, &loading);
        let is_small = facts.share(gain_ns) < options.general.least_share;
        let share = facts.share(path_ns);
        if is_small && !facts.has_order_between_lanes() && share >= options.general.medium_share {
            let severity = Severity::from_share(share, &options.general);
            draft.unpredicted(facts, evidence, severity, verdicts);
            return;
        }
        draft.with_gain(
            facts,
            options,
            evidence,
            (gain_ns, Without::Unbounded),
            verdicts,
        );
    }
}

/// A first call that starts a loader takes at least this many times as long as the median of the others.
const START_UP: i64 = 10;
/// With fewer calls of a name, it is not known that the first one is unlike the others.
const MIN_CALLS: usize = 5;

/// Takes the first calls that start a loader out of `rows`: at most one of each name and rank.
fn take_starts<'f>(rows: &mut Vec<&'f Load>) -> Vec<&'f Load> {
    let mut by_name: BTreeMap<(&str, i64), Vec<&'f Load>> = BTreeMap::new();
    for row in rows.iter() {
        by_name.entry((&row.name, row.rank)).or_default().push(row);
    }
    let dur_ns = |row: &Load| row.range.1.saturating_sub(row.range.0);
    let start = |calls: Vec<&'f Load>| {
        let first = *calls.iter().min_by_key(|row| row.range)?;
        let others = calls.iter().filter(|row| row.range != first.range);
        let mut others: Vec<i64> = others.map(|row| dur_ns(row)).collect();
        others.sort_unstable();
        let (median_ns, longest_ns) = (others.get(others.len() / 2)?, others.last()?);
        let is_unlike = dur_ns(first) >= median_ns.max(&1).saturating_mul(START_UP);
        let is_start = calls.len() >= MIN_CALLS && is_unlike && dur_ns(first) > *longest_ns;
        is_start.then_some(first)
    };
    let starts: Vec<&Load> = by_name.into_values().filter_map(start).collect();
    rows.retain(|row| !starts.iter().any(|start| std::ptr::eq(*start, *row)));
    starts
}

/// Upper bound of the gain from any fix of loading, without counting nested calls twice.
fn most_ns(facts: &Facts, names: &[(i64, &String)], start_ns: impl Fn(&str) -> i64) -> i64 {
    if !facts.path.is_known {
        return i64::MAX;
    }
    let on_path = names.iter().filter(|(path_ns, _)| *path_ns > 0);
    on_path
        .map(|(_, name)| match facts.path.most_of_name_ns(name) {
            i64::MAX => i64::MAX,
            most_ns => most_ns.saturating_sub(start_ns(name)).max(0),
        })
        .saturating_sum()
}

/// The share of each name's time that is not nested in another loading call on the same thread, because the path
/// counts a name together with nested calls. Calls nested in calls of the same name do not count.
fn outermost<'a>(rows: &[&'a Load]) -> BTreeMap<&'a str, f64> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| (row.thread, row.range.0, Reverse(row.range.1)));
    let mut open: Vec<&Load> = Vec::new();
    // By name: outside of all others, outside of its own name.
    let mut sums: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for row in rows {
        open.retain(|outer| outer.thread == row.thread && outer.range.1 > row.range.0);
        let mut around = open.iter().filter(|outer| outer.range.1 >= row.range.1);
        let ns = row.range.1.saturating_sub(row.range.0);
        let sum = sums.entry(row.name.as_str()).or_default();
        if around.clone().next().is_none() {
            sum.0 = sum.0.saturating_add(ns);
        }
        if !around.any(|outer| outer.name == row.name) {
            sum.1 = sum.1.saturating_add(ns);
        }
        open.push(row);
    }
    let shares = sums.into_iter().filter(|(_, sum)| sum.1 > 0);
    shares
        .map(|(name, (outer, all))| (name, outer as f64 / all as f64))
        .collect()
}
