//! Ceilings that were measured before, in the run of a recording.

use std::fs;

use serde_json::json;

use crate::fakes::{Cupti, Recording, command, fakes};
use trueno_testing::Cell;

const UUID: &str = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10";

fn record_with_kept(kept: Option<&str>) -> Option<Recording> {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache = home.path().join("trueno-record");
    fs::create_dir_all(&cache).unwrap();
    if let Some(kept) = kept {
        fs::write(cache.join(format!("peaks-{UUID}.json")), kept).unwrap();
    }
    let output = command(Cupti::New)?
        .env("XDG_CACHE_HOME", home.path())
        .arg("run")
        .arg("-o")
        .arg(folder.path().join("it.run"))
        .arg("--")
        .arg(fakes()?.join("program"))
        .args("init launch:gemm:7:50:3 sync".split_whitespace())
        .output()
        .unwrap();
    Some(Recording { output, folder })
}

#[test]
fn ceilings_kept_for_the_device_are_in_its_runs() {
    let ceiling = |level: &str, value: f64| {
        json!({
            // The number it had when it was measured.
            "device": "gpu:5", "kind": "bandwidth", "level": level, "precision": null, "threads": null,
            "value": value, "source": "measured", "operation": "copy", "median": 2.9e12, "spread": 0.01,
            "repetitions": 15, "settled": level == "DRAM"
        })
    };
    let kept = json!({
        "code_version": 2,
        "gpu": {
            "number": 5, "name": "Fake H100", "uuid": UUID, "compute_capability": "9.0", "multiprocessors": 132,
            "l2_bytes": 52_428_800, "memory_bytes": 85_899_345_920u64, "highest_clock_hz": 1_980_000_000
        },
        "measured_at_s": 1_700_000_000, "clock_hz": 1.9e9, "notes": [],
        "ceilings": [ceiling("DRAM", 3e12), ceiling("L2", 7e12)]
    });
    let Some(recording) = record_with_kept(Some(&kept.to_string())) else {
        return;
    };
    recording.assert_clean();
    let ceilings = recording.table("ceilings");
    assert_eq!(ceilings.texts("device"), [Some("gpu:0"), Some("gpu:0")]);
    assert_eq!(ceilings.texts("level"), [Some("DRAM"), Some("L2")]);
    let settled = [0, 1].map(|row| ceilings.cell("settled", row).clone());
    assert_eq!(settled, [Cell::B(true), Cell::B(false)]);
    assert_eq!(ceilings.texts("unit"), [Some("bytes/s"), Some("bytes/s")]);
    assert_eq!(
        ceilings.texts("source"),
        [Some("measured"), Some("measured")]
    );
    let said = &recording.run().values["peaks.gpu:0"];
    let wanted = format!("2 ceilings of Fake H100 {UUID}, measured 2023-11-14 22:13:20 UTC");
    assert_eq!(said, &wanted);
}

#[test]
fn without_any_there_is_no_table_and_damaged_ones_are_named() {
    let Some(recording) = record_with_kept(None) else {
        return;
    };
    recording.assert_clean();
    assert!(!recording.path().join("ceilings").exists());
    assert!(!recording.run().values.contains_key("peaks.gpu:0"));
    let recording = record_with_kept(Some("{")).unwrap();
    recording.assert_clean();
    let said = &recording.run().values["peaks.gpu:0"];
    assert!(said.starts_with("not available: "), "{said}");
    assert!(said.contains("cannot read the saved ceilings"), "{said}");
}
