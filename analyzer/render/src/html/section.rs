//! Section of one plugin: findings with their rows, charts, tables.

use std::fmt::Write;

use serde_json::Value;
use trueno_model::{Finding, Report, Section, SectionStatus};

use super::{Extra, id, prose, questions, summary, table, text};
use crate::chart;
use crate::opening;
use crate::top::{PLUGIN, Top};
use crate::view::heading;

const OPEN: usize = 1;

pub(super) fn write(
    out: &mut String,
    report: &Report,
    at: usize,
    is_open: bool,
    extra: &Extra<'_>,
    kept: usize,
) {
    let section = &report.sections[at];
    let _ = writeln!(
        out,
        "<details class=\"analysis\" id=\"{}\"{}><summary><h3>{}</h3> <span class=\"lead\">{}</span></summary>",
        id(&["s", &section.plugin]),
        if is_open { " open" } else { "" },
        text(&questions::title(&section.plugin)),
        text(lead(section))
    );
    if section.status == SectionStatus::Failed {
        let message = section.message.as_deref().unwrap_or("no reason given");
        let _ = writeln!(
            out,
            "<p class=\"banner error\"><b>failed:</b> {}</p>",
            text(message)
        );
    }
    if !section.findings.is_empty() {
        out.push_str("<ul class=\"findings\">\n");
        for (number, one) in section.findings.iter().enumerate() {
            finding(out, report, [at, number], one, extra);
        }
        out.push_str("</ul>\n");
    }
    charts(out, section);
    let (full, empty): (Vec<_>, Vec<_>) = section.tables.iter().partition(|table| table.rows() > 0);
    for (number, one) in full.into_iter().enumerate() {
        let name = id(&["t", &section.plugin, one.name()]);
        let is_open = number < OPEN && !summary::has_cards_of_all(section, one);
        table::write(out, &name, one, "h4", extra.top, kept, is_open);
    }
    if !empty.is_empty() {
        let names: Vec<String> = empty
            .iter()
            .map(|table| {
                format!(
                    "<span id=\"{}\">{}</span>",
                    id(&["t", &section.plugin, table.name()]),
                    text(&heading(table.name()))
                )
            })
            .collect();
        let _ = writeln!(
            out,
            "<p class=\"note\">Tables without rows: {}.</p>",
            names.join(", ")
        );
    }
    out.push_str("</details>\n");
}

/// Its summary, except for the first section, whose summary is the page's headline.
fn lead(section: &Section) -> &str {
    match section.plugin.as_str() {
        opening::PLUGIN => "",
        _ => &section.summary,
    }
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
                    "<p class=\"note\">{title}: none of its rows can be drawn</p>"
                );
            }
        }
    }
}

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
    // Its severity as at the head of the page: four levels instead of the three of findings.
    let ranked = Top::all(report).into_iter().map(|(line, _)| line);
    let mut ranked = ranked.filter(|line| plugin == PLUGIN && line.sentence == finding.title);
    let severity = ranked.next().map(|line| line.severity);
    let severity = severity.filter(|severity| !severity.is_empty());
    let _ = write!(
        out,
        "<li class=\"{level}\" id=\"{}\"><span class=\"badge\">{}</span> <b>{}</b> <code>{}</code>",
        id(&["f", plugin, &number.to_string()]),
        text(severity.as_deref().unwrap_or(finding.severity.shown())),
        text(&finding.title),
        text(&finding.code)
    );
    summary::place(out, extra, section, number);
    for part in [&finding.detail, &finding.suggestion].into_iter().flatten() {
        let _ = write!(out, "<p>{}</p>", prose(part));
    }
    let shown = extra.evidence.get(section, number);
    if let Some(Value::String(sql)) = &finding.evidence {
        let count = shown.map_or(String::new(), |shown| format!(" ({})", shown.of));
        let _ = write!(
            out,
            "<details class=\"evidence\"><summary>evidence{count}</summary>"
        );
        for section in &report.sections {
            for table in section.tables.iter().filter(|table| table.rows() > 0) {
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
