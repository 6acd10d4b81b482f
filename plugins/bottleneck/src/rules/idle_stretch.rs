//! Idle stretch: a device does nothing for long, once.
//!
//! Evidence: a gap longer than all shorter ones of its cause together (see [`gaps`](super::gaps)), at least `stretch_share` of the
//! window. One gap is no pattern, so no rule about patterns counts it, and no gain is promised of it. What the host does in at
//! least half of it is named; where it only waits, the wait, for something else made the device wait. A gap that one-time calls fill is part of their finding, [set-up](super::set_up).
//!
//! Gaps that are alike, while the host works or after it waited, of which no other rule speaks, as they are fewer than `least_gaps` or the
//! device does too little to hide the host's work behind: with enough evidence, at least `stretch_share` of the window on the path.
//! Nothing is promised of them either.
//!
//! Gaps in which launched work did not start, although the device did nothing else, each longer than a launch is on its way for: from
//! `stretch_share` of the window on. Nothing recorded holds it, so nothing is promised.
//!
//! Several gaps spent in the call that launches a kernel for the first time are set-up: code is loaded there. Gain: what the gaps
//! have of those calls, no more than the path spends on the host.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::SaturatingSum;

use super::draft::Draft;
use super::gaps::{
    gaps, gaps_sql, host_path_ns, names_in_gaps, other_causes, times, total_ns, waits_in_gaps,
};
use super::serialised::is_serialised;
use super::sync::earlier_work_advice;
use super::{Options, Rule, serial, set_up};
use crate::class::Class;
use crate::facts::{Cause, Facts, Gap, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::{Bottleneck, Confidence, IN_SET_UP, Severity, Verdicts};
use crate::wording::{count, percent, short, time};

/// A device is idle for a long time, once.
pub const CLASS: Class = Class::new("idle_stretch", 17);

/// From this share of the gap on, the names say what the host does in it.
const MOST: f64 = 0.5;

/// What to do about gaps in which the host only waits.
const WHAT_IT_WAITS_FOR: &str = "find out what it waits for";
const LOOK_BESIDE: &str = "look at what other threads and devices do in the gap: `trueno-analyze report RUN --from START --to END`";

thresholds! {
    pub struct IdleStretch {
        stretch_share: f64 = 0.10,
    }
}

impl Rule for IdleStretch {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let least = options.idle_stretch.stretch_share;
        for (device, ..) in &facts.idle.spans {
            let gaps_of_device = facts.idle.of(*device).iter();
            let firsts: Vec<&Gap> = gaps_of_device
                .filter(|gap| gap.first_launch_ns > 0)
                .collect();
            let in_calls_ns = firsts
                .iter()
                .map(|gap| gap.first_launch_ns)
                .saturating_sum();
            let is_set_up = firsts.len() > 1 && facts.share(in_calls_ns) >= least;
            if is_set_up {
                loading(facts, options, *device, (&firsts, in_calls_ns), verdicts);
            }
            for cause in [Cause::Host, Cause::Sync] {
                alike(facts, options, *device, cause, verdicts);
            }
            not_started(facts, options, *device, verdicts);
            for cause in [Cause::Host, Cause::Sync, Cause::Launch, Cause::Device] {
                for gap in gaps(facts, *device, cause).1 {
                    let is_reported = is_set_up && gap.first_launch_ns > 0;
                    let is_held = cause == Cause::Device && !is_after_launch(facts, gap);
                    if !is_reported && !is_held && facts.share(gap.dur_ns()) >= least {
                        stretch(facts, options, gap, verdicts);
                    }
                }
            }
        }
    }
}

fn next<'f>(facts: &'f Facts, gap: &Gap) -> Option<&'f Work> {
    let mut work = facts.device.work.iter();
    work.find(|work| work.id == gap.next && work.is_kernel() != gap.next_is_copy)
}

/// Returns whether the device caused the gap although the next work was launched during it.
fn is_after_launch(facts: &Facts, gap: &Gap) -> bool {
    let launch = next(facts, gap).and_then(|work| work.launch);
    gap.cause == Cause::Device && launch.is_some_and(|(called_ns, _)| called_ns >= gap.start_ns)
}

/// Returns whether no earlier work of the stream was recorded.
fn is_first_of_stream(facts: &Facts, work: &Work) -> bool {
    let mut earlier = facts.device.work.iter();
    let is_on_it = |other: &Work| (other.device, other.stream) == (work.device, work.stream);
    work.stream.is_some() && !earlier.any(|other| is_on_it(other) && other.start_ns < work.start_ns)
}

fn alike(facts: &Facts, options: &Options, device: i64, cause: Cause, verdicts: &mut Verdicts) {
    let (gaps, codes): (Vec<&Gap>, &[&str]) = match cause {
        Cause::Host => (
            serial::unclaimed(facts, options, device),
            &["host_prepares"],
        ),
        _ => (
            gaps(facts, device, cause).0,
            &["device_waits", "blocking_copies"],
        ),
    };
    let name = Idle::device_name(device);
    let is_of_another = |one: &Bottleneck| codes.contains(&one.code) && one.scope == name;
    let (n, ns) = (gaps.len() as u64, total_ns(&gaps));
    let share = facts.share(ns.min(host_path_ns(facts, device)));
    if n < 2
        || (cause != Cause::Host && n >= options.gaps.least_gaps)
        || share < options.idle_stretch.stretch_share
        || !facts.is_enough(Evidence::new(n, ns))
        || is_serialised(facts, options, device)
        || verdicts.findings.iter().any(is_of_another)
    {
        return;
    }
    let during = times(&gaps);
    let named = names_in_gaps(facts, &during, ns);
    let is_named = is_most(&named);
    let severity = Severity::from_share(share, &options.general).min(Severity::Medium);
    let waits = waits_in_gaps(facts, &during, ns);
    let is_waiting = !is_named && is_most(&waits);
    let (fix, suggestion) = if is_waiting {
        (WHAT_IT_WAITS_FOR, LOOK_BESIDE)
    } else if is_named {
        (
            "do this on the device, or in less time",
            "the device does too little in between to hide this behind: do it on the device, once before the measured part, or on several threads",
        )
    } else {
        (
            "find out what the host does in them",
            "look at one of the gaps: `trueno-analyze report RUN --from START --to END`",
        )
    };
    Draft {
        class: CLASS,
        code: "idle_gaps",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (
            Confidence::Medium,
            if is_named {
                "the gaps are recorded, and what the host does in most of them"
            } else {
                "the gaps are recorded, their reason is not"
            }
            .into(),
        ),
        lead: format!(
            "{name} has {} idle gaps of {} on average ({} of the wall){}{}",
            count(n),
            time(ns / n as i64),
            percent(share),
            shares_of(&named, is_named),
            while_waiting(&waits, is_waiting)
        ),
        fix: fix.into(),
        evidence: gaps_sql(gaps),
        assumption: "none: the gaps may be necessary, so no gain is claimed".into(),
        considered: format!(
            "the device works for {} in all; {}",
            time(facts.idle.busy_ns(device)),
            other_causes(facts, device, cause)
        ),
        suggestion: suggestion.into(),
    }
    .during(facts, &during)
    .without_gain(facts, Evidence::new(n, ns), severity, verdicts);
}

/// Returns whether the program takes memory that the driver moves between host and device.
fn takes_managed_memory(facts: &Facts) -> bool {
    let mut calls = facts.bricks.calls.iter();
    calls.any(|call| {
        call.0.to_ascii_lowercase().contains("mallocmanaged") || call.0.contains("MemAllocManaged")
    })
}

/// Gaps in which launched work did not start on an idle device.
fn not_started(facts: &Facts, options: &Options, device: i64, verdicts: &mut Verdicts) {
    let mut gaps = gaps(facts, device, Cause::Device).0;
    // Shorter ones are what a device needs to start any work.
    gaps.retain(|gap| gap.dur_ns() > facts.scale.way_ns);
    if facts.share(total_ns(&gaps)) < options.idle_stretch.stretch_share {
        return;
    }
    // An operator that launches work may do so at its end, on another thread.
    let work = facts
        .device
        .of(Some(device))
        .filter(|work| work.is_call_recorded);
    let launched: BTreeMap<(u64, bool), &Work> = work
        .map(|work| ((work.id, !work.is_kernel()), work))
        .collect();
    let next = |gap: &Gap| launched.get(&(gap.next, gap.next_is_copy)).copied();
    gaps.retain(|gap| next(gap).is_some());
    let (n, ns) = (gaps.len() as u64, total_ns(&gaps));
    let share = facts.share(ns);
    if n < 2
        || share < options.idle_stretch.stretch_share
        || !facts.is_enough(Evidence::new(n, ns))
        || is_serialised(facts, options, device)
    {
        return;
    }
    let name = Idle::device_name(device);
    let mut before: BTreeMap<&str, i64> = BTreeMap::new();
    for gap in &gaps {
        let work = next(gap).map_or("work", |work| facts.device.name(work));
        let sum = before.entry(work).or_default();
        *sum = sum.saturating_add(gap.dur_ns());
    }
    let most = before
        .iter()
        .max_by_key(|(name, ns)| (**ns, Reverse(**name)));
    let most = most.map_or("work", |(name, _)| name);
    let during = times(&gaps);
    let named = names_in_gaps(facts, &during, ns);
    let is_named = is_most(&named);
    let suggestion = if takes_managed_memory(facts) {
        "the program takes managed memory, whose pages may move before a kernel starts (inferred): record page migrations, or prefetch with `cudaMemPrefetchAsync`"
    } else {
        "look for what is not recorded: work of another process or from before the recording, an event that a stream waits for, a function of the host in a stream"
    };
    Draft {
        class: CLASS,
        code: "not_started",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (
            Confidence::Medium,
            "the launches and the gaps are recorded, what held the work is not".into(),
        ),
        lead: format!(
            "launched work does not start on {name} although it is idle, for {} of the wall ({} gaps of {} on average, most before {}){}",
            percent(share),
            count(n),
            time(ns / n as i64),
            short(most),
            shares_of(&named, is_named)
        ),
        fix: if is_named {
            "find out whether what the host does meanwhile holds it"
        } else {
            "what holds it was not recorded"
        }
        .into(),
        evidence: gaps_sql(gaps),
        assumption: "none: what held the work was not recorded, so no gain is claimed".into(),
        considered: format!(
            "all earlier work of {name} had ended; {}",
            other_causes(facts, device, Cause::Device)
        ),
        suggestion: suggestion.into(),
    }
    .during(facts, &during)
    .without_gain(
        facts,
        Evidence::new(n, ns),
        Severity::from_share(share, &options.general).min(Severity::Medium),
        verdicts,
    );
}

/// Whether these names have most of the gaps.
fn is_most(named: &[(&str, f64)]) -> bool {
    named.iter().map(|(_, of_gaps)| of_gaps).sum::<f64>() >= MOST
}

/// For example `, while the host waits (98 % of it in block_until_ready)`.
fn while_waiting(waits: &[(&str, f64)], is_waiting: bool) -> String {
    if !is_waiting {
        return String::new();
    }
    format!(", while the host waits{}", shares_of(waits, true))
}

/// For example ` (76 % of it in aten::addmm)`.
fn shares_of(named: &[(&str, f64)], is_named: bool) -> String {
    let does = named.iter().filter(|_| is_named);
    let does =
        does.map(|(name, of_gaps)| format!("{} of it in {}", percent(*of_gaps), short(name)));
    let does: Vec<String> = does.collect();
    if does.is_empty() {
        String::new()
    } else {
        format!(" ({})", does.join(", "))
    }
}

/// How to keep the loading of code out of the measured part.
fn warm_up(facts: &Facts) -> &'static str {
    let mut calls = facts.bricks.calls.iter();
    if calls.any(|call| call.0.starts_with("cu")) {
        "warm up before measuring: a first launch loads its code (CUDA_MODULE_LOADING=EAGER loads the code of all kernels at the start)"
    } else {
        "warm up before measuring: a first launch loads its code"
    }
}

fn loading(
    facts: &Facts,
    options: &Options,
    device: i64,
    (gaps, in_calls_ns): (&[&Gap], i64),
    verdicts: &mut Verdicts,
) {
    // A set-up that counts launches, or the code that they load, has counted these.
    let is_counted = |one: &Bottleneck| {
        let is_theirs = one.sentence.contains("Launch") || set_up::is_code_row(&one.scope);
        one.code == "set_up" && is_theirs
    };
    if verdicts.findings.iter().any(is_counted) {
        return;
    }
    let name = Idle::device_name(device);
    let longest_ns = gaps
        .iter()
        .map(|gap| gap.first_launch_ns)
        .max()
        .unwrap_or(0);
    Draft {
        class: set_up::CLASS,
        code: "first_launches",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: if facts.path.is_known {
            (
                Confidence::High,
                "each call is recorded, and is the first launch of its kernel".to_owned(),
            )
        } else {
            (Confidence::Low, super::gaps::NO_PATH.to_owned())
        },
        lead: format!(
            "{name} is idle for {} ({} of the wall) during the first launches of {} kernels, {} at most in one",
            time(in_calls_ns),
            percent(facts.share(in_calls_ns)),
            count(gaps.len() as u64),
            time(longest_ns)
        ),
        fix: "a warm start".into(),
        evidence: gaps_sql(gaps.to_vec()),
        assumption: "a process that has launched each kernel once does not pay it again".into(),
        considered:
            "later launches of the same kernels, and first ones that are as quick, are not counted"
                .into(),
        suggestion: warm_up(facts).into(),
    }
    .during(facts, &times(gaps))
    .with_gain(
        facts,
        options,
        Evidence::once(in_calls_ns),
        (in_calls_ns.min(host_path_ns(facts, device)), Without::Host),
        verdicts,
    );
}

fn stretch(facts: &Facts, options: &Options, gap: &Gap, verdicts: &mut Verdicts) {
    let name = Idle::device_name(gap.device);
    let next = next(facts, gap);
    let what = next.map_or("work", |next| facts.device.name(next));
    let in_call_ns = next.map_or(0, |next| gap.in_call_ns(next));
    let is_slow_call = in_call_ns.saturating_mul(2) >= gap.dur_ns();
    let named = names_in_gaps(facts, &times(&[gap]), gap.dur_ns());
    let is_explained = is_slow_call || is_after_launch(facts, gap);
    let is_named = is_most(&named) && !is_explained;
    let waits = waits_in_gaps(facts, &times(&[gap]), gap.dur_ns());
    let is_waiting = is_most(&waits) && !is_named && !is_explained;
    let record_earlier = earlier_work_advice(facts);
    let (when, fix, suggestion) = if is_slow_call {
        (
            "in the one call that launches",
            "a first launch loads its code: warm up before measuring",
            warm_up(facts),
        )
    } else if is_after_launch(facts, gap)
        && next.is_some_and(|next| is_first_of_stream(facts, next))
    {
        (
            "after the launch of",
            "the device held the first work of that stream, probably behind work from before the recording (inferred)",
            record_earlier.as_str(),
        )
    } else if is_after_launch(facts, gap) {
        (
            "after the launch of",
            "the device held launched work for a reason that was not recorded",
            "look for work that is not recorded: launched before the recording, by another process, or held by an event",
        )
    } else if is_waiting {
        ("before", WHAT_IT_WAITS_FOR, LOOK_BESIDE)
    } else if is_named {
        (
            "before",
            "start this earlier if it happens once, or on another thread",
            "what happens once belongs before the measured part (a warm-up); other work can overlap with the device",
        )
    } else {
        (
            "before",
            "find out what the host does in it",
            "look at that gap: `trueno-analyze report RUN --from START --to END`",
        )
    };
    let does = shares_of(&named, is_named) + &while_waiting(&waits, is_waiting);
    let share = facts.share(gap.dur_ns());
    let is_set_up = |name: &str| verdicts.set_up_names.iter().any(|one| one == name);
    let in_set_up = facts.path.names_within(&times(&[gap]), is_set_up);
    let in_set_up_ns = in_set_up.iter().map(|row| row.1).saturating_sum();
    let is_of_set_up = in_set_up_ns as f64 >= MOST * gap.dur_ns() as f64;
    // It may be needed as it is: an observation, however long.
    let severity = Severity::from_share(share, &options.general).min(Severity::Medium);
    Draft {
        class: CLASS,
        code: if is_of_set_up { IN_SET_UP } else { "idle_stretch" },
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (
            Confidence::Medium,
            if is_named {
                "the gap is recorded, and what the host does in most of it"
            } else {
                "the gap is recorded, its reason is not"
            }
            .into(),
        ),
        lead: format!(
            "{name} has one idle gap of {} ({} of the wall) {when} {}{does}",
            time(gap.dur_ns()),
            percent(share),
            short(what)
        ),
        fix: fix.into(),
        evidence: gaps_sql(vec![gap]),
        assumption: "none: a single gap may be necessary, so no gain is claimed".into(),
        considered: format!(
            "{} of it in the call that launched the next work; one gap is not a pattern, so it is part of no other finding",
            time(in_call_ns)
        ),
        suggestion: suggestion.into(),
    }
    .during(facts, &times(&[gap]))
    .without_gain(facts, Evidence::new(1, gap.dur_ns()), severity, verdicts);
}
