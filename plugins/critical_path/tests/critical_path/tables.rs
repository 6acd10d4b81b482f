//! Windows, iterations, names and what ran alone.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};

use crate::linked::{Linked, path};

fn run(wall_ns: i64, bricks: Vec<Row>) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(wall_ns),
            bricks,
            ..RunFixture::default()
        },
        ..Linked::default()
    }
}

fn iterations() -> Linked {
    run(
        100,
        vec![
            interval(1, "iteration", "step", 10, 40),
            interval(2, "brick", "a", 10, 30).category("X"),
            interval(3, "iteration", "step", 50, 90),
            interval(4, "brick", "a", 60, 90).category("Y"),
        ],
    )
}

#[test]
fn every_iteration_has_its_part_of_the_path() {
    let out = iterations().analyse();
    assert_eq!(
        lines(
            out.table("by_iteration"),
            &["name", "start_ns", "dur_ns", "work_ns", "gap_ns", "id"]
        ),
        ["step | 10 | 30 | 30 | 0 | 1", "step | 50 | 40 | 40 | 0 | 3"]
    );
    assert!(
        run(10, vec![interval(1, "brick", "a", 0, 10)])
            .analyse()
            .tables
            .iter()
            .all(|table| table.name() != "by_iteration")
    );
}

#[test]
fn a_window_keeps_the_times_of_the_run() {
    let out = Linked {
        window: Some((20, 70)),
        ..iterations()
    }
    .analyse();
    assert_eq!(
        path(&out),
        [
            "work a 20-30",
            "work step 30-40",
            "gap - 40-50",
            "work step 50-60",
            "work a 60-70"
        ]
    );
    assert_eq!(
        lines(
            out.table("by_category"),
            &["category", "dur_ns", "wall_share"]
        ),
        [
            "outside bricks | 20 | 0.4",
            "- | 10 | 0.2",
            "X | 10 | 0.2",
            "Y | 10 | 0.2"
        ]
    );
}

#[test]
fn dependencies_that_leave_a_window_are_no_cause_for_alarm() {
    let mut run = iterations();
    run.edges = vec![(2, 4, "depends_on")];
    run.window = Some((50, 90));
    assert_eq!(
        crate::linked::codes(&run.analyse()),
        ["edge_out_of_window", "outside_window"]
    );
    run.window = None;
    assert_eq!(crate::linked::codes(&run.analyse()), [""; 0]);
}

#[test]
fn slack_has_its_least_and_its_median_by_name() {
    let mut run = run(
        100,
        vec![
            interval(1, "brick", "main", 0, 100),
            interval(2, "task", "t", 0, 90).thread(1),
            interval(3, "task", "t", 0, 70).thread(2),
            interval(4, "task", "t", 0, 40).thread(3),
        ],
    );
    run.tasks = vec![(1, 2), (1, 3), (1, 4)];
    let out = run.analyse();
    assert_eq!(
        lines(
            out.table("slack_by_name"),
            &["name", "kind", "rows", "min_slack_ns", "median_slack_ns"]
        ),
        ["main | brick | 1 | 0 | 0", "t | task | 3 | 10 | 30"]
    );
}

/// ```text
/// thread 0   ├──── a ────┤├── join ──┤├ b ┤
/// thread 1         ├─────── t ──────┤
/// ```
#[test]
fn what_ran_while_all_others_were_idle_stands_apart() {
    let mut run = run(
        60,
        vec![
            interval(1, "brick", "a", 0, 20),
            interval(2, "brick", "b", 50, 60),
            interval(3, "task", "t", 10, 45).thread(1),
        ],
    );
    run.fixture.syncs = vec![interval(4, "", "join", 20, 50)];
    run.edges = vec![(3, 4, "joins")];
    run.tasks = vec![(1, 3)];
    let out = run.analyse();
    assert_eq!(
        lines(out.table("serial_work"), &["name", "alone_ns"]),
        ["t | 25", "a | 10", "b | 10"]
    );
}

/// ```text
/// thread 0   ├───── a ─────┤├ b ┤├ b ┤
/// thread 1             ├ t ┤
/// ```
#[test]
fn a_thread_shares_work_from_its_first_row_on() {
    let run = run(
        60,
        vec![
            interval(1, "brick", "a", 0, 40),
            interval(2, "brick", "b", 40, 50),
            interval(3, "brick", "b", 50, 60),
            interval(4, "brick", "t", 30, 40).thread(1),
        ],
    );
    let out = run.analyse();
    let columns = ["name", "alone_ns", "shared_ns", "longest_ns"];
    assert_eq!(
        lines(out.table("serial_work"), &columns),
        ["a | 30 | 30 | 30", "b | 20 | 10 | 10"]
    );
}
