//! The device's clock beside the host's.

use trueno_recorder::SyncMode;
use trueno_testing::{folder, run_json, table};

use crate::rig::{Rig, stamping_device};

/// llvmpipe takes time stamps from the host's monotonic clock, so the true distance of both clocks is known.
#[test]
fn readings_are_as_exact_as_the_run_says() {
    let Some(device) = stamping_device() else {
        return;
    };
    if !device.info().name.starts_with("llvmpipe") {
        return println!("skipped: the clock of {} is not known", device.info().name);
    }
    let (_folder, path) = folder();
    let rig = Rig::new(&path, &device, SyncMode::Deferred);
    // Enough that the recorder looks for finished work, and reads the clocks, while the queue is busy.
    for _ in 0..40 {
        let mut encoder = rig.gpu.encoder("step");
        rig.increments(&mut encoder, 100);
        rig.gpu.submit([encoder]);
    }
    rig.rec.finish().unwrap();
    let error: i128 = run_json(&path).values["device.3.clock_error_ns"]
        .parse()
        .unwrap();
    let pairs = table(&path, "clock_pairs");
    let distances: Vec<i128> = (0..pairs.rows)
        .filter_map(|row| Some(pairs.number("device_ns", row)? - pairs.number("host_ns", row)?))
        .collect();
    assert!(distances.len() >= 2, "at the start and the end");
    let (least, greatest) = (distances.iter().min(), distances.iter().max());
    let apart = greatest.unwrap() - least.unwrap();
    // Each is off by that at most, and by rounding.
    assert!(apart <= 2 * error + 100, "{distances:?}, error {error}");
}
