//! Sums over the calls of one operation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::session::Work;

/// Sums over the calls of one operation.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct OperationStats {
    /// The operation.
    pub name: String,
    /// Calls that have ended.
    pub call_count: usize,
    /// Sum of their durations, including nested operations.
    pub total_time_ns: u64,
    /// Shortest duration.
    pub min_time_ns: u64,
    /// Longest duration.
    pub max_time_ns: u64,
    /// Declared floating-point operations of all calls; `None` if any call declared none.
    pub flops: Option<f64>,
    /// Declared bytes of all calls; `None` if any call declared none.
    pub bytes_processed: Option<usize>,
}

impl OperationStats {
    /// Mean duration; zero without calls.
    pub fn avg_time(&self) -> Duration {
        let calls = self.call_count as u64;
        Duration::from_nanos(self.total_time_ns.checked_div(calls).unwrap_or(0))
    }

    /// Sum of durations.
    pub fn total_time(&self) -> Duration {
        Duration::from_nanos(self.total_time_ns)
    }

    /// Shortest duration.
    pub fn min_time(&self) -> Duration {
        Duration::from_nanos(self.min_time_ns)
    }

    /// Longest duration.
    pub fn max_time(&self) -> Duration {
        Duration::from_nanos(self.max_time_ns)
    }

    /// Declared floating-point operations, in 10^9.
    pub fn gflops(&self) -> Option<f64> {
        self.flops.map(|flops| flops / 1e9)
    }

    /// 10^9 floating-point operations per second; `None` without declared operations or time.
    pub fn gflops_per_sec(&self) -> Option<f64> {
        self.per_ns(self.flops?)
    }

    /// 10^9 bytes per second; `None` without declared bytes or time.
    pub fn bandwidth_gbps(&self) -> Option<f64> {
        self.per_ns(self.bytes_processed? as f64)
    }

    fn per_ns(&self, amount: f64) -> Option<f64> {
        (self.total_time_ns > 0).then(|| amount / self.total_time_ns as f64)
    }
}

/// An operation with sums that the public type has no fields for.
#[derive(Debug)]
pub(super) struct Operation {
    pub stats: OperationStats,
    /// Time of calls that are not nested in another call of the same operation.
    outermost_ns: u64,
    flops: f64,
    calls_with_flops: usize,
    bytes: usize,
    calls_with_bytes: usize,
}

impl Operation {
    pub fn new(name: &str) -> Self {
        Self {
            stats: OperationStats {
                name: name.to_owned(),
                min_time_ns: u64::MAX,
                ..OperationStats::default()
            },
            outermost_ns: 0,
            flops: 0.0,
            calls_with_flops: 0,
            bytes: 0,
            calls_with_bytes: 0,
        }
    }

    pub fn add(&mut self, elapsed_ns: u64, work: Work, outermost: bool) {
        let stats = &mut self.stats;
        stats.call_count += 1;
        stats.total_time_ns += elapsed_ns;
        stats.min_time_ns = stats.min_time_ns.min(elapsed_ns);
        stats.max_time_ns = stats.max_time_ns.max(elapsed_ns);
        if outermost {
            self.outermost_ns += elapsed_ns;
        }
        if let Some(flops) = work.flops {
            self.flops += flops;
            self.calls_with_flops += 1;
        }
        if let Some(bytes) = work.bytes {
            self.bytes = self.bytes.saturating_add(bytes);
            self.calls_with_bytes += 1;
        }
        let calls = stats.call_count;
        stats.flops = (self.calls_with_flops == calls).then_some(self.flops);
        stats.bytes_processed = (self.calls_with_bytes == calls).then_some(self.bytes);
    }

    pub fn share_percent(&self, busy_ns: u64) -> f64 {
        if busy_ns == 0 {
            return 0.0;
        }
        100.0 * self.outermost_ns as f64 / busy_ns as f64
    }
}
