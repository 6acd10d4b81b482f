//! Bottlenecks by the original's thresholds, of sums.
//!
//! They say what to look at first. `trueno-analyze report` finds bottlenecks in the run itself, with their part in the
//! time from end to end.

mod rules;

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::compute::OperationStats;
use crate::memory::MemoryStats;

/// The kind of a bottleneck.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum BottleneckType {
    /// An operation that takes much of the time.
    SlowOperation,
    /// An operation that is called very often.
    HighCallCount,
    /// A name that uses much of the memory.
    MemoryHotspot,
    /// Memory that is never freed.
    MemoryLeak,
    /// An operation with few floating-point operations a second.
    LowThroughput,
    /// Never reported: the sums cannot show it, and the original never reported it either.
    MemoryBound,
    /// Never reported, for the same reason.
    LoadImbalance,
}

/// Weight of a bottleneck, by the original's thresholds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }
}

/// Something that is slow or uses much memory.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Bottleneck {
    /// Its kind.
    pub bottleneck_type: BottleneckType,
    /// Its weight.
    pub severity: Severity,
    /// The operation, or the name of the memory.
    pub name: String,
    /// The finding in words.
    pub description: String,
    /// A remedy that may help.
    pub suggestion: String,
    /// The figures behind it.
    pub metrics: HashMap<String, f64>,
}

/// Thresholds from which something is a bottleneck.
#[derive(Clone, Debug)]
pub struct AnalyzerConfig {
    /// Percent of time from which an operation is slow.
    pub slow_op_threshold_pct: f64,
    /// Number of calls from which an operation counts as called very often.
    pub high_call_threshold: usize,
    /// Percentage of the peak memory from which a name is a hotspot.
    pub memory_hotspot_threshold_pct: f64,
    /// Throughput below which an operation is reported, in 10^9 floating-point operations per second.
    pub min_gflops_threshold: f64,
    /// Whether to report memory that is never freed.
    pub check_memory_leaks: bool,
}

impl Default for AnalyzerConfig {
    fn default() -> Self {
        Self {
            slow_op_threshold_pct: 20.0,
            high_call_threshold: 10_000,
            memory_hotspot_threshold_pct: 30.0,
            min_gflops_threshold: 1.0,
            check_memory_leaks: true,
        }
    }
}

/// Looks for bottlenecks.
#[derive(Debug, Default)]
pub struct BottleneckAnalyzer {
    config: AnalyzerConfig,
}

impl BottleneckAnalyzer {
    /// With the default thresholds.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the given thresholds.
    pub fn with_config(config: AnalyzerConfig) -> Self {
        Self { config }
    }

    /// Bottlenecks, the worst first, then by kind and name. Shares are of the sum of all operations' times, the
    /// only total that the sums contain. If operations are nested, that sum is more than the time that passed,
    /// and the shares are too low. [`Profiler::analyze_bottlenecks`](crate::Profiler::analyze_bottlenecks)
    /// computes them correctly.
    pub fn analyze(
        &self,
        compute_stats: &HashMap<String, OperationStats>,
        memory_stats: &MemoryStats,
    ) -> Vec<Bottleneck> {
        let times = compute_stats
            .values()
            .map(|stats| stats.total_time_ns as f64);
        let sum_ns: f64 = times.sum();
        let share = |stats: &OperationStats| match sum_ns {
            0.0 => 0.0,
            _ => 100.0 * stats.total_time_ns as f64 / sum_ns,
        };
        let named = compute_stats
            .iter()
            .map(|(name, stats)| (name.as_str(), stats, share(stats)));
        self.find(named, memory_stats)
    }

    /// Shares are in percent.
    pub(crate) fn find<'s>(
        &self,
        operations: impl Iterator<Item = (&'s str, &'s OperationStats, f64)>,
        memory: &MemoryStats,
    ) -> Vec<Bottleneck> {
        let mut found = Vec::new();
        for (name, stats, share_percent) in operations {
            found.extend(rules::slow_operation(
                &self.config,
                name,
                stats,
                share_percent,
            ));
            found.extend(rules::high_call_count(&self.config, name, stats));
            found.extend(rules::low_throughput(&self.config, name, stats));
        }
        for (name, bytes) in &memory.per_name_usage {
            found.extend(rules::memory_hotspot(&self.config, name, *bytes, memory));
        }
        found.extend(rules::memory_leak(&self.config, memory));
        found.sort_by(|a, b| {
            let kind = |of: &Bottleneck| of.bottleneck_type as u8;
            let key = |of: &Bottleneck| (std::cmp::Reverse(of.severity), kind(of));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        found
    }

    /// Bottlenecks as text.
    pub fn summary(bottlenecks: &[Bottleneck]) -> String {
        if bottlenecks.is_empty() {
            return "No bottlenecks found.".to_owned();
        }
        let mut text = format!("{} bottleneck(s)\n\n", bottlenecks.len());
        for (number, found) in (1..).zip(bottlenecks) {
            let (severity, kind) = (found.severity.label(), found.bottleneck_type);
            // Text takes all that is written.
            let _ = writeln!(text, "{number}. [{severity}] {kind:?}: {}", found.name);
            let _ = writeln!(text, "   {}", found.description);
            let _ = writeln!(text, "   -> {}\n", found.suggestion);
        }
        text
    }
}
