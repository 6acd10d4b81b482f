//! Ledger of live blocks: rows applied one by one, with what does not add up counted.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::hash::FastMap;
use trueno_plugin::{Table, TableBuilder};

use crate::events::{Event, Events};
use crate::pools::Pool;
use crate::sample_weight::variance;

/// Rows of a place that table `suspects` shows at most, of each reason.
pub const SHOWN: usize = 20;

/// Reason that a row does not fit what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspect {
    /// A release of an address that nothing recorded holds: it changes nothing, unless it is known what
    /// was live before the recording.
    Unmatched,
    /// An allocation at an address that the same tag holds: the earlier one counts as given back, at an unknown time.
    Doubled,
    /// A release under another tag than the one allocation at that address: they are paired.
    OtherTag,
    /// A release of other bytes than the allocation had: the whole allocation is given back.
    OtherSize,
    /// A release without an address brought its tag below zero: it counts, so live bytes are too low from here on.
    Negative,
}

impl Suspect {
    pub const ALL: [Self; 5] = [
        Self::Unmatched,
        Self::Doubled,
        Self::OtherTag,
        Self::OtherSize,
        Self::Negative,
    ];

    /// Text in tables `problems` and `suspects`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unmatched => "release without allocation",
            Self::Doubled => "doubled address",
            Self::OtherTag => "other tag",
            Self::OtherSize => "other size",
            Self::Negative => "negative live bytes",
        }
    }
}

/// An allocation that is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number in [`Events::tags`].
    pub tag: usize,
    pub address: u64,
    /// Number of bytes.
    pub bytes: i64,
    /// Blocks it stands for, in parts of [`crate::sample_weight::ONE`].
    pub stands_for: u64,
    /// Time at which it was taken.
    pub time_ns: i64,
    /// The row of bricks that took it.
    pub span: Option<u64>,
}

impl Block {
    /// Its variance in a sum of bytes: see [`crate::sample_weight`].
    pub fn variance(&self) -> f64 {
        variance(self.bytes, self.stands_for)
    }
}

/// Change by a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The tag whose live bytes changed.
    pub tag: usize,
    /// Change in bytes.
    pub delta: i128,
    /// The block that was given back, when the time of that is known.
    pub released: Option<Block>,
    /// Reasons that it does not fit.
    pub suspects: Vec<Suspect>,
}

/// Allocations without an address: blocks (see [`crate::sample_weight`]) and bytes by tag and taking row.
pub type Loose = BTreeMap<(usize, Option<u64>), (u128, i128)>;

/// The blocks at one address: several only under several tags.
#[derive(Clone, Debug)]
struct AtAddress {
    first: Block,
    others: Vec<Block>,
}

impl AtAddress {
    fn all(&self) -> impl Iterator<Item = &Block> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn get_mut(&mut self, tag: usize) -> Option<&mut Block> {
        let mut all = std::iter::once(&mut self.first).chain(&mut self.others);
        all.find(|block| block.tag == tag)
    }
}

/// Live blocks and bytes of one place.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Blocks by address.
    blocks: FastMap<u64, AtAddress>,
    by_tag: BTreeMap<usize, i128>,
    total: i128,
    loose: Loose,
    loose_releases: BTreeSet<usize>,
    /// The tag of what was live before the first row, where that is known.
    before: Option<usize>,
}

impl Ledger {
    /// Of a place that began with these bytes, if it is known which, before any row of it.
    pub fn starting_with(before: Option<&Event>) -> Self {
        let mut out = Self::default();
        if let Some(event) = before {
            out.apply(event);
            out.before = Some(event.tag);
            // Whose they are nobody recorded.
            out.loose_releases.insert(event.tag);
        }
        out
    }

    /// Live bytes of all tags.
    pub fn total(&self) -> i128 {
        self.total
    }

    /// Live bytes by tag.
    pub fn by_tag(&self) -> &BTreeMap<usize, i128> {
        &self.by_tag
    }

    /// Live blocks by address.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let mut all: Vec<&AtAddress> = self.blocks.values().collect();
        all.sort_unstable_by_key(|at| at.first.address);
        all.into_iter().flat_map(AtAddress::all)
    }

    pub fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Allocations without an address.
    pub fn loose(&self) -> &Loose {
        &self.loose
    }

    /// Returns whether bytes of a tag were given back without an address, so that it is not known which.
    pub fn released_loosely(&self, tag: usize) -> bool {
        self.loose_releases.contains(&tag)
    }

    /// Applies the next row.
    pub fn apply(&mut self, event: &Event) -> Applied {
        let applied = match (event.address, event.bytes > 0) {
            (Some(address), true) => self.take(event, address),
            (Some(address), false) => self.give_back(event, address),
            (None, taken) => {
                if taken {
                    let entry = self.loose.entry((event.tag, event.span)).or_default();
                    entry.0 += u128::from(event.stands_for);
                    entry.1 += i128::from(event.bytes);
                } else {
                    self.loose_releases.insert(event.tag);
                }
                Applied {
                    tag: event.tag,
                    delta: i128::from(event.bytes),
                    ..Applied::default()
                }
            }
        };
        self.total += applied.delta;
        let live = self.by_tag.entry(applied.tag).or_default();
        *live += applied.delta;
        let below = *live < 0 && applied.delta < 0;
        let mut applied = applied;
        if below {
            applied.suspects.push(Suspect::Negative);
        }
        applied
    }

    fn take(&mut self, event: &Event, address: u64) -> Applied {
        let block = Block {
            tag: event.tag,
            address,
            bytes: event.bytes,
            stands_for: event.stands_for,
            time_ns: event.time_ns,
            span: event.span,
        };
        let mut applied = Applied {
            tag: event.tag,
            delta: i128::from(event.bytes),
            ..Applied::default()
        };
        match self.blocks.entry(address) {
            Entry::Vacant(vacant) => {
                vacant.insert(AtAddress {
                    first: block,
                    others: Vec::new(),
                });
            }
            Entry::Occupied(mut here) => match here.get_mut().get_mut(event.tag) {
                Some(earlier) => {
                    applied.delta -= i128::from(earlier.bytes);
                    applied.suspects.push(Suspect::Doubled);
                    *earlier = block;
                }
                None => here.get_mut().others.push(block),
            },
        }
        applied
    }

    /// Takes out the block that a release under a tag gives back: of that tag, or the only one there.
    fn remove(&mut self, address: u64, tag: usize) -> Option<Block> {
        let Entry::Occupied(mut here) = self.blocks.entry(address) else {
            return None;
        };
        let is_alone = here.get().others.is_empty();
        if is_alone {
            return Some(here.remove().first);
        }
        let here = here.get_mut();
        let at = here.all().position(|block| block.tag == tag)?;
        Some(match at.checked_sub(1) {
            None => std::mem::replace(&mut here.first, here.others.remove(0)),
            Some(at) => here.others.remove(at),
        })
    }

    fn give_back(&mut self, event: &Event, address: u64) -> Applied {
        let mut applied = Applied {
            tag: event.tag,
            ..Applied::default()
        };
        let Some(block) = self.remove(address, event.tag) else {
            match self.before {
                Some(tag) => {
                    applied.tag = tag;
                    applied.delta = i128::from(event.bytes);
                }
                None => applied.suspects.push(Suspect::Unmatched),
            }
            return applied;
        };
        if block.tag != event.tag {
            applied.suspects.push(Suspect::OtherTag);
        }
        if event.bytes.checked_neg() != Some(block.bytes) {
            applied.suspects.push(Suspect::OtherSize);
        }
        applied.tag = block.tag;
        applied.delta = -i128::from(block.bytes);
        applied.released = Some(block);
        applied
    }
}

/// Table `suspects`: the first [`SHOWN`] rows of each place and reason.
///
/// `place`; `reason`; `time_ns`, `tag`, `address`, `bytes`, `span` of the row, as recorded.
pub fn table(events: &Events, pools: &[Pool]) -> TableBuilder {
    let rows: Vec<(usize, Suspect, &Event)> = pools
        .iter()
        .flat_map(|pool| {
            let row =
                |(why, row): &(Suspect, usize)| (pool.place, *why, &events.rows[pool.place][*row]);
            pool.suspects.iter().map(row)
        })
        .collect();
    Table::build("suspects")
        .text("place", rows.iter().map(|row| events.places[row.0].name()))
        .text("reason", rows.iter().map(|row| row.1.name()))
        .i64("time_ns", rows.iter().map(|row| row.2.time_ns))
        .text(
            "tag",
            rows.iter().map(|row| events.tags[row.2.tag].as_deref()),
        )
        .u64("address", rows.iter().map(|row| row.2.address))
        .i64("bytes", rows.iter().map(|row| row.2.bytes))
        .u64("span", rows.iter().map(|row| row.2.span))
}
