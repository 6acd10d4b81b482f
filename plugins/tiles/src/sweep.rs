//! Exclusive and inclusive times, in one pass over the tiles of each thread.

use std::cmp::Reverse;

use crate::load::{Loaded, Tile};

/// Of one level on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Tiles.
    pub tiles: u64,
    /// Time in which a tile of the level was the innermost.
    pub exclusive_ns: i64,
    /// Time in which a tile of the level was open.
    pub inclusive_ns: i64,
    /// Of that, time in which the innermost was a `pack` tile.
    pub pack_ns: i64,
}

/// Sorts the tiles of each thread and adds up; by thread in order, then by level.
pub fn sweep(loaded: &mut Loaded) -> Vec<Vec<Sum>> {
    let pack = loaded.levels.iter().position(|level| level == "pack");
    let levels = loaded.levels.len();
    loaded
        .threads
        .values_mut()
        .map(|tiles| {
            tiles.sort_unstable_by_key(|tile| (tile.start_ns, Reverse(tile.end_ns), tile.id));
            thread(tiles, levels, pack)
        })
        .collect()
}

fn thread(tiles: &[Tile], levels: usize, pack: Option<usize>) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); levels];
    // How many tiles of each level are open.
    let mut open_of = vec![0_u32; levels];
    let mut open: Vec<Tile> = Vec::new();
    let mut now_ns = i64::MIN;
    let mut book =
        |open: &mut Vec<Tile>, open_of: &mut Vec<u32>, now_ns: &mut i64, until_ns: i64| {
            while let Some(top) = open.last().copied() {
                let end_ns = top.end_ns.min(until_ns);
                if end_ns > *now_ns {
                    let dur_ns = end_ns - *now_ns;
                    let innermost = top.level as usize;
                    sums[innermost].exclusive_ns += dur_ns;
                    for (level, count) in open_of.iter().enumerate() {
                        if *count > 0 {
                            sums[level].inclusive_ns += dur_ns;
                            if Some(innermost) == pack {
                                sums[level].pack_ns += dur_ns;
                            }
                        }
                    }
                    *now_ns = end_ns;
                }
                if top.end_ns > until_ns {
                    return;
                }
                open_of[top.level as usize] -= 1;
                open.pop();
            }
            *now_ns = until_ns;
        };
    for tile in tiles {
        book(&mut open, &mut open_of, &mut now_ns, tile.start_ns);
        now_ns = now_ns.max(tile.start_ns);
        open.push(*tile);
        open_of[tile.level as usize] += 1;
    }
    book(&mut open, &mut open_of, &mut now_ns, i64::MAX);
    for tile in tiles {
        sums[tile.level as usize].tiles += 1;
    }
    sums
}
