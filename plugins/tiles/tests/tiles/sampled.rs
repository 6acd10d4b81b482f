//! A sample of equal tiles gives the figures of all of them.

use crate::fixture::{Fixture, lines};

/// 64 micro tiles of 10 ns in a macro tile of 1000 ns. Every `every`-th one has a row.
fn blocked(every: i64) -> Fixture {
    let mut fixture = Fixture {
        tiles: vec![("macro", 0, 0, 1000, None, None, 0, 0)],
        backends: vec!["avx2"],
        ceilings: vec![("avx2", 200e9), ("l1", 100e9)],
        micro_every: (every > 1).then_some(every),
        cost_ns: Some(2.0),
        ..Fixture::default()
    };
    fixture
        .tiles
        .extend((0..64).filter(|at| at % every == 3 % every).map(|at| {
            let (row, col) = (at / 8, at % 8);
            ("micro", 0, 15 * at, 10, Some(1000), Some(500), row, col)
        }));
    fixture
}

const COLUMNS: [&str; 9] = [
    "level",
    "tiles",
    "exclusive_ns",
    "inclusive_ns",
    "flops",
    "bytes",
    "flops_per_s",
    "efficiency_share",
    "bound_by",
];

#[test]
fn sums_are_those_of_all_tiles() {
    let all = blocked(1).analyse();
    let expected = [
        "macro | 1 | 360 | 1000 | - | - | - | - | -",
        "micro | 64 | 640 | 640 | 64000 | 32000 | 100000000000 | 0.5 | compute",
    ];
    assert_eq!(lines(all.table("levels"), &COLUMNS), expected);
    for every in [2, 8, 16] {
        let sampled = blocked(every).analyse();
        assert_eq!(
            lines(sampled.table("levels"), &COLUMNS),
            expected,
            "1 in {every}"
        );
        assert_eq!(
            lines(sampled.table("levels"), &["recorded", "sampled_every"]),
            ["1 | -".to_owned(), format!("{} | {every}", 64 / every)]
        );
        let cells = sampled.table("heat_micro");
        let time: i64 = cells.i64("dur_ns").unwrap().iter().flatten().sum();
        let tiles: u64 = cells.u64("tiles").unwrap().iter().flatten().sum();
        assert_eq!((time, tiles), (640, 64));
    }
}

#[test]
fn what_recording_costs_is_said_where_it_is_much() {
    // 64 rows of 2 ns in 640 ns.
    let all = blocked(1).analyse();
    assert_eq!(
        lines(all.table("levels"), &["recorder_share"]),
        ["0.002", "0.2"]
    );
    assert_eq!(
        all.finding("perturbed").unwrap().title,
        "recording cost about 20 % of the time of micro tiles"
    );
    let sampled = blocked(8).analyse();
    assert_eq!(
        lines(sampled.table("levels"), &["recorder_share"]),
        ["0.002", "0.025"]
    );
    assert!(sampled.finding("perturbed").is_none());
    let unknown = Fixture {
        cost_ns: None,
        ..blocked(1)
    };
    assert_eq!(
        lines(unknown.analyse().table("levels"), &["recorder_share"]),
        ["-", "-"]
    );
}
