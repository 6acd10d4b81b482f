//! Gauges of GPUs, against a library that stands in for NVIDIA's.

use std::path::Path;

use trueno_cupti::library::Library;
use trueno_cupti::nvml::{GpuGauge, LIBRARY, Nvml};

#[test]
fn gauges_are_those_of_the_library_and_what_it_does_not_tell_is_missing() {
    if !trueno_testing::has_c_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fake = folder.path().join(LIBRARY);
    let soname = format!("-Wl,-soname,{LIBRARY}");
    trueno_testing::compile("nvml.c", &["-shared", "-fPIC", &soname], &fake, &[]);
    // From now on the process has a library of that name, which is found before any of the machine.
    Library::open(Path::new(&fake)).unwrap();
    let gauges = Nvml::open().unwrap().read();
    let first = GpuGauge {
        device: 0,
        name: Some("Fake 1".to_owned()),
        busy_share: Some(0.75),
        memory_used_bytes: Some(5 << 30),
        memory_bytes: Some(16 << 30),
        power_watts: Some(250.5),
    };
    let second = GpuGauge {
        device: 1,
        name: Some("Fake 2".to_owned()),
        busy_share: None,
        power_watts: None,
        ..first.clone()
    };
    assert_eq!(gauges, [first, second]);
}
