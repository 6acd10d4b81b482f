//! Several threads: spawned, joined, queued.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};

use crate::linked::{Linked, codes, path, slack};

fn join(id: u64, start_ns: i64, end_ns: i64) -> Row {
    interval(id, "", "join", start_ns, end_ns)
}

/// ```text
/// thread 0  ├ prepare 0..10 ┤├──── join 10..62 ────┤├ finish 62..70 ┤   all in run 0..70
/// thread 1       ├ short 6..26 ┤
/// thread 2       ├──────── long 8..60 ───────┤
/// ```
fn fork() -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(70),
            bricks: vec![
                interval(2, "brick", "prepare", 0, 10),
                interval(1, "function", "run", 0, 70),
                interval(3, "task", "short", 6, 26).thread(1),
                interval(4, "task", "long", 8, 60).thread(2),
                interval(6, "brick", "finish", 62, 70),
            ],
            syncs: vec![join(5, 10, 62)],
            ..RunFixture::default()
        },
        edges: vec![(3, 5, "joins"), (4, 5, "joins")],
        tasks: vec![(1, 3), (1, 4)],
        ..Linked::default()
    }
}

#[test]
fn the_path_goes_through_the_longest_task() {
    let out = fork().analyse();
    assert_eq!(
        path(&out),
        [
            "work prepare 0-8",
            "work long 8-60",
            "sync_wait join 60-62",
            "work finish 62-70"
        ]
    );
    assert_eq!(
        lines(out.table("path"), &["lane", "id"]),
        [
            "thread 0 | 2",
            "thread 2 | 4",
            "thread 0 | 5",
            "thread 0 | 6"
        ]
    );
}

#[test]
fn the_shorter_task_may_be_as_late_as_the_longer() {
    // `prepare` has none until the last spawn; its rest, and the wait, have as much as long takes.
    assert_eq!(
        slack(&fork().analyse()),
        ["1 | 0", "2 | 0", "3 | 34", "4 | 0", "5 | 0", "6 | 0"]
    );
}

#[test]
fn without_edges_a_task_has_slack_to_the_end() {
    let out = Linked {
        edges: vec![],
        tasks: vec![],
        ..fork()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work prepare 0-10",
            "sync_wait join 10-62",
            "work finish 62-70"
        ]
    );
    assert_eq!(
        slack(&out),
        ["1 | 0", "2 | 0", "3 | 44", "4 | 10", "5 | 0", "6 | 0"]
    );
}

/// A waiting thread begins nothing: the second task of a worker waited for the first.
///
/// ```text
/// thread 0  ├ a 0..5 ┤├────────── join 5..91 ─────────┤
/// thread 1       ├ one 8..50 ┤ ├ two 51..90 ┤
/// ```
#[test]
fn tasks_of_one_worker_follow_each_other() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(91),
            bricks: vec![
                interval(1, "brick", "a", 0, 91),
                interval(2, "task", "one", 8, 50).thread(1),
                interval(3, "task", "two", 51, 90).thread(1),
            ],
            syncs: vec![join(4, 5, 91)],
            ..RunFixture::default()
        },
        edges: vec![(2, 4, "joins"), (3, 4, "joins")],
        tasks: vec![(1, 2), (1, 3)],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work a 0-5",
            "queue one 5-8",
            "work one 8-50",
            "gap - 50-51",
            "work two 51-90",
            "sync_wait join 90-91"
        ]
    );
}

/// A parent that runs one of the tasks itself does not spawn the others from it.
#[test]
fn a_parent_that_takes_part_spawned_before_that() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "all", 0, 100),
                interval(2, "task", "own", 4, 90),
                interval(3, "task", "other", 20, 100).thread(1),
            ],
            ..RunFixture::default()
        },
        tasks: vec![(1, 2), (1, 3)],
        ..Linked::default()
    }
    .analyse();
    // Both lanes end together: the lower id is followed.
    assert_eq!(
        path(&out),
        ["work all 0-4", "work own 4-90", "work all 90-100"]
    );
    assert_eq!(slack(&out), ["1 | 0", "2 | 0", "3 | 0"]);
}

#[test]
fn a_dependency_between_lanes_is_followed() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(60),
            bricks: vec![
                interval(1, "brick", "first", 0, 30),
                interval(2, "brick", "before", 0, 10).thread(1),
                interval(3, "brick", "after", 35, 60).thread(1),
            ],
            ..RunFixture::default()
        },
        edges: vec![(1, 3, "depends_on")],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        ["work first 0-30", "queue after 30-35", "work after 35-60"]
    );
    assert_eq!(slack(&out), ["1 | 0", "2 | 25", "3 | 0"]);
    assert_eq!(codes(&out), [""; 0]);
}

/// Work inside a wait is work, and the wait still ends with what it waited for.
#[test]
fn a_wait_that_helps_is_cut_around_the_help() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(50),
            bricks: vec![
                interval(1, "function", "main", 0, 50),
                interval(2, "task", "far", 2, 30).thread(1),
                interval(3, "task", "help", 10, 20),
            ],
            syncs: vec![join(4, 5, 32)],
            ..RunFixture::default()
        },
        edges: vec![(2, 4, "joins")],
        tasks: vec![(1, 2)],
        ..Linked::default()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work main 0-2",
            "work far 2-30",
            "sync_wait join 30-32",
            "work main 32-50"
        ]
    );
    assert_eq!(slack(&out), ["1 | 0", "2 | 0", "3 | 10", "4 | 0"]);
}

/// Nobody waits for a watchdog: its own work limits the prediction, its gaps do not.
#[test]
fn a_thread_that_only_follows_pins_no_prediction() {
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "a", 0, 40),
                interval(2, "brick", "b", 40, 100),
                interval(3, "brick", "look", 45, 46).thread(1),
                interval(4, "brick", "look", 95, 99).thread(1),
            ],
            ..RunFixture::default()
        },
        edges: vec![(1, 3, "depends_on")],
        ..Linked::default()
    };
    for (rule, predicted_ns) in [("b=0.5", 70), ("a=0.5", 80), ("b=0", 50)] {
        let out = run.analyse_with(&format!(r#"{{"what_if": ["{rule}"]}}"#));
        let predicted = out.table("what_if").i64("predicted_ns").unwrap().value(0);
        assert_eq!(predicted, predicted_ns, "{rule}");
    }
}

/// A driver's thread answers the host once, and then polls until the program ends: its polls limit no prediction.
#[test]
fn the_polls_of_a_thread_after_its_last_answer_pin_no_prediction() {
    let call = |id, name, start_ns, end_ns| interval(id, "", name, start_ns, end_ns);
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "a", 0, 20),
                interval(2, "brick", "b", 25, 100),
                interval(3, "brick", "answers", 20, 24).thread(1),
            ],
            calls: vec![
                call(4, "poll", 30, 60).thread(1),
                call(5, "poll", 60, 99).thread(1),
            ],
            ..RunFixture::default()
        },
        edges: vec![(1, 3, "depends_on"), (3, 2, "depends_on")],
        ..Linked::default()
    };
    for (rule, predicted_ns) in [("b=0", 25), ("b=0.2", 40)] {
        let out = run.analyse_with(&format!(r#"{{"what_if": ["{rule}"]}}"#));
        let predicted = out.table("what_if").i64("predicted_ns").unwrap().value(0);
        assert_eq!(predicted, predicted_ns, "{rule}");
    }
}

/// A driver asks the system time and again while it waits for a device: that is no work between two waits.
#[test]
fn calls_of_the_system_within_a_wait_are_part_of_it() {
    let call = |id, name, start_ns, end_ns| interval(id, "", name, start_ns, end_ns);
    let run = Linked {
        fixture: RunFixture {
            wall_ns: Some(110),
            calls: vec![
                call(1, "cudaLaunchKernel", 0, 10),
                call(2, "cudaDeviceSynchronize", 10, 105),
                call(4, "ioctl", 40, 41),
                call(5, "ioctl", 70, 71),
            ],
            syncs: vec![call(3, "device", 11, 104)],
            kernels: vec![interval(6, "", "k", 10, 100).stream(0, 7)],
            ..RunFixture::default()
        },
        edges: vec![(1, 6, "launches"), (6, 3, "joins")],
        ..Linked::default()
    };
    let out = run.analyse_with(r#"{"what_if": ["k=0.5"]}"#);
    let predicted = out.table("what_if").i64("predicted_ns").unwrap().value(0);
    assert_eq!(predicted, 65);
}

/// A call may return only after the wait that it ended: it ended the wait while it was open.
#[test]
fn the_path_goes_on_in_the_thread_whose_call_ended_the_wait() {
    for waker_end_ns in [38, 40, 55] {
        let call = |id, name, start_ns, end_ns| interval(id, "", name, start_ns, end_ns);
        let mut run = Linked {
            fixture: RunFixture {
                wall_ns: Some(70),
                bricks: vec![
                    interval(1, "brick", "computes", 0, 35).thread(1),
                    interval(2, "brick", "goes on", 40, 70),
                ],
                calls: vec![call(3, "wake", 35, waker_end_ns).thread(1)],
                syncs: vec![call(4, "futex", 2, 40)],
                ..RunFixture::default()
            },
            edges: vec![(3, 4, "wakes")],
            ..Linked::default()
        };
        let out = run.analyse();
        assert_eq!(codes(&out), [""; 0]);
        let of_waker = waker_end_ns.min(40);
        let mut expected = vec![
            "work computes 0-35".to_owned(),
            format!("work wake 35-{of_waker}"),
        ];
        if of_waker < 40 {
            expected.push("sync_wait futex 38-40".to_owned());
        }
        expected.push("work goes on 40-70".to_owned());
        assert_eq!(path(&out), expected);
        // One that began only after the wait has not ended it.
        run.fixture.calls[0].start_ns = 41;
        assert_eq!(codes(&run.analyse()), ["edge_contradicts_times"]);
    }
}

/// Nothing says what the wait is for. Other threads may run on meanwhile, and that is said without calling it the cause.
#[test]
fn what_other_threads_do_beside_an_unexplained_wait_is_listed() {
    let out = Linked {
        fixture: RunFixture {
            wall_ns: Some(1_000),
            bricks: vec![
                interval(1, "function", "step", 0, 1_000),
                interval(2, "function", "Execute", 200, 700).thread(1),
                interval(3, "function", "dot", 300, 500).thread(1),
                interval(4, "function", "dot", 400, 600).thread(2),
                interval(5, "function", "late", 950, 990).thread(2),
            ],
            syncs: vec![join(6, 100, 900)],
            ..RunFixture::default()
        },
        ..Linked::default()
    }
    .analyse();
    assert!(path(&out).contains(&"sync_wait join 100-900".to_owned()));
    // Two threads at once count once.
    assert_eq!(
        lines(
            out.table("beside_waits"),
            &["name", "beside_ns", "wall_share"]
        ),
        ["Execute | 300 | 0.3", "dot | 300 | 0.3"]
    );
}
