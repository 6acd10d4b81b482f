//! First copies of processes that took far longer than copying does: devices and contexts start in them.

use std::collections::BTreeMap;

use trueno_plugin::rank;

use super::{Bricks, Device, Window, Work};

/// A first copy that sets something up takes at least this many times as long as copying explains.
const UNLIKE: i64 = 10;

#[derive(Clone, Debug, PartialEq)]
pub struct SlowStart {
    pub id: u64,
    pub is_up: bool,
    /// Of the call that copies if that took long, else of the copy.
    pub times: (i64, i64),
    /// What copying does not explain.
    pub ns: i64,
    /// False: the bytes of the copy are not recorded, so it may also have been a large one. It was the only such one.
    pub is_size_recorded: bool,
}

/// At most one for each rank.
pub fn slow_starts(device: &Device, bricks: &Bricks, window: &Window) -> Vec<SlowStart> {
    // What ran before has started the device.
    if window.is_part || device.was_in_use {
        return Vec::new();
    }
    let called_ns = |work: &Work| work.launch.map_or(work.start_ns, |launch| launch.0);
    let mut of_ranks: BTreeMap<u64, Vec<&Work>> = BTreeMap::new();
    for work in &device.work {
        of_ranks
            .entry(rank::of_key(work.id))
            .or_default()
            .push(work);
    }
    let of_rank = |all: Vec<&Work>| {
        let first_ns = all.iter().map(|work| called_ns(work)).min()?;
        let copies = all.into_iter().filter(|work| is_copy(device, work));
        let copies: Vec<&Work> = copies.collect();
        let first = *copies
            .iter()
            .min_by_key(|work| (called_ns(work), work.id))?;
        // Where the start of the process is not recorded, the call may wait for what was launched before.
        let is_at_start = called_ns(first) == first_ns
            && bricks.device_started_ns.is_some_and(|ns| ns <= first_ns);
        let in_call = in_call(first).filter(|_| is_at_start);
        in_call
            .or_else(|| {
                let same_way = copies.into_iter().filter(|work| work.name == first.name);
                let others = same_way.filter(|work| work.id != first.id);
                beside_others(first, &others.collect::<Vec<_>>())
            })
            .map(|(times, ns)| SlowStart {
                id: first.id,
                is_up: device.name(first) == "h2d",
                times,
                ns,
                is_size_recorded: first.copy.is_some_and(|copy| copy.bytes.is_some()),
            })
    };
    of_ranks.into_values().filter_map(of_rank).collect()
}

fn is_copy(device: &Device, work: &Work) -> bool {
    let is_migration = work.copy.is_some_and(|copy| copy.is_migration);
    matches!(device.name(work), "h2d" | "d2h") && !work.is_kernel() && !is_migration
}

/// The call of the first work of all had nothing to wait for, and took far longer than the copy.
fn in_call(first: &Work) -> Option<((i64, i64), i64)> {
    let (from_ns, to_ns) = first.launch.filter(|(_, to)| *to >= first.end_ns)?;
    let call_ns = to_ns.saturating_sub(from_ns);
    let is_unlike = call_ns >= first.dur_ns().max(1).saturating_mul(UNLIKE);
    is_unlike.then(|| ((from_ns, to_ns), call_ns - first.dur_ns()))
}

/// The copy took far longer than the others of its direction: for its bytes, or than all of them together if its bytes are not
/// recorded.
fn beside_others(first: &Work, others: &[&Work]) -> Option<((i64, i64), i64)> {
    let dur_ns = first.dur_ns();
    let usual_ns = match first.copy?.bytes.filter(|bytes| *bytes > 0) {
        Some(bytes) => {
            let kinds = |work: &Work| work.copy.map(|copy| copy.is_pageable);
            let alike = others.iter().filter(|work| kinds(work) == kinds(first));
            // A small copy takes more for each byte, which makes the first less unlike it.
            let per_byte = alike.filter_map(|work| {
                let size = work.copy?.bytes.filter(|size| *size > 0)?;
                Some(work.dur_ns() as f64 / size as f64)
            });
            let mut per_byte: Vec<f64> = per_byte.collect();
            per_byte.sort_unstable_by(f64::total_cmp);
            (*per_byte.get(per_byte.len() / 2)? * bytes as f64) as i64
        }
        None => {
            let all_ns = others.iter().map(|work| work.dur_ns());
            let all_ns = all_ns.fold(0, i64::saturating_add);
            (!others.is_empty()).then_some(all_ns)?
        }
    };
    let is_unlike = dur_ns >= usual_ns.max(1).saturating_mul(UNLIKE);
    is_unlike.then(|| ((first.start_ns, first.end_ns), dur_ns - usual_ns))
}
