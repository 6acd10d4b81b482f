//! Outliers with known answers.

use trueno_plugin::Evidence;

use crate::fixture::{Fixture, Row, lines};

fn micro(at: i64, dur_ns: i64, flops: u64) -> Row {
    ("micro", 0, at * 1000, dur_ns, Some(flops), Some(64), 0, at)
}

#[test]
fn far_above_the_median_of_equal_work() {
    // Median 100, deviation 5 (the least: 5 % of it); 126 is 5.2 away, 125 is 5.
    let mut tiles: Vec<Row> = (0..9).map(|at| micro(at, 100, 8)).collect();
    tiles.push(micro(9, 125, 8));
    tiles.push(micro(10, 126, 8));
    tiles.push(micro(11, 900, 8));
    // Ten times the work may take ten times as long; three of them have no usual duration.
    tiles.extend((12..15).map(|at| micro(at, 1000 * at, 80)));
    let run = Fixture {
        tiles,
        ..Fixture::default()
    };
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("outliers"),
            &["id", "level", "col", "dur_ns", "median_ns", "deviations"]
        ),
        [
            "12 | micro | 11 | 900 | 100 | 160",
            "11 | micro | 10 | 126 | 100 | 5.2"
        ]
    );
    let finding = out.finding("outliers").unwrap();
    assert_eq!(
        finding.title,
        "2 tiles took far longer than others with the same work: 826 ns above the median in total"
    );
    assert_eq!(finding.evidence, Some(Evidence::Ids(vec![12, 11])));
    let out = run.analyse_with(r#"{"outlier_rows": 1}"#);
    assert_eq!(out.table("outliers").rows(), 1);
    assert!(
        out.finding("outliers")
            .unwrap()
            .title
            .starts_with("2 tiles")
    );
}

#[test]
fn where_durations_scatter_few_are_far() {
    let tiles = (0..50).map(|at| micro(at, 100 + at * 10, 8)).collect();
    let run = Fixture {
        tiles,
        ..Fixture::default()
    };
    assert_eq!(run.analyse().table("outliers").rows(), 0);
}
