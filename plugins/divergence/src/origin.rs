//! Origin of a divergence: it began at a tensor, or came from before it.
//!
//! The input of a tensor is taken to be what was recorded before it: the latest record of the same
//! place (iteration, position, layer) on the same thread, or else the latest of its rank.

use crate::align::Item;
use crate::judge::Verdict;
use crate::order::Place;
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

/// Finds the origin of each diverged item, one item after the other in data-flow order.
#[derive(Default)]
pub struct Origins {
    /// By rank: verdict of the latest record.
    latest: Vec<Option<Verdict>>,
    /// By thread (whose number tells the rank): place and verdict of the latest record.
    on_thread: Vec<Option<(u32, Verdict)>>,
    /// By rank and layer: the first place in which it diverged.
    layers: FastMap<(u16, Option<i64>), u32>,
}

impl Origins {
    pub fn next(&mut self, place: &Place, item: &Item, lane: u32, verdict: Verdict) -> Origin {
        let (lane, rank) = (lane as usize, usize::from(place.rank));
        if lane >= self.on_thread.len() {
            self.on_thread.resize(lane + 1, None);
        }
        if rank >= self.latest.len() {
            self.latest.resize(rank + 1, None);
        }
        let mut origin = Origin::None;
        if verdict == Verdict::Diverged {
            let input = match self.on_thread[lane] {
                Some((at, verdict)) if at == item.place => Some(verdict),
                _ => self.latest[rank],
            };
            let layer = (place.rank, place.layer);
            let since = *self.layers.entry(layer).or_insert(item.place);
            origin = match input {
                Some(Verdict::Diverged) => Origin::Inherited,
                Some(Verdict::NotComparable | Verdict::Duplicated | Verdict::OnlyInOne) => {
                    Origin::Unknown
                }
                Some(Verdict::Identical | Verdict::Within) | None if since < item.place => {
                    Origin::LocalOrState
                }
                Some(Verdict::Identical | Verdict::Within) | None => Origin::Local,
            };
        }
        self.latest[rank] = Some(verdict);
        self.on_thread[lane] = Some((item.place, verdict));
        origin
    }
}
