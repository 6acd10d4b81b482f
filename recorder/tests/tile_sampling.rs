//! One of N tiles is recorded, and says so.

use trueno_recorder::{Recorder, TileLevel};
use trueno_testing::{Cell, folder, table};

#[test]
fn of_micro_tiles_one_in_eight_and_of_others_all() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .tiles_every(TileLevel::Micro, 8)
        .create()
        .unwrap();
    for row in 0..40 {
        let outer = rec.tile(TileLevel::Macro, row, 0);
        for col in 0..16 {
            let mut tile = rec.tile(TileLevel::Micro, row, col);
            tile.flops(1000);
        }
        assert!(outer.id() != trueno_recorder::SpanId::NONE);
    }
    rec.finish().unwrap();
    let tiles = table(&path, "tiles");
    let of = |level: &str| {
        let rows = 0..tiles.rows;
        let is = |row: &usize| tiles.cell("level", *row) == &Cell::T(level.into());
        rows.filter(is).collect::<Vec<usize>>()
    };
    assert_eq!((of("macro").len(), of("micro").len()), (40, 80));
    for row in of("macro") {
        assert_eq!(tiles.cell("sampled_every", row), &Cell::Null);
    }
    let mut cols = Vec::new();
    for row in of("micro") {
        assert_eq!(tiles.cell("sampled_every", row), &Cell::U(8));
        assert_eq!(tiles.cell("flops", row), &Cell::U(1000));
        cols.push(tiles.number("col", row).unwrap());
    }
    // 16 columns are two strata: one of the first eight, then one of the others, and not always the same.
    assert!(
        cols.chunks(2).all(|pair| pair[0] < 8 && pair[1] >= 8),
        "{cols:?}"
    );
    cols.sort_unstable();
    cols.dedup();
    assert!(cols.len() > 8, "{cols:?}");
}

#[test]
fn strata_are_counted_on_each_thread() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .tiles_every(TileLevel::Pack, 100)
        .create()
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..250).for_each(|row| drop(rec.tile(TileLevel::Pack, row, 0))));
        }
    });
    rec.finish().unwrap();
    let tiles = table(&path, "tiles");
    // Two whole strata each, and perhaps one of the last.
    assert!((6..=9).contains(&tiles.rows), "{}", tiles.rows);
}
