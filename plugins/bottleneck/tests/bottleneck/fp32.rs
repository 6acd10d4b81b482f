//! Products in fp32 on devices with and without tensor cores.

use trueno_plugin::Table;
use trueno_plugin::testing::run;
use trueno_plugin_bottleneck::Bottleneck;

use crate::inputs::{US, Work, facts, kernels, path, texts};

/// Sentences and reasons of the finding, of ten kernels of 90 µs on a device of that model.
fn found(kernel: &'static str, model: &str, capability: Option<&str>) -> Vec<(String, String)> {
    let rows: Vec<Work> = (0..10).map(|n| Work::at(kernel, n * 100, 90)).collect();
    let sizes = Table::build("device_sizes")
        .text("device", ["gpu:0"])
        .text("name", [model])
        .i64("multiprocessors", [40_i64])
        .text("compute_capability", [capability]);
    let names = Table::build("path_names")
        .text("name", [kernel])
        .text("kind", ["work"])
        .text("category", ["GEMM"])
        .i64("dur_ns", [900 * US]);
    let path = path(&[("work", 1_000)]);
    let inputs = [facts(1_000), kernels(&rows), sizes, names, path];
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code").into_iter();
    let sentences = texts(&output, "bottlenecks", "sentence").into_iter();
    let considered = texts(&output, "bottlenecks", "considered").into_iter();
    let rows = codes.zip(sentences.zip(considered));
    let rows = rows.filter(|(code, _)| code == "fp32_gemm");
    rows.map(|(_, texts)| texts).collect()
}

#[test]
fn what_tensor_cores_compute_in_depends_on_the_device() {
    let of = |model, capability| found("volta_sgemm_128x64_nn", model, capability);
    let one = of("Tesla T4", Some("7.5"));
    assert_eq!(
        one[0].0,
        "100 % of the busy time of gpu0 is in matrix products in fp32 without tensor cores, most in volta_sgemm_128x64_nn; use \
         mixed precision (fp16) if the accuracy suffices"
    );
    assert!(
        one[0].1.ends_with("its compute capability is 7.5"),
        "{one:?}"
    );
    let one = of("NVIDIA H100", Some("9.0"));
    assert!(
        one[0]
            .0
            .ends_with("allow TF32 or a 16-bit type if the accuracy suffices"),
        "{one:?}"
    );
    assert_eq!(of("NVIDIA GeForce GTX 1660", Some("7.5")), []);
    assert_eq!(of("Tesla P100-PCIE-16GB", Some("6.0")), []);
    // Nothing says that it has any.
    assert_eq!(of("a device", None), []);
}

#[test]
fn a_convolution_in_fp32_is_named() {
    let one = found(
        "cudnn_volta_scudnn_128x32_relu_small_nn_v1",
        "Tesla T4",
        Some("7.5"),
    );
    assert!(
        one[0]
            .0
            .contains("is in matrix products and convolutions in fp32"),
        "{one:?}"
    );
}
