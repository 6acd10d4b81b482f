//! Waits by system call.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use trueno_plugin::{Table, TableBuilder};

use super::{WaitSum, Waits};

/// Table `wait_calls`: system calls that threads waited in, most time first. Measured, as `scheduling`.
///
/// `call`: null if the wait was in no call, or in an unknown one; `waited_ns`: sum over all threads. Threads wait
/// in parallel, so it may exceed the wall time. `wait_share`: of all waits of all threads; `threads`: number of
/// threads that waited in the call.
pub fn wait_calls(waits: &Waits) -> TableBuilder {
    let mut calls: BTreeMap<Option<&str>, (WaitSum, BTreeSet<i64>)> = BTreeMap::new();
    let mut all_ns = 0_u64;
    for (key, sum) in &waits.places {
        let of_call = calls.entry(key.call.as_deref()).or_default();
        of_call.0.add(*sum);
        of_call.1.insert(key.thread);
        all_ns = all_ns.saturating_add(sum.time_ns);
    }
    let mut rows: Vec<_> = calls.into_iter().collect();
    rows.sort_by_key(|(_, (sum, _))| Reverse(sum.time_ns));
    let rows = || rows.iter();
    let share = |sum: &WaitSum| (all_ns > 0).then(|| sum.time_ns as f64 / all_ns as f64);
    Table::build("wait_calls")
        .text("call", rows().map(|row| row.0))
        .u64("waits", rows().map(|row| row.1.0.waits))
        .i64(
            "waited_ns",
            rows().map(|row| i64::try_from(row.1.0.time_ns).ok()),
        )
        .f64("wait_share", rows().map(|row| share(&row.1.0)))
        .i64(
            "longest_ns",
            rows().map(|row| i64::try_from(row.1.0.longest_ns).ok()),
        )
        .u64("threads", rows().map(|row| row.1.1.len() as u64))
}
