//! Sync modes: when the host waits for a device, and what the run says about device work.

mod simulated;

use std::sync::Arc;
use std::time::Duration;

use simulated::SimulatedDevice;
use trueno_recorder::{BrickId, Error, Overflow, Recorder, SyncMode};
use trueno_testing::{Cell, Table, folder, run_json, table};

fn recorder(path: &std::path::Path, mode: SyncMode, device: &Arc<SimulatedDevice>) -> Recorder {
    Recorder::builder(path)
        // Rows are counted, however seldom the writer's turn comes.
        .overflow(Overflow::Block)
        .sync_mode(mode)
        .device(device.clone())
        .create()
        .unwrap()
}

/// Lets the host's clock advance beyond everything a test does on the device's clock.
fn let_the_host_pass() {
    std::thread::sleep(Duration::from_millis(3));
}

fn interval(table: &Table, row: usize) -> (i128, i128) {
    let start = table.number("start_ns", row).unwrap();
    (start, start + table.number("dur_ns", row).unwrap())
}

fn contains(outer: (i128, i128), inner: (i128, i128)) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}

/// The two clocks' rates agree to a thousandth.
fn is_about(found: i128, ns: i128) -> bool {
    (found - ns).abs() <= ns / 500 + 2
}

fn timing(table: &Table) -> Vec<&str> {
    table.texts("timing").into_iter().flatten().collect()
}

/// Three launches at 0, 100 and 300 µs, each with 300 µs of work; the last ends at 900 µs.
fn three_launches(rec: &Recorder, device: &SimulatedDevice) {
    for pause_ns in [100_000, 200_000, 700_000] {
        let mut brick = rec.brick(BrickId::AttentionScore);
        brick.stream(0);
        device.launch(0, 300_000);
        drop(brick);
        device.pass(pause_ns);
    }
}

#[test]
fn overlapping_deferred_work_has_the_times_of_the_device() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    three_launches(&rec, &device);
    let_the_host_pass();
    let wall_ns = i128::from(rec.finish().unwrap().wall_ns);

    let kernels = table(&path, "kernels");
    assert_eq!(timing(&kernels), ["device"; 3]);
    let times: Vec<_> = (0..3).map(|row| interval(&kernels, row)).collect();
    for (start, end) in &times {
        assert!(is_about(end - start, 300_000), "{times:?}");
    }
    for two in times.windows(2) {
        assert!(
            two[0].1 <= two[1].0,
            "one stream does one thing at a time: {times:?}"
        );
    }
    let sum: i128 = times.iter().map(|(start, end)| end - start).sum();
    assert!(sum <= wall_ns, "{sum} ns of work in {wall_ns} ns");
    assert!(times.iter().all(|time| contains((0, wall_ns), *time)));
}

#[test]
fn without_a_device_clock_deferred_work_is_bound_and_no_duration() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::without_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    three_launches(&rec, &device);
    rec.synchronize().unwrap();
    rec.finish().unwrap();

    let (kernels, bricks, syncs) = (
        table(&path, "kernels"),
        table(&path, "bricks"),
        table(&path, "syncs"),
    );
    assert_eq!(timing(&kernels), ["bound"; 3]);
    assert_eq!(timing(&bricks), ["host"; 3]);
    let waited = interval(&syncs, 0);
    for row in 0..3 {
        let (start, end) = interval(&kernels, row);
        assert_eq!(start, interval(&bricks, row).0);
        assert_eq!(end, waited.1);
        assert_eq!(kernels.cell("valid", row), &Cell::B(true));
    }
    let edges = table(&path, "edges").rows;
    assert_eq!(
        edges, 0,
        "a bound ends with the wait because it is made from it"
    );
    assert_eq!(
        table(&path, "clock_pairs")
            .numbers("device_ns")
            .iter()
            .flatten()
            .count(),
        0
    );
}

#[test]
fn a_short_launch_of_long_work_keeps_both_times_apart() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let mut brick = rec.brick(BrickId::QkvProjection);
    brick.stream(0).backend("cuda");
    let id = brick.id();
    let before = std::time::Instant::now();
    device.launch(0, 89_000);
    device.pass(26_000);
    drop(brick);
    let_the_host_pass();
    let longest_ns = before.elapsed().as_nanos() as i128;
    rec.finish().unwrap();

    let (bricks, kernels) = (table(&path, "bricks"), table(&path, "kernels"));
    assert_eq!(
        (timing(&bricks), timing(&kernels)),
        (vec!["host"], vec!["device"])
    );
    assert!(
        bricks.number("dur_ns", 0).unwrap() < longest_ns,
        "the host did not wait"
    );
    assert!(is_about(kernels.number("dur_ns", 0).unwrap(), 89_000));
    assert_eq!(kernels.number("brick", 0), Some(i128::from(id.get())));
    assert_eq!(kernels.texts("name"), [Some("QkvProjection")]);
    assert_eq!(kernels.texts("backend"), [Some("cuda")]);
    assert_eq!(
        (kernels.number("device", 0), kernels.number("stream", 0)),
        (Some(3), Some(0))
    );
    assert_eq!(run_json(&path).recorder.sync_mode, "deferred");
    assert_eq!(run_json(&path).values["device.3"], "simulated");
    let error = run_json(&path).values["device.3.clock_error_ns"].parse::<u64>();
    assert!(error.is_ok(), "how exactly both clocks were read together");
}

#[test]
fn immediate_waits_before_and_within_each_brick() {
    for device in [
        SimulatedDevice::with_clock(),
        SimulatedDevice::without_clock(),
    ] {
        let (_folder, path) = folder();
        let rec = recorder(&path, SyncMode::Immediate, &device);
        for _ in 0..2 {
            let mut brick = rec.brick(BrickId::LmHead);
            brick.stream(0);
            device.launch(0, 50_000);
        }
        assert_eq!(device.synchronized(), 4);
        let_the_host_pass();
        rec.finish().unwrap();

        let (bricks, syncs) = (table(&path, "bricks"), table(&path, "syncs"));
        assert_eq!(syncs.texts("kind"), vec![Some("device"); 5]);
        assert_eq!(syncs.numbers("device"), vec![Some(3); 5]);
        for row in 0..2 {
            let brick = interval(&bricks, row);
            assert!(interval(&syncs, 2 * row).1 <= brick.0);
            assert!(contains(brick, interval(&syncs, 2 * row + 1)));
        }
        let kernels = table(&path, "kernels");
        let expected = if device.has_clock {
            vec!["device"; 2]
        } else {
            vec![]
        };
        assert_eq!(timing(&kernels), expected);
    }
}

#[test]
fn per_layer_waits_once_before_the_end_of_each_layer() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::without_clock();
    let rec = recorder(&path, SyncMode::PerLayer, &device);
    for layer in 0..2 {
        let _layer = rec.layer(layer);
        for _ in 0..3 {
            let mut brick = rec.brick(BrickId::UpProjection);
            brick.stream(0);
            device.launch(0, 10_000);
        }
        assert_eq!(device.synchronized(), u64::from(layer));
    }
    assert_eq!(device.synchronized(), 2);
    rec.finish().unwrap();

    let (bricks, syncs, kernels) = (
        table(&path, "bricks"),
        table(&path, "syncs"),
        table(&path, "kernels"),
    );
    let layers: Vec<usize> = (0..bricks.rows)
        .filter(|row| bricks.cell("kind", *row) == &Cell::T("layer".into()))
        .collect();
    for (nth, layer) in layers.into_iter().enumerate() {
        let (layer, wait) = (interval(&bricks, layer), interval(&syncs, nth));
        assert!(contains(layer, wait));
        for row in 3 * nth..3 * nth + 3 {
            assert!(contains(layer, interval(&kernels, row)));
            assert_eq!(interval(&kernels, row).1, wait.1);
        }
    }
    assert_eq!(timing(&kernels), ["bound"; 6]);
}

#[test]
fn none_asks_the_device_nothing() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::None, &device);
    {
        let _layer = rec.layer(0);
        rec.brick(BrickId::RmsNorm).stream(0);
    }
    rec.synchronize().unwrap();
    rec.finish().unwrap();
    assert_eq!(device.calls(), 0);
    assert_eq!(table(&path, "bricks").rows, 2);
    assert_eq!(table(&path, "kernels").rows + table(&path, "syncs").rows, 0);
}

#[test]
fn a_brick_that_names_no_stream_has_no_device_work() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    drop(rec.brick(BrickId::Sampling));
    rec.finish().unwrap();
    assert_eq!(table(&path, "kernels").rows, 0);
    assert_eq!(device.marks().0, 0);
}

#[test]
fn each_stream_of_a_brick_has_its_row_and_streams_overlap() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let mut brick = rec.brick(BrickId::AttentionOutput);
    brick.stream(1).stream(2).stream(1);
    device.launch(1, 100_000);
    device.launch(2, 40_000);
    drop(brick);
    let_the_host_pass();
    rec.finish().unwrap();

    let kernels = table(&path, "kernels");
    assert_eq!(kernels.numbers("stream"), [Some(1), Some(2)]);
    assert!(is_about(kernels.number("dur_ns", 0).unwrap(), 100_000));
    assert!(is_about(kernels.number("dur_ns", 1).unwrap(), 40_000));
    assert_eq!(kernels.number("start_ns", 0), kernels.number("start_ns", 1));
    assert_eq!(kernels.number("brick", 0), kernels.number("brick", 1));
}

#[test]
fn device_work_of_nested_bricks_nests() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let mut outer = rec.brick("attention block");
    outer.stream(0);
    device.launch(0, 10_000);
    {
        let mut inner = rec.brick(BrickId::AttentionSoftmax);
        inner.stream(0);
        device.launch(0, 20_000);
    }
    device.launch(0, 5_000);
    drop(outer);
    let_the_host_pass();
    rec.finish().unwrap();

    let kernels = table(&path, "kernels");
    let outer = interval(&kernels, kernels.named("attention block"));
    let inner = interval(&kernels, kernels.named("AttentionSoftmax"));
    assert!(contains(outer, inner));
    assert!(is_about(outer.1 - outer.0, 35_000) && is_about(inner.1 - inner.0, 20_000));
}

#[test]
fn a_failing_wait_leaves_rows_that_say_why_and_no_times_made_up() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::without_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    device.fail(Some("no such context"));
    for _ in 0..2 {
        rec.brick(BrickId::GateProjection).stream(0);
        let error = rec.synchronize().unwrap_err();
        assert!(
            matches!(&error, Error::Device { device: 3, problem } if problem == "no such context")
        );
    }
    let told = |problems: &[String]| {
        problems
            .iter()
            .filter(|p| p.contains("no such context"))
            .count()
    };
    assert_eq!(
        told(&rec.status().problems),
        1,
        "each further one looks the same"
    );
    device.fail(None);
    rec.brick(BrickId::GateProjection).stream(0);
    rec.finish().unwrap();

    let kernels = table(&path, "kernels");
    assert_eq!(timing(&kernels), ["host", "host", "bound"]);
    let valid: Vec<&Cell> = (0..3).map(|row| kernels.cell("valid", row)).collect();
    assert_eq!(valid, [&Cell::B(false), &Cell::B(false), &Cell::B(true)]);
    let reason = "the device could not be synchronised";
    assert_eq!(kernels.texts("reason"), [Some(reason), Some(reason), None]);
    let problems = run_json(&path).problems;
    assert_eq!(told(&problems), 1);
    let summary = "2 of 3 synchronisations failed";
    assert!(problems.iter().any(|p| p.contains(summary)), "{problems:?}");
    assert_eq!(table(&path, "syncs").rows, 3, "the host did wait");
}

#[test]
fn a_device_that_panics_does_not_stop_the_program() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Immediate, &device);
    device.panic_from_now_on();
    rec.brick(BrickId::GateProjection).stream(0);
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 1);
    let problems = run_json(&path).problems;
    assert!(
        problems.iter().any(|p| p.contains("panicked 3 times")),
        "{problems:?}"
    );
}

#[test]
fn a_recorder_that_is_dropped_still_waits_for_its_work() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let mut brick = rec.brick(BrickId::DownProjection);
    brick.stream(0);
    device.launch(0, 70_000);
    drop(brick);
    drop(rec);
    let kernels = table(&path, "kernels");
    assert_eq!(timing(&kernels), ["device"]);
    assert!(is_about(kernels.number("dur_ns", 0).unwrap(), 70_000));
    let (made, released) = device.marks();
    assert_eq!(
        released,
        (0..made as u64).collect::<Vec<_>>(),
        "each mark once"
    );
}

#[test]
fn one_wait_resolves_the_work_of_all_threads() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    drop(rec.brick("main"));
    std::thread::scope(|scope| {
        for stream in [1, 2] {
            let (rec, device) = (rec.clone(), device.clone());
            scope.spawn(move || {
                for _ in 0..200 {
                    let mut brick = rec.brick("work");
                    brick.stream(stream);
                    device.launch(stream, 1_000);
                }
            });
        }
    });
    rec.synchronize().unwrap();
    rec.finish().unwrap();

    let (bricks, kernels) = (table(&path, "bricks"), table(&path, "kernels"));
    assert_eq!(kernels.rows, 400);
    let mut ids = kernels.numbers("id");
    ids.extend(bricks.numbers("id"));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 801);
    let thread_of: std::collections::HashMap<_, _> = bricks
        .numbers("id")
        .into_iter()
        .zip(bricks.numbers("thread"))
        .collect();
    for row in 0..kernels.rows {
        let brick = kernels.number("brick", row);
        assert_eq!(
            kernels.number("thread", row),
            thread_of[&brick],
            "the thread that launched"
        );
    }
}

#[test]
fn work_of_a_detached_brick_ends_where_the_brick_ends() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let mut brick = rec.brick("request");
    brick.stream(0);
    let id = brick.id();
    let detached = brick.detach();
    let elsewhere = device.clone();
    std::thread::spawn(move || {
        elsewhere.launch(0, 30_000);
        detached.end();
    })
    .join()
    .unwrap();
    let_the_host_pass();
    rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.numbers("brick"), [Some(i128::from(id.get()))]);
    assert_eq!(kernels.numbers("thread"), [Some(0)]);
    let found = kernels.number("dur_ns", 0).unwrap();
    assert!(is_about(found, 30_000), "{found}");
}

#[test]
fn a_wait_joins_the_work_it_waited_for() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    for _ in 0..8 {
        rec.brick(BrickId::SpMv).stream(0);
    }
    rec.synchronize().unwrap();
    rec.finish().unwrap();
    let (edges, kernels, syncs) = (
        table(&path, "edges"),
        table(&path, "kernels"),
        table(&path, "syncs"),
    );
    assert_eq!(edges.texts("kind"), vec![Some("joins"); 8]);
    assert_eq!(edges.numbers("from"), kernels.numbers("id"));
    assert_eq!(edges.numbers("to"), vec![syncs.number("id", 0); 8]);
}

#[test]
fn clocks_are_read_together_when_the_run_begins_and_ends() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    device.pass(5_000);
    let rec = recorder(&path, SyncMode::Deferred, &device);
    for _ in 0..20 {
        rec.synchronize().unwrap();
    }
    device.pass(1_000);
    rec.finish().unwrap();
    let pairs = table(&path, "clock_pairs");
    let read: Vec<_> = pairs
        .numbers("device")
        .into_iter()
        .zip(pairs.numbers("device_ns"))
        .filter(|(device, _)| device.is_some())
        .collect();
    assert_eq!(read.first(), Some(&(Some(3), Some(5_000))));
    assert_eq!(read.last(), Some(&(Some(3), Some(6_000))));
    assert!(read.len() < 20, "not at each wait: {}", read.len());
}

#[test]
fn much_pending_work_is_taken_over_as_the_device_gets_on() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    for _ in 0..1500 {
        rec.brick(BrickId::FormatConvert).stream(0);
    }
    assert!(device.marks().1.len() >= 2 * 1000, "long before any wait");
    assert_eq!(device.synchronized(), 0);
    rec.finish().unwrap();
    assert_eq!(timing(&table(&path, "kernels")), vec!["device"; 1500]);
}

#[test]
fn threads_that_take_over_work_at_once_ask_for_each_mark_in_turn() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    std::thread::scope(|scope| {
        for stream in 0..2 {
            let rec = &rec;
            scope.spawn(move || {
                for _ in 0..4000 {
                    rec.brick("work").stream(stream);
                }
            });
        }
    });
    rec.finish().unwrap();
    // A device that is asked for a mark it was given back panics, and that is reported.
    assert_eq!(run_json(&path).problems, Vec::<String>::new());
    assert_eq!(timing(&table(&path, "kernels")), vec!["device"; 8000]);
    let (made, released) = device.marks();
    assert_eq!(
        released,
        (0..made as u64).collect::<Vec<_>>(),
        "each mark once"
    );
}

#[test]
fn work_beyond_all_measure_is_counted_not_kept() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::without_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    for _ in 0..(1 << 14) + 10 {
        rec.brick(BrickId::FormatConvert).stream(0);
    }
    rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.rows, (1 << 14) + 10);
    let given_up = kernels.texts("reason").into_iter().flatten().count();
    assert_eq!(given_up, 10);
    let problems = run_json(&path).problems;
    assert!(
        problems.iter().any(|p| p.contains("10 pieces")),
        "{problems:?}"
    );
}

#[test]
fn without_their_tables_waits_and_work_leave_the_rest_as_it_was() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = Recorder::builder(&path)
        .sync_mode(SyncMode::Immediate)
        .device(device.clone())
        .without_table("kernels")
        .without_table("syncs")
        .without_table("edges")
        .create()
        .unwrap();
    rec.brick(BrickId::Fft1d).stream(0);
    let summary = rec.finish().unwrap();
    assert_eq!(
        (summary.dropped, device.synchronized(), device.marks().0),
        (0, 3, 0)
    );
    assert_eq!(table(&path, "bricks").rows, 1);
}

#[test]
fn a_mode_that_needs_a_device_is_refused_without_one() {
    for mode in [SyncMode::Deferred, SyncMode::PerLayer, SyncMode::Immediate] {
        let (_folder, path) = folder();
        let error = Recorder::builder(&path)
            .sync_mode(mode)
            .create()
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(
            error,
            Error::Option {
                option: "sync_mode",
                ..
            }
        ));
        assert!(
            text.contains(mode.name()) && text.contains("Builder::device"),
            "{text}"
        );
        assert!(!path.exists(), "nothing was made");
    }
}
