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

use trueno_analysis::quantiles::{Quantiles, quantiles};

use crate::operations::{Loaded, Operation};

/// The parts of one operation's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDelay {
    /// While earlier work of the stream was running.
    pub queued_ns: i64,
    /// Time from there, or from the call, to the start.
    pub latency_ns: i64,
}

/// The way of an operation with a call and a stream, where earlier work of that ended at `free_ns`.
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

/// Waiting times of the operations of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameTotals {
    /// Number of operations.
    pub operations: u64,
    /// Operations with a call and a stream.
    pub linked: u64,
    /// Time on the device.
    pub dur_ns: i64,
    /// Time of the calls; one that asked for several operations counts once, at the first of them.
    pub call_ns: i64,
    /// Sum.
    pub queued_ns: i64,
    /// Latencies of those with a call.
    pub latencies_ns: Vec<i64>,
    /// Operations with a call that ran for less time than their latency.
    pub shorter: u64,
}

impl NameTotals {
    /// Sum of the latencies.
    pub fn latency_ns(&self) -> i64 {
        self.latencies_ns
            .iter()
            .fold(0, |sum, ns| ns.saturating_add(sum))
    }

    /// Median and maximum of the latencies.
    pub fn quantiles(&self) -> Option<Quantiles> {
        quantiles(&mut self.latencies_ns.clone())
    }
}

/// Totals by number of the name.
pub fn by_name(loaded: &Loaded) -> BTreeMap<u32, NameTotals> {
    let mut out: BTreeMap<u32, NameTotals> = BTreeMap::new();
    for stream in loaded.streams() {
        let mut free_ns: Option<i64> = None;
        for operation in stream {
            let of = out.entry(operation.name).or_default();
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
                of.latencies_ns.push(way.latency_ns);
                of.shorter += u64::from(dur_ns < way.latency_ns);
            }
            free_ns = free_ns.max(Some(operation.end_ns));
        }
    }
    out
}
