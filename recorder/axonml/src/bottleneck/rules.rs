//! The rules: each finds at most one bottleneck.

use super::{AnalyzerConfig, Bottleneck, BottleneckType, Severity};
use crate::compute::OperationStats;
use crate::memory::{MemoryProfiler, MemoryStats};

/// The first severity whose bound is reached, else low.
fn severity(value: f64, bounds: &[(f64, Severity)]) -> Severity {
    let reached = bounds.iter().find(|(bound, _)| value >= *bound);
    reached.map_or(Severity::Low, |(_, severity)| *severity)
}

fn bottleneck(
    bottleneck_type: BottleneckType,
    severity: Severity,
    name: &str,
    (description, suggestion): (String, &str),
    metrics: &[(&str, f64)],
) -> Bottleneck {
    Bottleneck {
        bottleneck_type,
        severity,
        name: name.to_owned(),
        description,
        suggestion: suggestion.to_owned(),
        metrics: metrics
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value))
            .collect(),
    }
}

pub fn slow_operation(
    config: &AnalyzerConfig,
    name: &str,
    stats: &OperationStats,
    share_percent: f64,
) -> Option<Bottleneck> {
    let is_slow = stats.total_time_ns > 0 && share_percent >= config.slow_op_threshold_pct;
    let bounds = [
        (50.0, Severity::Critical),
        (35.0, Severity::High),
        (25.0, Severity::Medium),
    ];
    let (ms, calls) = (stats.total_time_ns as f64 / 1e6, stats.call_count);
    let says = (
        format!(
            "{share_percent:.1} % of the time of all operations: {ms:.3} ms in {calls} call(s)"
        ),
        "Start here: a better algorithm, vector instructions, a GPU, or cached results.",
    );
    let metrics = [
        ("time_percentage", share_percent),
        ("total_time_ms", ms),
        ("call_count", calls as f64),
    ];
    let severity = severity(share_percent, &bounds);
    is_slow.then(|| {
        bottleneck(
            BottleneckType::SlowOperation,
            severity,
            name,
            says,
            &metrics,
        )
    })
}

pub fn high_call_count(
    config: &AnalyzerConfig,
    name: &str,
    stats: &OperationStats,
) -> Option<Bottleneck> {
    let calls = stats.call_count;
    let bounds = [(100_000.0, Severity::High), (50_000.0, Severity::Medium)];
    let severity = severity(calls as f64, &bounds);
    let mean_ns = stats.avg_time().as_nanos() as f64;
    let says = (
        format!("{calls} calls of {:.3} us on average", mean_ns / 1e3),
        "Do more per call, or cache results for repeated inputs.",
    );
    let metrics = [("call_count", calls as f64), ("avg_time_ns", mean_ns)];
    (calls > 0 && calls >= config.high_call_threshold).then(|| {
        bottleneck(
            BottleneckType::HighCallCount,
            severity,
            name,
            says,
            &metrics,
        )
    })
}

pub fn low_throughput(
    config: &AnalyzerConfig,
    name: &str,
    stats: &OperationStats,
) -> Option<Bottleneck> {
    let total = stats.gflops().filter(|total| *total > 0.0)?;
    let rate = stats
        .gflops_per_sec()
        .filter(|rate| *rate < config.min_gflops_threshold)?;
    let says = (
        format!("{rate:.3} GFLOP/s, of declared operations"),
        "Use a library optimised for this machine, or a GPU.",
    );
    let metrics = [("gflops_per_sec", rate), ("total_gflops", total)];
    let kind = BottleneckType::LowThroughput;
    Some(bottleneck(kind, Severity::Medium, name, says, &metrics))
}

pub fn memory_hotspot(
    config: &AnalyzerConfig,
    name: &str,
    bytes: usize,
    memory: &MemoryStats,
) -> Option<Bottleneck> {
    if memory.peak_usage == 0 {
        return None;
    }
    let percent = 100.0 * bytes as f64 / memory.peak_usage as f64;
    let bounds = [(60.0, Severity::High), (45.0, Severity::Medium)];
    let amount = MemoryProfiler::format_bytes(bytes);
    let says = (
        format!("{amount} are allocated now, {percent:.1} % of the peak"),
        "Compute in place, recompute what is needed late, or take smaller batches.",
    );
    let metrics = [
        ("memory_percentage", percent),
        ("memory_bytes", bytes as f64),
    ];
    let severity = severity(percent, &bounds);
    (percent >= config.memory_hotspot_threshold_pct).then(|| {
        bottleneck(
            BottleneckType::MemoryHotspot,
            severity,
            name,
            says,
            &metrics,
        )
    })
}

pub fn memory_leak(config: &AnalyzerConfig, memory: &MemoryStats) -> Option<Bottleneck> {
    let left = memory.total_allocated.checked_sub(memory.total_freed)?;
    if !config.check_memory_leaks || left == 0 {
        return None;
    }
    let percent = 100.0 * left as f64 / memory.total_allocated as f64;
    let bounds = [
        (50.0, Severity::Critical),
        (25.0, Severity::High),
        (10.0, Severity::Medium),
    ];
    let amount = MemoryProfiler::format_bytes(left);
    let says = (
        format!(
            "{amount}, {percent:.1} % of all allocations, are not released: a leak, or still in use"
        ),
        "If nothing should be in use any more, check which names still have memory.",
    );
    let metrics = [("leak_percentage", percent), ("leaked_bytes", left as f64)];
    let (kind, severity) = (BottleneckType::MemoryLeak, severity(percent, &bounds));
    (percent > 5.0).then(|| bottleneck(kind, severity, "memory_leak", says, &metrics))
}
