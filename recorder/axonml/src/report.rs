//! Reports of sums, as text, JSON, Markdown or HTML.

mod html;
mod markdown;
mod text;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bottleneck::{Bottleneck, BottleneckAnalyzer};
use crate::compute::{ComputeProfiler, OperationStats};
use crate::error::{ProfileError, ProfileResult};
use crate::memory::{MemoryProfiler, MemoryStats};

const TOP_OPERATIONS: usize = 10;

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ReportFormat {
    Text,
    Json,
    Markdown,
    Html,
}

/// The sums of a profiler.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ProfileReport {
    /// Its title.
    pub title: String,
    /// Seconds since the profiler was created or reset.
    pub total_duration_secs: f64,
    /// Memory.
    pub memory: MemorySummary,
    /// Operations.
    pub compute: ComputeSummary,
    /// Bottlenecks, the worst first.
    pub bottlenecks: Vec<Bottleneck>,
}

/// Sums of memory.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct MemorySummary {
    /// Bytes allocated now.
    pub current_usage: usize,
    /// Most bytes allocated at one time.
    pub peak_usage: usize,
    /// Bytes allocated, in all.
    pub total_allocated: usize,
    /// Bytes freed, in all.
    pub total_freed: usize,
    /// Number of allocations.
    pub allocation_count: usize,
}

/// Sums of operations.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ComputeSummary {
    /// Number of distinct operation names.
    pub operation_count: usize,
    /// Time with at least one operation open, summed over threads.
    pub total_time_ns: u64,
    /// The ten operations with the most time.
    pub top_operations: Vec<OperationSummary>,
}

/// Sums of one operation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OperationSummary {
    /// The operation.
    pub name: String,
    /// Sum of its durations.
    pub total_time_ns: u64,
    /// Number of them.
    pub call_count: usize,
    /// Their mean.
    pub avg_time_ns: u64,
    /// Percentage of [`ComputeSummary::total_time_ns`] in which it was open. Operations may be nested, so
    /// shares can add up to more than 100.
    pub time_percentage: f64,
}

impl ProfileReport {
    pub(crate) fn of(memory: &MemoryStats, compute: &ComputeProfiler, duration: Duration) -> Self {
        let shares = compute.shares();
        let named = shares
            .iter()
            .map(|(stats, share)| (stats.name.as_str(), *stats, *share));
        let bottlenecks = BottleneckAnalyzer::new().find(named, memory);
        let mut top = shares.clone();
        top.sort_by_key(|(stats, _)| std::cmp::Reverse(stats.total_time_ns));
        let summary = |(stats, share): &(&OperationStats, f64)| OperationSummary {
            name: stats.name.clone(),
            total_time_ns: stats.total_time_ns,
            call_count: stats.call_count,
            avg_time_ns: stats.avg_time().as_nanos() as u64,
            time_percentage: *share,
        };
        Self {
            title: "Axonml Profile Report".to_owned(),
            total_duration_secs: duration.as_secs_f64(),
            memory: MemorySummary {
                current_usage: memory.current_usage,
                peak_usage: memory.peak_usage,
                total_allocated: memory.total_allocated,
                total_freed: memory.total_freed,
                allocation_count: memory.allocation_count,
            },
            compute: ComputeSummary {
                operation_count: shares.len(),
                total_time_ns: compute.busy_ns(),
                top_operations: top.iter().take(TOP_OPERATIONS).map(summary).collect(),
            },
            bottlenecks,
        }
    }

    /// Writes the report to a file.
    ///
    /// # Errors
    /// [`ProfileError::IoError`] where the file cannot be written.
    pub fn export(&self, path: &Path, format: ReportFormat) -> ProfileResult<()> {
        let text = match format {
            ReportFormat::Text => self.to_text(),
            ReportFormat::Json => self.to_json()?,
            ReportFormat::Markdown => self.to_markdown(),
            ReportFormat::Html => self.to_html(),
        };
        Ok(std::fs::write(path, text)?)
    }

    /// The report as text.
    pub fn to_text(&self) -> String {
        text::render(self)
    }

    /// The report as JSON, with the fields of this type.
    ///
    /// # Errors
    /// [`ProfileError::SerializationError`].
    pub fn to_json(&self) -> ProfileResult<String> {
        let text = serde_json::to_string_pretty(self);
        text.map_err(|error| ProfileError::SerializationError(error.to_string()))
    }

    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::render(self)
    }

    /// The report as a page of HTML.
    pub fn to_html(&self) -> String {
        html::render(self)
    }

    fn memory_rows(&self) -> [(&'static str, String); 5] {
        let memory = &self.memory;
        [
            (
                "Taken now",
                MemoryProfiler::format_bytes(memory.current_usage),
            ),
            ("Peak", MemoryProfiler::format_bytes(memory.peak_usage)),
            (
                "Allocated in total",
                MemoryProfiler::format_bytes(memory.total_allocated),
            ),
            (
                "Given back",
                MemoryProfiler::format_bytes(memory.total_freed),
            ),
            ("Allocations", memory.allocation_count.to_string()),
        ]
    }

    /// Time, calls, mean and share of the top operations, and their names.
    fn operation_rows(&self) -> impl Iterator<Item = ([String; 4], &str)> {
        self.compute.top_operations.iter().map(|operation| {
            let cells = [
                duration(operation.total_time_ns),
                operation.call_count.to_string(),
                duration(operation.avg_time_ns),
                format!("{:.1} %", operation.time_percentage),
            ];
            (cells, operation.name.as_str())
        })
    }

    fn compute_line(&self) -> String {
        let compute = &self.compute;
        let (count, time) = (compute.operation_count, duration(compute.total_time_ns));
        format!("{count} operation(s), of which at least one was open for {time}")
    }
}

fn duration(ns: u64) -> String {
    ComputeProfiler::format_duration(Duration::from_nanos(ns))
}

const COLUMNS: [&str; 5] = ["Total", "Calls", "Mean", "Share", "Operation"];
const NO_BOTTLENECKS: &str = "No bottlenecks found.";

impl fmt::Display for ProfileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}
