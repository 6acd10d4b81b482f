//! The limit: what bounds the run.
//!
//! One call that is most of the run; a finding of `bottleneck` that would save at least `MIN_GAIN` of the wall; what held launched
//! work; else the largest part of the time of devices that are busy, or of the critical path where they are not; without devices
//! unrecorded time, if that is most of the path, or the largest part of the threads' time.

use trueno_analysis::vendors::{self, is_communication};
use trueno_analysis::wording::{self, percent};

use crate::devices::Split;
use crate::facts::{Bottleneck, Facts, ONE_BY_ONE, OneCall, PathShares, of_kernels};
use crate::sentence::{self, by_short_name, short};

/// A finding with a smaller gain does not bound the run.
pub const MIN_GAIN: f64 = 0.2;
/// If this share of the critical path was not recorded, the path does not show what bounds the run.
pub const MAX_GAP: f64 = 0.5;
/// Devices that are busy for this share of their time bound a run, even if the critical path runs elsewhere.
pub const MIN_BUSY: f64 = 0.7;
/// Shares of the path within this factor count as equal.
const NEARLY_AS_MUCH: f64 = 1.2;
/// Classes of gaps that the host leaves between the work of a device. They bound nothing where the device computes for
/// `TWICE` as long as they could save, or communicates or copies for clearly longer.
const HOST_GAPS: [&str; 4] = [
    "blocking_copies",
    "launch_bound",
    "serialisation",
    "sync_bound",
];
const TWICE: f64 = 2.0;
/// Gaps are the work of a thread that ran for this share of them.
const MOST: f64 = 0.9;
const HALF: f64 = 0.5;
const PARTS: usize = 3;
/// A file with this share of communication and of waits for it holds nothing else.
const ALONE: f64 = 0.95;
/// Smaller parts are not named.
const MIN_PART: f64 = 0.05;

/// Limit from re-timing a pipeline of ranks. It applies whatever the devices do.
const RETIMED: &str = "stragglers";

/// Code of a finding: a wait of the profiler, not of the program.
const PROFILER_STOP: &str = "profiler_stop";

/// Code of a finding: waits for device work that is not in the file.
const EARLIER_WORK: &str = "earlier_work";

/// Code of a finding: grids of kernels are too small for the device.
const SMALL_GRIDS: &str = "small_grids";

/// Class of findings about how kernels compute.
const UNOPTIMISED: &str = "unoptimised";

/// Code of a finding: loading on the critical path.
const LOADING: &str = "data_load_bound";

pub const ONE_CALL: &str = "one call";

#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// `computation`, `communication`, `copy`, `host`, `not recorded`, `profiler`, or a class of `bottleneck`.
    pub by: String,
    /// Share of the devices' time or of the wall time; `None` for a class of `bottleneck`.
    pub share: Option<f64>,
    pub detail: String,
}

/// Device time as shares of the wall time; of the devices' spans if that is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    pub computation: f64,
    /// Communicating and not computing.
    pub communication: f64,
    pub copy: f64,
    pub idle: f64,
    /// `span` or `wall`.
    pub of: &'static str,
    /// The devices had nothing to do before their first or after their last work for a tenth of the wall time.
    pub is_idle_around: bool,
}

impl Shares {
    /// Shares of the mean device; `None` if there are no devices.
    pub fn new(facts: &Facts) -> Option<Self> {
        let devices = &facts.devices;
        let sum = |of: fn(&Split) -> i64| devices.iter().map(|row| of(&row.split) as f64).sum();
        let span_ns: f64 = devices.iter().map(|row| row.span_ns as f64).sum();
        let wall_ns = facts.wall_ns.map(|ns| ns as f64 * devices.len() as f64);
        let (whole, of) = match wall_ns {
            Some(wall_ns) => (wall_ns, "wall"),
            None => (span_ns, "span"),
        };
        let parts: [f64; 3] = [
            sum(|split| split.computation_ns),
            sum(|split| split.communication_ns),
            sum(|split| split.copy_ns),
        ];
        let [computation, communication, copy] = parts.map(|ns| ns / whole);
        (whole > 0.0).then(|| Self {
            computation,
            communication,
            copy,
            idle: (1.0 - computation - communication - copy).max(0.0),
            of,
            is_idle_around: span_ns < 0.9 * whole,
        })
    }

    pub fn busy(&self) -> f64 {
        1.0 - self.idle
    }
}

impl Limit {
    /// Finds the limit; `None` if nothing that takes time was recorded. Without findings of `bottleneck`, it is
    /// what takes most of the time, which need not bound the run ([`Facts::is_judged`]).
    pub fn find(facts: &Facts, shares: Option<&Shares>) -> Option<Self> {
        // What could hide behind the computing bounds nothing while there is more of that.
        let is_hidden = |class: &str| {
            let hides = matches!(class, "exposed_communication" | "transfer_bound");
            let computes = |of: &Shares| of.computation >= of.communication.max(of.copy);
            // What could be fused is computation, and that it could be is not certain.
            class == "unfused" || (hides && shares.is_some_and(computes))
        };
        if let Some(fault) = facts.recording_fault() {
            return Some(of_finding(facts, fault));
        }
        if let Some(limit) = of_one_call(facts) {
            return Some(limit);
        }
        let top = facts.bottlenecks.first();
        let top = top.filter(|top| {
            let is_much = top.gain.is_some_and(|(_, share)| share >= MIN_GAIN);
            (is_much || top.code == RETIMED) && !is_hidden(&top.class)
        });
        if let Some(limit) = top.and_then(|top| of_waits_beyond(facts, shares.is_some(), top)) {
            return Some(limit);
        }
        if let Some(limit) = top.and_then(|top| of_gaps_beyond(facts, top)) {
            return Some(limit);
        }
        // A gap that the host leaves is shorter than what devices do meanwhile.
        let exceeds = |share: fn(&Shares) -> f64, times: f64| {
            let top = top.filter(|top| HOST_GAPS.contains(&top.class.as_str()));
            let gain = top.and_then(|top| top.gain);
            gain.is_some_and(|gain| shares.is_some_and(|of| share(of) >= times * gain.1))
        };
        let is_exposed = exceeds(|of| of.communication.max(of.copy), NEARLY_AS_MUCH);
        let recurs_more = top.is_some_and(|top| is_below_what_recurs(facts, shares, top));
        if let Some(top) = top
            && !is_exposed
            && !recurs_more
            && !exceeds(|of| of.computation, TWICE)
        {
            return Some(of_finding(facts, top));
        }
        match shares {
            Some(shares) => {
                let is_of_devices = is_exposed || recurs_more;
                Some(of_held(facts).unwrap_or_else(|| of_devices(facts, shares, is_of_devices)))
            }
            None if facts.has_only_steps => None,
            // Samples say more of it.
            None if facts.is_sampled_alone => None,
            None => of_communication_alone(facts)
                .or_else(|| of_threads(facts).map(|limit| of_gaps(facts).unwrap_or(limit))),
        }
    }
}

/// The limit described by a finding. A host that both prepares and launches too slowly is one limit, with the
/// preparation first.
fn of_finding(facts: &Facts, top: &Bottleneck) -> Limit {
    let is_host = |one: &Bottleneck| matches!(one.class.as_str(), "serialisation" | "launch_bound");
    let bounds =
        |one: &&Bottleneck| is_host(one) && one.gain.is_some_and(|(_, share)| share >= MIN_GAIN);
    let mut found: Vec<&Bottleneck> = if is_host(top) {
        facts.bottlenecks.iter().filter(bounds).collect()
    } else {
        vec![top]
    };
    found.sort_by_key(|one| one.class != "serialisation");
    found.dedup_by_key(|one| &one.class);
    let lead = |one: &&Bottleneck| match one.sentence.rsplit_once("; ") {
        Some((lead, _)) => lead.to_owned(),
        None => one.sentence.clone(),
    };
    let leads: Vec<String> = found.iter().map(lead).collect();
    let by = match found[0].code.as_str() {
        "serialised_launches" | "no_kernel_times" | PROFILER_STOP | ONE_BY_ONE => "profiler",
        "no_device_work" => "not recorded",
        _ => &found[0].class,
    };
    Limit {
        by: by.to_owned(),
        share: None,
        detail: format!(
            "{}: {}",
            words(by, &found[0].code, facts.accelerator()),
            leads.join(", and ").replace("the wall", facts.path_whole())
        ),
    }
}

/// Waits that take clearly longer than the set-up that is the first finding, and are the largest part of the path.
fn of_waits_beyond(facts: &Facts, has_devices: bool, top: &Bottleneck) -> Option<Limit> {
    let (_, set_up) = top.gain.filter(|_| top.class == "set_up")?;
    let waits = facts.path.as_ref().map_or(0.0, |path| path.waits);
    let limit = if has_devices {
        of_waits(facts)
    } else {
        of_host_waits(facts)
    };
    limit.filter(|_| waits >= NEARLY_AS_MUCH * set_up)
}

/// Time without records that is clearly longer than what the first finding saves, if that is recorded work: other findings may be
/// about such time.
fn of_gaps_beyond(facts: &Facts, top: &Bottleneck) -> Option<Limit> {
    let is_of_work = top.class == "set_up" || top.code == SMALL_GRIDS;
    let (_, saved) = top.gain.filter(|_| is_of_work)?;
    let gap = not_recorded(facts).unwrap_or(0.0);
    of_gaps(facts).filter(|_| gap >= NEARLY_AS_MUCH * saved)
}

/// Set-up happens once. What devices do, or without devices the largest name of the path that is called again and
/// again, takes clearly longer.
fn is_below_what_recurs(facts: &Facts, shares: Option<&Shares>, top: &Bottleneck) -> bool {
    let Some((_, set_up)) = top.gain.filter(|_| top.class == "set_up") else {
        return false;
    };
    let recurs = match shares {
        Some(of) => of.computation.max(of.communication).max(of.copy),
        None => {
            let is_wait = |name: &str| facts.path_waits.iter().any(|wait| wait.0 == name);
            let rows = facts.path_work.iter();
            let rows = rows.filter(|(name, _)| !is_wait(name) && !facts.is_iteration(name));
            let rows = rows.filter(|(name, _)| facts.is_enough(name));
            // The first call of a name can be the set-up.
            let rest = |(name, share): &(String, f64)| {
                let is_set_up = top.sentence.contains(&short(name));
                share - if is_set_up { set_up } else { 0.0 }
            };
            rows.map(rest).fold(0.0, f64::max)
        }
    };
    recurs >= NEARLY_AS_MUCH * set_up
}

/// `takes_longest`: what devices do takes longer than what else could bound the run.
fn of_devices(facts: &Facts, shares: &Shares, takes_longest: bool) -> Limit {
    let limit = |by: &str, share: f64, detail: String| Limit {
        by: by.to_owned(),
        share: Some(share),
        detail,
    };
    let Shares {
        computation,
        communication,
        copy,
        idle,
        of,
        ..
    } = *shares;
    let busiest = computation.max(communication).max(copy);
    // Where the path goes through the work of devices, that they idle beside it bounds nothing.
    let is_of_devices = match &facts.path {
        _ if takes_longest || shares.busy() >= MIN_BUSY => true,
        // Ranks that wait for each other idle by the job's design.
        _ if facts.job.is_some_and(|job| job.stages > 1) => true,
        Some(path) => {
            let others = path.host.max(facts.not_recorded(path)).max(path.waits);
            let others = others.max(host_beside(facts));
            // Of two that are about equal, a device that idles for most of the time is not the limit.
            let nearly = if shares.busy() >= HALF {
                NEARLY_AS_MUCH
            } else {
                1.0
            };
            // The rest of calls that copy is the host's, such as making a context.
            let devices = path.computation + path.communication + path.copy.min(copy);
            devices * nearly >= others
        }
        None => busiest >= idle,
    };
    let most = if is_of_devices && busiest > 0.0 {
        busiest
    } else {
        idle
    };
    let (computation, communication, copy) = if is_of_devices {
        (computation, communication, copy)
    } else {
        (-1.0, -1.0, -1.0)
    };
    if computation == most {
        let kinds = facts.device_categories.iter();
        let computing = kinds.filter(|(name, _)| !["communication", "waiting"].contains(&&**name));
        // The names of kernels say more than that most have no category.
        let first = computing.clone().next();
        let has_none = first.is_none_or(|row| is_none(&row.0));
        let is_nameless = has_none && facts.kernels.is_empty();
        let rows: Vec<_> = if has_none && !is_nameless {
            let kernels = facts.kernels.iter();
            let computing = kernels.filter(|of| !is_communication(&of.name));
            computing.map(|of| (of.name.clone(), of.dur_ns)).collect()
        } else {
            computing.cloned().collect()
        };
        // What is wrong with the computing says more than its names.
        let first = facts.bottlenecks.first();
        let first = first.filter(|one| one.class == UNOPTIMISED && one.is_severe);
        let text = match (facts.job, first) {
            (None, Some(one)) => of_finding(facts, one).detail,
            (Some(_), _) if is_nameless => "computation".to_owned(),
            _ => format!("computation: {}", computed(&rows)),
        };
        limit("computation", most, text)
    } else if communication == most {
        let mut found = facts.bottlenecks.iter();
        // Of one device, or of those of all ranks that the finding begins with.
        let is_of_all = |sentence: &str| facts.devices.len() == 1 || sentence.starts_with("on ");
        let waits = if found.any(|one| one.code == "collective_waits" && is_of_all(&one.sentence)) {
            ", most of it waiting while no data moves"
        } else if facts.bottlenecks.iter().any(may_wait_for_ranks) {
            " (some of it may be waiting for other ranks)"
        } else {
            ""
        };
        let (share, whole) = (percent(most), whole(of, facts));
        let text = if computation.max(copy) == 0.0 && facts.host.threads == 0 {
            format!(
                "communication: {share} of {whole}{waits}; only communication was recorded, not the work between"
            )
        } else {
            format!("exposed communication: {share} of {whole}{waits}")
        };
        limit("communication", most, text)
    } else if copy == most {
        let text = format!("copies: {} of {}", percent(most), whole(of, facts));
        limit("copy", most, text)
    } else if let Some(limit) = of_gaps(facts).or_else(|| of_waits(facts)) {
        limit
    } else if let Some(loading) = of_loading(facts) {
        loading
    } else {
        let of_host = |(name, share): &(String, f64)| {
            let kernel = facts.kernels.iter().find(|kernel| kernel.name == *name);
            let of_kernels = kernel.map_or(0.0, |kernel| {
                of_kernels(kernel.dur_ns, *share, facts.wall_ns)
            });
            (name.clone(), share - of_kernels)
        };
        let work: Vec<(String, f64)> = facts.path_work.iter().map(of_host).collect();
        let work = work.iter().filter(|row| row.1 > 0.0);
        let all: f64 = work.clone().map(|row| row.1).sum();
        let work = work.filter(|row| row.1 >= MIN_PART).take(PARTS);
        let work: Vec<(String, String)> = work
            .map(|(name, share)| {
                let place = if facts.is_iteration(name) {
                    "outside operators".to_owned()
                } else {
                    format!("in {}", short(name))
                };
                (percent(*share), place)
            })
            .collect();
        let of_all = facts.path_whole();
        let text = if work.is_empty() {
            match facts.path.as_ref().filter(|path| path.host > 0.0) {
                Some(path) => format!(
                    "the host: {} of {of_all} in many small pieces",
                    percent(path.host)
                ),
                None if host_beside(facts) >= MIN_PART => format!(
                    "the host: it works for {} of the wall while the {} is idle, {}",
                    percent(host_beside(facts)),
                    facts.accelerator(),
                    recorded(&facts.host.bricks)
                ),
                None => "host work while devices wait".to_owned(),
            }
        } else {
            match work.as_slice() {
                [(share, place)] => format!("the host: {share} of {of_all} {place}"),
                parts => {
                    let parts = parts
                        .iter()
                        .map(|(share, place)| format!(", {share} {place}"));
                    let parts: String = parts.collect();
                    format!("the host: {} of {of_all}{parts}", percent(all))
                }
            }
        };
        limit("host", most, text)
    }
}

/// Share of the wall in which the host has rows and no device works, where the path knows nothing of the host: no launch and no
/// dependency was recorded.
fn host_beside(facts: &Facts) -> f64 {
    let of_host = |path: &PathShares| path.host + path.copy + path.waits + path.profiler;
    let known = facts.path.as_ref().map_or(1.0, of_host) + facts.path_held;
    if known >= MIN_PART || facts.host.threads == 0 {
        return 0.0;
    }
    let any_ns = facts.any_busy.as_ref().map(Split::busy_ns);
    let any = any_ns.and_then(|ns| facts.share(ns));
    (facts.covered - any.unwrap_or_else(|| busiest(facts))).max(0.0)
}

/// Loading that a finding names, without a gain, is most of the host's work on the path.
fn of_loading(facts: &Facts) -> Option<Limit> {
    let mut found = facts.bottlenecks.iter();
    let found = found.find(|one| one.code == LOADING && one.gain.is_none())?;
    let host = facts.path.as_ref()?.host;
    let loading: f64 = facts.path_loading.iter().map(|row| row.1).sum();
    (loading >= HALF * host).then(|| of_finding(facts, found))
}

/// The other ranks were not recorded, so what they were late by is not known.
fn may_wait_for_ranks(one: &Bottleneck) -> bool {
    one.class == "exposed_communication" && one.sentence.contains("waiting for other ranks: record")
}

/// Launched work that devices did not start is the largest part of the path. It waited for something that was not recorded,
/// such as work launched before the recording began.
fn of_held(facts: &Facts) -> Option<Limit> {
    let held = facts.path_held;
    let exceeds = |path: &PathShares| {
        let devices = path.computation.max(path.communication).max(path.copy);
        let others = path.host.max(path.waits).max(facts.not_recorded(path));
        held > devices.max(others)
    };
    let is_most = held >= MIN_GAIN && facts.path.as_ref().is_some_and(exceeds);
    (held >= MAX_GAP || is_most).then(|| Limit {
        by: "not recorded".to_owned(),
        share: Some(held),
        detail: format!(
            "an unrecorded cause that delayed launched device work for {} of {}",
            percent(held),
            facts.path_whole()
        ),
    })
}

/// Unexplained waits are the largest part of the path.
fn of_waits(facts: &Facts) -> Option<Limit> {
    let path = facts.path.as_ref()?;
    let is_most = path.waits > path.host.max(facts.not_recorded(path));
    let mut found = facts.bottlenecks.iter();
    let says_why = |one: &&Bottleneck| [PROFILER_STOP, EARLIER_WORK].contains(&one.code.as_str());
    if let Some(why) = found.find(says_why).filter(|_| is_most) {
        return Some(of_finding(facts, why));
    }
    is_most.then(|| Limit {
        by: "waits".to_owned(),
        share: Some(path.waits),
        detail: {
            let named = facts.path_waits.iter().filter(|row| row.1 >= MIN_PART);
            let names: Vec<String> = named.take(PARTS).map(|row| short(&row.0)).collect();
            let (share, of_all) = (percent(path.waits), facts.path_whole());
            if names.is_empty() {
                format!("host waits without a recorded cause: {share} of {of_all}")
            } else {
                let names = names.join(", ");
                let meanwhile = beside_waits(facts, path.waits);
                format!("host waits: {share} of {of_all}, most in {names}; what they wait for was not recorded{meanwhile}")
            }
        },
    })
}

/// What other threads, such as those of an executor, did during most of the waits. It need not be what these were for.
fn beside_waits(facts: &Facts, waits: f64) -> String {
    let most = facts.beside_waits.first();
    match most.filter(|row| row.1 >= HALF * waits) {
        Some((name, share)) => format!(
            ", and other threads ran {} meanwhile ({} of {})",
            short(name),
            percent(*share),
            facts.path_whole()
        ),
        None => String::new(),
    }
}

/// The single call that is unlike the others of its name, and what remains without it.
fn of_one_call(facts: &Facts) -> Option<Limit> {
    let one = facts.one_call.as_ref()?;
    let (wall_ns, share) = (facts.wall_ns?, facts.share(one.dur_ns)?);
    let rest_ns = wall_ns.saturating_sub(one.dur_ns);
    if one.is_first {
        return Some(of_first_collective(facts, one, (share, rest_ns)));
    }
    let busy = facts.devices.first().map(|device| {
        let split = device.split;
        let own_ns = if one.is_communication {
            split.computation_ns
        } else {
            split.computation_ns.saturating_sub(one.dur_ns)
        };
        let computes = trueno_analysis::share(own_ns.max(0), rest_ns).unwrap_or(0.0);
        let rest = sentence::time(rest_ns as f64);
        format!(
            "; of the other {rest}, {} is computation",
            percent(computes)
        )
    });
    let why = if one.is_communication {
        " (late ranks, or start-up)"
    } else {
        ""
    };
    Some(Limit {
        by: ONE_CALL.to_owned(),
        share: Some(share),
        detail: format!(
            "one of {} calls of {}: it takes {}, {} of the wall{why}{}",
            one.calls,
            short(&one.name),
            sentence::time(one.dur_ns as f64),
            percent(share),
            busy.unwrap_or_default()
        ),
    })
}

/// The first collective is longer than all others together: what the device does besides bounds the run once it has started.
fn of_first_collective(facts: &Facts, one: &OneCall, (share, rest_ns): (f64, i64)) -> Limit {
    let rest = facts.devices.first().map(|device| {
        let Split {
            computation_ns,
            communication_ns,
            copy_ns,
            idle_ns,
        } = device.split;
        let mut parts = [
            ("idle", idle_ns),
            ("computation", computation_ns),
            ("exposed communication", communication_ns - one.dur_ns),
            ("exposed copies", copy_ns),
        ]
        .map(|(name, ns)| {
            (
                name,
                trueno_analysis::share(ns.max(0), rest_ns).unwrap_or(0.0),
            )
        });
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let parts = parts.iter().filter(|part| part.1 >= MIN_PART);
        let parts = parts.map(|(name, share)| format!("{} is {name}", percent(*share)));
        let parts: Vec<String> = parts.collect();
        let of = sentence::time(rest_ns as f64);
        format!("; of the other {of}, {}", parts.join(", "))
    });
    Limit {
        by: ONE_CALL.to_owned(),
        share: Some(share),
        detail: format!(
            "the first of {} collectives, {}: it takes {}, {} of the wall, more than all others together (start-up, or late ranks){}",
            wording::count(one.calls),
            short(&one.name),
            sentence::time(one.dur_ns as f64),
            percent(share),
            rest.unwrap_or_default()
        ),
    }
}

/// Gaps are half of the path, or its largest part, so what bounds the run is unknown.
fn of_gaps(facts: &Facts) -> Option<Limit> {
    let is_most = |gap: f64| {
        let path = facts.path.as_ref();
        let is_largest = |path: &PathShares| {
            let of_host = (facts.covered - busiest(facts)).max(0.0);
            let others = path.host.max(path.waits).max(of_host);
            gap > others && gap >= path.devices()
        };
        path.is_some_and(is_largest)
    };
    let gap = not_recorded(facts).filter(|gap| *gap >= MAX_GAP || is_most(*gap))?;
    if let Some(limit) = of_waits_alone(facts) {
        return Some(limit);
    }
    let (what, ran) = what_gaps_are(facts, gap);
    Some(Limit {
        by: "not recorded".to_owned(),
        share: Some(gap),
        detail: format!(
            "{what}: {} of {}{ran}{}",
            percent(gap),
            facts.path_whole(),
            beside_gaps(facts, gap)
        ),
    })
}

/// What the gaps are, and for how long a thread whose context switches were recorded ran in them: at least for the time
/// that the rest of the wall is too short for. The rest is at most what is neither a gap nor a wait that the switches show.
fn what_gaps_are(facts: &Facts, gap: f64) -> (&'static str, String) {
    let waits = facts.path_waits.iter().find(|row| row.0 == "off_cpu");
    let rest = (1.0 - gap - waits.map_or(0.0, |row| row.1)).max(0.0);
    let ran = facts.ran_ns.and_then(|ran_ns| facts.share(ran_ns));
    match ran.map_or(0.0, |ran| (ran - rest) / gap) {
        ran if ran >= MOST => ("host code that ran without records", String::new()),
        ran if ran >= HALF => {
            let ran = format!(", of which a thread ran at least {}", percent(ran));
            ("unrecorded time", ran)
        }
        _ => ("unrecorded time", String::new()),
    }
}

/// The rows of a file do nothing but wait.
fn of_waits_alone(facts: &Facts) -> Option<Limit> {
    let is_alone = facts.devices.is_empty() && facts.host.busy_ns == 0;
    let share = facts.coverage.filter(|_| is_alone)?;
    let names = facts.host.waits.iter().take(PARTS);
    let names: Vec<String> = names.map(|row| short(&row.0)).collect();
    (!names.is_empty()).then(|| Limit {
        by: "waits".to_owned(),
        share: Some(share),
        detail: format!(
            "waits: {} of {}, in {}; only waits were recorded, not the work between",
            percent(share),
            facts.path_whole(),
            names.join(", ")
        ),
    })
}

/// What is known besides unrecorded time: the name with the most of the path, or without a host how the device idles.
fn beside_gaps(facts: &Facts, gap: f64) -> String {
    if facts.host.threads > 0 {
        let mut rows = facts.path_work.iter();
        let is_wait = |name: &str| facts.path_waits.iter().any(|wait| wait.0 == name);
        let most = rows.find(|(name, share)| {
            *share >= MIN_PART && !facts.is_iteration(name) && !is_wait(name)
        });
        // Rows beside the path, such as those of readers that nothing is known to wait for, fill its gaps.
        let leaves_out = |of_path: f64| of_path - gap >= MIN_PART;
        let is_beside = facts.devices.is_empty()
            && !facts.host.bricks.is_empty()
            && facts.path_gap.is_some_and(leaves_out);
        let copies = facts.path.as_ref().map_or(0.0, |path| path.copy);
        let copies = Some(copies).filter(|share| *share >= MIN_PART);
        let most = match (most, copies) {
            _ if is_beside => format!(", then {}", recorded(&facts.host.bricks)),
            (Some((name, share)), copies) if copies.is_none_or(|copies| copies <= *share) => {
                format!(", then {} in {}", percent(*share), short(name))
            }
            (_, Some(copies)) => format!(", then {} in copies", percent(copies)),
            (_, None) => String::new(),
        };
        let mut names = facts.host.bricks.iter().chain(&facts.host.waits);
        let uses_device = names.any(|row| vendors::call(&row.0).is_some());
        return if facts.devices.is_empty() && uses_device {
            format!("{most}; a device was called, and no work of it was recorded")
        } else {
            most
        };
    }
    let ([device], Some(wall_ns)) = (facts.devices.as_slice(), facts.wall_ns) else {
        return String::new();
    };
    let noun = facts.accelerator();
    let longest_ns = device.longest_gap_ns;
    let idle_ns = device.split.idle_ns;
    if longest_ns as f64 * TWICE >= gap * wall_ns as f64 && device.gaps > 1 {
        let rest_ns = wall_ns.saturating_sub(longest_ns);
        let computes = trueno_analysis::share(device.split.computation_ns, rest_ns);
        return format!(
            ", most of it one gap of {}; of the other {}, {} is computation",
            sentence::time(longest_ns as f64),
            sentence::time(rest_ns as f64),
            percent(computes.unwrap_or(0.0))
        );
    }
    if device.gaps == 0 {
        return String::new();
    }
    let mean_ns = idle_ns as f64 / device.gaps as f64;
    format!(
        ", while the {noun} was idle {} times for {} on average; nothing of the host was recorded",
        wording::count(device.gaps),
        sentence::time(mean_ns)
    )
}

/// Files such as Horovod's timeline hold communication and waits for it, and never the work between.
fn of_communication_alone(facts: &Facts) -> Option<Limit> {
    let of = |wanted: &[&str]| {
        let rows = facts.host.categories.iter();
        let rows = rows.filter(|row| wanted.contains(&row.0.as_str()));
        rows.map(|row| row.1).fold(0, i64::saturating_add)
    };
    let all_ns = facts.host.categories.iter().map(|row| row.1);
    let all_ns = all_ns.fold(0, i64::saturating_add);
    let share = |ns: i64| trueno_analysis::share(ns, all_ns).unwrap_or(0.0);
    let is_alone = share(of(&["communication"])) >= MIN_PART
        && share(of(&["communication", "memory", "waiting"])) >= ALONE;
    let gap = not_recorded(facts).filter(|gap| is_alone && *gap >= MIN_PART)?;
    Some(Limit {
        by: "communication".to_owned(),
        share: Some(1.0 - gap),
        detail: format!(
            "communication: {} of {}{}; only communication was recorded, not the work between",
            percent(1.0 - gap),
            facts.path_whole(),
            most_on_path(facts, ", ", " in ")
        ),
    })
}

/// The names with the most of the critical path, for example `, 49 % in execute, 41 % in wait`; empty: none has much.
fn most_on_path(facts: &Facts, lead: &str, before: &str) -> String {
    let rows = facts.path_work.iter().filter(|row| row.1 >= MIN_PART);
    let rows = rows.take(PARTS);
    let parts: Vec<String> = rows
        .map(|(name, share)| format!("{}{before}{}", percent(*share), short(name)))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("{lead}{}", parts.join(", "))
}

/// Share of the path in gaps, and in iterations outside everything recorded in them.
fn not_recorded(facts: &Facts) -> Option<f64> {
    let of_iterations = facts
        .path_work
        .iter()
        .filter(|row| facts.is_iteration(&row.0));
    let outside: f64 = of_iterations.map(|row| row.1).sum();
    let gap = facts.path_gap?;
    // A path that knows no order between streams has gaps where a device worked.
    Some((gap + outside).min(1.0 - busiest(facts).max(facts.covered).min(1.0)))
}

/// Share of the wall in which the busiest device worked.
fn busiest(facts: &Facts) -> f64 {
    let busy_ns = facts.devices.iter().map(|device| device.split.busy_ns());
    facts.share(busy_ns.max().unwrap_or(0)).unwrap_or(0.0)
}

/// Waits of threads are the largest part of the path.
fn of_host_waits(facts: &Facts) -> Option<Limit> {
    let path = facts.path.as_ref()?;
    let is_most = path.waits > path.host.max(facts.not_recorded(path));
    (is_most && !facts.host.waits.is_empty()).then(|| Limit {
        by: "waits".to_owned(),
        share: Some(path.waits),
        detail: {
            let names = facts.host.waits.iter().take(PARTS).map(|row| short(&row.0));
            let names: Vec<String> = names.collect();
            let share = percent(path.waits);
            format!(
                "waits: {share} of {}, in {}",
                facts.path_whole(),
                names.join(", ")
            )
        },
    })
}

fn of_threads(facts: &Facts) -> Option<Limit> {
    if let Some(limit) = of_host_waits(facts) {
        return Some(limit);
    }
    let host = &facts.host;
    let each = host.categories.iter().map(|row| row.1);
    let all_ns = each.fold(0, i64::saturating_add);
    let (first, ns) = host.categories.first()?;
    let computes =
        |name: &str| !["communication", "data loading", "memory", "waiting"].contains(&name);
    let (by, detail) = match first.as_str() {
        name if is_none(name) => ("host", format!("the host: {}", recorded(&host.bricks))),
        other if !computes(other) => {
            let what = match other {
                "memory" => "copies and allocation",
                other => other,
            };
            let is_known = host.categories.iter().all(|row| !is_none(&row.0));
            // The names on the path say more of what has no category.
            let on_path = if is_known {
                String::new()
            } else {
                most_on_path(facts, "; on the critical path ", " ")
            };
            let categories = host.categories.iter();
            let shown = categories.filter(|row| on_path.is_empty() || !is_none(&row.0));
            let shown: Vec<_> = shown.cloned().collect();
            let mut shares = largest_of(&shown, all_ns).into_iter();
            let first = match shares.next() {
                Some((_, share)) => format!("{share} of recorded time"),
                None => SMALL_PIECES.to_owned(),
            };
            let others: String = shares
                .map(|(name, share)| format!(", {share} {name}"))
                .collect();
            (other, format!("{what}: {first}{others}{on_path}"))
        }
        _ => {
            let busy = host.categories.iter().filter(|row| row.0 != "waiting");
            let name = |name: &str| match name {
                "memory" => "copies and allocation".to_owned(),
                name => name.to_owned(),
            };
            let rows: Vec<_> = busy.map(|row| (name(&row.0), row.1)).collect();
            ("computation", format!("computation: {}", computed(&rows)))
        }
    };
    Some(Limit {
        by: by.to_owned(),
        share: trueno_analysis::share(*ns, all_ns),
        detail,
    })
}

fn words(class: &str, code: &str, accelerator: &str) -> String {
    match class {
        _ if code == SMALL_GRIDS => format!("grids too small for the {accelerator}"),
        _ if code == "serialised_launches" => "serialised launches".to_owned(),
        _ if ["no_kernel_times", PROFILER_STOP, ONE_BY_ONE].contains(&code) => {
            "a profiler".to_owned()
        }
        _ if code == "no_device_work" => "an incomplete recording".to_owned(),
        _ if code == "one_lane" => "serial work".to_owned(),
        _ if code == "tear_down" => "tear-down".to_owned(),
        _ if code == "device_copies" => format!("copies within the {accelerator}"),
        "file_access" => "files".to_owned(),
        "data_load_bound" => "data loading".to_owned(),
        "cpu_preprocessing" => "preprocessing".to_owned(),
        "device_allocation" => "allocation of device memory".to_owned(),
        "serialisation" => "host work between launches".to_owned(),
        "launch_bound" => "launches".to_owned(),
        "sync_bound" => "waits".to_owned(),
        "busy_machine" => "a busy machine".to_owned(),
        "unoptimised" => "computation".to_owned(),
        "set_up" => "set-up".to_owned(),
        "idle_stretch" => "one idle stretch".to_owned(),
        _ => class
            .strip_suffix("_bound")
            .unwrap_or(class)
            .replace('_', " "),
    }
}

/// True for placeholder categories. The names of their rows say more.
fn is_none(category: &str) -> bool {
    matches!(category, "uncategorised" | "outside bricks")
}

fn whole(of: &str, facts: &Facts) -> String {
    match of {
        "span" => format!("the {}'s time", facts.accelerator()),
        _ => "the wall".to_owned(),
    }
}

/// The largest rows, with their shares of the sum of all.
fn largest(rows: &[(String, i64)]) -> Vec<(String, String)> {
    largest_of(
        rows,
        rows.iter().map(|row| row.1).fold(0, i64::saturating_add),
    )
}

fn largest_of(rows: &[(String, i64)], all_ns: i64) -> Vec<(String, String)> {
    let share = |ns: i64| trueno_analysis::share(ns, all_ns).unwrap_or(0.0);
    let named = by_short_name(rows).into_iter();
    let named = named.filter(|row| share(row.1) >= MIN_PART);
    named
        .take(PARTS)
        .map(|(name, ns)| (name, percent(share(ns))))
        .collect()
}

const SMALL_PIECES: &str = "many small pieces";

/// Shares of computing time: `50 % GEMM, 20 % Norm`.
fn computed(rows: &[(String, i64)]) -> String {
    let all_ns = rows.iter().map(|row| row.1).fold(0, i64::saturating_add);
    let named = rows.iter().filter(|row| !is_none(&row.0));
    let named: Vec<_> = named.cloned().collect();
    // If no time has a name, the sentence says so.
    let named = if named.is_empty() { rows } else { &named };
    let rows = largest_of(named, all_ns).into_iter();
    let parts: Vec<String> = rows
        .map(|(name, share)| format!("{share} {name}"))
        .collect();
    if parts.is_empty() {
        return SMALL_PIECES.to_owned();
    }
    parts.join(", ")
}

/// Shares of recorded time: `67 % of recorded time in a, 33 % in b`.
fn recorded(rows: &[(String, i64)]) -> String {
    let rows = largest(rows).into_iter().enumerate();
    let parts: Vec<String> = rows
        .map(|(at, (name, share))| match at {
            0 => format!("{share} of recorded time in {name}"),
            _ => format!("{share} in {name}"),
        })
        .collect();
    if parts.is_empty() {
        return SMALL_PIECES.to_owned();
    }
    parts.join(", ")
}
