//! Dependencies that cannot be: named, counted, left out.

use trueno_analysis::testing::{Row, RunFixture, interval};
use trueno_plugin::{Evidence, Severity};

use crate::linked::{Linked, codes, path};

fn two(edges: Vec<(u64, u64, &'static str)>) -> Linked {
    let bricks = vec![
        interval(1, "brick", "a", 0, 100),
        interval(2, "brick", "b", 100, 300).thread(1),
    ];
    Linked {
        fixture: RunFixture {
            wall_ns: Some(300),
            bricks,
            ..RunFixture::default()
        },
        edges,
        ..Linked::default()
    }
}

#[test]
fn two_that_wait_for_each_other_are_a_named_cycle() {
    let out = two(vec![(1, 2, "depends_on"), (2, 1, "depends_on")]).analyse();
    assert_eq!(codes(&out), ["dependency_cycle", "edge_contradicts_times"]);
    assert_eq!(out.findings[0].severity, Severity::Error);
    assert_eq!(out.findings[0].title, "2 rows wait for each other: 1, 2");
    assert_eq!(out.findings[0].evidence, Some(Evidence::Ids(vec![1, 2])));
    assert_eq!(
        out.findings[1].title,
        "1 dependency contradicts the measured times and is left out"
    );
    assert!(
        out.findings[1]
            .detail
            .as_ref()
            .unwrap()
            .ends_with(": 2 -> 1")
    );
    // What the times allow of it still holds.
    assert_eq!(path(&out), ["work a 0-100", "work b 100-300"]);
}

#[test]
fn one_that_waits_for_itself_is_a_cycle() {
    assert_eq!(
        codes(&two(vec![(1, 1, "depends_on")]).analyse()),
        ["dependency_cycle", "edge_contradicts_times"]
    );
}

#[test]
fn one_nanosecond_too_early_is_a_contradiction() {
    let mut run = two(vec![(1, 2, "depends_on")]);
    assert_eq!(codes(&run.analyse()), [""; 0]);
    run.fixture.bricks[0].dur_ns += 1;
    assert_eq!(codes(&run.analyse()), ["edge_contradicts_times"]);
    run.edges = vec![(2, 1, "spawns")];
    assert_eq!(codes(&run.analyse()), ["edge_contradicts_times"]);
}

#[test]
fn ids_and_kinds_that_are_not_known_are_counted() {
    let mut run = two(vec![
        (1, 99, "depends_on"),
        (98, 99, "spawns"),
        (1, 2, "near"),
        (1, 2, "joins"),
    ]);
    run.fixture.kernels = vec![Row {
        bound: true,
        ..interval(7, "", "k", 0, 10)
    }];
    run.edges.push((1, 7, "depends_on"));
    let out = run.analyse();
    assert_eq!(
        codes(&out),
        [
            "edge_to_unknown_row",
            "join_of_no_wait",
            "edge_kind_unknown",
            "left_out"
        ]
    );
    assert!(out.findings[0].title.starts_with("3 "));
    assert!(out.findings[2].title.starts_with("1 "));
}

/// Times do not order events at one instant, but a cycle of them is still a cycle.
#[test]
fn a_circle_at_one_instant_is_named() {
    let mark = |id, thread| interval(id, "brick", "mark", 50, 50).thread(thread);
    let fixture = RunFixture {
        wall_ns: Some(100),
        bricks: vec![mark(1, 0), mark(2, 0), mark(3, 1), mark(4, 1)],
        ..RunFixture::default()
    };
    let run = |edges| {
        Linked {
            fixture: fixture.clone(),
            edges,
            ..Linked::default()
        }
        .analyse()
    };
    assert_eq!(
        codes(&run(vec![(1, 3, "depends_on"), (4, 2, "depends_on")])),
        [""; 0]
    );
    // The lower id comes first on its thread: 1, 2, then 3, 4, then 1 again.
    let out = run(vec![(2, 3, "depends_on"), (4, 1, "depends_on")]);
    assert_eq!(codes(&out), ["dependency_cycle", "edge_contradicts_times"]);
    assert_eq!(
        out.findings[0].evidence,
        Some(Evidence::Ids(vec![1, 2, 3, 4]))
    );
}

#[test]
fn many_cycles_are_counted_after_the_first_ten() {
    let bricks = (0..24)
        .map(|i| interval(i + 1, "brick", "a", i as i64 * 10, i as i64 * 10 + 5))
        .collect();
    let pairs = (0..12).flat_map(|i| {
        [
            (2 * i + 1, 2 * i + 2, "depends_on"),
            (2 * i + 2, 2 * i + 1, "depends_on"),
        ]
    });
    let fixture = RunFixture {
        wall_ns: Some(240),
        bricks,
        ..RunFixture::default()
    };
    let out = Linked {
        fixture,
        edges: pairs.collect(),
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        codes(&out)
            .iter()
            .filter(|code| **code == "dependency_cycle")
            .count(),
        10
    );
    assert_eq!(
        out.finding("dependency_cycles").unwrap().title,
        "2 more circles of rows that wait for each other"
    );
}
