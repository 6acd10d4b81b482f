//! Times that contradict edges, as they are shown.

use trueno_analysis::testing::{RunFixture, lines};

use crate::fixture::{Fixture, brick};

/// Messages between two processes whose clocks are 40 ns apart.
fn two_processes() -> Fixture {
    Fixture {
        run: RunFixture {
            bricks: vec![
                brick(1, "send", 0, 100, 110),
                brick(2, "receive", 1, 80, 90),
                brick(3, "send", 0, 200, 210),
                brick(4, "receive", 1, 170, 175),
                brick(5, "send", 1, 180, 190),
                brick(6, "receive", 0, 300, 310),
            ],
            ..RunFixture::default()
        },
        edges: vec![
            (1, 2, "depends_on"),
            (3, 4, "depends_on"),
            (5, 6, "depends_on"),
        ],
        processes: vec![(0, 4_711), (1, 4_712)],
        ..Fixture::default()
    }
}

#[test]
fn each_is_told_with_both_times() {
    let output = two_processes().analyse();
    let columns = [
        "kind",
        "late_ns",
        "from_id",
        "from_name",
        "from_lane",
        "from_process",
        "from_rank",
        "from_time_ns",
        "to_id",
        "to_name",
        "to_lane",
        "to_process",
        "to_rank",
        "to_time_ns",
        "is_implied",
    ];
    assert_eq!(
        lines(output.table("contradictions"), &columns),
        [
            "depends_on | 40 | 3 | send | thread 0 | 4711 | - | 210 | 4 | receive | thread 1 | 4712 | - | 170 | false",
            "depends_on | 30 | 1 | send | thread 0 | 4711 | - | 110 | 2 | receive | thread 1 | 4712 | - | 80 | false",
        ]
    );
    let first = output.tables.first().map(|table| table.name());
    assert_eq!(first, Some("contradictions_by_lanes"));
    assert_eq!(
        lines(
            output.table("contradictions_by_lanes"),
            &[
                "kind",
                "from_lane",
                "to_lane",
                "contradicted",
                "edges",
                "max_late_ns"
            ]
        ),
        ["depends_on | thread 0 | thread 1 | 2 | 2 | 40"]
    );
    let finding = output.finding("contradictions").unwrap();
    assert_eq!(
        finding.title,
        "recorded times contradict 2 of 3 edges, by up to 40 ns"
    );
    let detail = finding.detail.as_deref().unwrap();
    assert!(
        detail.contains("the clock of thread 0 is ahead of that of thread 1 by at least that much"),
        "{detail}"
    );
}

#[test]
fn rows_of_the_table_are_bounded_and_sums_are_not() {
    let output = two_processes().analyse_with(r#"{"contradiction_rows": 1}"#);
    let late = lines(output.table("contradictions"), &["late_ns"]);
    assert_eq!(late, ["40"]);
    let edges = lines(output.table("edges"), &["contradicted", "max_late_ns"]);
    assert_eq!(edges, ["2 | 40"]);
}

#[test]
fn times_that_agree_are_no_finding() {
    let mut fixture = two_processes();
    for row in fixture
        .run
        .bricks
        .iter_mut()
        .filter(|row| row.thread == Some(1))
    {
        row.start_ns += 40;
    }
    let output = fixture.analyse();
    assert!(output.findings.is_empty(), "{:?}", output.findings);
    assert_eq!(output.table("contradictions").rows(), 0);
}

#[test]
fn times_of_a_part_are_those_of_the_run() {
    let fixture = Fixture {
        window: Some((95, 215)),
        ..two_processes()
    };
    let output = fixture.analyse();
    assert_eq!(
        lines(
            output.table("contradictions"),
            &["from_time_ns", "to_time_ns", "late_ns"]
        ),
        ["210 | 170 | 40"]
    );
    // Edges to rows outside order nothing here.
    assert_eq!(
        lines(output.table("edges"), &["edges", "unused"]),
        ["1 | 2"]
    );
}
