//! Single launches and transfers on a device: each is one row, with the device's times.

mod simulated;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use simulated::SimulatedDevice;
use trueno_recorder::{PtxHash, Recorder, SyncMode};
use trueno_testing::{Cell, folder, run_json, table};

const DEVICE: u32 = 3;

fn recorder(path: &Path, mode: SyncMode, device: &Arc<SimulatedDevice>) -> Recorder {
    Recorder::builder(path)
        .sync_mode(mode)
        .device(device.clone())
        .create()
        .unwrap()
}

fn launch(rec: &Recorder, device: &SimulatedDevice, name: &'static str, stream: u32, work_ns: u64) {
    let mut guard = rec.launch(name, DEVICE, stream);
    guard.begin();
    device.launch(stream, work_ns);
}

#[test]
fn a_launch_has_what_it_was_given_and_the_times_of_the_device() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let ptx = rec.ptx("module", ".version 8.0");
    let brick = rec.brick("up");
    let brick_id = brick.id();
    let mut guard = rec.launch("gemv", DEVICE, 5);
    guard
        .grid(64, 2, 3)
        .block(256, 4, 1)
        .ptx(ptx)
        .backend("cuda");
    guard
        .shared_memory(1024)
        .registers(40)
        .static_shared_memory(48);
    guard.flops(8192).bytes(16640).elements(64);
    let launch_id = guard.id();
    guard.begin();
    device.launch(5, 70_000);
    drop(guard);
    drop(brick);
    launch(&rec, &device, "plain", 5, 30_000);
    std::thread::sleep(Duration::from_millis(2));
    rec.finish().unwrap();

    let kernels = table(&path, "kernels");
    assert_eq!(kernels.rows, 2);
    let row = kernels.named("gemv");
    for (column, value) in [
        ("grid_x", 64),
        ("grid_y", 2),
        ("grid_z", 3),
        ("block_x", 256),
        ("block_y", 4),
        ("block_z", 1),
        ("smem_dynamic", 1024),
        ("smem_static", 48),
        ("registers", 40),
        ("flops", 8192),
        ("bytes", 16640),
        ("elements", 64),
        ("device", 3),
        ("stream", 5),
        ("id", i128::from(launch_id.get())),
        ("brick", i128::from(brick_id.get())),
    ] {
        assert_eq!(kernels.number(column, row), Some(value), "{column}");
    }
    assert_eq!(kernels.texts("work_source")[row], Some("declared"));
    assert_eq!(kernels.texts("backend")[row], Some("cuda"));
    let hash = PtxHash::from_source(".version 8.0").to_string();
    assert_eq!(kernels.texts("ptx_hash")[row], Some(hash.as_str()));
    assert_eq!(kernels.texts("timing"), vec![Some("device"); 2]);
    let dur = kernels.number("dur_ns", row).unwrap();
    assert!((dur - 70_000).abs() < 200, "{dur}");

    let plain = kernels.named("plain");
    for column in [
        "grid_x",
        "block_x",
        "smem_dynamic",
        "registers",
        "flops",
        "brick",
        "work_source",
        "ptx_hash",
    ] {
        assert_eq!(kernels.cell(column, plain), &Cell::Null, "{column}");
    }
    let (marks, released) = device.marks();
    assert_eq!(
        released,
        (0..marks as u64).collect::<Vec<_>>(),
        "each mark is given back once"
    );
}

#[test]
fn every_mode_has_a_row_a_launch_and_says_what_its_times_are() {
    for (mode, has_clock, timing, valid) in [
        (SyncMode::Deferred, true, "device", true),
        (SyncMode::PerLayer, true, "device", true),
        (SyncMode::Immediate, true, "device", true),
        (SyncMode::Deferred, false, "bound", true),
        (SyncMode::Immediate, false, "bound", true),
        (SyncMode::None, true, "host", false),
    ] {
        let (_folder, path) = folder();
        let device = if has_clock {
            SimulatedDevice::with_clock()
        } else {
            SimulatedDevice::without_clock()
        };
        let rec = recorder(&path, mode, &device);
        {
            let _layer = rec.layer(0);
            for _ in 0..3 {
                let _brick = rec.brick("brick");
                launch(&rec, &device, "k", 1, 1000);
                launch(&rec, &device, "k", 2, 1000);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
        let summary = rec.finish().unwrap();
        let kernels = table(&path, "kernels");
        assert_eq!(
            kernels.texts("timing"),
            vec![Some(timing); 6],
            "{mode:?} {has_clock}"
        );
        assert!(
            (0..6).all(|row| kernels.cell("valid", row) == &Cell::B(valid)),
            "{mode:?}"
        );
        assert_eq!(kernels.texts("reason")[0].is_some(), !valid);
        assert_eq!(kernels.numbers("device"), vec![Some(3); 6]);
        assert_eq!(summary.dropped, 0);
        if mode == SyncMode::None {
            assert_eq!(device.calls(), 0, "nothing is asked of the device");
        }
    }
}

#[test]
fn a_wait_is_joined_by_the_last_of_each_stream_and_dependencies_name_launches() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    for _ in 0..10 {
        launch(&rec, &device, "first", 1, 1000);
    }
    let mut producer = rec.launch("producer", DEVICE, 1);
    producer.begin();
    let from = producer.id();
    device.launch(1, 1000);
    drop(producer);
    let mut consumer = rec.launch("consumer", DEVICE, 2);
    consumer.begin();
    rec.depends(from, consumer.id());
    let to = consumer.id();
    device.launch(2, 5000);
    drop(consumer);
    std::thread::sleep(Duration::from_millis(1));
    rec.synchronize().unwrap();
    rec.finish().unwrap();
    let edges = table(&path, "edges");
    let of = |kind| {
        let mut found: Vec<(i128, i128)> = (0..edges.rows)
            .filter(|row| edges.texts("kind")[*row] == Some(kind))
            .map(|row| {
                (
                    edges.number("from", row).unwrap(),
                    edges.number("to", row).unwrap(),
                )
            })
            .collect();
        found.sort_unstable();
        found
    };
    let (from, to) = (i128::from(from.get()), i128::from(to.get()));
    assert_eq!(of("depends_on"), [(from, to)]);
    let joins: Vec<i128> = of("joins").into_iter().map(|(from, _)| from).collect();
    assert_eq!(joins, [from, to]);
}

#[test]
fn transfers_are_rows_and_what_did_not_happen_is_none() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    for (direction, bytes) in [("h2d", 4096), ("d2h", 0), ("d2d", u64::MAX >> 1)] {
        let mut guard = rec.transfer(direction, bytes, DEVICE, 7);
        guard.memory("pageable", "device").begin();
        device.launch(7, 2_000);
        guard.end();
        device.launch(7, 500_000);
    }
    let mut cancelled = rec.transfer("h2d", 1, DEVICE, 7);
    cancelled.begin();
    cancelled.cancel();
    let mut cancelled = rec.launch("not launched", DEVICE, 7);
    cancelled.begin();
    cancelled.cancel();
    std::thread::sleep(Duration::from_millis(3));
    rec.finish().unwrap();

    assert_eq!(table(&path, "kernels").rows, 0);
    let transfers = table(&path, "transfers");
    assert_eq!(
        transfers.texts("direction"),
        [Some("h2d"), Some("d2h"), Some("d2d")]
    );
    assert_eq!(
        transfers.numbers("bytes"),
        [Some(4096), Some(0), Some(i128::from(u64::MAX >> 1))]
    );
    assert_eq!(transfers.texts("src_kind"), vec![Some("pageable"); 3]);
    assert_eq!(transfers.texts("dst_kind"), vec![Some("device"); 3]);
    assert_eq!(transfers.texts("timing"), vec![Some("device"); 3]);
    for dur in transfers.numbers("dur_ns") {
        assert!(
            (dur.unwrap() - 2000).abs() < 100,
            "what came behind the copy is none of it: {dur:?}"
        );
    }
    let (marks, released) = device.marks();
    assert_eq!(released.len(), marks);
}

#[test]
fn a_device_that_is_not_the_recorders_has_no_times() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let mut guard = rec.launch("elsewhere", DEVICE + 1, 0);
    guard.begin();
    drop(guard);
    drop(rec.transfer("h2d", 8, DEVICE + 1, 0));
    rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.cell("valid", 0), &Cell::B(false));
    assert_eq!(kernels.numbers("device"), [Some(4)]);
    assert_eq!(table(&path, "transfers").texts("timing"), [Some("host")]);
    assert_eq!(device.marks().0, 0);
    assert_eq!(run_json(&path).tables["kernels"].rows, 1);
}

#[test]
fn a_launch_that_outlives_the_run_gives_its_marks_back() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = recorder(&path, SyncMode::Deferred, &device);
    let (mut dropped, mut cancelled) = (rec.launch("a", DEVICE, 1), rec.launch("b", DEVICE, 1));
    dropped.begin();
    cancelled.begin();
    rec.finish().unwrap();
    drop(dropped);
    cancelled.cancel();
    let (marks, released) = device.marks();
    assert_eq!(released, (0..marks as u64).collect::<Vec<_>>());
    assert_eq!(table(&path, "kernels").rows, 0);
    assert_eq!(rec.status().late, 1);
}

#[test]
fn tables_that_are_left_out_leave_no_marks() {
    let (_folder, path) = folder();
    let device = SimulatedDevice::with_clock();
    let rec = Recorder::builder(&path)
        .sync_mode(SyncMode::Deferred)
        .device(device.clone())
        .without_table("kernels")
        .without_table("transfers")
        .create()
        .unwrap();
    launch(&rec, &device, "k", 1, 100);
    let mut guard = rec.transfer("h2d", 1, DEVICE, 1);
    guard.begin();
    drop(guard);
    assert!(rec.launch("k", DEVICE, 1).id().is_none());
    rec.finish().unwrap();
    assert_eq!(device.marks().0, 0);
    assert_eq!(
        table(&path, "kernels").rows + table(&path, "transfers").rows,
        0
    );
}
