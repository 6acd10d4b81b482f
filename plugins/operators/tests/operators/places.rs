//! Places below the roof.

use crate::program::{Ceiling, MM, Made, call, cell, kernel};
use trueno_plugin::Severity;

const FAST: f64 = 1e9;

fn gpu(value: f64, bandwidth: f64, source: &'static str) -> Vec<Ceiling> {
    vec![
        (
            "gpu:0",
            "compute",
            "cuda_cores",
            Some("f32"),
            None,
            value,
            source,
        ),
        ("gpu:0", "bandwidth", "DRAM", None, None, bandwidth, source),
    ]
}

fn product(ceilings: Vec<Ceiling>) -> Made {
    Made {
        signatures: vec![MM],
        calls: vec![call("aten::mm", 0, 10, Some(0))],
        kernels: vec![kernel(0, 100, 448)],
        ceilings,
        ..Made::default()
    }
}

fn place(made: &Made, column: &str) -> Option<f64> {
    cell(&made.output(), "by_shape", "aten::mm", column)
}

fn text(made: &Made, column: &str) -> Option<String> {
    let output = made.output();
    let found = output.table("by_shape").text(column).expect(column).get(0);
    found.map(str::to_owned)
}

#[test]
fn the_longer_of_both_roofs_bounds() {
    // 224 bytes in 112 ns, 128 FLOPs in 128 ns.
    let made = product(gpu(1.0 * FAST, 2.0 * FAST, "measured"));
    assert_eq!(place(&made, "roof_ns"), Some(128.0));
    assert_eq!(place(&made, "efficiency_share"), Some(128.0 / 448.0));
    assert_eq!(place(&made, "recoverable_ns"), Some(320.0));
    assert_eq!(text(&made, "bound_by").as_deref(), Some("compute"));
    let made = product(gpu(4.0 * FAST, 1.0 * FAST, "measured"));
    assert_eq!(place(&made, "roof_ns"), Some(224.0));
    assert_eq!(text(&made, "bound_by").as_deref(), Some("memory"));
}

#[test]
fn the_chart_has_a_point_for_each_shape_that_counts_and_a_roof_with_its_ridge() {
    let mut made = product(gpu(1.0 * FAST, 2.0 * FAST, "measured"));
    made.calls = vec![
        call("aten::matmul", 0, 20, Some(0)),
        call("aten::mm", 0, 10, Some(0)).inside(0),
    ];
    made.kernels = vec![kernel(1, 100, 448)];
    let output = made.output();
    let points = output.table("points");
    assert_eq!(points.rows(), 1, "matmul only calls mm");
    assert_eq!(
        points.f64("flops_per_byte").expect("x").get(0),
        Some(128.0 / 224.0)
    );
    let rate = points
        .f64("flops_per_s")
        .expect("y")
        .get(0)
        .expect("a rate");
    assert!((rate / (128.0 / 448e-9) - 1.0).abs() < 1e-12);
    let roofs = output.table("roofs");
    let corners = roofs.f64("flops_per_s").expect("corners");
    assert_eq!(
        (roofs.rows(), corners.get(1), corners.get(2)),
        (3, Some(FAST), Some(FAST))
    );
    assert_eq!(output.charts.len(), 1);
}

#[test]
fn kernels_have_a_time_at_the_roof() {
    let mut made = product(gpu(1.0 * FAST, 2.0 * FAST, "measured"));
    made.calls.push(call("mylib::secret", 50, 10, Some(0)));
    made.kernels.push(kernel(1, 1_000, 100));
    let output = made.output();
    let of = |column| cell(&output, "at_roof", "kernel", column);
    assert_eq!(
        of("dur_ns"),
        Some(448.0),
        "the part whose operator has a place"
    );
    assert_eq!(of("at_roof_ns"), Some(128.0));
}

#[test]
fn above_the_roof_there_is_no_place() {
    let made = product(gpu(0.1 * FAST, 1.0 * FAST, "measured"));
    assert_eq!(place(&made, "efficiency_share"), None);
    let output = made.output();
    let finding = output
        .findings
        .iter()
        .find(|finding| finding.code == "above_roof");
    let finding = finding.expect("it is found");
    assert!(finding.title.contains("aten::mm"));
    assert_eq!(finding.severity, Severity::Warning);
    assert!(text(&made, "reason").is_some_and(|why| why.contains("2.857 times")));
}

#[test]
fn without_ceilings_what_is_missing_is_said() {
    let made = product(Vec::new());
    assert_eq!(place(&made, "efficiency_share"), None);
    assert!(text(&made, "reason").is_some_and(|why| why.contains("gpu:0")));
    assert!(
        made.output()
            .findings
            .iter()
            .any(|finding| finding.code == "no_ceiling")
    );
}

#[test]
fn a_data_sheet_stands_in_for_a_known_device_and_says_so() {
    let mut made = product(Vec::new());
    made.devices = vec![("gpu:0", "NVIDIA H100 80GB HBM3")];
    // The roof of FP32 without TF32 is that of the vector units: 67 TFLOP/s; memory 3.35 TB/s.
    let roof_ns = 224.0 / 3.35e12 * 1e9;
    let close = |found: Option<f64>, expected: f64| {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-12)
    };
    assert!(close(place(&made, "roof_ns"), roof_ns));
    assert_eq!(text(&made, "roof_source").as_deref(), Some("nominal"));
    let output = made.output();
    let finding = output
        .findings
        .iter()
        .find(|finding| finding.code == "nominal_roof");
    assert!(finding.is_some_and(|finding| finding.title.contains("NVIDIA H100 80GB HBM3")));
    let halved = made.with_options(r#"{"achievable_share": 0.5}"#);
    assert!(close(
        cell(&halved, "by_shape", "aten::mm", "roof_ns"),
        2.0 * roof_ns
    ));
    let without = made.with_options(r#"{"nominal": false}"#);
    assert_eq!(cell(&without, "by_shape", "aten::mm", "roof_ns"), None);
    // One that was measured takes its place, though it is lower.
    made.ceilings = gpu(1.0 * FAST, 2.0 * FAST, "measured");
    assert_eq!(place(&made, "roof_ns"), Some(128.0));
    assert_eq!(text(&made, "roof_source").as_deref(), Some("measured"));
}

#[test]
fn without_devices_the_host_is_timed_against_all_its_threads() {
    let made = Made {
        signatures: vec![MM],
        calls: vec![
            call("aten::linear", 0, 500, Some(0)),
            call("aten::mm", 10, 448, Some(0)).inside(0),
        ],
        ceilings: vec![
            (
                "cpu",
                "compute",
                "avx2",
                Some("f32"),
                Some(1),
                0.5 * FAST,
                "measured",
            ),
            (
                "cpu",
                "compute",
                "avx2",
                Some("f32"),
                Some(2),
                1.0 * FAST,
                "measured",
            ),
            (
                "cpu",
                "bandwidth",
                "DRAM",
                None,
                Some(2),
                2.0 * FAST,
                "measured",
            ),
        ],
        ..Made::default()
    };
    assert_eq!(place(&made, "roof_ns"), Some(128.0));
    assert_eq!(text(&made, "timed_on").as_deref(), Some("host"));
    let output = made.output();
    let gemm = |column| cell(&output, "by_category", "gemm", column);
    assert_eq!(gemm("counted_ns"), Some(448.0), "of the innermost alone");
}

#[test]
fn on_the_host_a_call_has_the_time_that_no_modelled_call_within_it_has() {
    let made = Made {
        signatures: vec![
            ("[[2],[8,4],[4,2]]", r#"["float","float","float"]"#, ""),
            ("[[8,2],[2]]", r#"["float","float"]"#, ""),
        ],
        calls: vec![
            call("aten::addmm", 0, 500, Some(0)),
            call("aten::copy_", 10, 60, Some(1)).inside(0),
        ],
        ..Made::default()
    };
    let output = made.output();
    let of = |name, column| cell(&output, "by_shape", name, column);
    assert_eq!(of("aten::addmm", "counted_ns"), Some(440.0));
    assert_eq!(of("aten::copy_", "counted_ns"), Some(60.0));
}

#[test]
fn a_collective_has_bytes_and_no_roof() {
    let message = (
        "[[100],[800]]",
        r#"["Float","Float"]"#,
        r#"["_allgather_base"]"#,
    );
    let made = Made {
        signatures: vec![message],
        calls: vec![call("record_param_comms", 0, 10, Some(0))],
        kernels: vec![kernel(0, 100, 448)],
        ceilings: gpu(FAST, FAST, "measured"),
        ..Made::default()
    };
    let output = made.output();
    let of = |column| cell(&output, "by_shape", "record_param_comms", column);
    assert_eq!(of("moved_bytes"), Some(3600.0));
    assert_eq!(of("efficiency_share"), None);
    assert!(
        output
            .findings
            .iter()
            .all(|finding| finding.code == "coverage")
    );
}
