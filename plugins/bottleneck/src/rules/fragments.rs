//! Fragmented memory: much of it is free, in pieces too small to use.
//!
//! Evidence: `memory.fragmentation`, which needs addresses, and the segments where an allocator says what it has reserved: 1 −
//! largest free piece / free of at least `fragmentation`, free of at least `free_share` of the footprint and
//! `least_free_bytes`. Segments without a block are the allocator's cache and do not count. With segments, memory is judged at
//! the peak; without them also at the end, while a quarter of the footprint lives. Where nearly all of it is free, a few blocks
//! that are left do no harm: there the pieces must be small beside what is free. No gain in time is claimed.

use trueno_analysis::evidence::Evidence;
use trueno_analysis::producer::NSIGHT_MEMORY;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::Facts;
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{bytes, percent};

const NOTHING_LIVES: f64 = 0.95;
/// From this free share of the footprint on, only the peak counts: once most memory is freed, fragments harm
/// nobody.
const MOSTLY_FREED: f64 = 0.75;
/// Fragmentation from which even mostly freed memory counts.
const EVERYWHERE: f64 = 0.95;

pub const CLASS: Class = Class::new("fragmented_memory", 10);

thresholds! {
    pub struct Fragmentation {
        /// 1 − largest free piece / free.
        fragmentation: f64 = 0.5,
        free_share: f64 = 0.3,
        least_free_bytes: i64 = 1 << 20,
    }
}

impl Rule for Fragmentation {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, _: &Options, verdicts: &mut Verdicts) {
        let table = &facts.fragmentation;
        if table.is_empty() {
            verdicts.not_measurable(
            CLASS,
            "run",
            "allocations with addresses",
            facts.producer.to_record(
                    "record them: the recorder's feature `alloc`, or Recorder::allocation with an address",
                    "`profile(profile_memory=True)` records them",
                    NSIGHT_MEMORY,
                ),
        );
            return;
        }
        let (Ok(place), Ok(moment), Ok(free), Ok(largest)) = (
            table.text("place"),
            table.text("moment"),
            table.i64("free_bytes"),
            table.i64("largest_free_bytes"),
        ) else {
            return;
        };
        let (Ok(share), Ok(free_share), Ok(in_segments)) = (
            table.f64("fragmentation_share"),
            table.f64("free_share"),
            table.i64("free_segments_bytes"),
        ) else {
            return;
        };
        if largest.iter().all(|piece| piece.is_none()) {
            verdicts.not_measurable(
                CLASS,
                "run",
                "the segments of the allocator",
                facts.producer.to_record(
                    "record addresses without counters of what was reserved",
                    "`torch.cuda.memory._dump_snapshot` after `_record_memory_history()` records them",
                    "they are not in its file",
                ),
            );
            return;
        }
        let mut worst: Vec<(usize, f64)> = Vec::new();
        for row in 0..table.rows() {
            let (Some(in_pieces), Some(of_all), Some(free), Some(_)) = (
                share.get(row),
                free_share.get(row),
                free.get(row),
                largest.get(row),
            ) else {
                continue;
            };
            let is_late = in_segments.get(row).is_some() || of_all > MOSTLY_FREED;
            if moment.get(row) != Some("peak") && is_late {
                continue;
            }
            let nothing_lives = of_all > NOTHING_LIVES && in_pieces < EVERYWHERE;
            if nothing_lives
                || in_pieces < self.fragmentation
                || of_all < self.free_share
                || free < self.least_free_bytes
            {
                continue;
            }
            match worst
                .iter_mut()
                .find(|(other, _)| place.get(*other) == place.get(row))
            {
                Some(other) if other.1 < of_all => *other = (row, of_all),
                Some(_) => {}
                None => worst.push((row, of_all)),
            }
        }
        for (row, of_all) in worst {
            let name = place.get(row).unwrap_or("memory");
            Draft {
            class: CLASS,
            code: "fragmented_memory",
            scope_kind: "memory",
            scope: name.to_owned(),
            place: format!("{name} memory"),
            confidence: (Confidence::Medium, "addresses are recorded; blocks that were not recorded may fill the gaps".into()),
            lead: format!(
                "{} of the {} footprint of {name} memory is free, in pieces of at most {}",
                percent(of_all),
                bytes(free.get(row).unwrap_or(0) as f64 / of_all),
                bytes(largest.get(row).unwrap_or(0) as f64)
            ),
            fix: "pool blocks by size".into(),
            evidence: "SELECT time_ns, bytes, tag, address FROM allocations WHERE address IS NOT NULL ORDER BY address, time_ns".into(),
            assumption: "none: no gain in time is claimed".into(),
            considered: format!("{} of the free bytes lie outside the largest piece ({})", percent(share.get(row).unwrap_or(0.0)), moment.get(row).unwrap_or("")),
            suggestion: "separate long-lived from short-lived blocks (an arena), or use few block sizes".into(),
        }
        .without_gain(facts, Evidence::once(facts.window.wall_ns), Severity::Low, verdicts);
        }
    }
}
