//! Gaps in the work of devices as evidence, and bounds of what closing them can save.

use std::collections::BTreeSet;

use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_analysis::waits::names_a_wait;
use trueno_plugin::rank::of_place;

use super::Options;
use crate::facts::{Cause, Facts, Gap};
use crate::options::thresholds;
use crate::verdict::Confidence;
use crate::wording;

thresholds! {
    pub struct Gaps {
        least_gaps: u64 = 10,
        /// A launch at most this long before the device became idle was still on its way; null: two usual
        /// launch calls.
        launch_ns: Option<i64> = None,
        /// Host time before a launch from which the host counts as *preparing* work; null: forty usual
        /// launch calls.
        prepare_ns: Option<i64> = None,
    }
}

/// Time on the critical path in which no device works or copies: closing a device's gaps cannot save more. With
/// several ranks, pieces on lanes of other ranks are left out. Without a path, the whole window.
pub fn host_path_ns(facts: &Facts, device: i64) -> i64 {
    let wall_ns = facts.window.wall_ns;
    if !facts.path.is_known {
        return wall_ns;
    }
    let names: BTreeSet<&str> = facts
        .device
        .work
        .iter()
        .filter(|work| work.is_kernel())
        .map(|work| facts.device.name(work))
        .collect();
    let rows = facts.path.names.iter();
    let kernels = rows
        .filter(|row| row.1 == "work" && names.contains(row.0.as_str()))
        .map(|row| row.3)
        .saturating_sum();
    let on_devices = kernels.saturating_add(facts.path.kind_ns("transfer"));
    let host_ns = wall_ns.saturating_sub(on_devices).max(0);
    if facts.window.ranks < 2 || facts.path.pieces.is_empty() {
        return host_ns;
    }
    let rank = of_place(device).0;
    let of_rank = facts.path.pieces.iter().filter(|piece| {
        let is_kernel = || {
            piece
                .name
                .as_deref()
                .is_some_and(|name| names.contains(name))
        };
        piece.rank.is_none_or(|of| of == rank)
            && piece.kind != "transfer"
            && !(piece.kind == "work" && is_kernel())
    });
    of_rank
        .map(|piece| piece.dur_ns)
        .saturating_sum()
        .clamp(0, host_ns)
}

pub fn other_causes(facts: &Facts, device: i64, not: Cause) -> String {
    let mut out = Vec::new();
    for cause in Cause::ALL.into_iter().filter(|cause| *cause != not) {
        let (n, ns) = facts.idle.total(device, cause);
        if n > 0 {
            out.push(format!(
                "{} for {} ({})",
                cause.name(),
                wording::time(ns),
                wording::many(n, "gap")
            ));
        }
    }
    if out.is_empty() {
        "no other cause of idle time".to_owned()
    } else {
        format!("other idle time: {}", out.join(", "))
    }
}

/// Gaps of one cause by time: recurring ones, and single ones. A gap longer than all shorter ones together is
/// single, and so is one that a first launch filled.
pub fn gaps(facts: &Facts, device: i64, cause: Cause) -> (Vec<&Gap>, Vec<&Gap>) {
    let gaps = facts.idle.of(device).iter();
    let of_cause = gaps.filter(|gap| gap.cause == cause);
    let (cold, warm): (Vec<&Gap>, Vec<&Gap>) = of_cause.partition(|gap| gap.first_launch_ns > 0);
    let (recurring, single) = patterns(warm);
    (recurring, [single, cold].concat())
}

/// Recurring gaps of cause `sync`: those that wait for a copy, or all others.
pub fn gaps_of_waits(facts: &Facts, device: i64, is_behind_copy: bool) -> Vec<&Gap> {
    let gaps = facts.idle.of(device).iter();
    let of_waits = gaps.filter(|gap| gap.cause == Cause::Sync);
    let of_waits = of_waits.filter(|gap| gap.first_launch_ns == 0);
    let of_waits = of_waits.filter(|gap| gap.copy.is_some() == is_behind_copy);
    patterns(of_waits.collect()).0
}

fn patterns(mut recurring: Vec<&Gap>) -> (Vec<&Gap>, Vec<&Gap>) {
    recurring.sort_by_key(|gap| (gap.dur_ns(), gap.start_ns));
    let mut left_ns = total_ns(&recurring);
    let mut single = Vec::new();
    while let Some(longest) = recurring.pop() {
        left_ns = left_ns.saturating_sub(longest.dur_ns());
        if longest.dur_ns() <= left_ns {
            recurring.push(longest);
            break;
        }
        single.push(longest);
    }
    recurring.sort_by_key(|gap| gap.start_ns);
    (recurring, single)
}

pub fn total_ns(gaps: &[&Gap]) -> i64 {
    gaps.iter().map(|gap| gap.dur_ns()).saturating_sum()
}

pub fn times(gaps: &[&Gap]) -> IntervalSet<i64> {
    gaps.iter().map(|gap| (gap.start_ns, gap.end_ns)).collect()
}

/// A name must have this share of the gaps to be reported as what the host does in them.
const NAMED_SHARE: f64 = 0.2;

/// True of what only waits: something else made the device wait.
fn waits(facts: &Facts, name: &str) -> bool {
    let category = facts.bricks.categories.get(name);
    category.is_some_and(|category| category == "waiting") || names_a_wait(name, false)
}

/// Rows in which the host waits in gaps of `all_ns` together: names with their shares, most first.
pub fn waits_in_gaps<'f>(
    facts: &'f Facts,
    during: &IntervalSet<i64>,
    all_ns: i64,
) -> Vec<(&'f str, f64)> {
    let names = facts.path.names_within(during, |name| waits(facts, name));
    with_shares(names, all_ns)
}

fn with_shares(names: Vec<(&str, i64)>, all_ns: i64) -> Vec<(&str, f64)> {
    let names = names.into_iter();
    let shares = names.map(|(name, ns)| (name, trueno_analysis::share(ns, all_ns).unwrap_or(0.0)));
    shares
        .take_while(|(_, of_gaps)| *of_gaps >= NAMED_SHARE)
        .collect()
}

/// What the host does in gaps of `all_ns` together, other than waiting: names with their shares, most first.
pub fn names_in_gaps<'f>(
    facts: &'f Facts,
    during: &IntervalSet<i64>,
    all_ns: i64,
) -> Vec<(&'f str, f64)> {
    let work = facts.device.work.iter().filter(|work| work.is_kernel());
    let kernels: BTreeSet<u32> = work.map(|work| work.name).collect();
    let kernels: BTreeSet<&str> = kernels
        .into_iter()
        .map(|name| facts.device.names[name as usize].as_str())
        .collect();
    // Operators of TensorFlow have the names of their kernels.
    let is_of_host = |name: &str| {
        let mut rows = facts.bricks.names.iter();
        rows.any(|row| row.name == name && row.lane_kind == "host")
    };
    let is_own = |name: &str| {
        !facts.bricks.is_frame(name)
            && (!kernels.contains(name) || is_of_host(name))
            && !waits(facts, name)
    };
    with_shares(facts.path.names_within(during, is_own), all_ns)
}

pub const SHOWN: usize = 20;

pub fn gaps_sql(mut gaps: Vec<&Gap>) -> String {
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.dur_ns()), gap.start_ns));
    let is_copy = gaps.first().is_some_and(|gap| gap.next_is_copy);
    let ids = gaps
        .iter()
        .filter(|gap| gap.next_is_copy == is_copy)
        .take(SHOWN);
    let ids: Vec<String> = ids.map(|gap| gap.next.to_string()).collect();
    let (table, what) = if is_copy {
        ("transfers", "direction")
    } else {
        ("kernels", "name")
    };
    format!(
        "SELECT id, {what}, device, stream, start_ns, dur_ns, correlation FROM {table} WHERE id IN ({}) ORDER BY start_ns",
        ids.join(", ")
    )
}

pub const NO_PATH: &str =
    "the critical path is not known, so the gain is only bounded by the device's own time";

pub fn gap_confidence(facts: &Facts, n: u64, options: &Options) -> (Confidence, String) {
    if !facts.path.is_known {
        (Confidence::Low, NO_PATH.to_owned())
    } else if n >= 10 * options.gaps.least_gaps {
        (
            Confidence::High,
            format!("{} gaps, each with a recorded launch", wording::count(n)),
        )
    } else {
        (
            Confidence::Medium,
            format!("only {}", wording::many(n, "gap")),
        )
    }
}
