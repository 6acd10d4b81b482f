//! From the host's call to the start of the work.
//!
//! ```text
//! call.start        end of all before it on its stream        start
//!     ├──────────────── queued ────────────────┼──── latency ────┤
//! ```
//!
//! *Queued* is the part in which earlier operations of the stream were running, *latency* the rest: the way to the
//! device, and waits for events of other streams. Both add up to `start − call.start`.

use std::collections::BTreeMap;

use trueno_analysis::value_counts::ValueCounts;

use crate::operations::{Loaded, Operation};

/// The parts of the time from an operation's call to its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDelay {
    /// Time behind earlier work on the stream.
    pub queued_ns: i64,
    /// Time from the end of that work, or from the call, to the start.
    pub latency_ns: i64,
}

/// Delay of an operation with a call and a stream. `free_ns` is when earlier work on the stream ended.
pub fn launch_delay(operation: &Operation, free_ns: Option<i64>) -> Option<LaunchDelay> {
    let (called_ns, _) = operation.call?;
    operation.stream?;
    let all_ns = operation.start_ns.saturating_sub(called_ns);
    let busy_ns = free_ns.map_or(0, |free_ns| free_ns.saturating_sub(called_ns));
    let queued_ns = busy_ns.clamp(0, all_ns);
    Some(LaunchDelay {
        queued_ns,
        latency_ns: all_ns - queued_ns,
    })
}

/// A kernel name or a transfer direction, and whether it is a direction.
pub type NameKey = (String, bool);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameTotals {
    pub operations: u64,
    /// Operations with a call and a stream.
    pub linked: u64,
    pub dur_ns: i64,
    /// Time of the calls. A call that launched several operations counts once, at the first of them.
    pub call_ns: i64,
    pub queued_ns: i64,
    /// Latencies of operations with a call and a stream.
    pub latencies_ns: ValueCounts,
    /// Operations with a call that ran for less time than their latency.
    pub shorter: u64,
}

impl NameTotals {
    pub fn merge(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.linked = self.linked.saturating_add(other.linked);
        self.dur_ns = self.dur_ns.saturating_add(other.dur_ns);
        self.call_ns = self.call_ns.saturating_add(other.call_ns);
        self.queued_ns = self.queued_ns.saturating_add(other.queued_ns);
        self.latencies_ns.merge(&other.latencies_ns);
        self.shorter = self.shorter.saturating_add(other.shorter);
    }

    pub fn latency_ns(&self) -> i64 {
        let each = self.latencies_ns.iter();
        each.fold(0, |sum, (ns, count)| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            ns.saturating_mul(count).saturating_add(sum)
        })
    }
}

pub fn by_name(loaded: &Loaded) -> BTreeMap<NameKey, NameTotals> {
    // Latencies are counted once all are there: to look up each in turn takes longer.
    let mut totals: BTreeMap<u32, (NameTotals, Vec<i64>)> = BTreeMap::new();
    for stream in loaded.streams() {
        let mut free_ns: Option<i64> = None;
        for operation in stream {
            let (of, latencies_ns) = totals.entry(operation.name).or_default();
            let dur_ns = operation.end_ns.saturating_sub(operation.start_ns);
            of.operations += 1;
            of.dur_ns = of.dur_ns.saturating_add(dur_ns);
            if let (Some(way), Some((from_ns, to_ns))) =
                (launch_delay(operation, free_ns), operation.call)
            {
                of.linked += 1;
                if !operation.shares_call {
                    of.call_ns = of.call_ns.saturating_add(to_ns.saturating_sub(from_ns));
                }
                of.queued_ns = of.queued_ns.saturating_add(way.queued_ns);
                latencies_ns.push(way.latency_ns);
                of.shorter += u64::from(dur_ns < way.latency_ns);
            }
            free_ns = free_ns.max(Some(operation.end_ns));
        }
    }
    let totals = totals.into_iter();
    totals
        .map(|(number, (mut of, latencies_ns))| {
            let name = &loaded.names[number as usize];
            of.latencies_ns = latencies_ns.into_iter().collect();
            ((name.text.clone(), name.is_transfer), of)
        })
        .collect()
}
