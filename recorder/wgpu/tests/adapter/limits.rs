//! Devices that cannot stamp all: the run says so, and no time is made up.

use trueno_recorder::SyncMode;
use trueno_recorder_wgpu::wgpu::Features;
use trueno_testing::{folder, run_json, table};

use crate::rig::{Rig, device};

/// Records two passes, with 3 and with no dispatches, and a fill.
fn record(rig: &Rig) {
    let mut encoder = rig.gpu.encoder("step");
    rig.increments(&mut encoder, 3);
    rig.increments(&mut encoder, 0);
    encoder.clear_buffer(&rig.x, 0, None);
    rig.gpu.submit([encoder]);
    rig.gpu.synchronize().unwrap();
}

#[test]
fn without_time_stamps_rows_are_bound() {
    let Some(device) = device(Features::empty()) else {
        return;
    };
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::Deferred);
    record(&rig);
    rig.rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("timing"), [Some("bound"); 3]);
    assert_eq!(kernels.texts("name"), [Some("increment"); 3]);
    assert_eq!(table(&path, "transfers").texts("timing"), [Some("bound")]);
    let run = run_json(&path);
    let [problem] = &run.problems[..] else {
        panic!("{:?}", run.problems)
    };
    assert!(problem.contains(" TIMESTAMP_QUERY: its work has no times"));
    assert_eq!(
        run.values["device.3.time_source"],
        "none: no TIMESTAMP_QUERY"
    );
    assert!(!run.values.contains_key("device.3.resolution_ns"));
    assert!(!run.values.contains_key("device.3.clock_error_ns"));
}

#[test]
fn with_time_stamps_of_passes_alone_rows_are_passes() {
    let Some(device) = device(Features::TIMESTAMP_QUERY) else {
        return;
    };
    if device.device().features().is_empty() {
        return println!("skipped: {} has no time stamps", device.info().name);
    }
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::Deferred);
    record(&rig);
    rig.rec.finish().unwrap();
    let kernels = table(&path, "kernels");
    assert_eq!(kernels.texts("name"), [Some("increments")]);
    assert_eq!(kernels.texts("timing"), [Some("device")]);
    assert_eq!(kernels.numbers("flops"), [Some(3)], "of its 3 dispatches");
    assert_eq!(table(&path, "transfers").texts("timing"), [Some("bound")]);
    let problems = run_json(&path).problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("TIMESTAMP_QUERY_INSIDE_PASSES: rows of kernels are compute"));
    assert!(problems[1].contains("TIMESTAMP_QUERY_INSIDE_ENCODERS: copies have no times"));
}
