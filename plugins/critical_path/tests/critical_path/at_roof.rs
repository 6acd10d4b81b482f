//! Gains at the roof with known answers.

use crate::linked::Linked;
use crate::made::{Made, at, lines};

/// `qkv` 0–20, then `ffn` 70–100 with its kernel `gemv` 75–95; on another thread `side` 0–30, which
/// nothing waits for.
fn two_bricks(at_roof: Option<Vec<(&'static str, &'static str, i64, i64)>>) -> Linked {
    Linked {
        made: Made {
            wall_ns: Some(100),
            bricks: vec![
                at(1, "brick", "qkv", 0, 20),
                at(2, "brick", "ffn", 70, 100),
                at(3, "brick", "side", 0, 30).thread(1),
            ],
            kernels: vec![at(4, "", "gemv", 75, 95)],
            ..Made::default()
        },
        at_roof,
        ..Linked::default()
    }
}

fn gains(rows: Vec<(&'static str, &'static str, i64, i64)>, options: &str) -> Vec<String> {
    let out = two_bricks(Some(rows)).analyse_with(options);
    lines(
        out.table("at_roof"),
        &["source", "name", "path_ns", "gain_ns"],
    )
}

#[test]
fn names_shrink_to_their_time_at_the_roof() {
    let rows = vec![
        ("kernel", "gemv", 20, 5),
        ("brick", "qkv", 20, 10),
        ("brick", "side", 30, 3),
    ];
    assert_eq!(
        gains(rows, "{}"),
        [
            "- | everything | - | 25",
            "kernel | gemv | 20 | 15",
            "brick | qkv | 20 | 10",
            "brick | side | 0 | 0",
        ]
    );
}

#[test]
fn rows_without_a_place_take_what_they_took() {
    // Half of the kernel's time has a place.
    let rows = vec![("kernel", "gemv", 10, 5)];
    assert_eq!(
        gains(rows, "{}"),
        ["kernel | gemv | 20 | 5", "- | everything | - | 5"]
    );
}

#[test]
fn a_brick_takes_its_kernels_along_and_the_innermost_decides() {
    let rows = vec![("brick", "ffn", 30, 15), ("kernel", "gemv", 20, 5)];
    assert_eq!(
        gains(rows, "{}"),
        [
            // 10 ns of its own by half, 20 of the kernel to 5.
            "- | everything | - | 20",
            "brick | ffn | 30 | 15",
            "kernel | gemv | 20 | 15",
        ]
    );
}

#[test]
fn a_name_is_one_of_its_table() {
    assert_eq!(
        gains(vec![("brick", "gemv", 20, 5)], "{}"),
        ["brick | gemv | 20 | 0"]
    );
}

#[test]
fn it_is_what_a_rule_would_predict() {
    let run = two_bricks(Some(vec![("kernel", "gemv", 20, 7)]));
    let out = run.analyse_with(r#"{"what_if": ["gemv=0.35"]}"#);
    let rule = lines(out.table("what_if"), &["gain_ns"]);
    assert_eq!(lines(out.table("at_roof"), &["gain_ns"])[0], rule[0]);
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    for rows in [None, Some(Vec::new())] {
        let out = two_bricks(rows).analyse();
        assert!(out.tables.iter().all(|table| table.name() != "at_roof"));
    }
    assert_eq!(
        gains(
            vec![("kernel", "gemv", 20, 5)],
            r#"{"opportunity_names": 0}"#
        ),
        ["kernel | gemv | 20 | -"]
    );
}
