//! Idle time of devices and streams between their first and their last operation.
//!
//! A *gap* lies between the end of all operations so far and the start of the next. It is cut at the beginning of
//! the call for that next operation:
//!
//! | part | when |
//! | --- | --- |
//! | no work queued | the next operation was not launched yet |
//! | launching | from the call, which began in the gap, to the start, or to its return where the device held the operation after that |
//! | queued but not started | the call began before the gap, or had returned for longer than a launch is on its way: an event, or work of another stream held it |
//! | not known | no call is recorded |

use crate::operations::{Loaded, Operation};
use crate::queue::{Queue, queue};

/// Idle time split by cause. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleParts {
    pub not_queued_ns: i64,
    /// From the call to the start of the operation, or to the call's return if the device held the operation
    /// back. Only if the call began in the gap.
    pub launching_ns: i64,
    /// Gaps that began after the call, and the time in a gap after a call's return in which the device held the
    /// operation back.
    pub not_started_ns: i64,
    pub not_known_ns: i64,
}

impl IdleParts {
    fn add(&mut self, other: Self) {
        let sum = |a: &mut i64, b: i64| *a = a.saturating_add(b);
        sum(&mut self.not_queued_ns, other.not_queued_ns);
        sum(&mut self.launching_ns, other.launching_ns);
        sum(&mut self.not_started_ns, other.not_started_ns);
        sum(&mut self.not_known_ns, other.not_known_ns);
    }

    /// A part that depends on calls; `None` if all of the idle time lacks a call.
    pub fn told(&self, of: fn(&Self) -> i64) -> Option<i64> {
        let told = [self.not_queued_ns, self.launching_ns, self.not_started_ns];
        let is_told = self.not_known_ns == 0 || told.iter().any(|ns| *ns > 0);
        is_told.then(|| of(self))
    }

    pub fn most(&self) -> &'static str {
        let parts = [
            (self.not_queued_ns, "no work queued"),
            (self.launching_ns, "being launched"),
            (self.not_started_ns, "queued but not started"),
            (self.not_known_ns, "not known"),
        ];
        // Of equals the first.
        let most = parts.into_iter().rev().max_by_key(|part| part.0);
        most.map_or("not known", |part| part.1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub start_ns: i64,
    pub end_ns: i64,
    /// The operation that ended last before the gap.
    pub after: Operation,
    pub next: Operation,
    pub parts: IdleParts,
}

impl Gap {
    pub fn dur_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlaceTimes {
    pub device: i64,
    pub stream: Option<i64>,
    pub operations: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub busy_ns: i64,
    /// Sum of the durations of its operations, which may run at the same time.
    pub dur_ns: i64,
    pub parts: IdleParts,
    pub gaps: u64,
    /// Duration of the longest gap.
    pub longest_ns: Option<i64>,
    /// Operations waiting to start.
    pub queue: Option<Queue>,
}

impl PlaceTimes {
    pub fn span_ns(&self) -> i64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    pub fn idle_ns(&self) -> i64 {
        self.span_ns().saturating_sub(self.busy_ns)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub times: PlaceTimes,
    /// In order of time.
    pub gaps: Vec<Gap>,
}

impl Place {
    /// Idle times of operations that are sorted by start; `None` if there are none.
    fn from_operations(operations: &[Operation], stream: Option<i64>, way_ns: i64) -> Option<Self> {
        let first = operations.first()?;
        let mut times = PlaceTimes {
            device: first.device,
            stream,
            operations: operations.len() as u64,
            first_ns: first.start_ns,
            last_ns: first.end_ns,
            busy_ns: first.dur_ns(),
            dur_ns: operations
                .iter()
                .map(Operation::dur_ns)
                .fold(0, i64::saturating_add),
            parts: IdleParts::default(),
            gaps: 0,
            longest_ns: None,
            queue: queue(operations.iter()),
        };
        let mut gaps = Vec::new();
        let mut after = *first;
        for next in &operations[1..] {
            if next.start_ns > times.last_ns {
                let gap = gap(after, *next, way_ns);
                times.parts.add(gap.parts);
                times.gaps += 1;
                times.longest_ns = times.longest_ns.max(Some(gap.dur_ns()));
                gaps.push(gap);
            }
            let more_ns = next.end_ns.saturating_sub(next.start_ns.max(times.last_ns));
            times.busy_ns = times.busy_ns.saturating_add(more_ns.max(0));
            if next.end_ns > times.last_ns {
                (times.last_ns, after) = (next.end_ns, *next);
            }
        }
        Some(Self { times, gaps })
    }
}

/// Limits on how long a launch may take to reach the device after its call returned, in multiples of the usual call
/// (its lower quartile). Within them the limit is twice the quickest launch of the device. If a call takes 5 µs,
/// that is 20 to 100 µs.
const WAY_CALLS: (i64, i64) = (4, 20);

fn way_ns(operations: &[Operation]) -> i64 {
    let launched = operations.iter().filter(|of| !of.shares_call);
    let launched = launched.filter_map(|of| Some((of.start_ns, of.call?)));
    let least_ns = launched
        .clone()
        .map(|(start_ns, call)| start_ns.saturating_sub(call.1).max(0))
        .min();
    let calls = launched.map(|(_, call)| call.1.saturating_sub(call.0));
    let mut calls: Vec<i64> = calls.collect();
    calls.sort_unstable();
    let quarter = calls.len().saturating_sub(1) / 4;
    let call_ns = calls.get(quarter).copied().unwrap_or(0).max(0);
    let (least, most) = WAY_CALLS;
    let way_ns = least_ns.unwrap_or(0).saturating_mul(2);
    way_ns.clamp(call_ns.saturating_mul(least), call_ns.saturating_mul(most))
}

fn gap(after: Operation, next: Operation, way_ns: i64) -> Gap {
    let (start_ns, end_ns) = (after.end_ns, next.start_ns);
    let dur_ns = end_ns.saturating_sub(start_ns);
    let mut parts = IdleParts::default();
    match next.call {
        None => parts.not_known_ns = dur_ns,
        Some((called_ns, _)) if called_ns <= start_ns => parts.not_started_ns = dur_ns,
        Some((called_ns, returned_ns)) => {
            parts.not_queued_ns = called_ns.saturating_sub(start_ns);
            let is_held = end_ns.saturating_sub(returned_ns) > way_ns;
            let until_ns = if is_held { returned_ns } else { end_ns };
            parts.launching_ns = until_ns.saturating_sub(called_ns);
            parts.not_started_ns = end_ns.saturating_sub(until_ns);
        }
    }
    Gap {
        start_ns,
        end_ns,
        after,
        next,
        parts,
    }
}

/// Each device, followed by its streams if it has several.
pub fn places(loaded: &Loaded) -> Vec<Place> {
    let mut out = Vec::new();
    for device in loaded.devices() {
        let way_ns = way_ns(device);
        let mut by_start = device.to_vec();
        by_start.sort_unstable_by_key(|o| (o.start_ns, o.end_ns, o.id));
        out.extend(Place::from_operations(&by_start, None, way_ns));
        let streams: Vec<&[Operation]> = device.chunk_by(|a, b| a.stream == b.stream).collect();
        if streams.len() > 1 {
            let known = streams.iter().filter(|of| of[0].stream.is_some());
            out.extend(known.filter_map(|of| Place::from_operations(of, of[0].stream, way_ns)));
        }
    }
    out
}
