//! Times of levels against paint, nanosecond by nanosecond.

use proptest::prelude::*;
use trueno_plugin_tiles::load::{LevelName, Loaded, Tile};
use trueno_plugin_tiles::sweep::{Sum, sweep};

const LEVELS: [&str; 3] = ["macro", "micro", "pack"];

/// Computes, for each instant, the innermost tile: the last in order of those that are open.
fn painted(tiles: &[Tile]) -> Vec<Sum> {
    let mut out = vec![Sum::default(); LEVELS.len()];
    for tile in tiles {
        out[tile.level as usize].tiles += u64::from(tile.weight);
        out[tile.level as usize].recorded += 1;
    }
    for now in 0..200 {
        // What crosses the end of a longer one that began later is closed with it.
        let mut open: Vec<&Tile> = Vec::new();
        for tile in tiles.iter().filter(|tile| tile.start_ns <= now) {
            while open.last().is_some_and(|top| top.end_ns <= tile.start_ns) {
                open.pop();
            }
            open.push(tile);
        }
        while open.last().is_some_and(|top| top.end_ns <= now) {
            open.pop();
        }
        let Some(innermost) = open.last() else {
            continue;
        };
        let weight = i64::from(innermost.weight);
        out[innermost.level as usize].exclusive_ns += weight;
        if open.len() > 1 {
            let around = open[open.len() - 2];
            out[around.level as usize].exclusive_ns -= (weight - 1) * i64::from(around.weight);
        }
        for (level, sum) in out.iter_mut().enumerate() {
            if let Some(tile) = open.iter().rfind(|tile| tile.level as usize == level) {
                let times = i64::from(tile.weight);
                sum.inclusive_ns += times;
                let inside = if level == 2 { 1 } else { weight };
                sum.pack_ns += i64::from(innermost.level == 2) * times * inside;
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn as_painted(rows in prop::collection::vec((0_i64..80, 0_i64..40, 0_u32..3, 0_i64..2), 0..30), weights in prop::array::uniform3(1_u32..3)) {
        let mut loaded = Loaded {
            levels: LEVELS.map(LevelName::new).to_vec(),
            ..Loaded::default()
        };
        for ((start_ns, dur_ns, level, thread), id) in rows.into_iter().zip(1..) {
            let tile = Tile {
                start_ns, end_ns: start_ns + dur_ns, id, flops: None, bytes: None, row: 0, col: 0, level,
                weight: weights[level as usize],
            };
            loaded.threads.entry(thread).or_default().push(tile);
        }
        let found = sweep(&mut loaded);
        let all_recorded = loaded.threads.values().flatten().all(|tile| tile.weight == 1);
        for (tiles, found) in loaded.threads.values().zip(&found) {
            prop_assert_eq!(found, &painted(tiles), "{:?}", tiles);
            // Exclusive times add up to when any tile was open.
            let open = (0..200).filter(|now| tiles.iter().any(|t| t.start_ns <= *now && *now < t.end_ns)).count();
            let exclusive: i64 = found.iter().map(|sum| sum.exclusive_ns).sum();
            prop_assert!(!all_recorded || exclusive == open as i64, "{} {}", exclusive, open);
        }
    }
}
