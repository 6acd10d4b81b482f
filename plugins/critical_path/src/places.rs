//! Where the row of an id lies.
//!
//! Ids of a recorder count up within a thread, those of an import from 0: a list for each upper half of the ids
//! is nearly dense, and finding a row is one look into it. Ids that are far apart go into a map.

use crate::dependencies::SpanAt;
use crate::lanes::{FastMap, Lanes};

const NOWHERE: SpanAt = SpanAt {
    lane: u32::MAX,
    index: u32::MAX,
};

/// A list may be this many times as long as it has entries, and a bit.
const SPARSE: u64 = 8;
const SMALL: u64 = 1 << 12;

/// Ids of one upper half.
#[derive(Default)]
struct Half {
    count: u64,
    least: u32,
    most: u32,
    /// By lower half from `least` on; empty when the ids are far apart.
    places: Vec<SpanAt>,
}

/// Positions of all intervals by their ids. Of two with one id the first counts.
#[derive(Default)]
pub struct Places {
    halves: FastMap<u32, Half>,
    sparse: FastMap<u64, SpanAt>,
}

fn upper(id: u64) -> u32 {
    (id >> 32) as u32
}

impl Places {
    /// Of a run.
    pub fn new(run: &Lanes) -> Self {
        let mut out = Self::default();
        for lane in &run.lanes {
            for group in lane.spans.chunk_by(|a, b| upper(a.id) == upper(b.id)) {
                let lower = group.iter().map(|span| span.id as u32);
                let (least, most) = lower.fold((u32::MAX, 0), |(least, most), id| {
                    (least.min(id), most.max(id))
                });
                let half = out.halves.entry(upper(group[0].id)).or_insert(Half {
                    least,
                    ..Half::default()
                });
                half.count += group.len() as u64;
                (half.least, half.most) = (half.least.min(least), half.most.max(most));
            }
        }
        for half in out.halves.values_mut() {
            let length = u64::from(half.most - half.least) + 1;
            if length <= half.count * SPARSE + SMALL {
                half.places = vec![NOWHERE; length as usize];
            }
        }
        for (number, lane) in run.lanes.iter().enumerate() {
            let mut first = 0;
            for group in lane.spans.chunk_by(|a, b| upper(a.id) == upper(b.id)) {
                let Some(half) = out.halves.get_mut(&upper(group[0].id)) else {
                    continue;
                };
                for (index, span) in (first..).zip(group) {
                    let at = SpanAt {
                        lane: number as u32,
                        index,
                    };
                    if half.places.is_empty() {
                        out.sparse.entry(span.id).or_insert(at);
                    } else {
                        let place = &mut half.places[(span.id as u32 - half.least) as usize];
                        if *place == NOWHERE {
                            *place = at;
                        }
                    }
                }
                first += group.len() as u32;
            }
        }
        out
    }

    /// Where the row lies; `None`: it is no interval of this run.
    #[inline]
    pub fn get(&self, id: u64) -> Option<SpanAt> {
        let half = self.halves.get(&upper(id))?;
        if half.places.is_empty() {
            return self.sparse.get(&id).copied();
        }
        let at = (id as u32).checked_sub(half.least)?;
        let place = half.places.get(at as usize).copied();
        place.filter(|place| *place != NOWHERE)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lanes::{Lane, LaneKey, LaneKind, NO_ELEMENTS, Span};

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
               let places = Places::new(&run);
               for &id in ids.iter().flatten().chain(&others).chain(&[0, 1, u64::MAX]) {
                   let found = ids.iter().enumerate().find_map(|(lane, ids)| {
                       let index = ids.iter().position(|other| *other == id)? as u32;
                       Some(SpanAt { lane: lane as u32, index })
                   });
                   prop_assert_eq!(places.get(id), found);
               }
           }
       }
}
