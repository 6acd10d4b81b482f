//! Fixed cost of calls, from the times of calls of several sizes.

use crate::inputs::{US, facts, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Calls with equal declarations: elements, flops, number of calls, nanoseconds per call.
type Row = (u64, Option<u64>, u64, i64);

fn sizes(rows: &[Row]) -> TableBuilder {
    let of = || rows.iter();
    Table::build("sizes")
        .text("name", of().map(|_| "encode"))
        .u64("elements", of().map(|row| row.0))
        .u64("flops", of().map(|row| row.1))
        .u64("bytes", of().map(|_| None::<u64>))
        .u64("calls", of().map(|row| row.2))
        .i64("median_ns", of().map(|row| row.3))
        .i64("dur_ns", of().map(|row| row.3 * row.2 as i64))
}

/// Runs the plugin on 100 ms that are entirely spent in these calls.
fn analyse(table: TableBuilder) -> Output {
    let all = [100_000 * US];
    let opportunity = Table::build("opportunity")
        .text("name", ["encode"])
        .i64("path_ns", all)
        .i64("gain_50pct_ns", [50_000 * US])
        .i64("gain_100pct_ns", all);
    run::<Bottleneck>([facts(100_000), table, opportunity], "{}").expect("it ends well")
}

fn missing(output: &Output) -> Vec<String> {
    let classes = texts(output, "not_measurable", "class");
    let missing = texts(output, "not_measurable", "missing");
    let of = classes.into_iter().zip(missing);
    of.filter(|row| row.0 == "small_batches")
        .map(|row| row.1)
        .collect()
}

/// 80 µs per call plus 1 µs per element.
const LINE: [Row; 3] = [
    (10, None, 200, 90 * US),
    (20, None, 200, 100 * US),
    (40, None, 200, 120 * US),
];

#[test]
fn three_sizes_tell() {
    let output = analyse(sizes(&LINE));
    let sentence = &texts(&output, "top", "sentence")[0];
    assert!(
        sentence.starts_with(
            "encode: 77 % of each call is fixed cost (600 calls); batching 8 calls into one"
        ),
        "{sentence}"
    );
    assert_eq!(texts(&output, "top", "confidence"), ["medium"]);
    let why = &texts(&output, "bottlenecks", "confidence_why")[0];
    assert_eq!(
        why,
        "a line through 3 sizes, which explains 100 % of their differences"
    );
}

#[test]
fn a_line_through_two_sizes_always_fits() {
    let output = analyse(sizes(&LINE[..2]));
    assert_eq!(texts(&output, "top", "confidence"), ["low"]);
    let why = &texts(&output, "bottlenecks", "confidence_why")[0];
    assert!(!why.contains('%'), "{why}");
}

#[test]
fn larger_calls_that_take_no_longer_tell_nothing() {
    for times in [[8, 8, 8], [9, 7, 5]] {
        let rows: Vec<Row> = LINE
            .iter()
            .zip(times)
            .map(|(row, us)| (row.0, row.1, row.2, us * US))
            .collect();
        let output = analyse(sizes(&rows));
        assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
        let said =
            "how the time of encode depends on its size: calls of more elements take no longer";
        assert_eq!(missing(&output), [said]);
    }
}

/// Attention over a growing cache: each step returns the same number of elements after more work.
fn over_a_cache(time: impl Fn(i64) -> i64) -> Vec<Row> {
    let step = |n: i64| (64, Some(2_000 + 100 * n as u64), 20, time(n));
    let mut rows: Vec<Row> = (0..50).map(step).collect();
    rows.push((1_024, Some(2_000), 4, 5_500));
    rows
}

#[test]
fn elements_that_the_declared_work_contradicts_are_no_size() {
    // 200 ns each and 1 ns a flop: a tenth of the time of most is fixed.
    let output = analyse(sizes(&over_a_cache(|n| 2_200 + 100 * n)));
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
    assert_eq!(missing(&output), [""; 0]);
}

#[test]
fn flops_are_the_size_where_elements_are_not() {
    // 20 µs each and 1 ns a flop.
    let output = analyse(sizes(&over_a_cache(|n| 22_000 + 100 * n)));
    assert_eq!(texts(&output, "bottlenecks", "code"), ["fixed_cost"]);
    let considered = &texts(&output, "bottlenecks", "considered")[0];
    assert_eq!(
        considered,
        "calls of 64 elements declare from 2,000 to 6,900 flops, so sizes are distinguished by flops"
    );
    let evidence = &texts(&output, "bottlenecks", "evidence")[0];
    assert!(evidence.contains("GROUP BY flops"), "{evidence}");
}

#[test]
fn flops_that_do_not_explain_the_time_either_tell_nothing() {
    let output = analyse(sizes(&over_a_cache(|n| 5_000 + 3_000 * (n * 7 % 13) + n)));
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
    let missing = missing(&output);
    assert!(
        missing[0].starts_with(
            "how the time of encode depends on its size: elements do not describe its work, and flops explain "
        ),
        "{missing:?}"
    );
}

/// Half of the time is in a few very long calls, which the median does not show.
#[test]
fn what_the_line_does_not_hold_is_no_fixed_cost() {
    let rows = LINE.map(|row| (row.0, row.1, row.2, row.3));
    let table = Table::build("sizes")
        .text("name", ["encode"; 3])
        .u64("elements", rows.map(|row| row.0))
        .u64("flops", [None::<u64>; 3])
        .u64("bytes", [None::<u64>; 3])
        .u64("calls", rows.map(|row| row.2))
        .i64("median_ns", rows.map(|row| row.3))
        .i64("dur_ns", rows.map(|row| 2 * row.3 * row.2 as i64));
    assert_eq!(texts(&analyse(table), "bottlenecks", "code"), [""; 0]);
}
