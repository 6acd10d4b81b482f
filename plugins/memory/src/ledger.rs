//! Ledger of live blocks: rows applied one by one, with what does not add up counted.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::hash::FastMap;
use trueno_plugin::{Table, TableBuilder};

use crate::events::{Event, Events};
use crate::pools::Pool;
use crate::sample_weight::variance;

/// Table `suspects` lists at most this many rows for each place and reason.
pub const SHOWN: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspect {
    /// A release of an address that holds no recorded block. It changes nothing, unless the live bytes before
    /// the recording are known.
    Unmatched,
    /// An allocation at an address that the same tag already holds. The earlier block counts as released at an
    /// unknown time.
    Doubled,
    /// A release under another tag than that of the only block at the address. They are paired.
    OtherTag,
    /// A release of a different size than the allocation. The whole block is released.
    OtherSize,
    /// A release without an address made the bytes of its tag negative. It counts, so live bytes are too low
    /// from then on.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub tag: usize,
    pub address: u64,
    pub bytes: i64,
    /// Number of blocks it stands for, in units of 1 / [`crate::sample_weight::ONE`].
    pub stands_for: u64,
    pub time_ns: i64,
    pub span: Option<u64>,
}

impl Block {
    /// Variance that it adds to a sum of bytes: see [`crate::sample_weight`].
    pub fn variance(&self) -> f64 {
        variance(self.bytes, self.stands_for)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub tag: usize,
    pub delta: i128,
    /// The released block, if the time of its release is known.
    pub released: Option<Block>,
    pub suspects: Vec<Suspect>,
}

/// Allocations without an address: blocks (see [`crate::sample_weight`]) and bytes, by tag and allocating row.
pub type Loose = BTreeMap<(usize, Option<u64>), (u128, i128)>;

/// The blocks at one address, at most one per tag.
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

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    blocks: FastMap<u64, AtAddress>,
    by_tag: BTreeMap<usize, i128>,
    total: i128,
    loose: Loose,
    loose_releases: BTreeSet<usize>,
    /// Tag of what was live before the first row, if that is known.
    before: Option<usize>,
}

impl Ledger {
    /// `before` is what was live before the first row, if known.
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

    pub fn by_tag(&self) -> &BTreeMap<usize, i128> {
        &self.by_tag
    }

    /// Live blocks sorted by address.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let mut all: Vec<&AtAddress> = self.blocks.values().collect();
        all.sort_unstable_by_key(|at| at.first.address);
        all.into_iter().flat_map(AtAddress::all)
    }

    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    pub fn loose(&self) -> &Loose {
        &self.loose
    }

    /// Returns whether bytes of a tag were released without an address, so that it is unknown which.
    pub fn released_loosely(&self, tag: usize) -> bool {
        self.loose_releases.contains(&tag)
    }

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

    /// Removes the block that a release under `tag` frees: that of the tag, or the only one at the address.
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

/// Table `suspects`: the first [`SHOWN`] rows of each place and reason, with their cells as recorded.
pub fn table(events: &Events, pools: &[Pool]) -> TableBuilder {
    let rows: Vec<(usize, Suspect, Event)> = pools
        .iter()
        .flat_map(|pool| {
            let row = |(why, row): &(Suspect, usize)| {
                (pool.place, *why, events.rows[pool.place].get(*row))
            };
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
