//! Threads that could run are no waits for something.

use trueno_plugin::Table;
use trueno_plugin::testing::run;
use trueno_plugin_bottleneck::Bottleneck;

use crate::inputs::{US, facts, gains, path, texts};

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
