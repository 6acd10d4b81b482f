//! Ranks that come late to collectives.

mod inputs;

use inputs::{US, Work, facts, gains, kernels, path, texts};
use trueno_plugin::Table;
use trueno_plugin::testing::{Output, run};
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
    let missing = texts(&output, "cannot_tell", "missing");
    let said = "which rank comes late: 10 of 10 collectives do not run on all ranks at once";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}

/// Waits around tasks that the joins tell of are not told once more as waits that nothing explains.
#[test]
fn the_same_wait_is_found_once() {
    let n = 20_u64;
    let starts = || (0..n as i64).map(|at| at * 50 * US);
    let tasks = Table::build("tasks")
        .u64("id", (0..n).map(|at| at + 1_000))
        .u64("parent", (0..n).map(|_| None::<u64>))
        .text("name", (0..n).map(|_| "head"))
        .i64("thread", (0..n).map(|_| 1_i64))
        .i64("start_ns", starts())
        .i64("dur_ns", (0..n).map(|_| 5 * US));
    let joins = Table::build("joins")
        .u64("task", (0..n).map(|at| at + 1_000))
        .u64("wait", (0..n).map(|at| at + 1))
        .i64("start_ns", starts())
        .i64("dur_ns", (0..n).map(|_| 40 * US));
    let waits = Table::build("waits")
        .u64("id", 1..=n)
        .text("kind", (0..n).map(|_| "join"))
        .i64("thread", (0..n).map(|_| 0_i64))
        .i64("start_ns", starts())
        .i64("dur_ns", (0..n).map(|_| 40 * US));
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
    let missing = texts(&output, "cannot_tell", "missing");
    let said = "which rank comes late: no collective is on record equally often on all ranks";
    assert!(missing.iter().any(|one| one == said), "{missing:?}");
}
