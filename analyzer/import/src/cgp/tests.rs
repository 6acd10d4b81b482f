use super::*;
use crate::read_back::{Imported, detected, of_bytes};
use crate::{Error, Options};

/// Written by aprender-cgp 0.72.3 from the ncu metrics in its own test.
const KERNEL: &str = include_str!("samples/kernel.json");
/// Written by aprender-cgp when ncu returned nothing.
const NOTHING: &str = include_str!("samples/nothing_measured.json");
/// Written by the library of aprender-cgp, with groups that its command line leaves empty.
const LIBRARY: &str = include_str!("samples/library.json");

fn read_with(json: &str, partial: bool) -> Result<Imported, Error> {
    let options = Options {
        partial,
        ..Options::default()
    };
    of_bytes(&IMPORTER, json, &options)
}

fn counters(run: &Imported) -> Vec<String> {
    run.rows("counters", "name value unit source")
}

#[test]
fn a_kernels_metrics_become_counters_but_what_rests_on_constants() {
    for json in [KERNEL, NOTHING, LIBRARY] {
        assert_eq!(detected(json), "cgp");
    }
    let run = read_with(KERNEL, false).unwrap();
    assert_eq!(
        counters(&run),
        [
            "cgp: gemm_cta_wmma_fp16, timing wall_clock_time 23200 ns measured",
            "cgp: gemm_cta_wmma_fp16, timing samples 1 1 measured",
            "cgp: gemm_cta_wmma_fp16, throughput tflops 11.570493793103449 TFLOP/s computed",
            "cgp: gemm_cta_wmma_fp16, gpu_compute sm_utilization_pct 42.3 % measured",
            "cgp: gemm_cta_wmma_fp16, gpu_compute warp_execution_efficiency_pct 100 % measured",
            "cgp: gemm_cta_wmma_fp16, gpu_compute register_usage_per_thread 48 1 measured",
            "cgp: gemm_cta_wmma_fp16, gpu_memory dram_throughput_pct 7.8 % measured",
        ]
    );
    assert_eq!(
        run.rows("annotations", "name arguments"),
        [r#"gemm_cta_wmma_fp16 {"dimensions":[512,512,512],"registers_per_thread":48}"#]
    );
    let reasons: Vec<&String> = run.notes.left_out.keys().collect();
    assert_eq!(reasons.len(), 6, "{reasons:?}");
    assert!(run.notes.left_out["0, which cgp writes for what it did not measure"] > 10);
    assert_eq!(run.wall_ns, None);
    assert!(run.rows("kernels", "id").is_empty());
    assert!(run.warns("one profile") && run.warns("2·n³"));
    assert_eq!(
        run.run.values["cgp.timestamp"],
        "2026-04-04T12:00:00.000000000+00:00"
    );
}

#[test]
fn what_was_not_measured_is_absent() {
    let run = read_with(NOTHING, false).unwrap();
    assert_eq!(
        counters(&run),
        ["cgp: gemm_cta_wmma_fp16, timing samples 1 1 measured"]
    );
}

#[test]
fn groups_of_the_library_are_read_as_well() {
    let run = read_with(LIBRARY, false).unwrap();
    let rows = counters(&run);
    for row in [
        "cgp: timing ci_95_high 181500 ns computed",
        "cgp: cpu_counters instructions 1268750 1 measured",
        "cgp: cpu_simd simd_utilization_pct 100 % computed",
        "cgp: system_health gpu_power_watts 285.32 W measured",
        "cgp: syscall syscall_breakdown read 9 1 measured",
        "cgp: compilation ptx_jit_time 1500000 ns measured",
    ] {
        assert!(rows.iter().any(|found| found == row), "{row}: {rows:?}");
    }
    assert!(
        !rows
            .iter()
            .any(|row| row.contains("muda") || row.contains("roofline"))
    );
    assert_eq!(run.notes.left_out["metric that is not a number"], 4);
    assert!(run.warns("when the kernel had ended"));
}

#[test]
fn damaged_files_are_refused_with_the_place() {
    for (from, to, word) in [
        (
            "\"samples\": 50",
            "\"samples\": 50, \"samples\": 51",
            "\"samples\" appears twice",
        ),
        ("181.25", "1e999", "out of range"),
        (
            "\"version\": \"2.0\"",
            "\"version\": \"3.0\"",
            "expected version 2",
        ),
        ("\"version\": \"2.0\"", "\"version\": 2", "line 2"),
        ("\"kernel\": null", "\"kernel\": {\"name\": 7}", "line "),
        ("\"read\": 9", "\"read\": {\"a\": ", "line "),
    ] {
        let error = read_with(&LIBRARY.replace(from, to), false);
        let error = error.err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
    let control = read_with(&LIBRARY.replace("avx2", "av\u{1}x2"), false);
    assert!(
        control
            .unwrap()
            .warns("1 text has unescaped backslashes, quotes or control characters")
    );
    let deep = format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200));
    let error = read_with(
        &LIBRARY.replace("\"read\": 9", &format!("\"a\": {deep}")),
        false,
    );
    assert!(error.err().unwrap().to_string().contains("recursion"));
}

#[test]
fn a_cut_file_keeps_the_groups_before_the_cut() {
    let cut = &KERNEL[..KERNEL.find("\"roofline\"").unwrap()];
    assert!(read_with(cut, false).is_err());
    let run = read_with(cut, true).unwrap();
    assert_eq!(counters(&run).len(), 3);
    assert!(run.warns("its first 3 groups"));
}

#[test]
fn groups_that_no_profile_has_are_left_out() {
    let nested = LIBRARY.replace("\"read\": 9", "\"read\": {\"fast\": 9}");
    let run = read_with(&nested, false).unwrap();
    assert_eq!(
        run.notes.left_out["group that is not part of cgp's format"],
        1
    );
    let long = LIBRARY.replace("cpu_counters", &"x".repeat(300));
    let run = read_with(&long, false).unwrap();
    assert_eq!(
        run.notes.left_out["group that is not part of cgp's format"],
        1
    );
}
