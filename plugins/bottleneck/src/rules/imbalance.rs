//! Load imbalance: threads, streams or ranks that wait for the slowest.
//!
//! Evidence: groups that end together: tasks that one wait waits for (else siblings of one kind of name that run at once);
//! streams of a device, and devices of a process, that run the same kernels; devices of ranks. Kernels that run at the same time on one of them count once. *Imbalance* = (longest − mean) / longest over
//! all groups, at least `imbalance`. Gain: Σ (longest − mean): the same work, spread evenly; of groups whose longest members work at
//! the same time only one counts, such that the sum is the largest: no path goes through two of them. Of ranks the one with the most.
//! Streams save no more than the time for which they were seen to run side by side: their sum less the time in which any of
//! them ran. A device that runs its streams one after the other is as long busy with an even split.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSetBuilder, SaturatingSum};
use trueno_plugin::rank;

use super::draft::Draft;
use super::{Options, Rule, sync};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without, Work};
use crate::options::thresholds;
use crate::scheduling::one_after_another;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, percent, time};

pub const CLASS: Class = Class::new("load_imbalance", 7).explaining(&[
    "sync_bound",
    "serialisation",
    "exposed_communication",
]);

thresholds! {
    pub struct Imbalance {
        /// (longest − mean) / longest from which imbalance is reported.
        imbalance: f64 = 0.15,
    }
}

impl Rule for Imbalance {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        threads(facts, options, verdicts);
        streams(facts, options, verdicts);
        devices(facts, options, verdicts);
        ranks(facts, options, verdicts);
    }
}

fn add(sums: &mut BTreeMap<i64, i64>, who: i64, ns: i64) {
    let sum = sums.entry(who).or_default();
    *sum = sum.saturating_add(ns);
}

/// Longest, mean and the member that is the longest; `None` for fewer than two members.
fn uneven(sums: &BTreeMap<i64, i64>) -> Option<(i64, i64, i64)> {
    let (who, longest) = sums
        .iter()
        .max_by_key(|(who, ns)| (**ns, std::cmp::Reverse(**who)))?;
    let mean = sums.values().copied().saturating_sum() / sums.len() as i64;
    (sums.len() > 1).then_some((*longest, mean, *who))
}

fn threads(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    let tasks = &facts.tasks;
    if facts.bricks.threads > 1 && tasks.tasks.is_empty() {
        verdicts.not_measurable(
            CLASS,
            "threads",
            "which work on several threads belongs together",
            facts.producer.to_record_here(
                "record each piece as Recorder::task with its parent, and the wait for them as Recorder::wait",
            ),
        );
        return;
    }
    let (mut longest_ns, mut mean_ns, mut n) = (0_i64, 0_i64, 0_u64);
    let mut slow: BTreeMap<i64, u64> = BTreeMap::new();
    let mut groups_of: BTreeSet<usize> = BTreeSet::new();
    let (mut during, mut saved, mut names) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
    for (members, _) in tasks.groups() {
        let mut sums: BTreeMap<i64, i64> = BTreeMap::new();
        for task in members.iter().map(|at| &tasks.tasks[*at]) {
            add(&mut sums, task.thread, task.dur_ns());
        }
        if let Some((longest, mean, who)) = uneven(&sums) {
            longest_ns = longest.saturating_add(longest_ns);
            mean_ns = mean.saturating_add(mean_ns);
            n += 1;
            *slow.entry(who).or_default() += 1;
            groups_of.insert(sums.len());
            let of = || members.iter().map(|at| &tasks.tasks[*at]);
            names.extend(of().map(|task| task.name.as_str()));
            during.extend(of().map(|task| (task.start_ns, task.end_ns)));
            // The path goes through the longest.
            let its = || of().filter(|task| task.thread == who);
            let from_ns = its().map(|task| task.start_ns).min().unwrap_or(0);
            let to_ns = its().map(|task| task.end_ns).max().unwrap_or(0);
            let of_rank: &mut Vec<_> = saved.entry(rank::of_place(who).0).or_default();
            of_rank.push(((from_ns, to_ns), longest.saturating_sub(mean)));
        }
    }
    let imbalance = longest_ns.saturating_sub(mean_ns) as f64 / longest_ns.max(1) as f64;
    if n == 0 || imbalance < options.imbalance.imbalance {
        return;
    }
    let (who, times) = slow
        .iter()
        .max_by_key(|(who, times)| (**times, std::cmp::Reverse(**who)))
        .map_or((0, 0), |(a, b)| (*a, *b));
    let is_same = times * 2 > n && (n > 1 || slow.len() == 1);
    let whom = if is_same && n > 1 {
        format!(
            "thread {who} finishes last in {} of {} rounds",
            count(times),
            count(n)
        )
    } else {
        format!("{} rounds end with only one thread working", count(n))
    };
    let waited = !tasks.joins.is_empty();
    let evidence = Evidence::new(during.len() as u64, longest_ns);
    // Ranks work side by side: the one with the most to save.
    let gain_ns = saved.into_values().map(one_after_another).max();
    Draft {
        class: CLASS,
        code: "threads",
        scope_kind: "threads",
        scope: if is_same { format!("thread {who}") } else { "threads".into() },
        place: "host".into(),
        confidence: if waited {
            (Confidence::High, "the wait for the tasks is recorded".into())
        } else {
            (Confidence::Medium, "no wait is recorded; their common parent is assumed to wait for all of these tasks".into())
        },
        lead: format!("{whom} ({} over the mean)", percent(longest_ns as f64 / mean_ns.max(1) as f64 - 1.0)),
        fix: "an even split".into(),
        evidence: format!(
            "SELECT id, parent, name, thread, start_ns, dur_ns FROM bricks WHERE kind = 'task'{} ORDER BY parent, dur_ns DESC",
            facts.window.sql(" AND")
        ),
        assumption: "the same work can be spread evenly over the same threads".into(),
        considered: format!(
            "groups of {} threads; consecutive tasks of a thread count as one; of concurrent groups only one counts",
            groups_of.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
        ),
        suggestion: if is_same && n > 1 {
            format!("check what is different about thread {who}: more work, or a busy or slower core")
        } else {
            "use smaller pieces that threads take as they become free".into()
        },
    }
    .during(facts, &during.into_iter().collect())
    .with_gain(facts, options, evidence, (gain_ns.unwrap_or(0), Without::Names(names.into_iter().collect())), verdicts);
}

fn lengths(times: BTreeMap<i64, IntervalSetBuilder<i64>>) -> BTreeMap<i64, i64> {
    let times = times.into_iter();
    times
        .map(|(who, times)| (who, times.finish().total_ns()))
        .collect()
}

/// Time with kernels by `who`. Keeps only members that share at least half of their kernel names with the busiest one:
/// others do not split the same work.
fn of_one_work<'f>(
    facts: &Facts,
    work: impl Iterator<Item = &'f Work>,
    who: impl Fn(&Work) -> Option<i64>,
) -> BTreeMap<i64, i64> {
    let mut times: BTreeMap<i64, IntervalSetBuilder<i64>> = BTreeMap::new();
    let mut names: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
    let is_collective: Vec<bool> = facts
        .device
        .names
        .iter()
        .map(|name| sync::is_collective(name))
        .collect();
    for work in work.filter(|work| work.is_kernel()) {
        if let Some(who) = who(work).filter(|_| !is_collective[work.name as usize]) {
            let of = times.entry(who).or_default();
            of.add(work.start_ns, work.end_ns);
            names.entry(who).or_default().insert(work.name);
        }
    }
    let mut sums = lengths(times);
    let most = sums
        .iter()
        .max_by_key(|(who, ns)| (**ns, std::cmp::Reverse(**who)));
    if let Some(main) = most.map(|(who, _)| names[who].clone()) {
        let is_kin = |who: &i64| {
            let common = names[who].intersection(&main).count();
            common * 2 >= names[who].len().max(main.len())
        };
        sums.retain(|who, _| is_kin(who));
    }
    sums
}

/// Time with kernels of the streams `sums` of a device, summed over streams, less the time in which any of them ran.
fn side_by_side_ns(facts: &Facts, device: i64, sums: &BTreeMap<i64, i64>) -> i64 {
    let work = facts.device.of(Some(device));
    let of_streams = work.filter(|work| {
        let stream = work.stream.filter(|_| work.is_kernel());
        stream.is_some_and(|stream| sums.contains_key(&stream))
            && !sync::is_collective(facts.device.name(work))
    });
    let mut any = IntervalSetBuilder::default();
    for work in of_streams {
        any.add(work.start_ns, work.end_ns);
    }
    let all_ns = sums.values().copied().saturating_sum();
    all_ns.saturating_sub(any.finish().total_ns()).max(0)
}

fn kernels(facts: &Facts, longest_ns: i64) -> Evidence {
    let work = facts.device.work.iter().filter(|work| work.is_kernel());
    Evidence::new(work.count() as u64, longest_ns)
}

fn names_of(facts: &Facts, is_its: impl Fn(&Work) -> bool) -> Vec<&str> {
    let work = facts.device.work.iter();
    let own = work.filter(|work| work.is_kernel() && is_its(work));
    let names: BTreeSet<u32> = own.map(|work| work.name).collect();
    let names = names.into_iter();
    names
        .map(|name| facts.device.names[name as usize].as_str())
        .collect()
}

fn streams(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    for device in facts.device.devices() {
        let work = facts.device.of(Some(device));
        let sums = of_one_work(facts, work, |work| work.stream);
        let Some((longest, mean, who)) = uneven(&sums) else {
            continue;
        };
        if (longest.saturating_sub(mean) as f64) < options.imbalance.imbalance * longest as f64 {
            continue;
        }
        let name = Idle::device_name(device);
        // Work of unknown streams may be what the others lack.
        let unknown = facts.device.of(Some(device));
        let unknown = unknown.filter(|work| work.is_kernel() && work.stream.is_none());
        let unknown_ns = unknown.map(Work::dur_ns).saturating_sum();
        if unknown_ns as f64 >= options.imbalance.imbalance * longest as f64 {
            verdicts.not_measurable(
                CLASS,
                &name,
                format!("the streams of {} of kernels", time(unknown_ns)),
                "record the stream of each kernel (CUPTI kernel activity has it)",
            );
            continue;
        }
        let side_by_side_ns = side_by_side_ns(facts, device, &sums);
        Draft {
            class: CLASS,
            code: "streams",
            scope_kind: "streams",
            scope: format!("{name}/stream {who}"),
            place: name.clone(),
            confidence: (Confidence::Medium, "the streams run the same kernels; assumes that work can move between them".into()),
            lead: format!("stream {who} of {name} is busy for {}, the {} streams {} on average", time(longest), sums.len(), time(mean)),
            fix: "an even split".into(),
            evidence: format!("SELECT stream, COUNT(*) AS kernels, SUM(dur_ns) AS dur_ns FROM kernels WHERE device = {device} GROUP BY stream ORDER BY dur_ns DESC"),
            assumption: "the same kernels spread evenly over the same streams, and the device runs them concurrently".into(),
            considered: format!(
                "the streams ran side by side for {}, and no more than that is promised; streams with other kernels (copies, collectives) are not counted",
                time(side_by_side_ns)
            ),
            suggestion: "assign work to streams by its size, or to a free stream".into(),
        }
        .with_gain(facts, options, kernels(facts, longest), (longest.saturating_sub(mean).min(side_by_side_ns), Without::Names(names_of(facts, |work| {
            work.device == Some(device) && work.stream == Some(who)
        }))), verdicts);
    }
}

fn devices(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    // Those of ranks are the matter of ranks.
    if facts.window.ranks > 1 {
        return;
    }
    let sums = of_one_work(facts, facts.device.work.iter(), |work| work.device);
    let Some((longest, mean, who)) = uneven(&sums) else {
        return;
    };
    if (longest.saturating_sub(mean) as f64) < options.imbalance.imbalance * longest as f64 {
        return;
    }
    let name = Idle::device_name(who);
    Draft {
        class: CLASS,
        code: "devices",
        scope_kind: "device",
        scope: name.clone(),
        place: "devices".into(),
        confidence: (Confidence::Medium, "the devices run the same kernels; assumes that work can move between them".into()),
        lead: format!("{name} is busy for {}, the {} devices {} on average", time(longest), sums.len(), time(mean)),
        fix: "an even split".into(),
        evidence: "SELECT scope, kind, busy_ns, exposed_ns FROM device.exposure WHERE kind <> 'idle' ORDER BY busy_ns DESC".into(),
        assumption: "the same kernels spread evenly over the same devices, which are equally fast".into(),
        considered: "devices with other kernels, and collectives, are not counted".into(),
        suggestion: "assign work to devices by its size, or to a free device".into(),
    }
    .with_gain(facts, options, kernels(facts, longest), (longest.saturating_sub(mean), Without::Names(names_of(facts, |work| work.device == Some(who)))), verdicts);
}

fn ranks(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    if facts.window.ranks < 2 || facts.ranks.is_pipeline || facts.ranks.is_retimed {
        return;
    }
    let mut sums: BTreeMap<i64, i64> = facts.bricks.rank_busy_ns.clone();
    let kernels = facts
        .device
        .work
        .iter()
        .filter(|work| work.is_kernel() && !sync::is_collective(facts.device.name(work)));
    let mut of_devices: BTreeMap<i64, IntervalSetBuilder<i64>> = BTreeMap::new();
    for work in kernels {
        if let Some(device) = work.device {
            let of = of_devices.entry(device >> 16).or_default();
            of.add(work.start_ns, work.end_ns);
        }
    }
    let of_devices = lengths(of_devices);
    let by = if of_devices.len() > 1 {
        sums = of_devices;
        "kernels"
    } else {
        "bricks outside of waits"
    };
    let rows = facts.bricks.names.iter().map(|row| row.calls);
    let rows = rows.fold(0, u64::saturating_add);
    let Some((longest, mean, who)) = uneven(&sums) else {
        return;
    };
    if (longest.saturating_sub(mean) as f64) < options.imbalance.imbalance * longest as f64 {
        return;
    }
    Draft {
        class: CLASS,
        code: "ranks",
        scope_kind: "ranks",
        scope: format!("rank {who}"),
        place: "ranks".into(),
        confidence: (Confidence::Medium, format!("by the time of {by}; assumes that the other ranks wait for it")),
        lead: format!("rank {who} is busy for {}, the {} ranks {} on average", time(longest), sums.len(), time(mean)),
        fix: "an even split".into(),
        evidence: "SELECT rank, name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM bricks GROUP BY rank, name ORDER BY dur_ns DESC".into(),
        assumption: "the same work spread evenly over the same ranks".into(),
        considered: "collectives are not counted as work: ranks that arrive first wait in them".into(),
        suggestion: "split work by its cost, not by the number of pieces; check what else that rank does".into(),
    }
    .with_gain(facts, options, Evidence::new(rows, longest), (longest.saturating_sub(mean), Without::Unbounded), verdicts);
}
