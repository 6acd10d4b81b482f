//! Reports as Markdown.

use super::{COLUMNS, NO_BOTTLENECKS, ProfileReport};

/// Escapes a name for one line of Markdown, also inside a table.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' => {
                escaped.extend(['\\', c]);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

pub fn render(report: &ProfileReport) -> String {
    let mut lines = vec![format!("# {}\n", escape(&report.title))];
    lines.push(format!("Duration: {:.3} s\n", report.total_duration_secs));
    lines.push("## Memory Statistics\n\n| | |\n| --- | ---: |".to_owned());
    for (name, value) in report.memory_rows() {
        lines.push(format!("| {name} | {value} |"));
    }
    lines.push(format!(
        "\n## Compute Statistics\n\n{}.\n",
        report.compute_line()
    ));
    if !report.compute.top_operations.is_empty() {
        lines.push(format!("| {} |", COLUMNS.join(" | ")));
        lines.push("| ---: | ---: | ---: | ---: | --- |".to_owned());
    }
    for (cells, name) in report.operation_rows() {
        lines.push(format!("| {} | {} |", cells.join(" | "), escape(name)));
    }
    lines.push("\n## Bottlenecks\n".to_owned());
    for found in &report.bottlenecks {
        let (severity, kind) = (found.severity.label(), found.bottleneck_type);
        lines.push(format!(
            "- **{severity}** {kind:?}: {}",
            escape(&found.name)
        ));
        lines.push(format!("  - {}", escape(&found.description)));
        lines.push(format!("  - {}", escape(&found.suggestion)));
    }
    if report.bottlenecks.is_empty() {
        lines.push(NO_BOTTLENECKS.to_owned());
    }
    lines.join("\n") + "\n"
}
