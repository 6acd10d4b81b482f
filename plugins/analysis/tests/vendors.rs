//! The table of vendors, and the rules that repeat a part of it for users to change.

use std::path::Path;

use trueno_analysis::vendors::{
    COMMUNICATION, is_collective_of_devices, is_copy_kernel, is_operator_of_devices,
};

#[test]
fn categories_of_kernels_know_all_communication() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("analyzer/model/src/categories.toml");
    let rules = std::fs::read_to_string(file).unwrap();
    let rule = rules.split("\n[[rule]]").nth(1).unwrap();
    assert!(rule.contains("\"communication\""));
    for part in COMMUNICATION {
        assert!(rule.contains(&format!("\"{part}\"")), "{part}");
    }
}

#[test]
fn what_starts_makes_or_awaits_a_copy_is_a_copy() {
    for copies in [
        "__amd_rocclr_copyBuffer",
        "copy-done",
        "copy-start.12",
        "async-copy",
    ] {
        assert!(is_copy_kernel(copies), "{copies}");
    }
    for computes in [
        "copy_fusion",
        "copy.3",
        "all-reduce-done",
        "direct_copy_kernel",
    ] {
        assert!(!is_copy_kernel(computes), "{computes}");
    }
}

#[test]
fn collectives_of_devices_are_those_of_their_libraries() {
    for (name, is_one) in [
        ("nccl:all_reduce", true),
        ("gloo:all_reduce", false),
        ("nccl", false),
    ] {
        assert_eq!(is_collective_of_devices(name), is_one, "{name}");
    }
}

#[test]
fn operators_of_device_libraries_run_on_devices() {
    for (name, runs) in [
        ("aten::cudnn_convolution", true),
        ("aten::_cudnn_rnn_backward", true),
        ("aten::miopen_convolution", true),
        // Asked on a CPU too.
        ("aten::cudnn_is_acceptable", false),
        ("aten::mkldnn_convolution", false),
        ("cudnn_convolution", false),
    ] {
        assert_eq!(is_operator_of_devices(name), runs, "{name}");
    }
}
