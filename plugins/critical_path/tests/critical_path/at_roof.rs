//! Gains at the roof with known answers.

use proptest::prelude::*;
use trueno_analysis::testing::{RunFixture, interval, lines};

use crate::linked::Linked;

/// `qkv` runs 0–20, then `ffn` 70–100 with its kernel `gemv` 75–95. On another thread `side` runs 0–30 and nothing
/// waits for it.
fn two_bricks(at_roof: Option<Vec<(&'static str, &'static str, i64, i64)>>) -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            bricks: vec![
                interval(1, "brick", "qkv", 0, 20),
                interval(2, "brick", "ffn", 70, 100),
                interval(3, "brick", "side", 0, 30).thread(1),
            ],
            kernels: vec![interval(4, "", "gemv", 75, 95)],
            ..RunFixture::default()
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
        ]
    );
}

#[test]
fn a_rule_takes_names_to_a_share_of_their_roof() {
    let predicted = |rule: &str| {
        let rows = vec![("kernel", "gemv", 20, 8), ("brick", "qkv", 20, 19)];
        let options = format!(r#"{{"what_if": ["{rule}"]}}"#);
        let out = two_bricks(Some(rows)).analyse_with(&options);
        lines(out.table("what_if"), &["matched", "gain_ns"]).remove(0)
    };
    assert_eq!(predicted("gemv=roof"), "1 | 12");
    assert_eq!(predicted("gemv=0.8roof"), "1 | 10");
    // 19 of 20 is more than nine tenths of the roof already.
    assert_eq!(predicted("qkv=0.9roof"), "1 | 0");
    assert_eq!(predicted("kind:work=roof"), "2 | 13");
    assert_eq!(predicted("ffn=roof"), "0 | -", "nobody knows its roof");
    let options = r#"{"what_if": ["ffn=roof"]}"#;
    let out = two_bricks(None).analyse_with(options);
    assert!(
        out.findings
            .iter()
            .any(|finding| finding.code == "what_if_without_roof")
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
fn a_brick_takes_its_kernels_along() {
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
fn everything_takes_the_best_that_any_of_its_names_would_give() {
    // The kernel alone is nearly at its roof, the brick around it far from its own.
    let rows = vec![("brick", "ffn", 30, 15), ("kernel", "gemv", 20, 18)];
    assert_eq!(
        gains(rows, "{}"),
        [
            "brick | ffn | 30 | 15",
            "- | everything | - | 15",
            "kernel | gemv | 20 | 2",
        ]
    );
}

/// Rows on two threads and a stream, nested or not. Then for each name the thousandths of its time at the roof,
/// then pairs of spawning and spawned rows.
type Raw = (
    Vec<(usize, usize, i64, i64)>,
    Vec<(usize, i64)>,
    Vec<(u64, u64)>,
);

fn runs() -> impl Strategy<Value = Raw> {
    let rows = prop::collection::vec((0..3_usize, 0..4_usize, 0..90_i64, 0..60_i64), 1..14);
    let left = prop::collection::vec((0..8_usize, 0..=1000_i64), 1..6);
    let spawned = prop::collection::vec((1..15_u64, 1..15_u64), 0..6);
    (rows, left, spawned)
}

proptest! {
    #[test]
    fn everything_gains_no_less_than_any_of_its_parts((rows, left, spawned) in runs()) {
        const NAMES: [&str; 4] = ["a", "b", "c", "d"];
        let mut fixture = RunFixture { wall_ns: Some(150), ..RunFixture::default() };
        let mut of_name = [0_i64; 8];
        for (id, &(lane, name, start_ns, dur_ns)) in (1..).zip(&rows) {
            let row = interval(id, ["brick", "task", ""][lane], NAMES[name], start_ns, start_ns + dur_ns);
            if lane == 2 {
                of_name[4 + name] += dur_ns;
                fixture.kernels.push(row.stream(0, 7));
            } else {
                of_name[name] += dur_ns;
                fixture.bricks.push(row.thread(lane as i64));
            }
        }
        let mut roofs: Vec<_> = left
            .iter()
            .filter(|(name, _)| of_name[*name] > 0)
            .map(|&(name, left)| {
                let source = if name < 4 { "brick" } else { "kernel" };
                let all_ns = of_name[name];
                (source, NAMES[name % 4], all_ns, all_ns * left / 1000)
            })
            .collect();
        roofs.sort_unstable();
        roofs.dedup_by_key(|row| (row.0, row.1));
        let linked = Linked {
            fixture,
            tasks: spawned.clone(),
            launches: spawned,
            at_roof: Some(roofs.clone()),
            ..Linked::default()
        };
        let out = linked.analyse_with(r#"{"opportunity_names": 100}"#);
        if !roofs.is_empty() {
            let table = out.table("at_roof");
            let (names, gains) = (table.text("name").unwrap(), table.i64("gain_ns").unwrap());
            let everything = (0..table.rows()).find(|row| names.value(*row) == "everything");
            let everything = gains.value(everything.unwrap());
            for row in 0..table.rows() {
                prop_assert!(everything >= gains.value(row), "{table}");
            }
        }
    }
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
