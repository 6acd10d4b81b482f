//! Section of one plugin: findings with their rows, charts, tables.

use std::fmt::Write;

use serde_json::Value;
use trueno_model::{Finding, Report, Section, SectionStatus};

use super::{Extra, id, summary, table, text};
use crate::chart;

/// Tables of a section that are open at first.
const OPEN: usize = 2;

pub(super) fn write(out: &mut String, report: &Report, at: usize, extra: &Extra<'_>, kept: usize) {
    let section = &report.sections[at];
    let name = id(&["s", &section.plugin]);
    let _ = writeln!(
        out,
        "<section id=\"{name}\"><h2>{} <span class=\"faint\">{}</span></h2>",
        text(&section.plugin.replace('_', " ")),
        text(&section.version)
    );
    if !section.summary.is_empty() {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", text(&section.summary));
    }
    let message = section.message.as_deref().unwrap_or("no reason given");
    let is_empty =
        section.findings.is_empty() && section.charts.is_empty() && section.tables.is_empty();
    match section.status {
        SectionStatus::Ok if is_empty => {
            out.push_str("<p class=\"faint\">It gave no tables and no findings.</p>\n");
        }
        SectionStatus::Ok => {}
        SectionStatus::Failed => {
            let _ = writeln!(
                out,
                "<p class=\"banner error\"><b>failed:</b> {}</p>",
                text(message)
            );
        }
        SectionStatus::Skipped => {
            let _ = writeln!(
                out,
                "<p class=\"banner warning\"><b>skipped:</b> {}</p>",
                text(message)
            );
        }
    }
    if !section.findings.is_empty() {
        out.push_str("<ul class=\"findings\">\n");
        for (number, one) in section.findings.iter().enumerate() {
            finding(out, report, [at, number], one, extra);
        }
        out.push_str("</ul>\n");
    }
    charts(out, section);
    for (number, one) in section.tables.iter().enumerate() {
        let name = id(&["t", &section.plugin, one.name()]);
        table::write(out, &name, one, extra.top, kept, number < OPEN);
    }
    out.push_str("</section>\n");
}

fn charts(out: &mut String, section: &Section) {
    for spec in &section.charts {
        let drawn = chart::scene(spec, section).map(|scene| scene.svg_for_page());
        let title = text(&spec.title);
        match drawn {
            Some(Ok(svg)) => figure(out, &title, &svg),
            Some(Err(error)) => {
                let _ = writeln!(out, "<p class=\"note\">{}</p>", text(&error.to_string()));
            }
            None => {
                let _ = writeln!(
                    out,
                    "<p class=\"note\">{title}: no row of it can be drawn</p>"
                );
            }
        }
    }
}

/// A chart with its title.
pub fn figure(out: &mut String, title: &str, svg: &str) {
    let _ = writeln!(
        out,
        "<figure><figcaption>{title}</figcaption><div class=\"scroll\" tabindex=\"0\">{svg}</div></figure>"
    );
}

fn finding(
    out: &mut String,
    report: &Report,
    [section, number]: [usize; 2],
    finding: &Finding,
    extra: &Extra<'_>,
) {
    let level = finding.severity.as_str();
    let plugin = &report.sections[section].plugin;
    let _ = write!(
        out,
        "<li class=\"{level}\" id=\"{}\"><span class=\"badge\">{}</span> <b>{}</b> <code>{}</code>",
        id(&["f", plugin, &number.to_string()]),
        finding.severity.shown(),
        text(&finding.title),
        text(&finding.code)
    );
    summary::place(out, extra, section, number);
    for part in [&finding.detail, &finding.suggestion].into_iter().flatten() {
        let _ = write!(out, "<p>{}</p>", text(part));
    }
    let shown = extra.evidence.get(section, number);
    if let Some(Value::String(sql)) = &finding.evidence {
        let count = shown.map_or(String::new(), |shown| format!(" ({})", shown.of));
        let _ = write!(
            out,
            "<details class=\"evidence\"><summary>evidence{count}</summary>"
        );
        for section in &report.sections {
            for table in &section.tables {
                let whole = format!("{}.{}", section.plugin, table.name());
                let after = sql
                    .find(&whole)
                    .map(|at| sql[at + whole.len()..].chars().next());
                if after.is_some_and(|next| next.is_none_or(|c| !c.is_alphanumeric() && c != '_')) {
                    let _ = write!(
                        out,
                        "<p><a href=\"#{}\">table {}</a></p>",
                        id(&["t", &section.plugin, table.name()]),
                        text(&whole)
                    );
                }
            }
        }
        if let Some(shown) = shown {
            table::plain(out, &shown.rows, shown.rows.rows());
        }
        let _ = write!(out, "<pre>{}</pre></details>", text(sql));
    } else if let Some(shown) = shown {
        out.push_str("<details class=\"evidence\"><summary>evidence</summary>");
        table::plain(out, &shown.rows, shown.rows.rows());
        out.push_str("</details>");
    }
    out.push_str("</li>\n");
}
