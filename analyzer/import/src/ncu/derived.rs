//! Operations and bytes, as far as the metrics that make them up are all there.

use super::table::Launch;

/// A counter of a run: name, unit, value.
pub type Counter = (&'static str, &'static str, f64);

/// Executed operations of each precision (additions, multiplications, twice the fused ones) and
/// bytes of the device's memory. Tensor cores are not among them.
pub fn counters(launch: &Launch) -> Vec<Counter> {
    let mut counters = Vec::new();
    for (name, letter) in [("flops_f32", 'f'), ("flops_f64", 'd'), ("flops_f16", 'h')] {
        let executed = |operation: &str| {
            let metric =
                format!("smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on.sum");
            launch.metrics.get(&metric).map(|(value, _)| *value)
        };
        if let (Some(add), Some(mul), Some(fma)) =
            (executed("add"), executed("mul"), executed("fma"))
        {
            counters.push((name, "flop", add + mul + 2.0 * fma));
        }
    }
    for (name, metric) in [
        ("dram_bytes_read", "dram__bytes_read.sum"),
        ("dram_bytes_written", "dram__bytes_write.sum"),
    ] {
        // In another unit it would be a rate or a share.
        if let Some((value, unit)) = launch.metrics.get(metric)
            && unit == "byte"
        {
            counters.push((name, "byte", *value));
        }
    }
    counters
}
