//! Redundant transfers: the same bytes back and forth between host and device.
//!
//! Evidence: copies of one device and size whose directions alternate; a *round trip* is a copy one way and the next one back. It
//! is redundant when nobody can have changed the bytes between the two (copies at the same time are of different bytes):
//! - up and down: no kernel of the device ran in between;
//! - down and up: checksums say that they are equal; or the host, which waited for the copy down, then had less time of its own
//!   (outside of waits, copies and launches) than writing the bytes takes (`touch_bytes_per_ns`), and no brick began in between.
//!
//! At least `round_trips` of them. Where checksums show for half of them that the bytes are the same, the gain is the copies of the round
//! trips, both ways, no more than the path has of copies. Otherwise no gain is claimed: no record has the addresses, so each copy may be
//! of another buffer of that size, and other findings explain the time.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_plugin::rank;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{bytes, count, percent};

#[derive(Default)]
struct Trips {
    on_device: u64,
    on_host: u64,
    /// Those whose checksums are equal.
    of_equal_sums: u64,
    other: u64,
    copies: Vec<(i64, i64)>,
}

pub const CLASS: Class = Class::new("redundant_transfers", 15).explaining(&[
    "transfer_bound",
    "blocking_copies",
    "sync_bound",
]);

thresholds! {
    pub struct RedundantTransfers {
        round_trips: u64 = 5,
        /// Fastest rate at which a host can write: data that returns sooner cannot have been rewritten.
        touch_bytes_per_ns: i64 = 50,
    }
}

impl Rule for RedundantTransfers {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let mut series: BTreeMap<(i64, u64), Vec<&Work>> = BTreeMap::new();
        for work in &facts.device.work {
            // Copies of an unknown device may each be of another.
            let (Some(device), Some(bytes)) = (work.device, work.copy.and_then(|copy| copy.bytes))
            else {
                continue;
            };
            if matches!(facts.device.name(work), "h2d" | "d2h") {
                series.entry((device, bytes)).or_default().push(work);
            }
        }
        let calls = facts
            .path
            .names
            .iter()
            .filter(|row| row.1 == "work" && row.0.to_ascii_lowercase().contains("memcpy"));
        let device_path = facts
            .path
            .kind_ns("transfer")
            .saturating_add(calls.map(|row| row.3).saturating_sum());
        let mut kernels_of: BTreeMap<i64, IntervalSet<i64>> = BTreeMap::new();
        let mut asking_of: BTreeMap<u64, IntervalSet<i64>> = BTreeMap::new();
        for ((device, size), copies) in series {
            let kernels = kernels_of
                .entry(device)
                .or_insert_with(|| facts.device.busy(Some(device), Work::is_kernel));
            let of_rank = copies.first().map_or(0, |copy| rank::of_key(copy.id));
            let asking = asking_of
                .entry(of_rank)
                .or_insert_with(|| asking(facts, of_rank));
            let trips = trips(facts, options, &copies, size, kernels, asking);
            let n = trips.on_device + trips.on_host;
            if n < self.round_trips {
                if trips.other >= 10 * self.round_trips {
                    verdicts.not_measurable(
                        CLASS,
                        &Idle::device_name(device),
                        format!(
                            "whether the {} round trips of {} carry the same bytes",
                            count(trips.other),
                            bytes(size as f64)
                        ),
                        facts.producer.to_record_here(
                            "take Recorder::checksum of the buffer in the bricks around the copies",
                        ),
                    );
                }
                continue;
            }
            let name = Idle::device_name(device);
            let copies_ns = trips
                .copies
                .into_iter()
                .collect::<IntervalSet<i64>>()
                .total_ns();
            let gain_ns = if facts.path.is_known {
                copies_ns.min(device_path)
            } else {
                copies_ns
            };
            if facts.share(gain_ns) < options.general.least_share {
                continue;
            }
            let is_recorded = trips.of_equal_sums >= n.div_ceil(2);
            let scope = format!("{name}, {}", bytes(size as f64));
            let trips_of = format!(
                "{} round trips of {} between host and {name}",
                count(n),
                bytes(size as f64)
            );
            let evidence = Evidence::new(2 * n, copies_ns);
            let draft = Draft {
            class: CLASS,
            code: "round_trips",
            scope_kind: "device",
            // What explains nothing for certain stands for itself.
            place: if is_recorded { name } else { scope.clone() },
            scope,
            confidence: if is_recorded {
                (Confidence::High, "checksums of both copies are equal".into())
            } else {
                (Confidence::Low, "neither addresses nor checksums of the bytes are recorded: each copy may be of another buffer of that size".into())
            },
            lead: if is_recorded {
                trips_of
            } else {
                format!("{trips_of} take {} of the wall", percent(facts.share(gain_ns)))
            },
            fix: if is_recorded {
                "keeping the data in one place"
            } else {
                "if they carry the same bytes, keep the data in one place"
            }
            .into(),
            evidence: format!(
                "SELECT id, direction, bytes, start_ns, dur_ns FROM transfers WHERE device = {device} AND bytes = {size}{} ORDER BY start_ns",
                facts.window.sql(" AND")
            ),
            assumption: if is_recorded {
                "the copies are not made at all"
            } else {
                "none: whether the copies carry the same bytes is not recorded"
            }
            .into(),
            considered: format!(
                "{} went up and down with no kernel in between, {} down and up again at once; {} more may have changed on the device",
                count(trips.on_device),
                count(trips.on_host),
                count(trips.other)
            ),
            suggestion: "leave the data on the device between steps, and copy back only what the host reads".into(),
        };
            if is_recorded {
                draft.with_gain(
                    facts,
                    options,
                    evidence,
                    (gain_ns, Without::Copies),
                    verdicts,
                );
            } else {
                let severity = Severity::from_share(facts.share(gain_ns), &options.general);
                draft.without_gain(facts, evidence, severity, verdicts);
            }
        }
    }
}

fn trips(
    facts: &Facts,
    options: &Options,
    copies: &[&Work],
    size: u64,
    kernels: &IntervalSet<i64>,
    asking: &IntervalSet<i64>,
) -> Trips {
    let mut out = Trips::default();
    let differ = |one: &Work, two: &Work| facts.device.name(one) != facts.device.name(two);
    // While as many bytes come the other way, those that follow may be of either.
    let is_beside = |at: usize| {
        let beside = |one: &Work, two: &Work| differ(one, two) && two.start_ns < one.end_ns;
        at > 0 && beside(copies[at - 1], copies[at])
            || at + 1 < copies.len() && beside(copies[at], copies[at + 1])
    };
    let mut at = 0;
    while at + 1 < copies.len() {
        let (one, two) = (copies[at], copies[at + 1]);
        let up = facts.device.name(one) == "h2d";
        if !differ(one, two) || is_beside(at) || is_beside(at + 1) {
            at += 1;
            continue;
        }
        let between = (one.end_ns, two.start_ns);
        let of_sums = has_equal_sums(facts, one, two);
        let is_same = of_sums.unwrap_or_else(|| {
            if up {
                kernels.within_ns(between.0, between.1) == 0
            } else {
                is_same_on_host(facts, options, (one, two), size, asking)
            }
        });
        if is_same {
            out.of_equal_sums += u64::from(of_sums == Some(true));
            if up {
                out.on_device += 1;
            } else {
                out.on_host += 1;
            }
            out.copies.push((one.start_ns, one.end_ns));
            out.copies.push((two.start_ns, two.end_ns));
            at += 2;
        } else {
            out.other += 1;
            at += 1;
        }
    }
    out
}

/// Times in which the host of a rank waits for a device or launches work.
fn asking(facts: &Facts, of_rank: u64) -> IntervalSet<i64> {
    let device = &facts.device;
    let is_its = |id: u64| rank::of_key(id) == of_rank;
    let waits = device.waits.iter();
    let waits = waits.filter(|wait| !wait.is_join && is_its(wait.id));
    let waits = waits.map(|wait| (wait.start_ns, wait.end_ns));
    let work = device.work.iter().filter(|work| is_its(work.id));
    let launches = work.filter_map(|work| work.launch);
    waits.chain(launches).collect()
}

/// Whether the checksums of the bricks of both copies are equal; `None`: they are not recorded, or both copies have one brick.
fn has_equal_sums(facts: &Facts, one: &Work, two: &Work) -> Option<bool> {
    let [one, two] = [one.copy?.brick?, two.copy?.brick?];
    let of = |brick: u64| {
        let mut tensors = facts.tensors.iter();
        tensors
            .find(|tensor| tensor.span == brick)
            .map(|tensor| tensor.hash)
    };
    (one != two).then_some(of(one)? == of(two)?)
}

fn is_same_on_host(
    facts: &Facts,
    options: &Options,
    (down, up): (&Work, &Work),
    size: u64,
    asking: &IntervalSet<i64>,
) -> bool {
    let Some((called_ns, _)) = up.launch else {
        return false;
    };
    let asked_ns = asking.within_ns(down.end_ns, called_ns);
    let own_ns = called_ns
        .saturating_sub(down.end_ns)
        .saturating_sub(asked_ns);
    let waited = down.copy.is_some_and(|copy| copy.blocks)
        || facts
            .device
            .has_wait_ending(rank::of_key(down.id), down.end_ns, called_ns);
    let starts = &facts.bricks.other_starts_ns;
    let begins = starts.partition_point(|start| *start < called_ns)
        > starts.partition_point(|start| *start <= down.end_ns);
    let touch_ns =
        i64::try_from(size).unwrap_or(i64::MAX) / options.redundant.touch_bytes_per_ns.max(1);
    waited && !begins && own_ns < touch_ns
}
