//! A device ran out of memory: an allocation failed.
//!
//! Evidence: `memory.out_of_memory`, the allocator's own record of the request that it could not meet. That is what ended the
//! program or made it change its way, so it is critical whatever else takes time. If more was reserved and free than was
//! requested, the memory was there and lay in pieces. No gain in time is claimed.

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::Facts;
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};

pub const CLASS: Class =
    Class::new("out_of_memory", 18).explaining(&["fragmented_memory", "memory_growth"]);

thresholds! {
    pub struct OutOfMemory {
    }
}

impl Rule for OutOfMemory {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, _: &Options, verdicts: &mut Verdicts) {
        let table = &facts.out_of_memory;
        let (Ok(place), Ok(sentence)) = (table.text("place"), table.text("sentence")) else {
            return;
        };
        let (Ok(requested), Ok(live), Ok(reserved)) = (
            table.i64("requested_bytes"),
            table.i64("live_bytes"),
            table.i64("reserved_bytes"),
        ) else {
            return;
        };
        let mut seen: Vec<&str> = Vec::new();
        for row in 0..table.rows() {
            let (Some(place), Some(sentence)) = (place.get(row), sentence.get(row)) else {
                continue;
            };
            // What comes after the first failure follows from it.
            if seen.contains(&place) {
                continue;
            }
            seen.push(place);
            let unused = reserved.get(row).zip(live.get(row));
            let unused = unused.map(|(reserved, live)| reserved.saturating_sub(live));
            let is_in_pieces = unused
                .zip(requested.get(row))
                .map(|(unused, requested)| unused >= requested);
            let less = "free what is not needed, or request less";
            let (fix, considered) = match is_in_pieces {
                Some(true) => (
                    "pool blocks by size, or let segments grow (PyTorch: `expandable_segments:True`)",
                    "as much as was requested was reserved and not allocated, but in pieces that are too small",
                ),
                Some(false) => (
                    less,
                    "what was reserved and not allocated was less than was requested, so its pieces are not the cause",
                ),
                None => (
                    less,
                    "how much was reserved and not allocated was not recorded",
                ),
            };
            let draft = Draft {
                class: CLASS,
                code: "out_of_memory",
                scope_kind: "memory",
                scope: place.to_owned(),
                place: format!("{place} memory"),
                confidence: (Confidence::High, "the allocator recorded it".into()),
                lead: sentence.to_owned(),
                fix: fix.into(),
                evidence: "SELECT * FROM memory.out_of_memory ORDER BY time_ns".into(),
                assumption: "none: no gain in time is claimed".into(),
                considered: considered.into(),
                suggestion: "smaller batches, recomputed activations, or shards on more devices; `memory.peak_owners` lists what was held".into(),
            };
            draft.certain(Severity::Critical, verdicts);
        }
    }
}
