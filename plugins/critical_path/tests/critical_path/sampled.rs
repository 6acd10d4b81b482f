//! Runs of a sampling profiler: waits, and where the kernel told it, stretches in which threads ran and who woke whom.

use trueno_analysis::testing::{RunFixture, interval, lines};
use trueno_plugin::Table;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_critical_path::CriticalPath;

use crate::linked::{Linked, codes, path};

fn analyse(linked: &Linked, samples: i64) -> Output {
    let mut inputs = linked.inputs();
    inputs.push(Table::build("samples").i64("samples", [samples]));
    run::<CriticalPath>(inputs, "{}").unwrap()
}

/// ```text
/// thread 0  ├ running 0..20 ┤├──── off_cpu 20..60 ────┤├ runnable 60..65 ┤├ running 65..100 ┤
/// thread 1  ├─ off_cpu 0..10 ─┤├───── running 10..62 ─────┤
/// ```
fn woken() -> Linked {
    Linked {
        fixture: RunFixture {
            wall_ns: Some(100),
            syncs: vec![
                interval(2, "", "off_cpu", 20, 60),
                interval(3, "", "runnable", 60, 65),
                interval(5, "", "off_cpu", 0, 10).thread(1),
            ],
            calls: vec![
                interval(1, "", "running", 0, 20),
                interval(4, "", "running", 65, 100),
                interval(6, "", "running", 10, 62).thread(1),
            ],
            ..RunFixture::default()
        },
        edges: vec![(6, 2, "wakes"), (1, 5, "wakes")],
        ..Linked::default()
    }
}

#[test]
fn the_path_goes_from_a_wait_to_the_thread_that_ended_it() {
    let out = analyse(&woken(), 100);
    assert_eq!(
        path(&out),
        [
            "work running 0-10",
            "work running 10-60",
            "sync_wait runnable 60-65",
            "work running 65-100"
        ]
    );
    assert_eq!(
        lines(out.table("path"), &["lane"]),
        ["thread 0", "thread 1", "thread 0", "thread 0"]
    );
    assert!(!codes(&out).contains(&"not_measurable"));
}

#[test]
fn a_path_of_samples_and_waits_alone_is_not_measurable_and_said_so_first() {
    let mut linked = woken();
    linked.edges.clear();
    linked.fixture.calls.clear();
    let out = analyse(&linked, 100);
    assert_eq!(codes(&out)[0], "not_measurable");
    assert!(out.charts.is_empty(), "a picture of gaps says nothing");
    let tables: Vec<(&str, usize)> = out.tables.iter().map(|t| (t.name(), t.rows())).collect();
    assert_eq!(tables, [("by_kind", 0)], "nor do gains and slack of them");
    // Nor is there anything to predict from.
    let mut inputs = linked.inputs();
    inputs.push(Table::build("samples").i64("samples", [100_i64]));
    let predicted = run::<CriticalPath>(inputs, r#"{"what_if": ["off_cpu=0.5"]}"#).unwrap();
    assert_eq!(codes(&predicted)[0], "not_measurable");
    assert!(predicted.tables.iter().all(|table| table.rows() == 0));
    // Without samples it is a run as any other.
    for samples in [0, 1] {
        let out = analyse(&linked, samples);
        assert_eq!(codes(&out).contains(&"not_measurable"), samples > 0);
    }
    assert!(!codes(&linked.analyse()).contains(&"not_measurable"));
}
