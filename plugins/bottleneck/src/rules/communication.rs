//! Exposed communication: a device communicates and does nothing else.
//!
//! Evidence: kernels that a category rule calls `communication`, without the time in which any other work of the device
//! runs, as `device.exposure` has it; at least `exposed_share` of the window, without what `collectives` knows to be waiting for
//! late ranks. Severity by that share, critical only where the gain is high; by the gain where collectives show which rank is
//! late, since it is known then what ranks wait for. If only one device of the run communicates, the finding says that some of it may
//! be waiting. Gain: no more than the computing beside which nothing is communicated
//! could hide, than the path has of communication, and than the run would save without any communication.
//!
//! One call far longer than all others together is set apart and named, and the rest is judged without it; so is the first call of
//! a device that is longer than all later ones together and that no recorded rank explains: it waits for the other ranks to start, or
//! sets up links (inferred).
//!
//! A collective lasts until the last rank has come: with one rank recorded, waiting for others cannot be told from sending,
//! unless its tasks were recorded, as Ascend does. Then the time in which they wait and none moves data is no communication.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};

use super::draft::Draft;
use super::gaps::NO_PATH;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Without, Work, name_of};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{count, percent, short, time};

/// A device communicates while nothing else runs on it.
pub const CLASS: Class = Class::new("exposed_communication", 4).explaining(&["sync_bound"]);

thresholds! {
    pub struct ExposedCommunication {
        exposed_share: f64 = 0.10,
    }
}

impl Rule for ExposedCommunication {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        // Waiting for another stage looks the same.
        if facts.ranks.is_pipeline {
            return;
        }
        let names = &facts.bricks.communication_names;
        let communicates =
            |work: &Work| work.is_kernel() && names.contains(facts.device.name(work));
        let work = facts.device.work.iter();
        let devices: BTreeSet<Option<i64>> = work
            .filter(|work| communicates(work))
            .map(|work| work.device)
            .collect();
        let explained = explained_waits(facts);
        // No device communicates with itself: the others are not in the run, nor are those that come late.
        let is_alone = facts.window.ranks < 2
            && devices.len() == 1
            && facts.device.collective_waits.is_empty();
        for device in devices {
            let own = facts.device.of(device);
            let own = own.filter(|work| communicates(work));
            let mut rows = own.count() as u64;
            let all = facts.device.busy(device, communicates);
            let others = facts.device.busy(device, |work| !communicates(work));
            let late = waits_for_late_ranks(facts, device, &explained);
            tell_of_waits(facts, options, device, &explained, communicates, verdicts);
            let exposed = all.difference(&others);
            let late_ns = exposed.common_ns(&late);
            let mut exposed = exposed.difference(&late);
            if let Some(one) = one_call(facts, device, &explained, communicates) {
                tell_of_one_call(facts, options, device, &one, verdicts);
                exposed = exposed.difference(&one.times);
                rows = rows.saturating_sub(1);
            }
            let (all_ns, exposed_ns) = (all.total_ns(), exposed.total_ns());
            let share = facts.share(exposed_ns);
            if share < options.communication.exposed_share {
                continue;
            }
            let computing =
                |work: &Work| work.is_kernel() && !names.contains(facts.device.name(work));
            let free_ns = facts
                .device
                .busy(device, computing)
                .difference(&all)
                .total_ns();
            let retimed_ns = facts.ranks.without_transfers_ns;
            let retimed_ns = retimed_ns.filter(|_| facts.ranks.is_retimed);
            let most_ns = facts.most_ns(&Without::Communication);
            let most_ns = most_ns.min(retimed_ns.unwrap_or(i64::MAX));
            let gain_ns = exposed_ns.min(free_ns).min(path_ns(facts)).min(most_ns);
            let evidence = facts.evidence(rows, &exposed);
            let mut draft = draft(
                facts,
                device,
                &exposed,
                (all_ns, late_ns),
                free_ns,
                is_alone,
            );
            let shared = shared_streams(facts, device, communicates, computing);
            if !shared.is_empty() {
                let streams: Vec<String> = shared.iter().map(i64::to_string).collect();
                draft.lead.push_str(&format!(
                    ", on the stream of the computation ({}), where nothing can overlap it",
                    streams.join(", ")
                ));
                draft.suggestion = "run collectives on a stream of their own, ordered by events: one stream runs one kernel after the other".into();
            }
            if !facts.has_dependencies() {
                let severity = Severity::from_share(share, &options.general);
                draft.unpredicted(facts, evidence, severity, verdicts);
            } else if facts.share(gain_ns) >= options.general.least_share {
                draft.fix = if shared.is_empty() {
                    "overlapping communication with compute"
                } else {
                    "moving it to a stream of its own and overlapping it with compute"
                }
                .into();
                let mut found = Verdicts::default();
                let gain = (gain_ns, Without::Communication);
                draft.with_gain(facts, options, evidence, gain, &mut found);
                let mut arrivals = facts.ranks.arrivals.iter();
                let is_told = facts.path.is_known && arrivals.any(|of| of.last.is_some());
                let counted = if is_told { facts.share(gain_ns) } else { share };
                let by_share = Severity::from_share(counted, &options.general);
                for mut finding in found.findings {
                    let is_less = finding.severity < Severity::High;
                    finding.severity = match by_share {
                        _ if finding.gain_ns.is_none() => finding.severity,
                        Severity::Critical if is_less => Severity::High,
                        other => other,
                    };
                    verdicts.findings.push(finding);
                }
            } else {
                let severity = Severity::from_share(share, &options.general);
                draft.without_gain(facts, evidence, severity, verdicts);
            }
        }
    }
}

/// Compute streams on which a device communicates, if nearly all its communication runs on such streams; else
/// empty.
fn shared_streams(
    facts: &Facts,
    device: Option<i64>,
    communicates: impl Fn(&Work) -> bool,
    computes: impl Fn(&Work) -> bool,
) -> BTreeSet<i64> {
    let own = facts.device.of(device);
    let computing = own.clone().filter(|work| computes(work));
    let mut streams: BTreeSet<i64> = computing.filter_map(|work| work.stream).collect();
    let (mut used, mut all_ns, mut shared_ns) = (BTreeSet::new(), 0_i64, 0_i64);
    for work in own.filter(|work| communicates(work)) {
        all_ns = all_ns.saturating_add(work.dur_ns());
        if let Some(stream) = work.stream.filter(|stream| streams.contains(stream)) {
            shared_ns = shared_ns.saturating_add(work.dur_ns());
            used.insert(stream);
        }
    }
    streams.retain(|stream| used.contains(stream));
    if shared_ns as f64 >= MIN_SHARED * all_ns as f64 {
        streams
    } else {
        BTreeSet::new()
    }
}

/// From this share of communication on compute streams, sharing the stream is what prevents overlap.
const MIN_SHARED: f64 = 0.9;

/// A single call counts as exceptional if there are at least `MIN_CALLS` calls and all others together take less
/// than 1 / `OTHERS_PART` of its time.
const MIN_CALLS: usize = 8;
const OTHERS_PART: i64 = 10;
/// Of so many calls the first is an exception if it takes longer than all others together.
const MIN_CALLS_AFTER_FIRST: usize = 3;

struct OneCall<'f> {
    work: &'f Work,
    calls: usize,
    /// No communication of the device began before it.
    is_first: bool,
    times: IntervalSet<i64>,
}

fn one_call<'f>(
    facts: &'f Facts,
    device: Option<i64>,
    explained: &BTreeMap<u64, i64>,
    communicates: impl Fn(&Work) -> bool,
) -> Option<OneCall<'f>> {
    let work = facts.device.of(device);
    let of_device = work.filter(|work| communicates(work));
    let longest = of_device.clone().max_by_key(|work| work.dur_ns())?;
    let (calls, all_ns) = of_device.fold((0, 0_i64), |(calls, ns), work| {
        (calls + 1, ns.saturating_add(work.dur_ns()))
    });
    let others_ns = all_ns.saturating_sub(longest.dur_ns());
    let is_one = others_ns.saturating_mul(OTHERS_PART) < longest.dur_ns();
    let first = facts.device.of(device);
    let first = first.filter(|work| communicates(work));
    let first = first.min_by_key(|work| (work.start_ns, work.id));
    // What came before the recording or the window may have been alike.
    let may_start = !facts.window.is_part && !explained.contains_key(&longest.id);
    let is_first = may_start && first.is_some_and(|first| first.id == longest.id);
    let leads = calls > MIN_CALLS_AFTER_FIRST && is_first && others_ns < longest.dur_ns();
    (leads || (calls >= MIN_CALLS && is_one)).then(|| OneCall {
        work: longest,
        calls,
        is_first,
        times: [(longest.start_ns, longest.end_ns)].into_iter().collect(),
    })
}

fn tell_of_one_call(
    facts: &Facts,
    options: &Options,
    device: Option<i64>,
    one: &OneCall<'_>,
    verdicts: &mut Verdicts,
) {
    let ns = one.work.dur_ns();
    let share = facts.share(ns);
    if share < options.communication.exposed_share {
        return;
    }
    let name = name_of(device);
    let severity = Severity::from_share(share, &options.general).min(Severity::Medium);
    let (all, call) = (count(one.calls as u64), short(facts.device.name(one.work)));
    let takes = format!("takes {} ({} of the wall)", time(ns), percent(share));
    let (code, why, lead) = if one.is_first {
        (
            "first_collective",
            "inferred: the first call is longer than all later ones together; what it waited for is not recorded",
            format!(
                "the first of {all} communication kernels, {call}, {takes}, longer than all others together"
            ),
        )
    } else {
        (
            "one_collective",
            "the call is recorded, what it waited for is not",
            format!("one of {all} communication kernels, {call}, {takes}"),
        )
    };
    Draft {
        class: CLASS,
        code,
        scope_kind: "device",
        scope: name.clone(),
        place: name,
        confidence: (Confidence::Medium, why.into()),
        lead,
        fix: "check whether other ranks arrive late, as they do when a job starts".into(),
        evidence: format!(
            "SELECT id, name, device, stream, start_ns, dur_ns FROM kernels WHERE id = {}",
            one.work.id
        ),
        assumption: "none: one call is not a pattern, so no gain is claimed".into(),
        considered: "all other communication is judged separately".into(),
        suggestion: "record all ranks, and begin the recording after the first step".into(),
    }
    .without_gain(facts, Evidence::new(1, ns), severity, verdicts);
}

/// Waits in collectives that recorded ranks explain, by kernel.
fn explained_waits(facts: &Facts) -> BTreeMap<u64, i64> {
    let arrivals = facts.ranks.arrivals.iter();
    arrivals
        .filter_map(|of| Some((of.id, of.waited_ns?)))
        .collect()
}

/// Times in which the device's rank waited in a collective for another rank.
fn waits_for_late_ranks(
    facts: &Facts,
    device: Option<i64>,
    explained: &BTreeMap<u64, i64>,
) -> IntervalSet<i64> {
    let own = facts.device.of(device);
    let waited = own.filter_map(|work| {
        let measured = facts.device.collective_waits.get(&work.id);
        let wait_ns = *measured.max(explained.get(&work.id))?;
        let until_ns = work.start_ns.saturating_add(wait_ns);
        Some((work.start_ns, until_ns.min(work.end_ns)))
    });
    waited.collect()
}

/// Waits in collectives that no recorded rank explains, if communication is mostly that.
fn tell_of_waits(
    facts: &Facts,
    options: &Options,
    device: Option<i64>,
    explained: &BTreeMap<u64, i64>,
    communicates: impl Fn(&Work) -> bool,
    verdicts: &mut Verdicts,
) {
    let of_device = facts.device.of(device).filter(|work| communicates(work));
    // Those of several streams at once hold the device once.
    let all_ns = facts.device.busy(device, &communicates).total_ns();
    let mut waits = Vec::<(i64, &Work)>::new();
    for work in of_device {
        let explained_ns = explained.get(&work.id).copied().unwrap_or(0);
        let measured_ns = facts.device.collective_waits.get(&work.id).copied();
        let wait_ns = measured_ns.unwrap_or(0).min(work.dur_ns());
        let wait_ns = wait_ns.saturating_sub(explained_ns);
        if wait_ns > 0 {
            waits.push((wait_ns, work));
        }
    }
    let times = waits.iter().map(|(wait_ns, work)| {
        let until_ns = work.start_ns.saturating_add(*wait_ns);
        (work.start_ns, until_ns)
    });
    let times: IntervalSet<i64> = times.collect();
    let waited_ns = times.total_ns();
    let share = facts.share(waited_ns);
    let longest = waits.iter().max_by_key(|row| row.0);
    let Some((longest_ns, longest)) = longest else {
        return;
    };
    let is_most = waited_ns.saturating_mul(2) >= all_ns;
    if share < options.communication.exposed_share || !is_most {
        return;
    }
    let name = name_of(device);
    Draft {
        class: CLASS,
        code: "collective_waits",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (
            Confidence::High,
            "the tasks of collectives are recorded: waiting, and moving data".into(),
        ),
        lead: format!(
            "{name} waits {} in collectives while no data moves ({} of the wall, {} of its communication), {} of it in {}",
            time(waited_ns),
            percent(share),
            percent(trueno_analysis::share(waited_ns, all_ns).unwrap_or(1.0)),
            time(*longest_ns),
            short(facts.device.name(longest))
        ),
        fix: "find the rank that it waits for".into(),
        evidence: "SELECT k.id AS id, k.name AS name, k.device AS device, k.start_ns AS start_ns, k.dur_ns AS dur_ns, \
             a.integer AS wait_ns FROM kernels AS k JOIN attributes AS a ON a.span = k.id \
             WHERE a.name = 'collective_wait_ns' ORDER BY wait_ns DESC"
            .into(),
        assumption: "none: what the ranks waited for is not recorded, so no gain is claimed".into(),
        considered: "the first collective of a communicator also waits until its links are set up, and a stage of a pipeline for the one before it".into(),
        suggestion: "record all ranks, and begin the recording after the first step".into(),
    }
    .without_gain(
        facts,
        Evidence::new(waits.len() as u64, waited_ns),
        Severity::from_share(share, &options.general),
        verdicts,
    );
}

/// Communication on the critical path; the whole window if the path is unknown.
fn path_ns(facts: &Facts) -> i64 {
    if !facts.path.is_known {
        return facts.window.wall_ns;
    }
    let rows = facts.path.names.iter();
    let on_path = rows.filter(|row| facts.bricks.communication_names.contains(&row.0));
    on_path.map(|row| row.3).saturating_sum()
}

fn draft(
    facts: &Facts,
    device: Option<i64>,
    exposed: &IntervalSet<i64>,
    (all_ns, late_ns): (i64, i64),
    free_ns: i64,
    is_alone: bool,
) -> Draft {
    let exposed_ns = exposed.total_ns();
    let hides = free_ns.saturating_mul(2) >= exposed_ns;
    let one_rank = facts.window.ranks < 2;
    let confidence = match (facts.path.is_known, one_rank) {
        (false, _) => (Confidence::Low, NO_PATH.to_owned()),
        (true, true) if late_ns > 0 => (
            Confidence::Medium,
            "the exposed time is measured, without what tasks of collectives waited".to_owned(),
        ),
        (true, true) => (
            Confidence::Medium,
            "the exposed time is measured; with only one rank recorded it includes waiting for late ranks".to_owned(),
        ),
        (true, false) => (
            Confidence::Medium,
            "the exposed time is measured; assumes that it can overlap".to_owned(),
        ),
    };
    let name = name_of(device);
    let suggestion = if hides {
        "start each collective as soon as its data is ready (gradient buckets, prefetch of parameters), on a separate stream"
    } else {
        "communicate less often or fewer bytes (larger batches, accumulation, lower precision), over faster links; compare ranks for late ones"
    };
    Draft {
        class: CLASS,
        code: "exposed_communication",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence,
        lead: format!(
            "exposed communication is {} of the wall on {name} ({} of {} of communication{})",
            percent(facts.share(exposed_ns)),
            time(exposed_ns),
            time(all_ns),
            match late_ns {
                _ if is_alone => ", or of waiting for other ranks: record them all".to_owned(),
                0 => String::new(),
                _ => format!("; another {} is waiting for other ranks", time(late_ns)),
            }
        ),
        fix: "overlapping it with compute would save next to nothing".into(),
        evidence: "SELECT scope, kind, busy_ns, exposed_ns, split_ns, share FROM device.exposure".into(),
        assumption: "collectives run concurrently with compute that does not need their results, without slowing it down".into(),
        considered: format!(
            "{} of communication is hidden behind other work{}; {} of compute has no communication beside it",
            time(all_ns.saturating_sub(exposed_ns).saturating_sub(late_ns)),
            match late_ns {
                0 => String::new(),
                _ => format!(", {} is waiting for late ranks and not counted here", time(late_ns)),
            },
            time(free_ns)
        ),
        suggestion: suggestion.into(),
    }
    .during(facts, exposed)
}
