//! Input: calls inside one another, and ranks that load side by side.

use crate::inputs::{US, Work, facts, gains, kernels, path, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Calls as name, thread, start and length in tenths of a percent of 10 ms. `on_path` is the time of each name on
/// the path, including nested calls.
fn loads(rows: &[(&'static str, i64, i64, i64)], on_path: &[(&str, i64)], ranks: u64) -> Output {
    let rows = rows.iter();
    let rows = rows.map(|row| (row.0, row.1, 10 * row.2, 10 * row.3));
    let on_path = on_path.iter().map(|row| (row.0, 10 * row.1));
    let (rows, on_path) = (rows.collect::<Vec<_>>(), on_path.collect::<Vec<_>>());
    loads_beside(10_000, &rows, &on_path, (ranks, Vec::new()))
}

fn loads_beside(
    window_us: i64,
    rows: &[(&'static str, i64, i64, i64)],
    on_path: &[(&str, i64)],
    (ranks, others): (u64, Vec<TableBuilder>),
) -> Output {
    let names = ["load batch", "load part"];
    let number = |name: &str| {
        names
            .iter()
            .position(|one| *one == name)
            .map(|at| at as i64)
    };
    let brick_names = Table::build("brick_names")
        .i64("name_id", [0_i64, 1])
        .text("name", names)
        .text("category", [None::<&str>; 2])
        .text("kind", ["brick"; 2])
        .i64("dur_ns", [1_i64; 2])
        .i64("end_ns", [window_us * US; 2]);
    let loader_rows = Table::build("loader_rows")
        .i64("name_id", rows.iter().map(|row| number(row.0)))
        .i64("thread", rows.iter().map(|row| row.1))
        .i64("start_ns", rows.iter().map(|row| row.2 * US))
        .i64("dur_ns", rows.iter().map(|row| row.3 * US));
    let opportunity = Table::build("opportunity")
        .text("name", on_path.iter().map(|row| row.0))
        .i64("path_ns", on_path.iter().map(|row| row.1 * US))
        .i64("gain_50pct_ns", on_path.iter().map(|row| row.1 * US / 2))
        .i64("gain_100pct_ns", on_path.iter().map(|row| row.1 * US));
    let mut inputs: Vec<TableBuilder> = vec![facts(window_us), path(&[("work", window_us)])];
    inputs.extend([brick_names, loader_rows, opportunity]);
    inputs.extend(others);
    inputs.push(Table::build("ranks").u64("rank", 0..ranks));
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

#[test]
fn a_loader_inside_another_is_not_loaded_twice() {
    // A call on another thread is not on the path.
    let beside = ("load batch", 1, 300, 200);
    let rows = [("load batch", 0, 0, 200), ("load part", 0, 50, 100), beside];
    let on_path = [("load batch", 200), ("load part", 100)];
    let output = loads(&rows, &on_path, 0);
    assert_eq!(gains(&output), [Some(2_000 * US)]);
    // After it, it is.
    let rows = [
        ("load batch", 0, 0, 200),
        ("load part", 0, 50, 100),
        ("load part", 0, 600, 100),
        beside,
    ];
    let on_path = [("load batch", 200), ("load part", 200)];
    assert_eq!(gains(&loads(&rows, &on_path, 0)), [Some(3_000 * US)]);
}

/// Rank 0 has gaps, but only rank 1 loads input.
#[test]
fn a_rank_does_not_wait_for_the_input_of_another() {
    let kernel = |n: i64| Work {
        called_us: Some(n * 100 - 1),
        ..Work::at("step", n * 100, 30)
    };
    let causes = |thread: i64| {
        let rows: Vec<Work> = (0..10).map(kernel).collect();
        let loading: Vec<_> = (0..10)
            .map(|n| ("load batch", thread, n * 100 + 40, 50))
            .collect();
        let output = loads_beside(
            1_000,
            &loading,
            &[("load batch", 500)],
            (2, vec![kernels(&rows)]),
        );
        texts(&output, "idle", "cause")
    };
    assert_eq!(causes(0), ["loader"]);
    assert_eq!(causes(1 << 16), ["launch"]);
}

#[test]
fn of_ranks_that_load_side_by_side_one_bounds_the_run() {
    let rows = [
        ("load batch", 0, 0, 100),
        ("load batch", 0, 600, 100),
        ("load batch", 1 << 16, 300, 150),
    ];
    let output = loads(&rows, &[("load batch", 200)], 2);
    assert_eq!(gains(&output), [Some(2_000 * US)]);
    let assumes = &texts(&output, "bottlenecks", "assumption")[0];
    assert!(
        assumes.ends_with("the run cannot be shorter than its loading, 2.00 ms"),
        "{assumes}"
    );
}

/// Loading takes longer than all else: one loader ahead would save the rest, several all of the wait.
#[test]
fn devices_that_wait_for_slow_loading_need_several_loaders() {
    let kernel = |n: i64| Work {
        called_us: Some(n * 100 - 1),
        ..Work::at("step", n * 100, 30)
    };
    let rows: Vec<Work> = (0..10).map(kernel).collect();
    let loading: Vec<_> = (0..10)
        .map(|n| ("load batch", 0, n * 100 + 35, 64))
        .collect();
    let of_devices = |devices: Vec<TableBuilder>| {
        loads_beside(1_000, &loading, &[("load batch", 640)], (1, devices))
    };
    let with = of_devices(vec![kernels(&rows)]);
    let sentence = &texts(&with, "top", "sentence")[0];
    assert!(
        sentence.ends_with("loading ahead in several workers saves up to 640 µs (64 %)"),
        "{sentence}"
    );
    // Without a device, the processors that load are those that work.
    let without = of_devices(Vec::new());
    assert_eq!(gains(&without)[0], Some(360 * US));
}

/// Ten calls of 20 ms, the first of `first_us`: it starts the processes that load.
#[test]
fn the_first_call_that_starts_a_loader_is_no_loading() {
    let found_beside = |first_us: i64, fifth_us: i64| {
        let rows: Vec<_> = (0..10)
            .map(|n| match n {
                0 => ("load batch", 0, 0, first_us),
                5 => ("load batch", 0, 750_000, fifth_us),
                n => ("load batch", 0, 500_000 + n * 50_000, 20_000),
            })
            .collect();
        let on_path = [("load batch", first_us + 8 * 20_000 + fifth_us)];
        let output = loads_beside(1_000_000, &rows, &on_path, (0, Vec::new()));
        let considered = texts(&output, "bottlenecks", "considered")[0].clone();
        (gains(&output)[0], considered)
    };
    let found = |first_us| found_beside(first_us, 20_000);
    let (gain, considered) = found(300_000);
    assert_eq!(gain, Some(180_000 * US));
    assert!(
        considered.ends_with(
            "the first call of load batch (300 ms) starts the loader and is not counted"
        ),
        "{considered}"
    );
    // Not so long that it must be something else.
    let (gain, considered) = found(150_000);
    assert_eq!(gain, Some(330_000 * US));
    assert!(!considered.contains("starts the loader"), "{considered}");
    // Another call takes as long.
    let (_, considered) = found_beside(220_000, 220_000);
    assert!(!considered.contains("starts the loader"), "{considered}");
}

/// Loading for 6 of 10 ms on the path, of which re-timing says that the run would hardly be shorter without, then a kernel.
fn loads_before_kernel(called_us: Option<i64>) -> Vec<(String, Option<i64>)> {
    let on_path = Table::build("path_names")
        .text("name", ["load batch"])
        .text("kind", ["work"])
        .text("category", ["data loading"])
        .i64("dur_ns", [6_000 * US]);
    let opportunity = Table::build("opportunity")
        .text("name", ["load batch"])
        .i64("path_ns", [6_000 * US])
        .i64("gain_50pct_ns", [30 * US])
        .i64("gain_100pct_ns", [30 * US]);
    let names = Table::build("brick_names")
        .i64("name_id", [0_i64])
        .text("name", ["load batch"])
        .text("category", ["data loading"])
        .text("kind", ["function"])
        .i64("dur_ns", [6_000 * US])
        .i64("end_ns", [6_000 * US]);
    let rows = Table::build("loader_rows")
        .i64("name_id", [0_i64])
        .i64("thread", [0_i64])
        .i64("start_ns", [0_i64])
        .i64("dur_ns", [6_000 * US]);
    let kernel = Work {
        called_us,
        ..Work::at("step", 7_000, 2_000)
    };
    let inputs = [
        facts(10_000),
        path(&[("work", 10_000)]),
        on_path,
        opportunity,
        names,
        rows,
        kernels(&[kernel]),
    ];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let rows = texts(&output, "bottlenecks", "sentence").into_iter();
    let rows = codes.into_iter().zip(rows.zip(gains(&output)));
    rows.filter(|row| row.0 == "data_load_bound")
        .map(|row| row.1)
        .collect()
}

#[test]
fn loading_that_nothing_is_known_to_wait_for_is_found_without_a_gain() {
    let without = "the program waits for load batch for 60 % of the wall; no gain can be predicted: dependencies were not recorded";
    assert_eq!(loads_before_kernel(None), [(without.to_owned(), None)]);
    assert_eq!(loads_before_kernel(Some(6_900)), []);
}

/// A build tool fetches inputs, too: without steps, operators or devices a name is no evidence of a data loader.
#[test]
fn names_say_that_input_is_loaded_only_where_a_framework_works_on_it() {
    let finds = |source: &'static str, kind: &'static str, has_steps: bool, lane: &'static str| {
        let names = Table::build("brick_names")
            .i64("name_id", [0_i64])
            .text("name", ["context.prefetchInputs"])
            .text("category", [None::<&str>])
            .text("kind", [kind])
            .i64("dur_ns", [3_000 * US])
            .i64("end_ns", [9_000 * US]);
        let rows = Table::build("loader_rows")
            .i64("name_id", [0_i64])
            .i64("thread", [0_i64])
            .i64("start_ns", [6_000 * US])
            .i64("dur_ns", [3_000 * US]);
        let opportunity = Table::build("opportunity")
            .text("name", ["context.prefetchInputs"])
            .i64("path_ns", [3_000 * US])
            .i64("gain_50pct_ns", [1_500 * US])
            .i64("gain_100pct_ns", [3_000 * US]);
        let lanes = Table::build("by_lane")
            .text("lane", ["main", "other"])
            .text("lane_kind", ["host", lane])
            .i64("busy_ns", [9_000 * US; 2]);
        let first_step = has_steps.then_some(0_i64);
        let inputs = vec![
            facts(10_000).text("clock_source", [source]),
            path(&[("work", 10_000)]),
            names,
            rows,
            opportunity,
            lanes,
            Table::build("first_step").i64("first_ns", [first_step]),
        ];
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let classes = texts(&output, "bottlenecks", "class");
        classes.iter().any(|class| class == "data_load_bound")
    };
    let chrome = "imported: chrome";
    assert!(!finds(chrome, "function", false, "host"));
    assert!(finds(chrome, "function", true, "host"), "steps");
    assert!(finds(chrome, "brick", false, "host"), "operators");
    assert!(finds(chrome, "function", false, "device"), "devices");
    assert!(finds("imported: kineto", "function", false, "host"));
}
