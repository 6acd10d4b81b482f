//! Threads that could run are no waits for something.

use trueno_plugin::Table;
use trueno_plugin::testing::run;
use trueno_plugin_bottleneck::Bottleneck;

use crate::inputs::{US, Work, facts, gains, kernels, path, texts};

#[test]
fn who_could_run_waits_for_a_processor() {
    let found = |runnable: i64, kind: &'static str, off_cpu: i64| {
        let waits = Table::build("waits")
            .u64("id", 1..=20)
            .text(
                "kind",
                (0..20).map(|n| if n < 10 { "runnable" } else { kind }),
            )
            .i64("thread", [0_i64; 20])
            .i64("start_ns", (0..20).map(|n| n * 50 * US))
            .i64(
                "dur_ns",
                (0..20).map(|n| if n < 10 { runnable } else { off_cpu } * US / 10),
            );
        let names = Table::build("path_names")
            .text("name", ["runnable", kind])
            .text("kind", ["sync_wait", "sync_wait"])
            .text("category", ["waiting", "waiting"])
            .i64("dur_ns", [runnable * US, off_cpu * US]);
        let all = runnable + off_cpu;
        let opportunity = Table::build("opportunity")
            .text("name", ["kind:sync_wait"])
            .i64("path_ns", [all * US])
            .i64("gain_50pct_ns", [all / 2 * US])
            .i64("gain_100pct_ns", [all * US]);
        let path = path(&[("work", 1_000 - all), ("sync_wait", all)]);
        let inputs = [facts(1_000), waits, names, opportunity, path];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let codes = texts(&output, "bottlenecks", "code");
        (codes, gains(&output))
    };
    let (both, waits) = (
        "no_processor_free".to_owned(),
        "unexplained_wait".to_owned(),
    );
    assert_eq!(
        found(400, "call", 0),
        (vec![both.clone()], vec![Some(400 * US)])
    );
    assert_eq!(
        found(0, "call", 300),
        (vec![waits.clone()], vec![Some(300 * US)])
    );
    assert_eq!(
        found(400, "call", 300),
        (
            vec![both.clone(), waits],
            vec![Some(400 * US), Some(300 * US)]
        )
    );
    // Of a thread that did not run nobody says what would have ended it earlier.
    assert_eq!(found(0, "off_cpu", 300), (Vec::new(), Vec::new()));
    assert_eq!(
        found(400, "off_cpu", 300),
        (vec![both], vec![Some(400 * US)])
    );
}

/// Gains of unexplained waits on a path that waits for 6 of 10 ms, with `waits` of a kind, start and length in units of 10 µs. A
/// kernel runs for the first 3 ms; another is launched at `next`.
fn waiting(waits: &[(&'static str, i64, i64)], next: Option<i64>) -> Vec<Option<i64>> {
    let rows = || waits.iter();
    let table = Table::build("waits")
        .u64("id", (1_u64..).take(waits.len()))
        .text("kind", rows().map(|row| row.0))
        .i64("thread", rows().map(|_| 0_i64))
        .i64("start_ns", rows().map(|row| row.1 * 10 * US))
        .i64("dur_ns", rows().map(|row| row.2 * 10 * US));
    let opportunity = Table::build("opportunity")
        .text("name", ["kind:sync_wait"])
        .i64("path_ns", [6_000 * US])
        .i64("gain_50pct_ns", [3_000 * US])
        .i64("gain_100pct_ns", [6_000 * US]);
    let first = Work {
        called_us: Some(0),
        ..Work::at("gemm", 0, 3_000)
    };
    let next = next.map(|called| Work {
        called_us: Some(called * 10),
        ..Work::at("gemm", called * 10 + 5, 5)
    });
    let work: Vec<Work> = [first].into_iter().chain(next).collect();
    let inputs = [
        facts(10_000),
        table,
        opportunity,
        path(&[("work", 4_000), ("sync_wait", 6_000)]),
        kernels(&work),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let of_waits = codes.iter().zip(gains(&output));
    let of_waits = of_waits.filter(|(code, _)| *code == "unexplained_wait");
    of_waits.map(|(_, gain)| gain).collect()
}

#[test]
fn a_wait_that_no_row_records_is_no_finding() {
    assert_eq!(waiting(&[], Some(950)), []);
    let waits = [("off_cpu", 0, 500), ("call", 500, 10)];
    assert_eq!(waiting(&waits, Some(950)), []);
}

#[test]
fn removing_waits_saves_no_more_than_was_waited_while_no_work_ran() {
    let waits = [("call", 100, 400), ("call", 500, 200), ("call", 700, 200)];
    assert_eq!(waiting(&waits, Some(950)), [Some(4_000 * US)]);
    let waits = [("call", 100, 300), ("call", 500, 50), ("call", 600, 30)];
    assert_eq!(waiting(&waits, Some(950)), [Some(1_800 * US)]);
}

/// Nobody can do without the results of the last work.
#[test]
fn the_last_wait_for_a_device_is_needed() {
    let waits = [("event", 100, 700)];
    assert_eq!(waiting(&waits, None), []);
    assert_eq!(waiting(&waits, Some(400)), []);
    assert_eq!(waiting(&waits, Some(800)).len(), 1);
}
