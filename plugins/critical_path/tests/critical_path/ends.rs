//! The end of the path.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};

use crate::linked::{Linked, path, slack};

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

/// ```text
/// thread 0  ├ a ┤├ a ┤├ a ┤
/// thread 1                  ├ poll ┤
/// ```
#[test]
fn a_watchdog_that_ends_last_does_not_hold_the_path() {
    let out = run(
        40,
        vec![
            interval(1, "brick", "a", 0, 10),
            interval(2, "brick", "a", 10, 20),
            interval(3, "brick", "a", 20, 30),
            interval(4, "brick", "poll", 38, 40).thread(1),
        ],
    )
    .analyse();
    assert_eq!(
        path(&out),
        ["work a 0-10", "work a 10-20", "work a 20-30", "gap - 30-40"]
    );
    // Nothing after the path's end is known to hang on it, and all of it is critical.
    assert_eq!(slack(&out), ["1 | 0", "2 | 0", "3 | 0", "4 | 0"]);
    let columns = ["lane", "busy_ns", "rows", "is_connected"];
    assert_eq!(
        lines(out.table("off_path"), &columns),
        ["thread 1 | 0 | 1 | false"]
    );
}

#[test]
fn short_lived_threads_of_one_role_are_one_row_off_the_path() {
    let workers = (1..=9).map(|thread| {
        let start_ns = thread * 10;
        interval(thread as u64 + 1, "brick", "head", start_ns, start_ns + 4).thread(thread)
    });
    let main = interval(1, "brick", "a", 0, 100);
    let out = run(100, [main].into_iter().chain(workers).collect()).analyse();
    let columns = ["lane", "busy_ns", "rows", "is_connected"];
    assert_eq!(
        lines(out.table("off_path"), &columns),
        ["threads of head ×9 | 36 | 9 | false"]
    );
}

#[test]
fn a_sleeper_without_gaps_does_not_hold_it_either() {
    let out = run(
        100,
        vec![
            interval(1, "brick", "a", 0, 30),
            interval(2, "brick", "b", 40, 95),
            interval(3, "function", "wait", 0, 100).thread(1),
        ],
    )
    .analyse();
    assert_eq!(
        path(&out),
        ["work a 0-30", "gap - 30-40", "work b 40-95", "gap - 95-100"]
    );
}

#[test]
fn where_most_events_explain_little_the_least_gap_wins() {
    let out = run(
        100,
        vec![
            interval(1, "brick", "a", 0, 1),
            interval(2, "brick", "a", 98, 99),
            interval(3, "brick", "b", 5, 90).thread(1),
        ],
    )
    .analyse();
    assert_eq!(path(&out), ["gap - 0-5", "work b 5-90", "gap - 90-100"]);
}

#[test]
fn of_equals_the_device_comes_first() {
    let mut run = run(50, vec![interval(1, "brick", "host", 0, 50)]);
    run.fixture.calls = vec![interval(2, "", "launch", 0, 10)];
    run.fixture.kernels = vec![interval(3, "", "k", 10, 50).stream(0, 7)];
    run.launches = vec![(2, 3)];
    let out = run.analyse();
    assert_eq!(path(&out), ["work launch 0-10", "work k 10-50"]);
}
