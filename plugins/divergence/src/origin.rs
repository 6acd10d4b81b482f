//! Origin of a divergence: it began at a tensor, or came from before it.
//!
//! The input of a tensor is taken to be what was recorded before it: the latest record of the same
//! group (iteration, position, layer) on the same thread, or else the latest of its rank.

use crate::align::Item;
use crate::judge::{Judged, Verdict};
use crate::order::Groups;
use crate::rows::{NONE, Side};
use trueno_analysis::hash::FastMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    None,
    /// The inputs agree, and nothing of this layer diverged in an earlier step.
    Local,
    /// The inputs agree, but state of the layer, such as a key/value cache, may have carried the divergence
    /// here.
    LocalOrState,
    Inherited,
    /// The input has no partner, or one of another shape or type.
    Unknown,
}

impl Origin {
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Local => Some("local"),
            Self::LocalOrState => Some("local_or_state"),
            Self::Inherited => Some("inherited"),
            Self::Unknown => Some("unknown"),
        }
    }
}

/// Sets the origin of every diverged item.
pub fn origins(sides: [&Side; 2], groups: &Groups, items: &[Item], judged: &mut [Judged]) {
    // By rank, and by (rank, thread): the latest record.
    let mut latest: FastMap<u16, Verdict> = FastMap::default();
    let mut on_thread: FastMap<(u16, i64), (u32, Verdict)> = FastMap::default();
    // The first group in which a layer diverged.
    let mut layers: FastMap<(u16, Option<i64>), u32> = FastMap::default();
    for (item, judged) in items.iter().zip(judged) {
        let place = &groups.places[item.group as usize];
        let side = usize::from(item.rows[0] == NONE);
        let thread = (place.rank, sides[side].thread[item.rows[side] as usize]);
        let input = match on_thread.get(&thread) {
            Some((group, verdict)) if *group == item.group => Some(*verdict),
            _ => latest.get(&place.rank).copied(),
        };
        if judged.verdict == Verdict::Diverged {
            let since = *layers
                .entry((place.rank, place.layer))
                .or_insert(item.group);
            judged.origin = match input {
                Some(Verdict::Diverged) => Origin::Inherited,
                Some(Verdict::NotComparable | Verdict::Duplicated | Verdict::OnlyInOne) => {
                    Origin::Unknown
                }
                Some(Verdict::Identical | Verdict::Within) | None if since < item.group => {
                    Origin::LocalOrState
                }
                Some(Verdict::Identical | Verdict::Within) | None => Origin::Local,
            };
        }
        latest.insert(place.rank, judged.verdict);
        on_thread.insert(thread, (item.group, judged.verdict));
    }
}
