//! Ranks that come late to collectives.

use crate::inputs::{US, Work, facts, gains, kernels, path, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Ten collectives of two ranks, one each 100 µs; rank 1 begins `late_us` after rank 0, and both end together.
fn meet(late_us: i64, ends_us: i64) -> Output {
    let kernel = |rank: i64, n: i64| {
        let begin = n * 100 + rank * late_us;
        let end = n * 100 + ends_us + if ends_us < late_us { rank * late_us } else { 0 };
        Work {
            device: Some(rank << 16),
            ..Work::at("ncclAllReduce", begin, end - begin)
        }
    };
    let rows: Vec<Work> = (0..20).map(|at| kernel(at % 2, at / 2)).collect();
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    let inputs = [facts(1_000), kernels(&rows), ranks];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn who_comes_first_waits_for_the_last() {
    let output = meet(40, 50);
    assert_eq!(texts(&output, "bottlenecks", "scope"), ["rank 1"]);
    // 40 µs each of which one of two ranks waits: on average both would come 20 µs earlier than the last.
    assert_eq!(gains(&output), [Some(10 * 20 * US)]);
    assert_eq!(
        texts(&output, "top", "sentence"),
        [
            "ranks wait 400 µs for the last in 10 collectives, 100 % of it for rank 1; coming at once saves up to 200 µs (20 %)"
        ]
    );
}

#[test]
fn ranks_that_come_together_wait_for_nobody() {
    assert_eq!(texts(&meet(1, 50), "bottlenecks", "code"), [""; 0]);
}

/// The kernels of one collective cannot follow each other.
#[test]
fn clocks_that_disagree_are_no_lateness() {
    let output = meet(40, 30);
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
    let missing = texts(&output, "not_measurable", "missing");
    let said = "which rank comes late: 10 of 10 collectives do not run on all ranks at once";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}

/// Tasks of a second thread, the joins that tell of them and the first one's waits for them: `n` of each, one every `every` µs.
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

/// Waits around tasks that the joins tell of are not told once more as waits that nothing explains.
#[test]
fn the_same_wait_is_found_once() {
    let [tasks, joins, waits] = joined(20, 50, 5, 40);
    let path = path(&[("work", 300), ("sync_wait", 700)]);
    let inputs = [facts(1_000), tasks, joins, waits, path];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["joins"]);
}

/// Of two ranks one has a collective more: nobody knows which of its own are those of the other.
#[test]
fn collectives_that_are_not_on_record_everywhere_are_not_matched() {
    let kernel = |n: i64| Work {
        device: Some((n % 2) << 16),
        ..Work::at("ncclAllReduce", n * 50, 45)
    };
    let rows: Vec<Work> = (0..19).map(kernel).collect();
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    let inputs = [facts(1_000), kernels(&rows), ranks];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
    let missing = texts(&output, "not_measurable", "missing");
    let said = "which rank comes late: no collective is on record equally often on all ranks";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}

/// Collectives of two streams that ranks wait for at the same time hold them up once.
#[test]
fn collectives_at_the_same_time_are_late_once() {
    let kernel = |rank: i64, n: i64, name, stream| Work {
        device: Some(rank << 16),
        stream: Some(stream),
        ..Work::at(name, n * 100 + rank * 40, 50 - rank * 40 + 40)
    };
    let of = |at: i64| {
        let (rank, n) = (at % 2, at / 2);
        [
            kernel(rank, n, "ncclAllReduce", 1),
            kernel(rank, n, "ncclAllGather", 2),
        ]
    };
    let rows: Vec<Work> = (0..20).flat_map(of).collect();
    let ranks = Table::build("ranks").u64("rank", [0_u64, 1]);
    let output =
        run::<Bottleneck>([facts(1_000), kernels(&rows), ranks], "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let at = codes
        .iter()
        .position(|code| code == "late_ranks")
        .expect("ranks are late");
    assert_eq!(gains(&output)[at], Some(10 * 20 * US));
}

/// Few waits that go on long after their tasks, all on record.
#[test]
fn a_wait_whose_tasks_are_on_record_is_not_unrecorded() {
    let of = || joined(5, 200, 100, 140);
    let on_path = || path(&[("work", 800), ("sync_wait", 200)]);
    let opportunity = || {
        Table::build("opportunity")
            .text("name", ["kind:sync_wait"])
            .i64("path_ns", [200 * US])
            .i64("gain_50pct_ns", [100 * US])
            .i64("gain_100pct_ns", [200 * US])
    };
    let [tasks, joins, waits] = of();
    let told = [facts(1_000), tasks, joins, waits, on_path(), opportunity()];
    let output = run::<Bottleneck>(told, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["join_cost"]);
    // 40 µs each.
    assert_eq!(gains(&output), [Some(200 * US)]);
    let text = [
        texts(&output, "bottlenecks", "confidence_why"),
        texts(&output, "bottlenecks", "suggestion"),
        texts(&output, "bottlenecks", "sentence"),
    ];
    let text = text.concat().join(" ");
    assert!(!text.contains("record what"), "{text}");
    assert!(
        text.contains("5 joins wait 20 % of the wall while none of their tasks runs"),
        "{text}"
    );
    // Without its tasks nobody knows.
    let [_, _, waits] = of();
    let untold = [facts(1_000), waits, on_path(), opportunity()];
    let output = run::<Bottleneck>(untold, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), ["unexplained_wait"]);
    // Tasks before the window are on record all the same.
    let [_, joins, waits] = of();
    let no_tasks = [facts(1_000), joins, waits, on_path(), opportunity()];
    let output = run::<Bottleneck>(no_tasks, "{}").expect("it ends well");
    assert_eq!(texts(&output, "bottlenecks", "code"), [""; 0]);
}
