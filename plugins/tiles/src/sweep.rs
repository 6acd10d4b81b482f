//! Exclusive and inclusive times, in one pass over the tiles of each thread.
//!
//! Sampled tiles are drawn from strata, one of every N in a row: each has the same chance, so sums times N are not
//! biased. A fixed stride would show a blocked loop's same column for ever.

use trueno_analysis::start_order::sort_by_start;
use trueno_analysis::sweep::{Open, OpenIntervals, Step};

use crate::load::{Loaded, Tile};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of tiles, including the unrecorded ones they stand for.
    pub tiles: u64,
    pub recorded: u64,
    /// Time in which a tile of the level was the innermost.
    pub exclusive_ns: i64,
    /// Time in which a tile of the level was open.
    pub inclusive_ns: i64,
    /// Part of the inclusive time in which the innermost tile was a `pack` tile.
    pub pack_ns: i64,
}

/// Sorts the tiles of each thread and sums them, by thread in order, then by level. A tile that stands for `weight`
/// tiles counts as often. The time of the tiles without a row is subtracted from the tile around them, where they
/// ran. So exclusive times still add up to the time covered. Those of a sampled level and of the level around it
/// are estimates, and with few tiles they may be negative.
pub fn sweep(loaded: &mut Loaded) -> Vec<Vec<Sum>> {
    let pack = loaded
        .levels
        .iter()
        .position(|level| level.as_str() == "pack");
    let levels = loaded.levels.len();
    loaded
        .threads
        .values_mut()
        .map(|tiles| {
            sort_by_start(tiles);
            thread(tiles, levels, pack)
        })
        .collect()
}

fn thread(tiles: &[Tile], levels: usize, pack: Option<usize>) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); levels];
    // How many tiles of each level are open, and how many the last of them stands for.
    let mut open_of = vec![(0_u32, 1_i64); levels];
    let mut open: OpenIntervals<Tile> = OpenIntervals::default();
    let mut book = |open: &mut OpenIntervals<Tile>, open_of: &mut [(u32, i64)], until_ns: i64| {
        while let Some(step) = open.step(until_ns) {
            let (start_ns, end_ns) = match step {
                Step::Ran { start_ns, end_ns } => (start_ns, end_ns),
                Step::Ended(tile) => {
                    open_of[tile.level as usize].0 -= 1;
                    continue;
                }
            };
            let [.., Open { item: top, .. }] = open.stack() else {
                continue;
            };
            let dur_ns = end_ns.saturating_sub(start_ns);
            let innermost = top.level as usize;
            let weight = i64::from(top.weight);
            let add = |to: &mut i64, ns: i64| *to = to.saturating_add(ns);
            add(
                &mut sums[innermost].exclusive_ns,
                dur_ns.saturating_mul(weight),
            );
            if let [.., Open { item: around, .. }, _] = open.stack() {
                let elsewhere_ns = dur_ns.saturating_mul(weight - 1);
                let counted_ns = elsewhere_ns.saturating_mul(i64::from(around.weight));
                let sum = &mut sums[around.level as usize].exclusive_ns;
                *sum = sum.saturating_sub(counted_ns);
            }
            for (level, (count, of_level)) in open_of.iter().enumerate() {
                if *count > 0 {
                    let of_level_ns = dur_ns.saturating_mul(*of_level);
                    add(&mut sums[level].inclusive_ns, of_level_ns);
                    if Some(innermost) == pack {
                        let inside = if level == innermost { 1 } else { weight };
                        add(&mut sums[level].pack_ns, of_level_ns.saturating_mul(inside));
                    }
                }
            }
        }
    };
    for tile in tiles {
        book(&mut open, &mut open_of, tile.start_ns);
        open.open(tile.end_ns, *tile);
        let of_level = &mut open_of[tile.level as usize];
        *of_level = (of_level.0 + 1, i64::from(tile.weight));
    }
    book(&mut open, &mut open_of, i64::MAX);
    for tile in tiles {
        let sum = &mut sums[tile.level as usize];
        sum.tiles += u64::from(tile.weight);
        sum.recorded += 1;
    }
    sums
}
