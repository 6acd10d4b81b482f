//! Transfer-bound: copies between host and device beside which the device computes nothing.
//!
//! Copies of at most `read_back_bytes` that the host waits for are waits ([sync](super::sync)), and not counted.
//!
//! Evidence: *exposed* time = copies, and calls of copies that hold the host to their end, without the kernels that run
//! meanwhile; at least `least_share` of the window, and no more than the path has of copies, and of waits in which they ran. Gain: where at
//! least half of that can hide, what can; else half of it, for half the bytes. Where one direction is [`SLOW`] times slower than the
//! other at sizes that are alike, what it would save at the other's rate, if that is more. A copy can hide that has kernels before and after it, in
//! time of kernels beside which no copy runs: what is copied before the first kernel is the input of kernels, and what is copied after
//! the last one their result.
//! Pages of unified memory that the driver moved are found besides: at least `least_gaps` of them, half of what the device is busy with
//! or `least_share` of the window. What the run would be without them is not known: kernels that touch pages wait for them, too.
//!
//! Copies within a device, at least `least_gaps` of them, are found besides: what they do alone, at most what the run would be shorter
//! by without them. Overlap is computed from device times alone: a call that waits for a kernel before it copies does not overlap it.

use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_plugin::agreeing;

use super::draft::Draft;
use super::gaps::NO_PATH;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Without, Work, condition, name_of};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{bytes, count, percent, time};

/// Copies of `device` that are no mere read-backs, and in which no device starts; `None`: copies whose device is not recorded.
pub fn copies<'a>(facts: &'a Facts, options: &Options, device: Option<i64>) -> Vec<&'a Work> {
    let moves = |work: &&Work| {
        !work.is_kernel()
            && !work.copy.is_some_and(|copy| copy.is_migration)
            && !work.is_read_back(options.transfer.read_back_bytes)
            && !facts.slow_starts.iter().any(|start| start.id == work.id)
            && matches!(facts.device.name(work), "h2d" | "d2h" | "p2p")
    };
    facts.device.of(device).filter(moves).collect()
}

/// When a copy occupies the device, or the host if it blocks.
pub fn held(facts: &Facts, copy: &Work) -> (i64, i64) {
    let held = copy
        .launch
        .filter(|(_, to)| copy.copy.is_some_and(|copy| copy.blocks) && *to >= copy.end_ns);
    let (from, to) = held.unwrap_or((copy.start_ns, copy.end_ns));
    (
        from.max(facts.window.from_ns),
        to.min(facts.window.until_ns),
    )
}

/// Copies between host and device during which nothing is computed.
pub const CLASS: Class =
    Class::new("transfer_bound", 4).explaining(&["blocking_copies", "sync_bound"]);

thresholds! {
    pub struct Transfer {
        /// A smaller copy takes as long as an empty one (8 µs at 2 GB/s), so a wait for it is really a wait
        /// for the device.
        read_back_bytes: u64 = 16_384,
    }
}

/// Pinned memory helps where at most 1 / `PINNED_PART` of the time is of copies that have it already.
const PINNED_PART: i64 = 10;

impl Rule for Transfer {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let mut devices: Vec<Option<i64>> =
            facts.device.work.iter().map(|work| work.device).collect();
        devices.sort_unstable();
        devices.dedup();
        let is_copy = |name: &str| name.to_ascii_lowercase().contains("memcpy");
        let calls = facts
            .path
            .names
            .iter()
            .filter(|row| row.1 == "work" && is_copy(&row.0));
        let path_ns = facts
            .path
            .kind_ns("transfer")
            .saturating_add(calls.map(|row| row.3).saturating_sum());
        for device in devices {
            within_device(facts, options, device, verdicts);
            migrations(facts, options, device, verdicts);
            let copies = copies(facts, options, device);
            if copies.is_empty() {
                continue;
            }
            let ranges: IntervalSet<i64> = copies.iter().map(|copy| held(facts, copy)).collect();
            let kernels = facts.device.busy(device, |work| work.is_kernel());
            let exposed = ranges.total_ns().saturating_sub(ranges.common_ns(&kernels));
            let capped = if facts.path.is_known {
                exposed.min(path_ns.saturating_add(facts.waited_ns(&ranges, device)))
            } else {
                exposed
            };
            if facts.share(capped) < options.general.least_share {
                continue;
            }
            // A call may wait for kernels before its copy begins.
            let running = copies.iter().map(|copy| (copy.start_ns, copy.end_ns));
            let running: IntervalSet<i64> = running.collect();
            let beside_ns = running.common_ns(&kernels);
            let free_ns = kernels.total_ns().saturating_sub(beside_ns);
            let between_ns = exposed_between_ns(facts, &copies, &kernels);
            let hideable_ns = between_ns.min(free_ns).min(capped);
            let pageable = copies
                .iter()
                .filter_map(|copy| copy.copy)
                .filter(|copy| copy.is_pageable)
                .count() as u64;
            let pageable_ns = copies
                .iter()
                .filter(|copy| copy.copy.is_some_and(|copy| copy.is_pageable))
                .map(|copy| copy.dur_ns())
                .saturating_sum();
            let copies_ns = copies.iter().map(|copy| copy.dur_ns()).saturating_sum();
            let is_pageable = pageable_ns >= copies_ns - copies_ns / PINNED_PART;
            let hides = hideable_ns.saturating_mul(2) >= capped;
            let (gain_ns, fix, assumption) = if hides {
                (
                    hideable_ns,
                    if is_pageable {
                        "overlapping copies with kernels, from pinned memory,"
                    } else {
                        "overlapping copies with kernels"
                    },
                    "copies of the next piece overlap the kernels of this one, which nothing in the program prevents".to_owned(),
                )
            } else {
                (
                    capped / 2,
                    if is_pageable {
                        "moving half the bytes, or all of them twice as fast from pinned memory,"
                    } else {
                        "moving half the bytes"
                    },
                    format!(
                        "half as many bytes are copied; hiding copies behind kernels could save no more than {}",
                        time(hideable_ns)
                    ),
                )
            };
            let slow = SlowDirection::find(facts, &copies);
            let slow = slow.filter(|slow| slow.lost_ns.min(capped) > gain_ns);
            let (gain_ns, fix, assumption) = match &slow {
                Some(slow) => (slow.lost_ns.min(capped), slow.fix, slow.assumption()),
                None => (gain_ns, fix, assumption),
            };
            let name = name_of(device);
            let certain = match (facts.path.is_known, hides) {
                (false, _) => (Confidence::Low, NO_PATH.to_owned()),
                _ if slow.is_some() => (
                    Confidence::Medium,
                    "both rates are measured; assumes that both directions can be as fast".into(),
                ),
                (true, true) => (
                    Confidence::Medium,
                    "the copies are on the critical path; assumes that they can overlap".into(),
                ),
                (true, false) => (
                    Confidence::Medium,
                    "the copies are on the critical path; assumes that half of the bytes suffice"
                        .into(),
                ),
            };
            Draft {
            class: CLASS,
            code: "transfer_bound",
            scope_kind: "device",
            scope: name.clone(),
            place: name.clone(),
            confidence: certain,
            lead: format!(
                "copies occupy {name} for {} of the wall ({} in {}{})",
                percent(facts.share(running.total_ns())),
                moved(&copies),
                copies_of(copies.len() as u64),
                slow.as_ref().map_or(String::new(), SlowDirection::rates)
            ),
            fix: fix.into(),
            evidence: format!(
                "SELECT id, direction, bytes, src_kind, dst_kind, start_ns, dur_ns FROM transfers WHERE {} AND direction IN ('h2d', 'd2h', 'p2p'){} ORDER BY dur_ns DESC",
                condition(device),
                facts.window.sql(" AND")
            ),
            assumption,
            considered: format!(
                "{} of copies are hidden behind kernels; {} of kernels have no copy beside them; {} of exposed copies lie between kernels{}",
                time(beside_ns),
                time(free_ns),
                time(between_ns),
                match facts.slow_starts.iter().map(|start| start.ns).saturating_sum() {
                    0 => String::new(),
                    ns => format!("; the first copy of the process is left out: {} of it is set-up", time(ns)),
                }
            ),
            suggestion: if slow.is_some() {
                "allocate the host's side as pinned memory, or write to its pages once before the copy: a copy to or from pages that are not there yet waits for the system to make them".into()
            } else if facts.producer == trueno_analysis::producer::Producer::PyTorch {
                format!(
                    "`DataLoader(pin_memory=True)` and `to(device, non_blocking=True)` ({} of {} copies are pageable, which block the host), one batch ahead on a stream of their own",
                    count(pageable),
                    count(copies.len() as u64)
                )
            } else if pageable > 0 {
                format!("use pinned memory ({} of {} copies are pageable, which block the host) and a separate stream", count(pageable), count(copies.len() as u64))
            } else {
                "copy on a separate stream, one piece ahead; keep on the device what the next step needs".into()
            },
        }
        .during(facts, &ranges)
        .with_gain(facts, options, facts.evidence(copies.len() as u64, &ranges), (gain_ns, Without::Copies), verdicts);
        }
    }
}

/// Exposed time of the copies that have kernels before and after them: others have none that they could run beside.
fn exposed_between_ns(facts: &Facts, copies: &[&Work], kernels: &IntervalSet<i64>) -> i64 {
    let (Some((first_ns, _)), Some((_, last_ns))) =
        (kernels.ranges().first(), kernels.ranges().last())
    else {
        return 0;
    };
    let is_between = |copy: &&&Work| copy.start_ns >= *first_ns && copy.end_ns <= *last_ns;
    let between = copies.iter().filter(is_between);
    let between: IntervalSet<i64> = between.map(|copy| held(facts, copy)).collect();
    between
        .total_ns()
        .saturating_sub(between.common_ns(kernels))
}

/// Smaller copies take longer for each byte in any direction.
const LEAST_BYTES: u64 = 1 << 20;
/// Copies up and down are alike if the mean sizes differ by no more than this factor.
const ALIKE: f64 = 4.0;
/// A direction is slow if the other is this many times as fast.
const SLOW: f64 = 4.0;

/// A direction that copies far more slowly than the other, at sizes that are alike.
struct SlowDirection {
    name: &'static str,
    bytes_per_s: f64,
    other_bytes_per_s: f64,
    /// What its copies took more than at the rate of the other.
    lost_ns: i64,
    fix: &'static str,
}

impl SlowDirection {
    fn find(facts: &Facts, copies: &[&Work]) -> Option<Self> {
        let (mut up, mut down) = (Direction::default(), Direction::default());
        for copy in copies {
            let Some(bytes) = copy.copy.and_then(|copy| copy.bytes) else {
                continue;
            };
            if bytes < LEAST_BYTES {
                continue;
            }
            match facts.device.name(copy) {
                "h2d" => up.add(bytes, copy.dur_ns()),
                "d2h" => down.add(bytes, copy.dur_ns()),
                _ => {}
            }
        }
        let of = up.mean_bytes()? / down.mean_bytes()?;
        if !(1.0 / ALIKE..=ALIKE).contains(&of) {
            return None;
        }
        let is_up_slow = up.bytes_per_s()? < down.bytes_per_s()?;
        let (slow, fast) = if is_up_slow { (up, down) } else { (down, up) };
        let (bytes_per_s, other_bytes_per_s) = (slow.bytes_per_s()?, fast.bytes_per_s()?);
        (other_bytes_per_s >= SLOW * bytes_per_s).then(|| Self {
            name: if is_up_slow { "h2d" } else { "d2h" },
            bytes_per_s,
            other_bytes_per_s,
            lost_ns: slow.ns - (slow.bytes as f64 / other_bytes_per_s * 1e9) as i64,
            fix: if is_up_slow {
                "pinning or touching the source before"
            } else {
                "pinning or touching the destination before"
            },
        })
    }

    /// For example `; d2h at 4.52 GB/s against 44.3 GB/s the other way`.
    fn rates(&self) -> String {
        format!(
            "; {} at {}/s against {}/s the other way",
            self.name,
            bytes(self.bytes_per_s),
            bytes(self.other_bytes_per_s)
        )
    }

    fn assumption(&self) -> String {
        format!(
            "{} copies at the rate of the other direction, {}/s",
            self.name,
            bytes(self.other_bytes_per_s)
        )
    }
}

#[derive(Default)]
struct Direction {
    copies: u64,
    bytes: u64,
    ns: i64,
}

impl Direction {
    fn add(&mut self, bytes: u64, ns: i64) {
        self.copies += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.ns = self.ns.saturating_add(ns);
    }

    fn mean_bytes(&self) -> Option<f64> {
        (self.copies > 0).then(|| self.bytes as f64 / self.copies as f64)
    }

    fn bytes_per_s(&self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes as f64 / self.ns as f64 * 1e9)
    }
}

fn copies_of(n: u64) -> String {
    format!("{} {}", count(n), agreeing(n, "copy", "copies"))
}

/// Bytes of the copies, in words: a trace need not have those of all.
fn moved(copies: &[&Work]) -> String {
    let sizes = copies.iter().filter_map(|work| work.copy?.bytes);
    let (known, sum) = sizes.fold((0, 0_u64), |(known, sum), size| {
        (known + 1, sum.saturating_add(size))
    });
    match known {
        0 => "bytes not recorded".to_owned(),
        known if known < copies.len() => format!("at least {}", bytes(sum as f64)),
        _ => bytes(sum as f64),
    }
}

/// Migrations take this share of the time of a device that is busy, or more.
const MIN_OF_BUSY: f64 = 0.5;
/// Migrations go to the host if this share of their time does.
const MOST_BACK: f64 = 0.9;

fn migrations(facts: &Facts, options: &Options, device: Option<i64>, verdicts: &mut Verdicts) {
    let is_migration = |work: &Work| work.copy.is_some_and(|copy| copy.is_migration);
    let pages = facts.device.of(device).filter(|work| is_migration(work));
    let pages: Vec<&Work> = pages.collect();
    let n = pages.len() as u64;
    if n < options.gaps.least_gaps {
        return;
    }
    let moving = facts.device.busy(device, is_migration);
    let busy_ns = facts.device.busy(device, |_| true).total_ns();
    let of_busy = trueno_analysis::share(moving.total_ns(), busy_ns).unwrap_or(0.0);
    let of_wall = facts.share(moving.total_ns());
    if of_busy < MIN_OF_BUSY && of_wall < options.general.least_share {
        return;
    }
    let name = name_of(device);
    let kernels = facts.device.busy(device, Work::is_kernel);
    let back = |work: &Work| is_migration(work) && facts.device.name(work) == "d2h";
    let back_ns = facts.device.busy(device, back).total_ns();
    let is_back =
        trueno_analysis::share(back_ns, moving.total_ns()).is_some_and(|of| of >= MOST_BACK);
    Draft {
        class: CLASS,
        code: "page_migrations",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (Confidence::High, "migrations are recorded".into()),
        lead: format!(
            "moving pages of unified memory{} is {} of what {name} does, {} of the wall ({} in {} migrations)",
            if is_back { " back to the host" } else { "" },
            percent(of_busy),
            percent(of_wall),
            moved(&pages),
            count(n)
        ),
        fix: if is_back {
            "prefetch to the host what it reads next".into()
        } else {
            "move the memory before it is used".into()
        },
        evidence: format!(
            "SELECT id, direction, bytes, start_ns, dur_ns FROM transfers WHERE {} AND src_kind = 'managed' AND dst_kind = 'managed'{} ORDER BY dur_ns DESC",
            condition(device),
            facts.window.sql(" AND")
        ),
        assumption: "none: what the program takes without migrations was not measured".into(),
        considered: format!(
            "{} of it overlaps kernels, which may have waited for the pages",
            time(moving.common_ns(&kernels))
        ),
        suggestion: "`cudaMemPrefetchAsync` before the first use on each side, `cudaMemAdvise` for data that both read, or `cudaMalloc` and explicit copies".into(),
    }
    .during(facts, &moving)
    .without_gain(
        facts,
        facts.evidence(n, &moving),
        Severity::from_share(of_wall, &options.general),
        verdicts,
    );
}

fn within_device(facts: &Facts, options: &Options, device: Option<i64>, verdicts: &mut Verdicts) {
    let is_within = |work: &Work| !work.is_kernel() && facts.device.name(work) == "d2d";
    let copies = facts.device.of(device).filter(|work| is_within(work));
    let copies: Vec<&Work> = copies.collect();
    let n = copies.len() as u64;
    if n < options.gaps.least_gaps {
        return;
    }
    let all = facts.device.busy(device, is_within);
    let others = facts.device.busy(device, |work| !is_within(work));
    let alone = all.difference(&others);
    let alone_ns = alone.total_ns();
    let name = name_of(device);
    let on_path = if facts.path.is_known {
        facts.path.gain_ns("d2d", 1.0)
    } else {
        alone_ns
    };
    Draft {
        class: CLASS,
        code: "device_copies",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: if facts.path.is_known {
            (
                Confidence::Medium,
                "the copies are on the critical path; which of them the program needs is not recorded".into(),
            )
        } else {
            (Confidence::Low, NO_PATH.to_owned())
        },
        lead: format!(
            "copies within {name} take {} of the wall ({} in {})",
            percent(facts.share(alone_ns)),
            moved(&copies),
            copies_of(n)
        ),
        fix: "leaving out copies within the device".into(),
        evidence: format!(
            "SELECT id, bytes, stream, start_ns, dur_ns FROM transfers WHERE {} AND direction = 'd2d'{} ORDER BY dur_ns DESC",
            condition(device),
            facts.window.sql(" AND")
        ),
        assumption: "no copy is needed: kernels read and write where the data is".into(),
        considered: format!(
            "{} of the copies overlap other work and cost nothing",
            time(all.total_ns().saturating_sub(alone_ns))
        ),
        suggestion: facts.producer.advice(
            "views in place of `clone()`, `contiguous()` and `cat`; write results in place (`out=`, `copy_` once), and keep one memory layout from layer to layer",
            "let kernels write where the next one reads: outputs given by the caller, views, one memory layout throughout",
        ),
    }
    .during(facts, &alone)
    .with_gain(facts, options, facts.evidence(n, &alone), (alone_ns.min(on_path), Without::Copies), verdicts);
}
