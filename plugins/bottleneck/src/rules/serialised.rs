//! Serialised launches: each lasts until its kernel has ended, so the run is not what the program does by itself.
//!
//! Evidence: nearly all kernels of a device, at least `least_gaps`, ran inside of the call that launched them. A launch returns
//! before its kernel has ended, unless CUDA_LAUNCH_BLOCKING=1 (or AMD_SERIALIZE_KERNEL) is set, or a profiler counts: it then runs one kernel after the
//! other, some of them again and again. Where the recording itself says so, the launches need not be recorded. Of kernels that a profiler counted without their times, none has valid ones. No gain: what the
//! program takes without it was not measured.

use trueno_analysis::evidence::{Evidence, MIN_FEW};
use trueno_analysis::producer::Producer;
use trueno_analysis::vendors::{self, Call, WaitFor};
use trueno_plugin::counted;

use super::draft::Draft;
use super::{Options, Rule, sync};
use crate::facts::{Facts, Idle, Work, name_of};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{count, percent};

/// Share of a device's launches that must last until their kernel has ended.
const MIN_SHARE: f64 = 0.9;

/// The profiler's stop bounds the run from this share of the wall on.
const MIN_STOP: f64 = 0.5;

thresholds! {
    pub struct Serialised {
    }
}

pub fn is_serialised(facts: &Facts, options: &Options, device: i64) -> bool {
    facts.ran_one_by_one || lasts_until_its_kernel(facts, options, device)
}

fn lasts_until_its_kernel(facts: &Facts, options: &Options, device: i64) -> bool {
    let of_device = facts.device.inside_calls.get(&device);
    of_device.is_some_and(|(inside, all)| {
        *all >= options.gaps.least_gaps && *inside as f64 >= MIN_SHARE * *all as f64
    })
}

/// Calls of a whole run that need a device, of which no work was recorded, or copies only.
pub struct DeviceCalls {
    lacks: &'static str,
    launches: u64,
    copies: u64,
    waits: u64,
    collectives: u64,
    /// Operators that a program ran for a device, of which the file shows nothing.
    operators: u64,
    copy_ns: i64,
    pub wait_ns: i64,
}

impl DeviceCalls {
    /// `None` if kernels were recorded, or hardly any call needs one.
    pub fn without_work(facts: &Facts, options: &Options) -> Option<Self> {
        let work = &facts.device.work;
        let has_kernels = facts.device.invalid > 0 || work.iter().any(Work::is_kernel);
        if facts.window.is_part || has_kernels {
            return None;
        }
        let mut of = Self {
            lacks: if work.is_empty() {
                "device work"
            } else {
                "kernel"
            },
            launches: 0,
            copies: 0,
            waits: 0,
            collectives: 0,
            operators: facts.unrecorded_operators,
            copy_ns: 0,
            wait_ns: 0,
        };
        let mut runs_on_device = false;
        for (name, calls, dur_ns, _) in &facts.bricks.calls {
            match vendors::call(name) {
                Some(Call::Launch) => of.launches = of.launches.saturating_add(*calls),
                Some(Call::BlockingCopy | Call::AsyncCopy) => {
                    of.copies = of.copies.saturating_add(*calls);
                    of.copy_ns = of.copy_ns.saturating_add(*dur_ns);
                }
                Some(Call::Wait(for_what)) if for_what != WaitFor::StreamOrder => {
                    of.waits = of.waits.saturating_add(*calls);
                    of.wait_ns = of.wait_ns.saturating_add(*dur_ns);
                }
                _ => {}
            }
        }
        for row in &facts.bricks.names {
            if vendors::is_collective_of_devices(&row.name) {
                of.collectives = of.collectives.saturating_add(row.calls);
            }
            // Beside work of a device, they are recorded like all others.
            if work.is_empty() && vendors::is_operator_of_devices(&row.name) {
                runs_on_device = true;
                of.operators = of.operators.saturating_add(row.calls);
            }
        }
        if !work.is_empty() {
            let of_kernels = facts.bricks.calls.iter();
            let of_kernels = of_kernels.filter(|row| launches_kernel(&row.0));
            of.launches = of_kernels.map(|row| row.1).fold(0, u64::saturating_add);
            // Copies, and what waits for them, have their work.
            (of.copies, of.copy_ns) = (0, 0);
            (of.waits, of.wait_ns) = (0, 0);
        }
        let held_ns = of.wait_ns.saturating_add(of.copy_ns);
        let is_held = facts.share(held_ns) >= options.general.least_share;
        // One launch alone may be the last of a part that was cut off.
        let all = of.launches.saturating_add(of.copies);
        let uses_device = of.launches > 0 && all.saturating_add(of.waits) >= MIN_FEW;
        // One barrier needs no device that matters.
        let communicates = of.collectives >= MIN_FEW;
        let has_operators = runs_on_device || of.operators >= MIN_FEW;
        (uses_device || is_held || communicates || has_operators).then_some(of)
    }

    fn judge(&self, facts: &Facts, verdicts: &mut Verdicts) {
        let each = [
            (self.launches, "launch", "launches"),
            (self.copies, "copy", "copies"),
            (self.waits, "wait", "waits"),
            (self.collectives, "collective", "collectives"),
            (self.operators, "operator", "operators"),
        ];
        let each = each.into_iter().filter(|(n, _, _)| *n > 0);
        let each: Vec<String> = each.map(|(n, one, many)| counted(n, one, many)).collect();
        let each = match each.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            each => each.concat(),
        };
        let calls = [self.launches, self.copies, self.waits];
        let rows = match calls.into_iter().fold(0, u64::saturating_add) {
            0 if self.collectives == 0 => "bricks",
            0 => "bricks WHERE name LIKE '%ccl:%'",
            _ => "calls",
        };
        let all = calls
            .into_iter()
            .chain([self.operators])
            .fold(self.collectives, u64::saturating_add);
        Draft {
            class: sync::CLASS,
            code: "no_device_work",
            scope_kind: "run",
            scope: "recording".into(),
            place: "recording".into(),
            confidence: (Confidence::High, format!("the host's side is recorded, and no {}", self.lacks)),
            lead: format!("{each} for a device were recorded, but no {}", self.lacks),
            fix: "record the device too".into(),
            evidence: format!("SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM {rows} GROUP BY name ORDER BY dur_ns DESC"),
            assumption: "none: what the device did was not recorded".into(),
            considered: "without it, the recording does not show whether the host or the device limits the run".into(),
            suggestion: facts.producer.advice(
                "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]), in a schedule whose active steps launch work",
                "record kernels too; if they were, look for a message of the profiler",
            ),
        }
        .without_gain(facts, Evidence::new(all, facts.window.wall_ns), Severity::High, verdicts);
    }
}

/// True for a call that launches a kernel; others submit lists and graphs, which may hold copies only.
fn launches_kernel(name: &str) -> bool {
    let is_launch = vendors::call(name) == Some(Call::Launch);
    is_launch
        && ["LaunchKernel", "LaunchCooperative"]
            .iter()
            .any(|part| name.contains(part))
}

/// True if launched work may have no row: a graph's, or that of more launches than there are kernels.
fn lacks_work(facts: &Facts) -> bool {
    let launches = facts.bricks.calls.iter();
    let launches = launches.filter(|row| vendors::call(&row.0) == Some(Call::Launch));
    let graphs = launches.clone().any(|row| !launches_kernel(&row.0));
    let launches = launches.map(|row| row.1).fold(0, u64::saturating_add);
    let kernels = facts.device.work.iter().filter(|work| work.is_kernel());
    graphs || launches > kernels.count() as u64
}

/// The part of the last wait of a PyTorch trace in which no recorded work remained: the profiler waits for the device
/// before it stops. `None` if something of the program may have run after it or around it.
pub fn profiler_stop(facts: &Facts) -> Option<(i64, i64)> {
    if facts.producer != Producer::PyTorch || facts.window.is_part || lacks_work(facts) {
        return None;
    }
    let waits = facts.device.waits.iter();
    let waits = waits.filter(|wait| wait.may_be_for_device());
    let last = waits.max_by_key(|wait| wait.end_ns)?;
    let work_end_ns = facts.device.work.iter().map(|work| work.end_ns).max()?;
    let from_ns = last.start_ns.max(work_end_ns);
    // The run ends with its last row: one around the wait would end later.
    let is_last = last.end_ns == facts.window.until_ns && from_ns < last.end_ns;
    is_last.then_some((from_ns, last.end_ns))
}

fn judge_stop(facts: &Facts, verdicts: &mut Verdicts) {
    let Some((from_ns, until_ns)) = profiler_stop(facts) else {
        return;
    };
    let stop_ns = until_ns.saturating_sub(from_ns);
    if facts.share(stop_ns) < MIN_STOP {
        return;
    }
    Draft {
        class: sync::CLASS,
        code: "profiler_stop",
        scope_kind: "run",
        scope: "recording".into(),
        place: "recording".into(),
        confidence: (Confidence::Medium, "inferred: the last row of the trace waits for a device that has no work left".into()),
        lead: format!(
            "the profiler's stop takes {} of the wall, after all device work",
            percent(facts.share(stop_ns))
        ),
        fix: "look at the time before it".into(),
        evidence: format!("SELECT id, kind, name, start_ns, dur_ns FROM syncs WHERE start_ns + dur_ns > {from_ns} ORDER BY dur_ns DESC"),
        assumption: "none: without the profiler the program does not wait there".into(),
        considered: "a wait within an operator, or before other rows, counts as the program's".into(),
        suggestion: "`--window` of the steps leaves it out; `schedule(active=8)` makes more steps than stops".into(),
    }
    .without_gain(facts, Evidence::new(1, stop_ns), Severity::Low, verdicts);
}

/// Kernels of which the profiler collected counters.
fn judge_one_by_one(facts: &Facts, verdicts: &mut Verdicts) {
    let kernels = facts.device.work.iter().filter(|work| work.is_kernel());
    let kernels = kernels.count() as u64;
    if kernels == 0 {
        return;
    }
    Draft {
        class: sync::CLASS,
        code: "kernels_one_by_one",
        scope_kind: "run",
        scope: "recording".into(),
        place: "recording".into(),
        confidence: (Confidence::High, "the profiler is known to do so while it collects counters of kernels".into()),
        lead: format!(
            "{} ran one by one while the profiler collected counters, so the time between kernels is the profiler's",
            counted(kernels, "kernel", "kernels")
        ),
        fix: "record a trace without counters to see what limits the program".into(),
        evidence: "SELECT code, text FROM diagnostics WHERE code = 'kernels_one_by_one'".into(),
        assumption: "none: the time without the profiler was not measured".into(),
        considered: "kernels of the program that overlap, and what the host does between them, do not show in such a recording".into(),
        suggestion: "`rocprofv3 --sys-trace` without `--pmc`; the counters of kernels and their own times hold as they are".into(),
    }
    .certain(Severity::High, verdicts);
}

impl Rule for Serialised {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        if facts.ran_one_by_one {
            judge_one_by_one(facts, verdicts);
            return;
        }
        for (device, _, _, busy_ns) in &facts.idle.spans {
            if !lasts_until_its_kernel(facts, options, *device) {
                continue;
            }
            let (inside, all) = facts.device.inside_calls[device];
            let name = Idle::device_name(*device);
            let idle_ns = facts.window.wall_ns.saturating_sub(*busy_ns);
            Draft {
                class: sync::CLASS,
                code: "serialised_launches",
                scope_kind: "device",
                scope: name.clone(),
                place: name.clone(),
                confidence: (Confidence::High, "calls and kernels are recorded".into()),
                lead: format!("{} of {} launches of {name} last until their kernel has ended", count(inside), count(all)),
                fix: "record again without CUDA_LAUNCH_BLOCKING=1 and without hardware counters".into(),
                evidence: format!(
                    "SELECT k.id AS id, k.name AS name, k.start_ns AS start_ns, k.dur_ns AS dur_ns, c.start_ns AS called_ns, c.dur_ns AS call_ns \
                     FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation WHERE k.device = {device} ORDER BY call_ns DESC"
                ),
                assumption: "none: the time without it was not measured".into(),
                considered: "a kernel that is shorter than its launch may end before it, but not nearly all of them".into(),
                suggestion: "unset CUDA_LAUNCH_BLOCKING and AMD_SERIALIZE_KERNEL, and do not collect counters while times are recorded".into(),
            }
            .without_gain(
                facts,
                Evidence::new(inside, facts.window.wall_ns),
                Severity::from_share(facts.share(idle_ns), &options.general),
                verdicts,
            );
        }
        if let Some(calls) = DeviceCalls::without_work(facts, options) {
            calls.judge(facts, verdicts);
        }
        judge_stop(facts, verdicts);
        let has_times = facts.device.work.iter().any(|work| work.is_kernel());
        let invalid = facts.device.invalid;
        if has_times || invalid < options.gaps.least_gaps {
            return;
        }
        Draft {
            class: sync::CLASS,
            code: "no_kernel_times",
            scope_kind: "device",
            scope: name_of(None),
            place: name_of(None),
            confidence: (Confidence::High, "no kernel has valid times".into()),
            lead: format!("none of {} kernels has valid times, as when a profiler collects counters", count(invalid)),
            fix: "record again without counters".into(),
            evidence: "SELECT id, name, device, start_ns, dur_ns, reason FROM kernels WHERE NOT valid".into(),
            assumption: "none: the time without the profiler was not measured".into(),
            considered: "a profiler that collects counters runs kernels one by one, some several times, and the host waits for each".into(),
            suggestion: "collect counters and times in two recordings".into(),
        }
        .without_gain(
            facts,
            Evidence::new(invalid, facts.window.wall_ns),
            Severity::High,
            verdicts,
        );
    }
}
