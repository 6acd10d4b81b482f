//! Positions of all intervals by their ids.

use trueno_analysis::id_index::{IdIndex, Vacant};
use trueno_analysis::lanes::Lanes;

use crate::load::dependencies::SpanAt;

pub type RowIndex = IdIndex<SpanAt>;

impl Vacant for SpanAt {
    const VACANT: Self = Self {
        lane: u32::MAX,
        index: u32::MAX,
    };
}

/// Index of interval ids; of two intervals with the same id the first counts.
pub fn row_index(run: &Lanes) -> RowIndex {
    // From the back, since of one id the last value counts.
    IdIndex::new(|| {
        let lanes = run.lanes.iter().enumerate().rev();
        lanes.flat_map(|(lane, of)| {
            let lane = lane as u32;
            let spans = of.spans.iter().enumerate().rev();
            spans.map(move |(index, span)| {
                let index = index as u32;
                (span.id, SpanAt { lane, index })
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use trueno_analysis::lanes::{Lane, LaneKey, LaneKind, NO_ELEMENTS, Span};

    proptest! {
        #[test]
        fn every_row_is_found_and_no_other(
            ids in prop::collection::vec(prop::collection::vec(prop_oneof![0..20_u64, (1_u64 << 32)..(1 << 32) + 9, any::<u64>()], 0..20), 0..4),
            others in prop::collection::vec(any::<u64>(), 0..5),
        ) {
            let mut run = Lanes::default();
            for ids in &ids {
                let span = |id: &u64| Span { start_ns: 0, end_ns: 0, id: *id, label: 0, elements: NO_ELEMENTS };
                run.lanes.push(Lane {
                    life: None,
                    name: String::new(),
                    key: LaneKey::Thread(None),
                    kind: LaneKind::Host,
                    spans: ids.iter().map(span).collect(),
                });
            }
            let rows = row_index(&run);
            for &id in ids.iter().flatten().chain(&others).chain(&[0, 1, u64::MAX]) {
                let found = ids.iter().enumerate().find_map(|(lane, ids)| {
                    let index = ids.iter().position(|other| *other == id)? as u32;
                    Some(SpanAt { lane: lane as u32, index })
                });
                prop_assert_eq!(rows.get(id), found);
            }
        }
    }
}
