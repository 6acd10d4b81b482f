//! Runs whose clocks are known by hand.

use trueno_analysis::testing::{RunFixture, lines};

use crate::fixture::{Fixture, brick, clocks, row};

#[test]
fn rows_that_nest_count_up_along_the_lane() {
    let output = Fixture {
        run: RunFixture {
            bricks: vec![
                brick(1, "layer", 0, 0, 100),
                brick(2, "norm", 0, 10, 40),
                brick(3, "gemm", 0, 40, 90),
                // An instant at the end of another row follows it.
                brick(4, "mark", 0, 90, 90),
            ],
            ..RunFixture::default()
        },
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(
        lines(
            output.table("events"),
            &["id", "lane", "lamport_begin", "lamport_end"]
        ),
        [
            "1 | thread 0 | 1 | 8",
            "2 | thread 0 | 2 | 3",
            "3 | thread 0 | 4 | 5",
            "4 | thread 0 | 6 | 7",
        ]
    );
    assert_eq!(
        lines(
            output.table("totals"),
            &[
                "rows",
                "events",
                "edges",
                "max_lamport",
                "lanes",
                "tied_lanes"
            ]
        ),
        ["4 | 8 | 0 | 8 | 1 | 0"]
    );
    assert!(output.findings.is_empty(), "{:?}", output.findings);
}

#[test]
fn rows_that_cross_have_no_order_between_them() {
    let rows = vec![
        brick(1, "one", 0, 0, 10),
        brick(2, "two", 0, 5, 15),
        // In both, and in no order with their begins: neither is a frame.
        brick(3, "three", 0, 6, 8),
        brick(4, "after", 0, 20, 30),
    ];
    let run = RunFixture {
        bricks: rows,
        ..RunFixture::default()
    };
    let output = Fixture {
        run,
        ..Fixture::default()
    }
    .analyse();
    let all: Vec<_> = (1..5).map(|id| clocks(&output, id)).collect();
    let pair = |begin, end| (Some(begin), Some(end));
    assert_eq!(all, [pair(1, 2), pair(1, 2), pair(1, 2), pair(3, 4)]);
}

/// A call that launches a kernel, and a wait for it, on a stream whose clock is 30 ns behind.
fn launch() -> Fixture {
    Fixture {
        run: RunFixture {
            calls: vec![
                brick(1, "launch", 0, 100, 120),
                brick(2, "sync", 0, 130, 200),
            ],
            kernels: vec![row(3, "gemm", 70, 150).stream(0, 7)],
            syncs: vec![brick(4, "device", 0, 130, 200)],
            ..RunFixture::default()
        },
        edges: vec![(3, 4, "joins")],
        launches: vec![(1, 3)],
        ..Fixture::default()
    }
}

#[test]
fn launches_and_joins_lead_over_the_device() {
    let output = launch().analyse();
    let all: Vec<_> = [1, 3, 2, 4].map(|id| clocks(&output, id)).into();
    // The wait lies inside the call that waits: the same times, and a higher clock at the end of the call.
    let pair = |begin, end| (Some(begin), Some(end));
    assert_eq!(all, [pair(1, 2), pair(2, 3), pair(3, 6), pair(4, 5)]);
    assert_eq!(
        lines(
            output.table("edges"),
            &[
                "kind",
                "relation",
                "edges",
                "implied",
                "between_lanes",
                "contradicted",
                "max_late_ns",
                "unused"
            ]
        ),
        [
            "joins | end before end | 1 | 0 | 1 | 0 | - | 0",
            "launches | begin before begin | 1 | 1 | 1 | 1 | 30 | 0",
        ]
    );
    assert_eq!(
        lines(
            output.table("lanes"),
            &[
                "lane",
                "lane_kind",
                "order_with_others",
                "group",
                "incoming",
                "outgoing",
                "rows",
                "max_lamport"
            ]
        ),
        [
            "thread 0 | host | by edges | 1 | 1 | 1 | 3 | 6",
            "gpu0/stream 7 | device | by edges | 1 | 1 | 1 | 1 | 3",
        ]
    );
}

#[test]
fn a_recorded_edge_and_an_implied_one_are_one() {
    let mut fixture = launch();
    fixture
        .edges
        .extend([(1, 3, "launches"), (1, 3, "launches")]);
    let output = fixture.analyse();
    assert_eq!(
        lines(output.table("edges"), &["kind", "edges", "implied"]),
        ["joins | 1 | 0", "launches | 1 | 0"]
    );
}

#[test]
fn tasks_come_after_the_begin_of_their_parent() {
    let task = |id, thread, start_ns, end_ns| trueno_analysis::testing::Row {
        kind: "task",
        ..brick(id, "head", thread, start_ns, end_ns)
    };
    let output = Fixture {
        run: RunFixture {
            bricks: vec![
                brick(1, "attention", 0, 0, 100),
                task(2, 1, 10, 50),
                // On the thread of its parent nesting says it.
                task(3, 0, 20, 30),
            ],
            ..RunFixture::default()
        },
        tasks: vec![(1, 2), (1, 3)],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(clocks(&output, 2), (Some(2), Some(3)));
    assert_eq!(
        lines(
            output.table("edges"),
            &["kind", "edges", "implied", "between_lanes"]
        ),
        ["spawns | 1 | 1 | 1"]
    );
}

#[test]
fn edges_that_order_nothing_are_counted() {
    let output = Fixture {
        run: RunFixture {
            bricks: vec![brick(1, "a", 0, 0, 5), brick(2, "b", 1, 0, 5)],
            // A stream that waits holds up no host.
            syncs: vec![brick(3, "stream_wait", 0, 6, 7)],
            ..RunFixture::default()
        },
        edges: vec![
            (1, 9, "depends_on"),
            (1, 2, "joins"),
            (1, 3, "joins"),
            (1, 2, "transfer"),
            (2, 1, "gathers"),
            (1, 2, "transfer"),
        ],
        ..Fixture::default()
    }
    .analyse();
    assert_eq!(
        lines(
            output.table("edges"),
            &["kind", "relation", "edges", "unused"]
        ),
        [
            "depends_on | end before begin | 0 | 1",
            "joins | end before end | 0 | 2",
            "gathers | - | 0 | 1",
            "transfer | - | 0 | 2",
        ]
    );
    assert_eq!(output.table("events").rows(), 2);
}

#[test]
fn a_circle_is_named_and_leaves_the_rest_its_clocks() {
    let output = Fixture {
        run: RunFixture {
            bricks: vec![
                brick(1, "before", 0, 0, 5),
                brick(2, "here", 0, 10, 15),
                brick(3, "there", 1, 10, 15),
                brick(4, "after", 1, 20, 25),
            ],
            ..RunFixture::default()
        },
        edges: vec![(2, 3, "depends_on"), (3, 2, "depends_on"), (4, 4, "spawns")],
        ..Fixture::default()
    }
    .analyse();
    let all: Vec<_> = (1..5).map(|id| clocks(&output, id)).collect();
    let none = (None, None);
    assert_eq!(all, [(Some(1), Some(2)), none, none, (None, Some(5))]);
    let titles: Vec<&str> = output.findings.iter().map(|of| of.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "4 events come before themselves: here (2) → there (3) → here (2)",
            "1 event comes before itself: after (4) → after (4)",
            "recorded times contradict 2 of 3 edges, by up to 5 ns",
        ]
    );
}

#[test]
fn a_page_has_no_row_for_each_row_and_nothing_of_lanes_apart() {
    let names = |fixture: &Fixture| -> Vec<String> {
        let output = fixture.analyse_with("{}");
        assert_eq!(output.findings.len(), 0);
        let tables = output.tables.iter();
        tables.map(|table| table.name().to_owned()).collect()
    };
    let mut apart = Fixture {
        run: RunFixture {
            bricks: vec![brick(1, "a", 0, 0, 5), brick(2, "b", 1, 10, 15)],
            ..RunFixture::default()
        },
        ..Fixture::default()
    };
    assert_eq!(names(&apart), [""; 0]);
    let all = ["totals", "edges", "lanes", "contradictions"];
    let mut a_task = apart.clone();
    a_task.run.bricks[1].kind = "task";
    assert_eq!(names(&a_task), [""; 0], "no row is its parent");
    a_task.tasks.push((1, 2));
    assert_eq!(names(&a_task), all);
    let mut a_launch = apart.clone();
    a_launch.run.calls.push(brick(3, "launch", 0, 2, 3));
    let mut kernel = row(4, "kernel", 4, 5);
    (kernel.device, kernel.stream) = (Some(0), Some(7));
    a_launch.run.kernels.push(kernel);
    assert_eq!(names(&a_launch), [""; 0], "no correlation ties them");
    a_launch.launches.push((3, 4));
    assert_eq!(names(&a_launch), all);
    apart.edges.push((1, 2, "depends_on"));
    assert_eq!(names(&apart), all);
}
