//! Lifetimes of blocks, by powers of ten.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::events::Events;
use crate::ledger::Block;
use crate::pools::{Pool, cell};
use crate::sample_weight::blocks as whole;

/// Bounds of the slots. The first slot is below the first bound, the last from the last bound on.
pub const BOUNDS_NS: [i64; 8] = [
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetimes(pub BTreeMap<(usize, usize), (u128, i128)>);

impl Lifetimes {
    pub fn add(&mut self, block: &Block, released_ns: i64) {
        let lived = released_ns.saturating_sub(block.time_ns);
        let slot = BOUNDS_NS.partition_point(|bound| *bound <= lived);
        let entry = self.0.entry((block.tag, slot)).or_default();
        entry.0 += u128::from(block.stands_for);
        entry.1 += i128::from(block.bytes);
    }
}

/// Table `lifetimes`: blocks whose allocation and release share an address, by lifetime. `from_ns` is included,
/// `to_ns` is not; null: no upper bound. `block_share` is relative to the tag's blocks in this table. Blocks that
/// were never released have no lifetime.
pub fn table(events: &Events, pools: &[Pool]) -> TableBuilder {
    let mut rows = Vec::new();
    for pool in pools {
        let mut all: BTreeMap<usize, u128> = BTreeMap::new();
        for ((tag, _), (blocks, _)) in &pool.lifetimes.0 {
            *all.entry(*tag).or_default() += blocks;
        }
        for ((tag, slot), (blocks, bytes)) in &pool.lifetimes.0 {
            rows.push((pool.place, *tag, *slot, *blocks, *bytes, all[tag]));
        }
    }
    let from = |slot: usize| slot.checked_sub(1).map_or(0, |before| BOUNDS_NS[before]);
    Table::build("lifetimes")
        .text("place", rows.iter().map(|row| events.places[row.0].name()))
        .text("tag", rows.iter().map(|row| events.tags[row.1].as_deref()))
        .i64("from_ns", rows.iter().map(|row| from(row.2)))
        .i64(
            "to_ns",
            rows.iter().map(|row| BOUNDS_NS.get(row.2).copied()),
        )
        .u64("blocks", rows.iter().map(|row| whole(row.3)))
        .i64("bytes", rows.iter().map(|row| cell(row.4)))
        .f64(
            "block_share",
            rows.iter().map(|row| row.3 as f64 / row.5 as f64),
        )
}
