//! Sync-bound: waits after which there is nothing to do, and waits that take longer than what they wait for.
//!
//! Evidence, one of:
//! - at least `least_gaps` gaps of cause `sync`: the host waited for the device, and launched only afterwards, soon; those
//!   behind copies are [`blocking_copies`](super::blocking_copies). Gain: those gaps, no more than the path spends on the host.
//! - joins of tasks: the time of waits in which none of the tasks runs that they wait for; where the tasks of a wait have a parent
//!   to themselves, from the start of the first of them. At least half of what the longest tasks take. Gain: that time, of the rank
//!   that has most of it.
//! - waits for a device that end before its first recorded work, from `medium_share` of the window on: what they wait for is not in the
//!   file, unless the process begins to use the device with them. No gain.
//! - `sync_wait` on the critical path, other than those, of waits that the program or its calls recorded (not of those known only from context switches), without the time in which devices work meanwhile (not on collectives, which wait themselves). As
//!   Only recorded waits count, and none for a device after the last launch: the results are needed. As
//!   far as its waits are joins with their tasks on record, it is the time of the join itself: until the tasks begin, and after the last
//!   has ended. As far as they are others, nothing recorded explains it. Gain: what the path would be shorter by without.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::vendors;
use trueno_plugin::rank;

use super::draft::Draft;
use super::gaps::{
    gap_confidence, gaps_of_waits, gaps_sql, host_path_ns, other_causes, times, total_ns,
};
use super::serialised::{DeviceCalls, profiler_stop};
use super::{Options, Rule, busy_machine, imbalance};
use crate::class::Class;
use crate::facts::{Cause, Facts, Idle, Task, Wait, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{count, many, percent, short, time};

/// Waits after which there is nothing to do, or that take longer than the work they wait for.
pub const CLASS: Class = Class::new("sync_bound", 5).explaining(&["launch_bound", "serialisation"]);

/// Waits for device work that is not in the file.
const EARLIER_WORK: &str = "earlier_work";

thresholds! {
    pub struct SyncBound {
    }
}

impl Rule for SyncBound {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for device in facts.device.devices() {
            after_waits(facts, options, device, verdicts);
        }
        joins(facts, options, verdicts);
        earlier_work(facts, options, verdicts);
        unexplained(facts, options, verdicts);
    }
}

fn after_waits(facts: &Facts, options: &Options, device: i64, verdicts: &mut Verdicts) {
    let gaps = gaps_of_waits(facts, device, false);
    let (n, ns) = (gaps.len() as u64, total_ns(&gaps));
    if n < options.gaps.least_gaps {
        return;
    }
    let name = Idle::device_name(device);
    let during = times(&gaps);
    Draft {
        class: CLASS,
        code: "device_waits",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: gap_confidence(facts, n, options),
        lead: format!("{name} is idle after {} host synchronisations", count(n)),
        fix: "waiting less often".into(),
        evidence: gaps_sql(gaps),
        assumption: "without the wait the host launches ahead, and device work runs back to back".into(),
        considered: other_causes(facts, device, Cause::Sync),
        suggestion: "wait for an event where the result is used, not after each launch; let streams and events order device work".into(),
    }
    .during(facts, &during)
    .with_gain(facts, options, facts.evidence(n, &during), (ns.min(host_path_ns(facts, device)), Without::Waits), verdicts);
}

pub struct Join<'a> {
    pub id: u64,
    /// Times of the wait in which none of its tasks ran.
    pub around: IntervalSet<i64>,
    pub tasks: Vec<&'a Task>,
}

pub fn joins_around(facts: &Facts) -> Vec<Join<'_>> {
    let tasks = &facts.tasks;
    let mut out = Vec::new();
    let mut joins_of: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for (_, _, _, members) in &tasks.joins {
        let parents: BTreeSet<_> = members.iter().map(|at| tasks.tasks[*at].parent).collect();
        for parent in parents {
            *joins_of.entry(parent).or_default() += 1;
        }
    }
    for (id, start_ns, end_ns, members) in &tasks.joins {
        let of = || members.iter().map(|at| &tasks.tasks[*at]);
        // From a queue the host takes what was begun long before, and in between it does something else.
        let parent = of().next().and_then(|task| task.parent);
        let has_own = parent.is_some() && joins_of.get(&parent) == Some(&1);
        let first_ns = of().map(|task| task.start_ns).min();
        let mut from_ns = first_ns
            .filter(|_| has_own)
            .unwrap_or(*start_ns)
            .min(*start_ns);
        let mut waits = IntervalSetBuilder::default();
        let ran: IntervalSet<i64> = of().map(|task| (task.start_ns, task.end_ns)).collect();
        for &(start_ns, until_ns) in ran.ranges() {
            waits.add(from_ns, start_ns.min(*end_ns));
            from_ns = from_ns.max(until_ns);
        }
        waits.add(from_ns, *end_ns);
        out.push(Join {
            id: *id,
            around: waits.finish(),
            tasks: of().collect(),
        });
    }
    out
}

/// Joins of a rank: their number, the sum of their longest tasks, and the times in which none of their tasks ran.
type JoinsOfRank = (u64, i64, Vec<(i64, i64)>);

fn joins(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    let mut of_ranks: BTreeMap<u64, JoinsOfRank> = BTreeMap::new();
    for join in joins_around(facts) {
        let (n, work_ns, waits) = of_ranks.entry(rank::of_key(join.id)).or_default();
        let longest = join.tasks.iter().map(|task| task.dur_ns()).max();
        *n += 1;
        *work_ns = work_ns.saturating_add(longest.unwrap_or(0));
        waits.extend(join.around.ranges());
    }
    // Ranks join side by side: the one that does so longest.
    let of_ranks = of_ranks.into_values();
    let of_ranks = of_ranks
        .map(|(n, work_ns, waits)| (n, work_ns, waits.into_iter().collect::<IntervalSet<i64>>()));
    let Some((n, work_ns, waits)) = of_ranks.max_by_key(|(_, _, waits)| waits.total_ns()) else {
        return;
    };
    // Joins save nothing where the path is at work.
    let work_ns_of_path = facts.path.kind_ns("work");
    let around_ns = waits.total_ns();
    let around_ns = around_ns.min(facts.window.wall_ns.saturating_sub(work_ns_of_path));
    // What is mostly work with a little around it is not bound by its joins.
    if n < options.gaps.least_gaps || around_ns.saturating_mul(2) < work_ns {
        return;
    }
    Draft {
        class: CLASS,
        code: "joins",
        scope_kind: "threads",
        scope: "joins".into(),
        place: "host".into(),
        confidence: (Confidence::High, format!("{} joins with recorded tasks", count(n))),
        lead: format!("waiting for worker threads costs {1} for {2} of work ({0} joins)", count(n), time(around_ns), time(work_ns)),
        fix: "giving each task more work".into(),
        evidence: format!(
            "SELECT id, name, thread, start_ns, dur_ns FROM syncs WHERE kind = 'join'{} ORDER BY start_ns",
            facts.window.sql(" AND")
        ),
        assumption: "the same work in so few tasks that starting and joining them costs nothing".into(),
        considered: "only wait time in which no task runs counts; uneven tasks are load imbalance".into(),
        suggestion: "give each task more work, keep threads alive between rounds, or do small rounds on one thread".into(),
    }
    .during(facts, &waits)
    .with_gain(facts, options, facts.evidence(n, &waits), (around_ns, Without::Unbounded), verdicts);
}

fn unexplained(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    // Who could have run waits for nothing but a processor.
    let all_ns = facts.path.kind_ns("sync_wait");
    let all_ns = all_ns.saturating_sub(busy_machine::runnable_ns(facts));
    let stop = profiler_stop(facts).unwrap_or_default();
    let all_ns = all_ns.saturating_sub(stop.1.saturating_sub(stop.0)).max(0);
    if facts.share(all_ns) < options.general.least_share {
        return;
    }
    // A context switch alone does not show what the thread waited for: a clock, a person or a disk.
    let is_recorded = |wait: &&Wait| !wait.is_runnable && !wait.is_off_cpu;
    let recorded = facts.device.waits.iter().filter(is_recorded);
    let recorded: IntervalSet<i64> = recorded.map(|wait| (wait.start_ns, wait.end_ns)).collect();
    let is_any_off_cpu = facts.device.waits.iter().any(|wait| wait.is_off_cpu);
    if is_any_off_cpu && facts.share(recorded.total_ns()) < options.general.least_share {
        verdicts.not_measurable(
            CLASS,
            "waits",
            "what the threads on the critical path waited for",
            "samples.waits lists their calls, functions and wakers; `trueno-record run --calls` records the files",
        );
        return;
    }
    // What ran on devices while the host waited, the longest.
    let mut ran: BTreeMap<u32, i64> = BTreeMap::new();
    let others = || facts.device.waits.iter().filter(|wait| !wait.is_runnable);
    let waits: IntervalSet<i64> = others().map(|wait| (wait.start_ns, wait.end_ns)).collect();
    let mut works = IntervalSetBuilder::default();
    for work in &facts.device.work {
        let ns = ran.entry(work.name).or_default();
        *ns = waits
            .within_ns(work.start_ns, work.end_ns)
            .saturating_add(*ns);
        if !is_collective(facts.device.name(work)) {
            works.add(work.start_ns, work.end_ns);
        }
    }
    // Who waits while the device works, waits for the device.
    let works = works.finish();
    let for_device_ns = waits.common_ns(&works);
    let last = last_waits(facts).difference(&works);
    let last_ns = last.total_ns() - last.within_ns(stop.0, stop.1);
    let first = first_waits(facts).difference(&works).difference(&last);
    let explained_ns = last_ns.saturating_add(first.total_ns());
    let mut wait_ns = all_ns
        .saturating_sub(for_device_ns)
        .saturating_sub(explained_ns);
    // The path also waits where no wait is recorded, which is inferred from the order of rows.
    let removable = recorded.difference(&works).difference(&last);
    let removable = removable.difference(&first);
    wait_ns = wait_ns.min(removable.total_ns()).max(0);
    // Of a device that was not recorded nothing is known, what would be saved either.
    if let Some(calls) = DeviceCalls::without_work(facts, options) {
        wait_ns = wait_ns.saturating_sub(calls.wait_ns);
    }
    // What is around tasks that are on record is no secret.
    if !facts.tasks.explained_waits.is_empty() {
        let others = others().filter(|wait| !facts.tasks.explained_waits.contains(&wait.id));
        let others: IntervalSet<i64> = others.map(|wait| (wait.start_ns, wait.end_ns)).collect();
        around_tasks(facts, options, wait_ns, verdicts);
        wait_ns = wait_ns.min(others.total_ns());
    }
    let most = ran
        .into_iter()
        .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)))
        .filter(|(_, ns)| *ns > 0);
    let most = most.map(|(name, ns)| (facts.device.names[name as usize].as_str(), ns));
    let gain_ns = facts.path.gain_ns("kind:sync_wait", 1.0).min(wait_ns);
    let n = others().count() as u64;
    let during = most.filter(|(name, _)| is_collective(name));
    let during = during.map_or(String::new(), |(name, ns)| {
        format!(" ({} while {} ran)", time(ns.min(wait_ns)), short(name))
    });
    let has_ranks = facts.window.ranks > 1;
    if !has_ranks && most.is_some_and(|(name, _)| is_collective(name)) {
        verdicts.not_measurable(
            imbalance::CLASS,
            "ranks",
            format!("when the other ranks came to {}: late ranks and a slow network look the same from one rank", short(most.map_or("", |most| most.0))),
            "record all ranks and open them together (folders rank=0, rank=1, …)",
        );
    }
    Draft {
        class: CLASS,
        code: "unexplained_wait",
        scope_kind: "run",
        scope: "waits".into(),
        place: "waits".into(),
        confidence: (Confidence::Low, "the recording does not show what the host waited for".into()),
        lead: format!("the host waits for {} of the wall{during}", percent(facts.share(wait_ns))),
        fix: "removing the waits".into(),
        evidence: format!(
            "SELECT id, kind, name, thread, start_ns, dur_ns FROM syncs WHERE kind <> 'runnable'{} ORDER BY dur_ns DESC",
            facts.window.sql(" AND")
        ),
        assumption: "the wait costs nothing; all other work on the path stays".into(),
        considered: format!("waits that device work or tasks explain count as that work; so does the time in which a device was busy ({})", time(for_device_ns.min(all_ns))),
        suggestion: facts.producer.to_record(
            "record what the host waits for: tasks with Recorder::wait, device work with its stream, other ranks",
            "`profile(with_stack=True)` shows which line waits; traces of all ranks show for whom",
            "`nsys profile --trace=cuda,nvtx,osrt` records the calls that wait",
        ),
    }
    .during(facts, &waits)
    .with_gain(facts, options, Evidence::new(n, wait_ns), (gain_ns, Without::Unbounded), verdicts);
}

/// What the host waited for a device before the first recorded work of its rank: for work that was launched before the
/// recording began, or that is missing. In a process that begins to use the device, the call may start it instead.
fn first_waits(facts: &Facts) -> IntervalSet<i64> {
    if facts.window.is_part {
        return IntervalSet::default();
    }
    let mut first_ns: BTreeMap<u64, i64> = BTreeMap::new();
    for work in &facts.device.work {
        let first = first_ns
            .entry(rank::of_key(work.id))
            .or_insert(work.start_ns);
        *first = work.start_ns.min(*first);
    }
    let started_ns = facts.bricks.device_started_ns.unwrap_or(i64::MAX);
    let is_first = |wait: &&Wait| {
        let first_ns = first_ns.get(&rank::of_key(wait.id));
        wait.is_of_device
            && wait.start_ns < started_ns
            && first_ns.is_some_and(|ns| wait.end_ns <= *ns)
    };
    let waits = facts.device.waits.iter().filter(is_first);
    waits.map(|wait| (wait.start_ns, wait.end_ns)).collect()
}

/// Reports waits for a device before its first recorded work. What they wait for is not in the file, so nothing says what
/// would be saved.
fn earlier_work(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    let waits = first_waits(facts);
    let n = waits.ranges().len() as u64;
    let wait_ns = waits.total_ns().min(facts.path.kind_ns("sync_wait"));
    let share = facts.share(wait_ns);
    if share < options.general.medium_share {
        return;
    }
    let severity = Severity::from_share(share, &options.general).min(Severity::Medium);
    Draft {
        class: CLASS,
        code: EARLIER_WORK,
        scope_kind: "run",
        scope: "first waits".into(),
        place: "waits".into(),
        confidence: (
            Confidence::Medium,
            "the waits are recorded, and no device work before their end".into(),
        ),
        lead: format!(
            "the host waits for a device for {} of the wall before the first recorded device work, so for work that is not in the file",
            percent(share)
        ),
        fix: "record from before that work is launched".into(),
        evidence: format!(
            "SELECT id, kind, name, thread, start_ns, dur_ns FROM syncs WHERE kind IN ('device', 'stream', 'event'){} ORDER BY start_ns",
            facts.window.sql(" AND")
        ),
        assumption: "none: what the host waits for was not recorded, so no gain is claimed".into(),
        considered: format!(
            "{} of {} in all; a call that starts the device would be set-up, and its start is not recorded",
            many(n, "wait"),
            time(waits.total_ns())
        ),
        suggestion: earlier_work_advice(facts),
    }
    .during(facts, &waits)
    .without_gain(facts, Evidence::new(n, wait_ns), severity, verdicts);
}

/// How to keep work from before the recording out of it.
pub fn earlier_work_advice(facts: &Facts) -> String {
    facts.producer.advice(
        "call `torch.cuda.synchronize()` before the profiler starts, or let the schedule warm up: earlier work then ends before the recording",
        "wait for the device before the recording starts, or start the recording before its first work",
    )
}

/// What the host waited for a device after the last launch of its rank. The program needs those results.
fn last_waits(facts: &Facts) -> IntervalSet<i64> {
    let last_ns = facts.device.last_launches_ns();
    let is_last = |wait: &&Wait| {
        let last_ns = last_ns.get(&rank::of_key(wait.id));
        wait.is_of_device && last_ns.is_some_and(|ns| *ns < wait.end_ns)
    };
    let waits = facts.device.waits.iter().filter(is_last);
    waits.map(|wait| (wait.start_ns, wait.end_ns)).collect()
}

/// Reports the part of `wait_ns` on the path in which no task of a join ran, unless the finding `joins` already
/// covers it.
fn around_tasks(facts: &Facts, options: &Options, wait_ns: i64, verdicts: &mut Verdicts) {
    if verdicts.findings.iter().any(|one| one.code == "joins") {
        return;
    }
    let (mut around, mut before, mut n) = (Vec::new(), Vec::new(), 0_u64);
    for join in joins_around(facts) {
        let first_ns = join.tasks.iter().map(|task| task.start_ns).min();
        let first_ns = first_ns.unwrap_or(i64::MAX);
        let early = join
            .around
            .ranges()
            .iter()
            .filter(|range| range.0 < first_ns);
        before.extend(early.map(|range| (range.0, range.1.min(first_ns))));
        around.extend(join.around.ranges());
        n += 1;
    }
    let [around, before] = [around, before]
        .map(|times: Vec<(i64, i64)>| times.into_iter().collect::<IntervalSet<i64>>());
    let ns = around.total_ns().min(wait_ns);
    let before_ns = before.total_ns().min(around.total_ns());
    let after_ns = around.total_ns().saturating_sub(before_ns);
    Draft {
        class: CLASS,
        code: "join_cost",
        scope_kind: "threads",
        scope: "joins".into(),
        place: "host".into(),
        confidence: (Confidence::Medium, format!("{} with recorded tasks, none of them running; why the wait continues is not recorded", many(n, "join"))),
        lead: format!("{} wait for {} of the wall while none of their tasks runs", many(n, "join"), percent(facts.share(ns))),
        fix: "removing that wait".into(),
        evidence: format!(
            "SELECT id, name, thread, start_ns, dur_ns FROM syncs WHERE kind = 'join'{} ORDER BY dur_ns DESC",
            facts.window.sql(" AND")
        ),
        assumption: "the wait returns when the last of its tasks ends, and that begins at once; other work on the path stays".into(),
        considered: format!("{} of it before the tasks begin, {} between them and after the last has ended: threads that start, exit and wake up", time(before_ns), time(after_ns)),
        suggestion: "keep threads alive between rounds and let tasks signal that they are done, rather than wait for threads to exit; or give each task more work".into(),
    }
    .during(facts, &around)
    .with_gain(facts, options, facts.evidence(n, &around), (facts.path.gain_ns("kind:sync_wait", 1.0).min(ns), Without::Unbounded), verdicts);
}

/// Returns whether a kernel name is that of a collective. Its time depends on other ranks.
pub fn is_collective(name: &str) -> bool {
    vendors::is_communication(name)
}
