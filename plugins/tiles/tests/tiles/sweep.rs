//! Times of levels against paint, nanosecond by nanosecond.

use proptest::prelude::*;
use trueno_plugin_tiles::load::{Loaded, Tile};
use trueno_plugin_tiles::sweep::{Sum, sweep};

const LEVELS: [&str; 3] = ["macro", "micro", "pack"];

/// The innermost at a time: of those open the one that comes last in order.
fn painted(tiles: &[Tile]) -> Vec<Sum> {
    let mut out = vec![Sum::default(); LEVELS.len()];
    for tile in tiles {
        out[tile.level as usize].tiles += 1;
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
        out[innermost.level as usize].exclusive_ns += 1;
        for (level, sum) in out.iter_mut().enumerate() {
            if open.iter().any(|tile| tile.level as usize == level) {
                sum.inclusive_ns += 1;
                sum.pack_ns += i64::from(innermost.level == 2);
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn as_painted(rows in prop::collection::vec((0_i64..80, 0_i64..40, 0_u32..3, 0_i64..2), 0..30)) {
        let mut loaded = Loaded {
            levels: LEVELS.iter().map(|level| (*level).to_owned()).collect(),
            ..Loaded::default()
        };
        for ((start_ns, dur_ns, level, thread), id) in rows.into_iter().zip(1..) {
            let tile = Tile {
                start_ns, end_ns: start_ns + dur_ns, id, flops: None, bytes: None, row: 0, col: 0, level,
            };
            loaded.threads.entry(thread).or_default().push(tile);
        }
        let found = sweep(&mut loaded);
        for (tiles, found) in loaded.threads.values().zip(&found) {
            prop_assert_eq!(found, &painted(tiles), "{:?}", tiles);
            // Exclusive times add up to when any tile was open.
            let open = (0..200).filter(|now| tiles.iter().any(|t| t.start_ns <= *now && *now < t.end_ns)).count();
            let exclusive: i64 = found.iter().map(|sum| sum.exclusive_ns).sum();
            prop_assert_eq!(exclusive, open as i64);
        }
    }
}
