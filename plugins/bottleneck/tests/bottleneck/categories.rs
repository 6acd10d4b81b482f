//! Findings that several names of a category have in common.

use trueno_plugin::Table;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

const MS: i64 = 1_000_000;

/// Runs the plugin on 100 ms of names, each with a category, time on the path in milliseconds and efficiency below
/// the memory roof.
fn judged(rows: &[(&str, &str, i64, f64)]) -> Output {
    judged_with(rows, &[])
}

/// Like `judged`; `own` is how much of the path time is the name's own, in milliseconds.
fn judged_with(rows: &[(&str, &str, i64, f64)], own: &[(&str, &str, i64)]) -> Output {
    let of = || rows.iter();
    let names = || of().map(|row| row.0);
    let time = || of().map(|row| row.2 * MS);
    let run_facts = Table::build("run")
        .i64("wall_ns", [100 * MS])
        .u64("dropped", [0_u64])
        .f64("cost_ns_per_span", [20.0]);
    let kinds = Table::build("path_kinds")
        .text("kind", ["work"])
        .i64("dur_ns", [100 * MS]);
    let path_names = Table::build("path_names")
        .text("name", own.iter().map(|row| row.0))
        .text("kind", own.iter().map(|_| "work"))
        .text("category", own.iter().map(|row| row.1))
        .i64("dur_ns", own.iter().map(|row| row.2 * MS));
    let opportunity = Table::build("opportunity")
        .text("name", names())
        .i64("path_ns", time())
        .i64("gain_50pct_ns", time().map(|ns| ns / 2))
        .i64("gain_100pct_ns", time());
    let points = Table::build("points")
        .text("source", of().map(|_| "brick"))
        .text("name", names())
        .text("device", of().map(|_| "cpu"))
        .text("provenance", of().map(|_| "measured"))
        .text("assumed", of().map(|_| None::<&str>))
        .text("memory", of().map(|_| "DRAM"))
        .i64("threads", of().map(|_| 1_i64))
        .u64("calls", of().map(|_| 10_u64))
        .i64("dur_ns", time())
        .f64("flops_per_byte", of().map(|_| 0.1))
        .f64(
            "flops_per_s",
            of().enumerate().map(|(n, _)| 1e9 + 1e8 * n as f64),
        )
        .f64("bytes_per_s", of().map(|_| 1e10))
        .text("bound_by", of().map(|_| "memory"))
        .f64("efficiency_share", of().map(|row| row.3))
        .bool("is_valid", of().map(|_| true))
        .u64("calls_above", of().map(|_| 0_u64))
        .text("doubt", of().map(|_| None::<&str>));
    let by_brick = Table::build("by_brick")
        .text("lane_kind", of().map(|_| "host"))
        .text("kind", of().map(|_| "brick"))
        .text("name", names())
        .text("category", of().map(|row| row.1))
        .u64("calls", of().map(|_| 10_u64))
        .i64("self_ns", time())
        .i64("inclusive_ns", time())
        .i64("min_ns", time().map(|ns| ns / 10))
        .i64("median_ns", time().map(|ns| ns / 10))
        .i64("max_ns", time().map(|ns| ns / 10));
    let inputs = [run_facts, kinds, path_names, opportunity, points, by_brick];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn said(output: &Output, table: &str) -> Vec<(String, String, i64)> {
    let table = output.table(table);
    let text = |name: &str, row: usize| {
        let cells = table.text(name).expect("a text");
        cells.get(row).expect("no null").to_owned()
    };
    let gains = table.i64("gain_ns").expect("gains");
    let row = |row: usize| {
        (
            text("class", row),
            text("scope", row),
            gains.get(row).unwrap_or(0),
        )
    };
    (0..table.rows()).map(row).collect()
}

#[test]
fn names_too_small_for_a_word_are_one_together() {
    // 4 ms each: half of that is below the least share of 3 %.
    let output = judged(&[
        ("rms_norm", "Norm", 4, 0.9),
        ("layer_norm", "Norm", 4, 0.8),
        ("l2_norm", "Norm", 4, 0.7),
        ("alone", "Other", 4, 0.9),
    ]);
    let expected = ("memory_bound".to_owned(), "Norm".to_owned(), 6 * MS);
    assert_eq!(said(&output, "bottlenecks"), [expected]);
}

#[test]
fn a_category_leads_what_its_names_say() {
    let output = judged(&[("a", "Norm", 30, 0.9), ("b", "Norm", 20, 0.8)]);
    let all = said(&output, "bottlenecks");
    let scopes: Vec<&str> = all.iter().map(|row| row.1.as_str()).collect();
    assert_eq!(scopes, ["Norm", "a", "b"]);
    assert_eq!(all[0].2, 25 * MS);
    // One line at the top, not three.
    assert_eq!(said(&output, "top").len(), 1);
}

#[test]
fn what_has_no_category_has_nothing_in_common() {
    let output = judged(&[
        ("a", "uncategorised", 4, 0.9),
        ("b", "uncategorised", 4, 0.9),
    ]);
    assert_eq!(said(&output, "bottlenecks"), []);
}

#[test]
fn a_category_of_two_minds_is_neither() {
    // A third each at the roof, far below it, and waiting: nothing has half of its time.
    let output = judged(&[
        ("a", "Norm", 4, 0.9),
        ("b", "Norm", 4, 0.9),
        ("c", "Norm", 9, 0.1),
    ]);
    let classes: Vec<String> = said(&output, "bottlenecks")
        .into_iter()
        .map(|row| row.1)
        .collect();
    assert_eq!(classes, ["c"]);
}

/// Of a brick's 60 ms, 50 are a kernel inside it; the saving must not count twice.
#[test]
fn what_is_nested_saves_its_time_once() {
    let rows = [("project", "FFN", 60, 0.9), ("matvec", "FFN", 50, 0.9)];
    let output = judged_with(&rows, &[("project", "FFN", 10), ("matvec", "FFN", 50)]);
    let all = said(&output, "bottlenecks");
    let category = all.iter().find(|row| row.1 == "FFN").expect("the category");
    assert_eq!(category.2, 30 * MS);
}

/// A kernel used in two categories counts in each with the time spent there.
#[test]
fn a_name_is_of_each_category_that_it_works_for() {
    let rows = [
        ("up", "FFN", 0, 0.9),
        ("qkv", "Attention", 0, 0.9),
        ("matvec", "FFN", 60, 0.9),
    ];
    let own = [
        ("up", "FFN", 1),
        ("qkv", "Attention", 1),
        ("matvec", "FFN", 40),
        ("matvec", "Attention", 20),
    ];
    let all = said(&judged_with(&rows, &own), "bottlenecks");
    let of = |name: &str| all.iter().find(|row| row.1 == name).map(|row| row.2);
    assert_eq!((of("FFN"), of("Attention")), (Some(20 * MS), Some(10 * MS)));
}
