//! Serialisation: what could run side by side runs one after another.
//!
//! Evidence, one of:
//! - gaps of cause `host`: the device idles while the host prepares what it launches next. Those that a graph of launches would close
//!   count there ([`launch`](super::launch)), and time of loading as [loading](super::loader). Gain: what of the gaps could hide behind
//!   the device's work, no more than the path spends on the host (of a rank: on its lanes), and than the run is shorter without the
//!   host's rows: re-timing keeps time of which nothing was recorded, and the finding says how much of the gaps that is. Calls that
//!   take or give back memory of devices hide behind nothing, because most wait for the device.
//! - on hosts without devices: time of the path while every other lane idles (`critical_path.serial_work`), at least `alone_share`
//!   of the window, with other lanes that are busy at times (or several tasks at once). Gain: that time over all those lanes, as
//!   far as the machine has processors for them, of a lane from its first row on, and no more than the longest call leaves: a call is
//!   not divided. If a few calls are most of it, no gain is predicted. Calls that start another process or wait for one, and
//!   stretches of which is known only that a thread ran, are no such work. No verdict where the lanes of a timeline are no threads.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::Draft;
use super::gaps::{gaps, gaps_sql, host_path_ns, names_in_gaps, other_causes, times, total_ns};
use super::launch::Claim;
use super::serialised::{DeviceCalls, is_serialised};
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Alone, Cause, Facts, Gap, Idle, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{count, percent, short, time, without_rank};
use trueno_analysis::evidence::{Evidence, MIN_FEW};
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_analysis::producer::Producer;
use trueno_analysis::vendors::takes_or_returns_memory;
use trueno_analysis::waits::names_a_process;

const MIN_GAPS: u64 = 3;

/// Work that could run in parallel runs one after another. Gaps for preparing input are neither copies nor loading,
/// which other rules report.
pub const CLASS: Class = Class::new("serialisation", 8);

thresholds! {
    pub struct Serialisation {
        /// Reported from this share of the window on in which one lane works and all others are idle.
        alone_share: f64 = 0.4,
        /// Lanes that are busy for a smaller share do not count as able to help.
        lanes_busy: f64 = 0.05,
    }
}

impl Rule for Serialisation {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for (device, _, _, busy) in &facts.idle.spans {
            let gaps = unclaimed(facts, options, *device);
            let (n, ns) = (gaps.len() as u64, total_ns(&gaps));
            if n < MIN_GAPS || is_serialised(facts, options, *device) {
                continue;
            }
            let name = Idle::device_name(*device);
            let during = times(&gaps);
            let held = gaps.iter().filter(|gap| gap.wait.is_some()).count() as u64;
            let memory_ns = facts.path.work_within_ns(&during, takes_or_returns_memory);
            let loading_ns = gaps.iter().map(|gap| gap.loading_ns).saturating_sum();
            let elsewhere_ns = memory_ns.saturating_add(loading_ns);
            let overlappable_ns = ns.saturating_sub(elsewhere_ns).min(*busy);
            Draft {
            class: CLASS,
            code: "host_prepares",
            scope_kind: "device",
            scope: name.clone(),
            place: name.clone(),
            confidence: if facts.path.is_known {
                (Confidence::Medium, "the gaps and the launches after them are recorded; assumes that the host can prepare ahead".into())
            } else {
                (Confidence::Low, super::gaps::NO_PATH.into())
            },
            lead: format!(
                "{name} is idle for {} of the wall while the host works between launches ({} gaps{})",
                percent(facts.share(ns)),
                count(n),
                most_in_gaps(facts, &during, ns)
            ),
            fix: "overlapping the host's work with the device".into(),
            evidence: gaps_sql(gaps),
            assumption: "the host prepares the next piece while the device works on this one".into(),
            considered: format!(
                "{} of {} gaps began with a wait of the host; {}{}{}",
                count(held),
                count(n),
                match facts.path.gaps_within_ns(&during) {
                    0 => String::new(),
                    ns => format!("what the host did in {} of them was not recorded, so the gain leaves that out; ", time(ns)),
                },
                match memory_ns {
                    0 => String::new(),
                    ns => format!("{} in calls that allocate or free memory, which are assumed not to overlap; ", time(ns)),
                },
                other_causes(facts, *device, Cause::Host)
            ),
            suggestion: facts.producer.advice(
                "`torch.compile` takes Python out of the step; prepare inputs in `DataLoader(num_workers=…)`, or move the work to the device",
                "prepare the next step on another thread, or before waiting for this one; move the work to the device",
            ),
        }
        .during(facts, &during)
        .with_gain(facts, options, facts.evidence(n, &during), (overlappable_ns.min(host_path_ns(facts, *device)), Without::Host), verdicts);
        }
        alone(facts, options, verdicts);
        let (empty_ns, beside_ns) = facts.gaps_ns();
        let is_much = |ns: i64| facts.share(ns) >= options.set_up.set_up_share;
        let on_path = |ns: i64| {
            let share = percent(facts.share(ns));
            format!("{} of the critical path ({share} of the wall)", time(ns))
        };
        if is_much(empty_ns) {
            verdicts.not_measurable(
                CLASS,
                "host",
                format!("what the host did in {}, where nothing was recorded", on_path(empty_ns)),
                "record bricks around what the host does there, or the waits and what they wait for",
            );
        }
        if is_much(beside_ns) {
            verdicts.not_measurable(
                CLASS,
                "host",
                format!(
                    "what the next work waited for in {}: other lanes have rows there, and which of them it depends on is not recorded",
                    on_path(beside_ns)
                ),
                "record the calls that launch device work, with their correlation, or dependencies between rows",
            );
        }
    }
}

/// Recurring gaps of cause `host` that no graph of launches closes.
pub fn unclaimed<'f>(facts: &'f Facts, options: &Options, device: i64) -> Vec<&'f Gap> {
    let claimed: BTreeSet<i64> = Claim::counted(facts, options, device)
        .into_iter()
        .map(|gap| gap.start_ns)
        .collect();
    let mut all = gaps(facts, device, Cause::Host).0;
    all.retain(|gap| !claimed.contains(&gap.start_ns));
    all
}

/// For example `, 38 % of that time in aten::to`: what the host does in most of the gaps.
fn most_in_gaps(facts: &Facts, during: &IntervalSet<i64>, all_ns: i64) -> String {
    let unrecorded_ns = facts.path.gaps_within_ns(during);
    if unrecorded_ns.saturating_mul(2) >= all_ns {
        let of_gaps = trueno_analysis::share(unrecorded_ns, all_ns).unwrap_or(1.0);
        return format!(", {} of that time without a record", percent(of_gaps));
    }
    let named = names_in_gaps(facts, during, all_ns);
    named.first().map_or_else(String::new, |(name, of_gaps)| {
        format!(", {} of that time in {}", percent(*of_gaps), short(name))
    })
}

/// Rows of `critical_path.serial_work` that one thread works on alone, without waits, communication, loaders, tasks, other
/// processes, and stretches of which only the scheduler knows.
pub fn alone_rows(facts: &Facts) -> Vec<&Alone> {
    let loads = |name: &String| facts.bricks.loader_names.contains(name);
    // Tasks of a group that ends with one of them are uneven, and load imbalance says so.
    let tasks = facts.tasks.tasks.iter();
    let tasks: BTreeSet<&str> = tasks.map(|task| task.name.as_str()).collect();
    let counts = |row: &&Alone| {
        !["waiting", "communication"].contains(&row.category.as_str())
            && !loads(&row.name)
            && !tasks.contains(row.name.as_str())
            && !names_a_process(&row.name)
            && !only_ran(row)
    };
    facts.path.alone.iter().filter(counts).collect()
}

/// Returns whether only the scheduler recorded that a thread ran, and nothing says what it did.
fn only_ran(row: &Alone) -> bool {
    row.name == "running" && row.category == "outside bricks"
}

/// Returns whether all of the path's work runs while all other lanes idle.
fn never_at_once(facts: &Facts) -> bool {
    let work_ns = facts.path.kind_ns("work");
    let alone = facts.path.alone.iter().map(|row| row.ns);
    work_ns > 0 && alone.saturating_sum() >= work_ns
}

fn alone(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    // What is alone around tiny tasks is starting and joining them.
    let is_joins = verdicts.findings.iter().any(|one| one.code == "joins");
    let uses_devices =
        !facts.idle.spans.is_empty() || DeviceCalls::without_work(facts, options).is_some();
    if is_joins || uses_devices {
        return;
    }
    if facts.producer == Producer::Timeline {
        let rows = alone_rows(facts);
        let all_ns = rows.iter().map(|row| row.ns).saturating_sum();
        if facts.share(all_ns) >= options.serial.alone_share {
            verdicts.not_measurable(
                CLASS,
                "host",
                format!(
                    "how many threads worked in the {} of the wall in which one operation ran alone: lanes of this timeline are no threads, and an operation may use several",
                    percent(facts.share(all_ns))
                ),
                "record with a profiler that knows threads, such as `perf record --call-graph dwarf`",
            );
        }
        return;
    }
    let least = (facts.window.wall_ns as f64 * options.serial.lanes_busy) as i64;
    let busy = facts.bricks.host_busy_ns.iter();
    // Threads that are made anew for each round are each busy for a moment only.
    let busy = busy.filter(|lane| lane.1 >= least.max(1));
    // Those of other ranks cannot take a share of it.
    let mut of_ranks: BTreeMap<u64, usize> = BTreeMap::new();
    for (lane, _) in busy {
        *of_ranks.entry(without_rank(lane).0).or_default() += 1;
    }
    let lanes = of_ranks.into_values().max().unwrap_or(0);
    let lanes = match facts.tasks.most_at_once() {
        // Threads that never work at once show no work that can be shared.
        0 | 1 if never_at_once(facts) => 1,
        tasks => lanes.max(tasks),
    };
    // More threads than processors take turns.
    let processors = facts
        .window
        .processors
        .map_or(usize::MAX, |count| count as usize);
    let lanes = lanes.min(processors);
    let ran = facts.path.alone.iter().filter(|row| only_ran(row));
    let ran_ns = ran.map(|row| row.ns).saturating_sum();
    if lanes > 1 && facts.share(ran_ns) >= options.serial.alone_share {
        verdicts.not_measurable(
            CLASS,
            "host",
            format!(
                "what one thread did alone for {} of the wall: samples show which functions ran, not which work depends on which",
                percent(facts.share(ran_ns))
            ),
            "record bricks around the work, or tasks and what waits for them",
        );
    }
    let rows = alone_rows(facts);
    let all_ns = rows.iter().map(|row| row.ns).saturating_sum();
    let Some(most) = rows
        .iter()
        .max_by_key(|row| (row.ns, std::cmp::Reverse(&row.name)))
    else {
        return;
    };
    if lanes < 2 || facts.share(all_ns) < options.serial.alone_share {
        return;
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let called = facts.bricks.names.iter();
    let called = called.filter(|row| row.lane_kind == "host" && names.contains(row.name.as_str()));
    let calls = called.map(|row| row.calls).fold(0, u64::saturating_add);
    let evidence = Evidence::new(calls, all_ns);
    let longest_ns = rows.iter().map(|row| row.longest_ns).max().unwrap_or(0);
    let shared_ns = rows.iter().map(|row| row.shared_ns).saturating_sum();
    let evenly_ns = all_ns / lanes as i64;
    let left_ns = evenly_ns.max(shared_ns).max(longest_ns);
    let is_later = shared_ns > evenly_ns;
    let few = i64::try_from(MIN_FEW).unwrap_or(i64::MAX);
    let draft = Draft {
        class: CLASS,
        code: "one_lane",
        scope_kind: "brick",
        scope: most.name.clone(),
        place: "host".into(),
        confidence: (
            Confidence::Low,
            "the recording does not show whether the work is inherently serial".into(),
        ),
        lead: format!(
            "only one thread works for {} of the wall, mostly in {}",
            percent(facts.share(all_ns)),
            short(&most.name)
        ),
        fix: if is_later {
            "spreading it over the threads that have begun by then".to_owned()
        } else {
            format!("spreading it over {lanes} threads")
        },
        evidence: format!(
            "SELECT id, name, thread, start_ns, dur_ns FROM bricks WHERE {}{} ORDER BY start_ns",
            facts.name_groups.condition(&most.name),
            facts.window.sql(" AND")
        ),
        assumption: format!(
            "the calls of it split evenly over the {lanes} threads that are busy at some time, each from its first row on"
        ),
        considered: format!(
            "{} of it is {}; the longest call takes {}",
            time(most.ns),
            short(&most.name),
            time(longest_ns)
        ),
        suggestion: "split it into tasks, or start it while other threads still work".into(),
    }
    .during_calls(facts, &most.name);
    let why_none = if longest_ns.saturating_mul(few) > all_ns {
        format!(
            "one call takes {} of it, and no other thread can take a part of a call",
            time(longest_ns)
        )
    } else if facts.share(all_ns - left_ns) < options.general.least_share {
        "hardly any other thread had begun by then".to_owned()
    } else {
        let gain = (
            all_ns - left_ns,
            Without::Names(names.into_iter().collect()),
        );
        draft.with_gain(facts, options, evidence, gain, verdicts);
        return;
    };
    let severity = Severity::from_share(facts.share(all_ns), &options.general);
    Draft {
        fix: format!("no gain is predicted: {why_none}"),
        assumption: "none: what could run beside it is not known, so no gain is claimed".into(),
        ..draft
    }
    .without_gain(facts, evidence, severity.min(Severity::Medium), verdicts);
}
