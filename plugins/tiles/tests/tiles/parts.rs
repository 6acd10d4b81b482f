//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, part};
use trueno_plugin_tiles::Tiles;

use crate::fixture::{Fixture, Row};

/// Tiles of a rank, and the backends of its kernels.
type Rank = (Vec<Row>, Vec<&'static str>);

fn tile() -> impl Strategy<Value = Row> {
    let level = prop_oneof![
        1 => Just("macro"),
        1 => Just("midi"),
        4 => Just("micro"),
        1 => Just("pack"),
        1 => Just("other"),
    ];
    let times = (
        0..400_i64,
        prop_oneof![6 => 20..22_i64, 2 => 0..90_i64, 1 => 900..902_i64, 1 => Just(-1)],
    );
    let flops =
        prop_oneof![3 => Just(Some(64_u64)), 1 => Just(None), 1 => Just(Some((1 << 60) + 1))];
    let bytes =
        prop_oneof![4 => Just(Some(32_u64)), 1 => Just(None), 1 => (0..3_u64).prop_map(Some)];
    let place = (
        prop_oneof![5 => 0..9_i64, 1 => 0..70_i64],
        prop_oneof![60 => 0..3_i64, 1 => Just(-1)],
    );
    (level, 0..2_i64, times, flops, bytes, place).prop_map(
        |(level, thread, (start_ns, dur_ns), flops, bytes, (row, col))| {
            (level, thread, start_ns, dur_ns, flops, bytes, row, col)
        },
    )
}

fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let backends = prop::sample::subsequence(vec!["avx2", "scalar"], 0..=2);
    let rank = prop_oneof![
        1 => Just((Vec::new(), Vec::new())),
        5 => (prop::collection::vec(tile(), 0..40), backends),
    ];
    prop::collection::vec(rank, 1..5)
}

fn job(ranks: &[(i64, &Rank)], like: &Fixture) -> Fixture {
    let tiles = ranks.iter().flat_map(|(rank, (tiles, _))| {
        let tiles = tiles.iter();
        tiles.map(move |tile| {
            let mut tile = *tile;
            tile.1 |= rank << 16;
            tile
        })
    });
    let backends = ranks.iter().flat_map(|rank| rank.1.1.iter().copied());
    let mut backends: Vec<&str> = backends.collect();
    backends.sort_unstable();
    backends.dedup();
    Fixture {
        tiles: tiles.collect(),
        backends,
        ..like.clone()
    }
}

proptest! {
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        micro_every in prop::option::weighted(0.3, 2..5_i64),
        window in prop::option::weighted(0.3, (0..50_i64, 200..900_i64)),
        options in prop_oneof![
            Just("{}"),
            Just(r#"{"outlier_rows": 2, "heat_cells": 3}"#),
            Just(r#"{"outlier_rows": 0, "heat_cells": 1, "precision": "f64"}"#),
        ],
    ) {
        let like = Fixture {
            ceilings: vec![("avx2", 200e9), ("dram", 50e9), ("l2", 100e9), ("l1", 40e9)],
            cost_ns: Some(3.0),
            micro_every,
            window,
            ..Fixture::default()
        };
        let numbered: Vec<(i64, &Rank)> = (0..).zip(&ranks).collect();
        let whole = job(&numbered, &like).analyse_with(options);
        let parts: Vec<Output> = numbered
            .iter()
            .map(|rank| part::<Tiles>(job(&[*rank], &like).inputs(), options).unwrap())
            .collect();
        let agreed = check_parts::<Tiles>(&parts, cut, || like.others(), options, &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
