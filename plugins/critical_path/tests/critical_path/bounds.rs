//! The window, several last ends, and limits on what is listed.

use trueno_analysis::testing::{RunFixture, interval, lines};
use trueno_plugin::Severity;
use trueno_plugin::testing::Output;

use crate::linked::{Linked, codes, path};

fn run(wall_ns: i64, bricks: Vec<trueno_analysis::testing::Row>) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(wall_ns),
            bricks,
            ..RunFixture::default()
        },
        ..Linked::default()
    }
}

#[test]
fn rows_are_cut_to_the_window() {
    let late = vec![
        interval(1, "brick", "a", -10, 20),
        interval(2, "brick", "b", 30, 80),
        interval(3, "brick", "c", 60, 90).thread(1),
    ];
    let out = run(50, late).analyse();
    assert_eq!(path(&out), ["work a 0-20", "gap - 20-30", "work b 30-50"]);
    assert_eq!(codes(&out), ["outside_recording"]);
    let found = &out.findings[0];
    assert_eq!(found.severity, Severity::Warning);
    assert_eq!(found.title, "1 row lies outside the recording, 2 in part");
}

/// `a` 0–40, `b` 40–60, and so on to 100; the iteration around all of it.
fn in_a_window(from_ns: i64, until_ns: i64, last_end_ns: i64) -> Output {
    let mut linked = run(
        100,
        vec![
            interval(1, "iteration", "iteration", 0, 100),
            interval(2, "brick", "a", 0, 40),
            interval(3, "brick", "b", 40, 60),
            interval(4, "brick", "c", 60, 80),
            interval(5, "brick", "d", 80, last_end_ns).thread(1),
        ],
    );
    linked.window = Some((from_ns, until_ns));
    linked.analyse()
}

#[test]
fn what_an_asked_for_window_leaves_out_is_counted_and_no_warning() {
    let out = in_a_window(30, 50, 100);
    assert_eq!(codes(&out), ["outside_window"]);
    let found = out.finding("outside_window").unwrap();
    assert_eq!(found.severity, Severity::Info);
    assert_eq!(
        found.title,
        "2 rows lie outside the chosen window, 3 in part"
    );
    let detail = found.detail.as_deref().unwrap();
    assert!(!detail.contains("recording"), "{detail}");
}

#[test]
fn a_window_of_all_rows_leaves_nothing_to_say() {
    assert_eq!(codes(&in_a_window(0, 100, 100)), [""; 0]);
}

#[test]
fn rows_of_a_window_that_reach_beyond_the_recording_warn() {
    let out = in_a_window(70, 100, 120);
    assert_eq!(codes(&out), ["outside_recording", "outside_window"]);
    let found = out.finding("outside_recording").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    assert_eq!(
        found.title,
        "1 row in the window reaches beyond the recording"
    );
    // Where the window leaves such a row out, it is none of its business.
    assert_eq!(codes(&in_a_window(0, 50, 120)), ["outside_window"]);
}

#[test]
fn a_long_path_is_listed_in_part_and_sums_up() {
    let bricks: Vec<_> = (0..10)
        .map(|i| {
            interval(
                i + 1,
                "brick",
                "a",
                i as i64 * 10,
                i as i64 * 10 + 5 + i as i64 % 3,
            )
        })
        .collect();
    let out = run(100, bricks).analyse_with(r#"{"path_rows": 3, "slack_rows": 4}"#);
    let path = out.table("path");
    assert_eq!(path.rows(), 3 + 2 + 2 + 2 + 2);
    assert_eq!(
        path.i64("dur_ns").unwrap().values().iter().sum::<i64>(),
        100
    );
    let names = lines(path, &["kind", "name"]);
    assert!(
        names.contains(&"work | 2 shorter pieces".to_owned()),
        "{names:?}"
    );
    // The sums by kind are those of all pieces.
    assert_eq!(
        lines(out.table("by_kind"), &["kind", "dur_ns", "pieces"])[0],
        "work | 59 | 10"
    );
    assert_eq!(out.table("slack").rows(), 4);
    assert_eq!(
        out.finding("slack_cut").unwrap().title,
        "slack lists the 4 rows with the least slack, out of 10"
    );
}

#[test]
fn an_unknown_option_is_refused() {
    let fixture = run(10, vec![]).fixture;
    let inputs = fixture.inputs();
    let error = trueno_plugin::testing::run::<trueno_plugin_critical_path::CriticalPath>(
        inputs,
        r#"{"rows": 1}"#,
    );
    assert!(error.is_err());
}
