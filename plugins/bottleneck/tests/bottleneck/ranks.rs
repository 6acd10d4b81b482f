//! Ranks that come late to collectives.

use crate::inputs::{US, Work, facts, gains, kernels, path, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Arrivals of two ranks in collectives: arrival of rank 0, arrival of rank 1, stay of rank 0, in microseconds.
/// Rank 1 is the last, and recorded as such if `is_told`.
fn arrivals(collectives: &[(i64, i64, i64)], is_told: bool) -> TableBuilder {
    let rows: Vec<(u64, u64, i64, i64, i64)> = collectives
        .iter()
        .zip(0_u64..)
        .flat_map(|(&(first, last, stay), at)| {
            let late = last - first;
            [(at, 0, first, stay, late), (at, 1, last, stay - late, 0)]
        })
        .collect();
    let of = || rows.iter();
    Table::build("arrivals")
        .u64("instance", of().map(|row| row.0))
        .u64("rank", of().map(|row| row.1))
        .u64("id", of().map(|row| row.1 << 48 | (row.0 + 1)))
        .i64("arrive_ns", of().map(|row| row.2 * US))
        .i64("dur_ns", of().map(|row| row.3 * US))
        .i64(
            "waited_ns",
            of().map(|row| Some(row.4 * US).filter(|_| is_told)),
        )
        .u64("last_rank", of().map(|_| Some(1_u64).filter(|_| is_told)))
        .bool("inferred", of().map(|_| false))
}

fn causes(cause: &'static str) -> TableBuilder {
    Table::build("late_causes")
        .u64("rank", [1_u64])
        .text("cause", [cause])
        .text("name", [Some("gemm")])
}

/// Ten collectives of two ranks, one every 100 µs; rank 1 arrives 40 µs after rank 0.
fn meet(is_told: bool, cause: &'static str) -> Output {
    let collectives: Vec<_> = (0..10).map(|n| (n * 100, n * 100 + 40, 50)).collect();
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    let inputs = [
        facts(1_000),
        ranks,
        arrivals(&collectives, is_told),
        causes(cause),
    ];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn who_comes_first_waits_for_the_last() {
    let output = meet(true, "compute");
    assert_eq!(texts(&output, "bottlenecks", "scope"), ["rank 1"]);
    assert_eq!(texts(&output, "bottlenecks", "confidence"), ["high"]);
    // 40 µs each of which one of two ranks waits: on average both would come 20 µs earlier than the last.
    assert_eq!(gains(&output), [Some(10 * 20 * US)]);
    assert_eq!(
        texts(&output, "top", "sentence"),
        [
            "ranks wait 400 µs in total for the last to arrive in 10 collectives, 100 % of it for rank 1; arriving together saves up to 200 µs (20 %)"
        ]
    );
}

#[test]
fn a_rank_that_nothing_explains_is_not_blamed_for_sure() {
    let output = meet(true, "unknown");
    assert_eq!(texts(&output, "bottlenecks", "confidence"), ["medium"]);
}

#[test]
fn ranks_whose_order_cannot_be_told_are_not_late() {
    let output = meet(false, "unknown");
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
    let missing = texts(&output, "not_measurable", "missing");
    let said = "which rank arrives late: not known for any of 10 collectives";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}

/// `n` tasks on a second thread, one every `every` µs, with their joins and the first thread's waits for them.
fn joined(n: u64, every: i64, task: i64, wait: i64) -> [TableBuilder; 3] {
    let starts = || (0..n as i64).map(move |at| at * every * US);
    let waits = || (0..n).map(move |_| wait * US);
    [
        Table::build("tasks")
            .u64("id", (0..n).map(|at| at + 1_000))
            .u64("parent", (0..n).map(|_| None::<u64>))
            .text("name", (0..n).map(|_| "head"))
            .i64("thread", (0..n).map(|_| 1_i64))
            .i64("start_ns", starts())
            .i64("dur_ns", (0..n).map(|_| task * US)),
        Table::build("joins")
            .u64("task", (0..n).map(|at| at + 1_000))
            .u64("wait", (0..n).map(|at| at + 1))
            .i64("start_ns", starts())
            .i64("dur_ns", waits()),
        Table::build("waits")
            .u64("id", 1..=n)
            .text("kind", (0..n).map(|_| "join"))
            .i64("thread", (0..n).map(|_| 0_i64))
            .i64("start_ns", starts())
            .i64("dur_ns", waits()),
    ]
}

/// Waits that the finding `joins` covers must not be reported again as unexplained.
#[test]
fn the_same_wait_is_found_once() {
    let [tasks, joins, waits] = joined(20, 50, 5, 40);
    let path = path(&[("work", 300), ("sync_wait", 700)]);
    let inputs = [facts(1_000), tasks, joins, waits, path];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["joins"]);
}

/// Collectives were recorded, but none could be matched between ranks.
#[test]
fn collectives_that_are_not_matched_are_not_measurable() {
    let rows: Vec<Work> = (0..19)
        .map(|n| Work::at("ncclAllReduce", n * 50, 45))
        .collect();
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    let inputs = [facts(1_000), kernels(&rows), ranks];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert!(!texts(&output, "bottlenecks", "code").contains(&"late_ranks".to_owned()));
    let missing = texts(&output, "not_measurable", "missing");
    let said = "which rank arrives late: no collective of two ranks could be matched";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}

/// Waits for collectives on two streams at the same time must not count twice.
#[test]
fn collectives_at_the_same_time_are_late_once() {
    let collectives: Vec<_> = (0..20)
        .map(|n| (n / 2 * 100, n / 2 * 100 + 40, 90))
        .collect();
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    let inputs = [
        facts(1_000),
        ranks,
        arrivals(&collectives, true),
        causes("compute"),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["late_ranks"]);
    assert_eq!(gains(&output), [Some(10 * 20 * US)]);
}

/// Few waits, all recorded, that last long after their tasks have ended.
#[test]
fn a_wait_whose_tasks_are_on_record_is_not_unrecorded() {
    let of = || joined(5, 2_000, 1_000, 1_400);
    let on_path = || path(&[("work", 8_000), ("sync_wait", 2_000)]);
    let opportunity = || {
        Table::build("opportunity")
            .text("name", ["kind:sync_wait"])
            .i64("path_ns", [2_000 * US])
            .i64("gain_50pct_ns", [1_000 * US])
            .i64("gain_100pct_ns", [2_000 * US])
    };
    let [tasks, joins, waits] = of();
    let told = [facts(10_000), tasks, joins, waits, on_path(), opportunity()];
    let output = run::<Bottleneck>(told, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["join_cost"]);
    // 400 µs each.
    assert_eq!(gains(&output), [Some(2_000 * US)]);
    let text = [
        texts(&output, "bottlenecks", "confidence_why"),
        texts(&output, "bottlenecks", "suggestion"),
        texts(&output, "bottlenecks", "sentence"),
    ];
    let text = text.concat().join(" ");
    assert!(!text.contains("record what"), "{text}");
    assert!(
        text.contains("5 joins wait for 20 % of the wall while none of their tasks runs"),
        "{text}"
    );
    // Without its tasks nobody knows.
    let [_, _, waits] = of();
    let untold = [facts(10_000), waits, on_path(), opportunity()];
    let output = run::<Bottleneck>(untold, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["unexplained_wait"]);
    // Tasks before the window are on record all the same.
    let [_, joins, waits] = of();
    let no_tasks = [facts(10_000), joins, waits, on_path(), opportunity()];
    let output = run::<Bottleneck>(no_tasks, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
}
