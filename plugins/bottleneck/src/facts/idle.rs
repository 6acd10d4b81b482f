//! Causes of idle time between two pieces of work of a device.
//!
//! A gap has one cause, so launch-bound, sync-bound, starved and serial programs are told apart by one table, and its times
//! add up. It lies between the end of all work so far and the start of the next, `w`. What held `w` up:
//!
//! | cause | when |
//! | --- | --- |
//! | `device` | the host launched `w` at least `launch_ns` before the gap began, or most of the gap, and more than a launch is on its way for, came after the launch had returned |
//! | `loader` | the host loaded input for at least half of the time until the launch |
//! | `host` | the launch took at least `prepare_ns` to come, waits for the device not counted: the host prepared |
//! | `sync` | the host was in a wait for the device when the gap began, and launched soon after |
//! | `launch` | the launch came soon, but too late: launching is slower than the work |
//! | `unknown` | the launch, or its device, is not recorded |
//!
//! Before the first and after the last piece of work of a device there is no gap. A copy of at most `read_back_bytes` that the
//! host waits for takes as long as an empty one: it is a wait, and no work.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::intervals::IntervalSet;
use trueno_plugin::rank;

use super::device::{Wait, Work, device_name};
use super::{Bricks, Device, Window};

/// A wait that begins within this many usual calls after a copy call returned is a wait for that copy.
const AT_ONCE_CALLS: i64 = 4;
/// A launch within this many usual calls before the device became idle was still on its way.
const LAUNCH_CALLS: i64 = 2;
/// If the host takes this many usual calls before it launches, it is preparing work.
const PREPARE_CALLS: i64 = 40;
/// How long a launch may be on its way after it returned: twice the shortest such time, clamped to this range of
/// usual calls.
const WAY_CALLS: (i64, i64) = (4, 20);
/// Launch call duration if none was recorded.
const CALL_NS: i64 = 5_000;

/// Limits in the module's table that a user may set. Times that are `None` are derived from the usual launch call.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub launch_ns: Option<i64>,
    pub prepare_ns: Option<i64>,
    pub read_back_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub launch_ns: i64,
    pub prepare_ns: i64,
    pub way_ns: i64,
    at_once_ns: i64,
    read_back_bytes: u64,
}

impl Scale {
    pub fn new(limits: &Limits, device: &Device) -> Self {
        let call_ns = device.usual_call_ns.unwrap_or(CALL_NS).max(1);
        let calls = |count: i64| call_ns.saturating_mul(count);
        let way_ns = device.least_way_ns.unwrap_or(0).saturating_mul(2);
        Self {
            launch_ns: limits.launch_ns.unwrap_or(calls(LAUNCH_CALLS)),
            prepare_ns: limits.prepare_ns.unwrap_or(calls(PREPARE_CALLS)),
            way_ns: way_ns.clamp(calls(WAY_CALLS.0), calls(WAY_CALLS.1)),
            at_once_ns: calls(AT_ONCE_CALLS),
            read_back_bytes: limits.read_back_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Device,
    Loader,
    Host,
    Sync,
    Launch,
    Unknown,
}

impl Cause {
    pub const ALL: [Self; 6] = [
        Self::Device,
        Self::Loader,
        Self::Host,
        Self::Sync,
        Self::Launch,
        Self::Unknown,
    ];

    pub fn name(self) -> &'static str {
        ["device", "loader", "host", "sync", "launch", "unknown"][self as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub device: i64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub cause: Cause,
    /// The part of the gap before the host's wait returned; it is not the host's fault.
    pub held_ns: i64,
    /// The part of the gap in which input was loaded, before the host's launch.
    pub loading_ns: i64,
    pub wait: Option<u64>,
    /// The copy that the host waited for: the wait itself, or the copy launched just before the wait.
    pub copy: Option<u64>,
    pub next: u64,
    pub next_is_copy: bool,
    /// Time of the gap in the call that launched its kernel for the first time, where that is most of the gap and no
    /// usual launch: code is loaded there. 0 for all other gaps.
    pub first_launch_ns: i64,
}

impl Gap {
    pub fn dur_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Time of the gap in the call that launched the next work.
    pub fn in_call_ns(&self, next: &Work) -> i64 {
        next.launch.map_or(0, |(from, to)| {
            let until_ns = to.min(self.end_ns);
            until_ns.saturating_sub(from.max(self.start_ns)).max(0)
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Idle {
    pub gaps: Vec<Gap>,
    /// Device, start of its first work, end of its last work, and its busy time in between.
    pub spans: Vec<(i64, i64, i64, i64)>,
}

impl Idle {
    pub fn find(device: &Device, bricks: &Bricks, window: &Window, limits: &Scale) -> Self {
        let mut out = Self::default();
        // What another rank does holds no device of this one.
        let mut all_holds: BTreeMap<i64, Vec<Hold>> = BTreeMap::new();
        for hold in holds(device, limits.at_once_ns) {
            if let Ok(rank) = i64::try_from(rank::of_key(hold.2)) {
                all_holds.entry(rank).or_default().push(hold);
            }
        }
        let mut all_loaders: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        for load in &bricks.loaders {
            all_loaders.entry(load.rank).or_default().push(load.range);
        }
        for number in device.devices() {
            let (rank, _) = rank::of_place(number);
            let holds = all_holds.get(&rank).map_or(&[][..], Vec::as_slice);
            let loaders = all_loaders.get(&rank).into_iter().flatten();
            let loaders: IntervalSet<i64> = loaders.copied().collect();
            let mut busy_until: Option<i64> = None;
            let mut first = window.until_ns;
            let mut busy = 0;
            let mut launched = BTreeSet::new();
            // A copy of a few bytes that the host waits for is a wait. What ran on a device that is not on record may have run
            // on this one: who counts it out would call the device idle.
            let is_work = |work: &&Work| !work.is_read_back(limits.read_back_bytes);
            for work in device.possibly_of(number).into_iter().filter(is_work) {
                first = first.min(work.start_ns);
                let until = busy_until.unwrap_or(work.start_ns);
                let more = work.end_ns.saturating_sub(work.start_ns.max(until));
                busy = more.max(0).saturating_add(busy);
                let is_own = work.is_kernel() && work.device == Some(number);
                let is_first = is_own && launched.insert(work.name);
                if work.start_ns > until {
                    let times = (until, work.start_ns);
                    let mut gap = gap(number, times, work, holds, &loaders, limits);
                    // What ran before the recording has its code.
                    let may_load = !window.is_part && !device.was_in_use;
                    if is_first && may_load && gap.cause != Cause::Device {
                        let ns = gap.in_call_ns(work);
                        let is_most = ns.saturating_mul(2) >= gap.dur_ns();
                        if is_most && ns >= limits.prepare_ns {
                            gap.first_launch_ns = ns;
                        }
                    }
                    out.gaps.push(gap);
                }
                busy_until = Some(until.max(work.end_ns));
            }
            out.spans
                .push((number, first, busy_until.unwrap_or(first), busy));
        }
        out
    }

    /// Gaps of a device. `gaps` has those of one device after those of the one before.
    pub fn of(&self, device: i64) -> &[Gap] {
        let from = self.gaps.partition_point(|gap| gap.device < device);
        let until = self.gaps.partition_point(|gap| gap.device <= device);
        &self.gaps[from..until]
    }

    pub fn total(&self, device: i64, cause: Cause) -> (u64, i64) {
        let gaps = self.of(device).iter();
        let gaps = gaps.filter(|gap| gap.cause == cause);
        gaps.fold((0, 0), |(n, ns), gap| {
            (n + 1, gap.dur_ns().saturating_add(ns))
        })
    }

    pub fn busy_ns(&self, device: i64) -> i64 {
        self.spans
            .iter()
            .find(|span| span.0 == device)
            .map_or(0, |span| span.3)
    }

    pub fn device_name(device: i64) -> String {
        device_name(device)
    }
}

/// A wait or blocking copy of the host: start, end, id, and the copy that it is or waits for.
type Hold = (i64, i64, u64, Option<u64>);

fn holds(device: &Device, at_once_ns: i64) -> Vec<Hold> {
    let waits = device.waits.iter().filter(|wait| wait.may_be_for_device());
    let mut waits: Vec<&Wait> = waits.collect();
    waits.sort_by_key(|wait| (rank::of_key(wait.id), wait.start_ns));
    let asked = asked_last(device, &waits);
    let waits = waits.iter().zip(asked).map(|(wait, asked)| {
        let is_copy = |work: &&Work| matches!(device.name(work), "h2d" | "d2h");
        let copy = asked.filter(is_copy).and_then(|work| {
            let (_, returned_ns) = work.launch?;
            let is_at_once = wait.start_ns.saturating_sub(returned_ns) <= at_once_ns;
            (!work.is_kernel() && is_at_once).then_some(work.id)
        });
        (wait.start_ns, wait.end_ns, wait.id, copy)
    });
    let copies = device.work.iter().filter_map(|work| {
        let (from, to) = work
            .launch
            .filter(|_| work.copy.is_some_and(|copy| copy.blocks))?;
        // A call that came back before the copy ended held nobody.
        (to >= work.end_ns).then_some((from, to, work.id, Some(work.id)))
    });
    let mut out: Vec<_> = waits.chain(copies).collect();
    out.sort_by_key(|hold| (hold.1, hold.0, hold.2));
    out
}

/// For each wait, the last work that its rank launched since the wait before. `waits` are sorted by rank and start.
fn asked_last<'d>(device: &'d Device, waits: &[&Wait]) -> Vec<Option<&'d Work>> {
    let mut out: Vec<Option<(i64, &Work)>> = vec![None; waits.len()];
    if waits.is_empty() {
        return Vec::new();
    }
    for work in &device.work {
        let Some((called_ns, _)) = work.launch else {
            continue;
        };
        let rank = rank::of_key(work.id);
        let is_before = |wait: &&Wait| (rank::of_key(wait.id), wait.start_ns) <= (rank, called_ns);
        let next = waits.partition_point(is_before);
        if waits
            .get(next)
            .is_some_and(|wait| rank::of_key(wait.id) == rank)
        {
            let is_later = |last: (i64, &Work)| (called_ns, work.id) > (last.0, last.1.id);
            if out[next].is_none_or(is_later) {
                out[next] = Some((called_ns, work));
            }
        }
    }
    out.into_iter().map(|last| Some(last?.1)).collect()
}

fn gap(
    device: i64,
    (start_ns, end_ns): (i64, i64),
    next: &Work,
    holds: &[Hold],
    loaders: &IntervalSet<i64>,
    limits: &Scale,
) -> Gap {
    let mut out = Gap {
        device,
        start_ns,
        end_ns,
        cause: Cause::Unknown,
        held_ns: 0,
        loading_ns: 0,
        wait: None,
        copy: None,
        next: next.id,
        next_is_copy: !next.is_kernel(),
        first_launch_ns: 0,
    };
    let Some((called_ns, returned_ns)) = next.launch.filter(|_| next.device.is_some()) else {
        return out;
    };
    let asked_ns = called_ns.clamp(start_ns, end_ns);
    // A gap has two parts, before the launch and after it. In a call that blocks the host still holds the work.
    let after_launch_ns = end_ns.saturating_sub(returned_ns.max(asked_ns));
    let is_mostly_after =
        after_launch_ns > limits.way_ns && after_launch_ns >= asked_ns.saturating_sub(start_ns);
    if called_ns.saturating_add(limits.launch_ns) <= start_ns || is_mostly_after {
        out.cause = Cause::Device;
        return out;
    }
    // The last wait that was over when the host asked, if one was on when the gap began.
    let before = &holds[..holds.partition_point(|hold| hold.1 <= asked_ns)];
    let mut since = before.iter().rev().take_while(|hold| hold.1 >= start_ns);
    let was_held = since.any(|hold| hold.0 <= start_ns);
    let hold = before.last().filter(|_| was_held);
    let free_ns = hold.map_or(start_ns, |hold| hold.1);
    if let Some(hold) = hold {
        (out.held_ns, out.wait, out.copy) =
            (free_ns.saturating_sub(start_ns), Some(hold.2), hold.3);
    }
    let loading = loaders.within_ns(start_ns, asked_ns);
    out.loading_ns = loading;
    out.cause =
        if loading > 0 && loading >= asked_ns.saturating_sub(start_ns).saturating_sub(loading) {
            Cause::Loader
        } else if asked_ns.saturating_sub(free_ns) >= limits.prepare_ns {
            Cause::Host
        } else if hold.is_some() {
            Cause::Sync
        } else {
            Cause::Launch
        };
    out
}
