//! Operations and bytes, as far as the metrics that make them up are all there.

use std::collections::BTreeMap;

/// Name, unit, value.
pub type Counter = (String, &'static str, f64);

/// Operations by precision and path, and bytes of the device's memory:
///
/// | counter | from `smsp__sass_thread_inst_executed_op_*_pred_on.sum` and others |
/// | --- | --- |
/// | `flops_f32`, `flops_f64` | additions + multiplications + 2 × fused ones |
/// | `flops_f16` | 2 × additions + 2 × multiplications + 4 × fused ones: each instruction works on a pair, as ncu's own roofline of half precision counts |
/// | `flops_tensor_*`, `ops_tensor_*` | `sm__ops_path_tensor_src_*.sum`, which counts operations; integers are `ops` |
/// | `dram_bytes_read`, `dram_bytes_written` | `dram__bytes_read.sum`, `dram__bytes_write.sum` |
/// | `dram_bytes` | `dram__bytes.sum`, or else the sum of the two |
///
/// One precision says nothing of the others, so there is no sum over them.
pub fn counters(metrics: &BTreeMap<String, (f64, String)>) -> Vec<Counter> {
    let mut counters = Vec::new();
    for (name, letter, lanes) in [
        ("flops_f32", 'f', 1.0),
        ("flops_f64", 'd', 1.0),
        ("flops_f16", 'h', 2.0),
    ] {
        let executed = |operation: &str| {
            let metric =
                format!("smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on.sum");
            metrics.get(&metric).map(|(value, _)| *value)
        };
        if let (Some(add), Some(mul), Some(fma)) =
            (executed("add"), executed("mul"), executed("fma"))
        {
            let flops = lanes * (add + mul + 2.0 * fma);
            counters.push((name.to_owned(), "flop", flops));
        }
    }
    counters.extend(metrics.iter().filter_map(tensor));
    // In another unit it would be a rate or a share.
    let bytes = |metric: &str| {
        let (value, unit) = metrics.get(metric)?;
        (unit == "byte").then_some(*value)
    };
    let (read, written) = (
        bytes("dram__bytes_read.sum"),
        bytes("dram__bytes_write.sum"),
    );
    let sum = read.zip(written).map(|(read, written)| read + written);
    let all = [
        ("dram_bytes", bytes("dram__bytes.sum").or(sum)),
        ("dram_bytes_read", read),
        ("dram_bytes_written", written),
    ];
    let all = all
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), "byte", value?)));
    counters.extend(all);
    counters
}

/// Operations of the tensor cores by source type. Metrics with and without sparsity are parts of a metric that
/// includes both.
fn tensor((metric, (value, _)): (&String, &(f64, String))) -> Option<Counter> {
    let source = metric.strip_prefix("sm__ops_path_tensor_src_")?;
    let source = source.strip_suffix(".sum")?;
    if source.contains("_sparsity_") {
        return None;
    }
    Some(if source.starts_with("int") {
        (format!("ops_tensor_{source}"), "op", *value)
    } else {
        (format!("flops_tensor_{source}"), "flop", *value)
    })
}
