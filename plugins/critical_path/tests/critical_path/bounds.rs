//! The window, several last ends, and limits on what is listed.

use crate::linked::{Linked, codes, path};
use crate::made::{Made, at, lines};

fn run(wall_ns: i64, bricks: Vec<crate::made::Row>) -> Linked {
    Linked {
        made: Made {
            wall_ns: Some(wall_ns),
            bricks,
            ..Made::default()
        },
        ..Linked::default()
    }
}

#[test]
fn rows_are_cut_to_the_window() {
    let late = vec![
        at(1, "brick", "a", -10, 20),
        at(2, "brick", "b", 30, 80),
        at(3, "brick", "c", 60, 90).thread(1),
    ];
    let out = run(50, late).analyse();
    assert_eq!(path(&out), ["work a 0-20", "gap - 20-30", "work b 30-50"]);
    assert_eq!(codes(&out), ["outside_window"]);
    assert_eq!(
        out.findings[0].title,
        "1 rows lie outside the window, 2 in part"
    );
}

#[test]
fn a_long_path_is_listed_in_part_and_sums_up() {
    let bricks: Vec<_> = (0..10)
        .map(|i| {
            at(
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
        "slack lists the 4 rows with the least of 10"
    );
}

#[test]
fn an_unknown_option_is_refused() {
    let made = run(10, vec![]).made;
    let inputs = made.inputs();
    let error = trueno_plugin::testing::run::<trueno_plugin_critical_path::CriticalPath>(
        inputs,
        r#"{"rows": 1}"#,
    );
    assert!(error.is_err());
}
