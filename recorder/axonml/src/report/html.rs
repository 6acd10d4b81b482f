//! Reports as a page of HTML.

use super::{COLUMNS, NO_BOTTLENECKS, ProfileReport};

const STYLE: &str = "body{font-family:sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:right}\
                     td:last-child,th:last-child{text-align:left}";

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

pub fn render(report: &ProfileReport) -> String {
    let title = escape(&report.title);
    let mut lines = vec![format!(
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"UTF-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    )];
    lines.push(format!(
        "<p>Duration: {:.3} s</p>",
        report.total_duration_secs
    ));
    lines.push("<h2>Memory Statistics</h2>\n<table>".to_owned());
    for (name, value) in report.memory_rows() {
        lines.push(format!("<tr><td>{value}</td><td>{name}</td></tr>"));
    }
    lines.push("</table>\n<h2>Compute Statistics</h2>".to_owned());
    lines.push(format!("<p>{}.</p>\n<table>", report.compute_line()));
    lines.push(format!("<tr><th>{}</th></tr>", COLUMNS.join("</th><th>")));
    for (cells, name) in report.operation_rows() {
        let cells = cells.join("</td><td>");
        lines.push(format!(
            "<tr><td>{cells}</td><td>{}</td></tr>",
            escape(name)
        ));
    }
    lines.push("</table>\n<h2>Bottlenecks</h2>\n<ul>".to_owned());
    for found in &report.bottlenecks {
        let (severity, kind) = (found.severity.label(), found.bottleneck_type);
        let [name, description, suggestion] =
            [&found.name, &found.description, &found.suggestion].map(|text| escape(text));
        lines.push(format!(
            "<li><b>{severity}</b> {kind:?}: {name}<br>{description}<br>{suggestion}</li>"
        ));
    }
    if report.bottlenecks.is_empty() {
        lines.push(format!("<li>{NO_BOTTLENECKS}</li>"));
    }
    lines.push("</ul>\n</body>\n</html>\n".to_owned());
    lines.join("\n")
}
