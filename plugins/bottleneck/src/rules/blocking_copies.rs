//! Blocking copies: the host stands still in a copy, and the device has nothing to do when it is done, again and again.
//!
//! Evidence: at least `least_gaps` gaps of cause `sync` (see [`idle`](crate::facts::Idle)) whose wait was a copy: one that is
//! synchronous or of pageable memory and whose call lasted to its end, or one that the host waited for at once, as
//! `item()` does. Gain: those gaps, no more than the path spends on the host. One copy, however long, is no pattern. Where most of the
//! copies bring at most `read_back_bytes` back, the host needs the value to go on: the advice is then to read fewer, not to copy beside.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::gaps::{
    SHOWN, gap_confidence, gaps_of_waits, host_path_ns, other_causes, times, total_ns,
};
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Cause, Facts, Gap, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::Verdicts;
use crate::wording::{bytes, count, percent};

/// The host blocks in copies and launches kernels only afterwards.
pub const CLASS: Class =
    Class::new("blocking_copies", 5).explaining(&["sync_bound", "launch_bound", "serialisation"]);

thresholds! {
    pub struct BlockingCopies {
    }
}

impl Rule for BlockingCopies {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for device in facts.device.devices() {
            let gaps = gaps_of_waits(facts, device, true);
            behind_copies(facts, options, device, &gaps, verdicts);
        }
    }
}

fn behind_copies(
    facts: &Facts,
    options: &Options,
    device: i64,
    gaps: &[&Gap],
    verdicts: &mut Verdicts,
) {
    let copies: BTreeSet<u64> = gaps.iter().filter_map(|gap| gap.copy).collect();
    let (n, ns) = (copies.len() as u64, total_ns(gaps));
    if n < options.gaps.least_gaps {
        return;
    }
    let work = facts.device.work.iter();
    let copied = work.filter(|work| !work.is_kernel() && copies.contains(&work.id));
    let copied: Vec<&Work> = copied.collect();
    let of_copies = || copied.iter().filter_map(|work| work.copy);
    let moved = of_copies()
        .filter_map(|copy| copy.bytes)
        .fold(0, u64::saturating_add);
    let pageable = of_copies().filter(|copy| copy.is_pageable).count() as u64;
    let name = Idle::device_name(device);
    let is_back = |work: &&&Work| facts.device.name(work) == "d2h";
    let back = copied.iter().filter(is_back).count() as u64;
    // A value of a few bytes that the host waits for before it launches on steers what it launches.
    let is_tiny = |copy: &&&Work| {
        let size = copy.copy.and_then(|copy| copy.bytes);
        is_back(copy) && size.is_some_and(|size| size <= options.transfer.read_back_bytes)
    };
    let tiny = copied.iter().filter(is_tiny).count() as u64;
    let is_steering = tiny.saturating_mul(2) > n;
    let mut longest: Vec<&&Gap> = gaps.iter().collect();
    longest.sort_by_key(|gap| (std::cmp::Reverse(gap.dur_ns()), gap.start_ns));
    let ids = longest.iter().filter_map(|gap| gap.copy).take(SHOWN);
    let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    Draft {
        class: CLASS,
        code: "blocking_copies",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: gap_confidence(facts, n, options),
        lead: format!(
            "{name} is idle for {2} of the wall after {0} copies that block the host ({1} in all)",
            count(n),
            bytes(moved as f64),
            percent(facts.share(ns))
        ),
        fix: if is_steering {
            "deciding on the device, or testing only every few iterations,"
        } else {
            "copying asynchronously"
        }
        .into(),
        evidence: format!(
            "SELECT id, direction, bytes, src_kind, dst_kind, is_async, start_ns, dur_ns, correlation FROM transfers \
             WHERE id IN ({}) ORDER BY start_ns",
            ids.join(", ")
        ),
        assumption: "without the wait the host launches ahead, and device work runs back to back".into(),
        considered: format!(
            "{} of the copies are to the host, {} of pageable memory; the copies themselves are not part of the gain; {}",
            count(back),
            count(pageable),
            other_causes(facts, device, Cause::Sync)
        ),
        suggestion: if is_steering {
            facts.producer.advice(
                "keep values on the device (`item()`, `cpu()`, `tolist()`, `nonzero()` all wait): decide with `torch.where` or masks, and test only every few iterations",
                "evaluate the condition in a kernel, launch a few iterations ahead and test only then, or put the loop into a graph with a conditional node",
            )
        } else if 2 * back > n { "keep values on the device (`item()`, `cpu()`, `tolist()` all wait); read them back rarely, asynchronously and into pinned memory".into() } else { facts.producer.advice(
                "`tensor.to(device, non_blocking=True)` from pinned memory (`DataLoader(pin_memory=True)`), ahead of the work that uses it",
                "copy asynchronously from pinned memory, ahead of the work that uses it",
            ) },
    }
    .during(facts, &times(gaps))
    .with_gain(facts, options, facts.evidence(n, &times(gaps)), (ns.min(host_path_ns(facts, device)), Without::Waits), verdicts);
}
