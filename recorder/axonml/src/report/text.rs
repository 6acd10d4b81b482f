//! Reports as text.

use super::{COLUMNS, ProfileReport};
use crate::bottleneck::BottleneckAnalyzer;

pub fn render(report: &ProfileReport) -> String {
    let mut lines = vec![
        report.title.clone(),
        "=".repeat(report.title.chars().count()),
    ];
    lines.push(format!("Duration: {:.3} s", report.total_duration_secs));
    lines.push("\nMemory Statistics\n-----------------".to_owned());
    for (name, value) in report.memory_rows() {
        lines.push(format!("{name:<16}{value:>14}"));
    }
    lines.push("\nCompute Statistics\n------------------".to_owned());
    lines.push(report.compute_line());
    let line = |[total, calls, mean, share]: [&str; 4], name: &str| {
        format!("{total:>12}  {calls:>10}  {mean:>12}  {share:>8}  {name}")
    };
    let [total, calls, mean, share, name] = COLUMNS;
    if !report.compute.top_operations.is_empty() {
        lines.push(line([total, calls, mean, share], name));
    }
    for (cells, name) in report.operation_rows() {
        lines.push(line(cells.each_ref().map(String::as_str), name));
    }
    lines.push("\nBottlenecks\n-----------".to_owned());
    lines.push(BottleneckAnalyzer::summary(&report.bottlenecks));
    lines.join("\n") + "\n"
}
