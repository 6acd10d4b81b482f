//! The form for a pull request: the same in brief.

use std::fmt::Write;
use std::io;

use trueno_model::{Finding, Level, Problem, Report, Section, SectionStatus, width};
use trueno_plugin::counted;

use super::form::{DEFAULT_ROWS, Layout, ReportForm};
use super::top::Top;
use super::view::{View, heading};
use crate::header_text;
use crate::header_text::Completeness;
use crate::opening::Opening;

#[derive(Debug)]
pub(crate) struct Markdown;

impl ReportForm for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "For a pull request"
    }

    fn write(
        &self,
        report: &Report,
        layout: &Layout<'_>,
        to: &mut dyn io::Write,
    ) -> io::Result<()> {
        let top = layout.top.unwrap_or(DEFAULT_ROWS);
        to.write_all(render(report, top).as_bytes())
    }
}

/// GitHub-flavoured Markdown: figures and the worst findings first, then a collapsible section per plugin, with
/// `top` rows of each table.
pub fn render(report: &Report, top: usize) -> String {
    let mut out = String::new();
    let title = report.header.facts.title();
    line(&mut out, format_args!("## {}", text(title)));
    line(&mut out, format_args!(""));
    if let Some(warning) = header_text::warning(report) {
        line(&mut out, format_args!("> **{}**", text(&warning)));
        line(&mut out, format_args!(""));
    }
    if let Some(failed) = header_text::failed(report) {
        line(&mut out, format_args!("> **FAILED:** {}", text(&failed)));
        line(&mut out, format_args!(""));
    }
    let opening = Opening::new(report);
    if let Some(sentence) = opening.and_then(|opening| opening.sentence()) {
        line(&mut out, format_args!("**{}**", text(sentence)));
        line(&mut out, format_args!(""));
    }
    if let Completeness::NotKnown(reason) = header_text::completeness(report) {
        let reason = text(&reason);
        line(&mut out, format_args!("> Completeness not known: {reason}"));
        line(&mut out, format_args!(""));
    }
    for (name, value) in header_text::header(&report.header) {
        line(&mut out, format_args!("- {name}: {}", text(&value)));
    }
    for device in opening.map_or_else(Vec::new, |opening| opening.devices()) {
        let (title, legend) = (text(&device.title), text(&device.legend()));
        line(&mut out, format_args!("- {title}: {legend}"));
    }
    if Top::is_asked(report) {
        holds_back(&mut out, Top::from_report(report));
    }
    most_important(&mut out, report);
    for section in &report.sections {
        section_text(&mut out, section, top);
    }
    let problems = header_text::problems(report);
    if !problems.open.is_empty() {
        line(&mut out, format_args!("\n### Problems\n"));
        list(&mut out, &problems.open);
    }
    if !problems.notes.is_empty() {
        let notes = counted(problems.notes.len(), "note", "notes");
        let summary = format!("<details><summary>{notes} on the import</summary>");
        line(&mut out, format_args!("\n{summary}\n"));
        list(&mut out, &problems.notes);
        line(&mut out, format_args!("\n</details>"));
    }
    out
}

fn list(out: &mut String, problems: &[&Problem]) {
    for problem in problems {
        let severity = problem.severity.shown();
        let problem = header_text::problem(problem);
        line(out, format_args!("- **{severity}** {}", text(&problem)));
    }
}

fn holds_back(out: &mut String, top: Top) {
    line(out, format_args!("\n### What holds it back\n"));
    if top.findings.is_empty() {
        let lacking = top
            .lacking()
            .map_or("", |_| " (see table bottleneck.not_measurable)");
        line(out, format_args!("{}{}", text(&top.none()), text(lacking)));
    }
    let mut rank = 0;
    for (one, is_below) in top.with_best() {
        let lead = if is_below {
            "   - ".to_owned()
        } else {
            rank += 1;
            format!("{rank}. ")
        };
        let (severity, sentence) = (text(&one.severity), text(&one.sentence));
        line(out, format_args!("{lead}**{severity}** {sentence}"));
    }
}

/// At most three findings that stay visible while sections are folded. Purely informational ones are left out.
fn most_important(out: &mut String, report: &Report) {
    let all = report.findings();
    let bad: Vec<_> = all
        .into_iter()
        // Those of the bottlenecks stand above, in words.
        .filter(|(plugin, finding)| finding.severity > Level::Info && *plugin != "bottleneck")
        .collect();
    if bad.is_empty() {
        return;
    }
    line(out, format_args!("\n### First of all\n"));
    for (plugin, finding) in bad.iter().take(3) {
        line(
            out,
            format_args!(
                "- **{}** {} ({})",
                finding.severity.shown(),
                text(&finding.title),
                text(plugin)
            ),
        );
    }
    if bad.len() > 3 {
        line(out, format_args!("- and {} more below", bad.len() - 3));
    }
}

fn line(out: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{what}");
}

fn section_text(out: &mut String, section: &Section, top: usize) {
    // A blank line after the tag, or what follows is not taken for Markdown.
    let open = if section.status == SectionStatus::Failed {
        " open"
    } else {
        ""
    };
    line(
        out,
        format_args!(
            "\n<details{open}><summary><b>{}</b>{}</summary>\n",
            html(&section.plugin),
            html(&folded_summary(section))
        ),
    );
    if !section.summary.is_empty() {
        line(out, format_args!("{}", text(&section.summary)));
    }
    let message = section.message.as_deref().unwrap_or("no reason given");
    match section.status {
        SectionStatus::Ok => {}
        SectionStatus::Failed => line(out, format_args!("\n**failed:** {}", text(message))),
        SectionStatus::Skipped => line(out, format_args!("\n*skipped:* {}", text(message))),
    }
    if !section.findings.is_empty() {
        line(out, format_args!(""));
    }
    for finding in &section.findings {
        finding_text(out, finding);
    }
    for table in &section.tables {
        table_text(out, &heading(table.name()), &View::new(table, top));
    }
    line(out, format_args!("\n</details>"));
}

/// Summary of a folded section: counts of its findings by severity, or its status.
fn folded_summary(section: &Section) -> String {
    match section.status {
        SectionStatus::Failed => return ": failed".to_owned(),
        SectionStatus::Skipped => return ": skipped".to_owned(),
        SectionStatus::Ok => {}
    }
    let count = |level: Level| {
        let of = |finding: &&Finding| finding.severity == level;
        section.findings.iter().filter(of).count()
    };
    let told: Vec<String> = [Level::Error, Level::Warning]
        .into_iter()
        .map(|level| (count(level), level.shown()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, shown)| format!("{count} {shown}"))
        .collect();
    if told.is_empty() {
        String::new()
    } else {
        format!(": {}", told.join(", "))
    }
}

/// Escapes text within an HTML tag, where Markdown is not parsed.
fn html(plain: &str) -> String {
    crate::chart::escaped(&width::printable(plain))
}

fn finding_text(out: &mut String, finding: &Finding) {
    let Finding {
        severity,
        title,
        code,
        detail,
        suggestion,
        ..
    } = finding;
    let more: Vec<String> = [detail, suggestion]
        .into_iter()
        .flatten()
        .map(|part| text(part))
        .collect();
    let colon = if more.is_empty() { "" } else { ": " };
    line(
        out,
        format_args!(
            "- **{}** {} (`{}`){colon}{}",
            severity.shown(),
            text(title),
            code.replace('`', "'"),
            more.join("; ")
        ),
    );
}

fn table_text(out: &mut String, name: &str, view: &View) {
    let constant = if view.constant.is_empty() {
        String::new()
    } else {
        format!(" ({})", text(&view.constant.join(", ")))
    };
    line(out, format_args!("\n**{name}**{constant}\n"));
    if !view.columns.is_empty() {
        let cells = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
        };
        line(
            out,
            format_args!(
                "{}",
                cells(&mut view.columns.iter().map(|column| text(&column.heading)))
            ),
        );
        let rule = |right_aligned| if right_aligned { "---:" } else { "---" }.to_owned();
        line(
            out,
            format_args!(
                "{}",
                cells(&mut view.columns.iter().map(|column| rule(column.right_aligned)))
            ),
        );
        for row in 0..view.rows {
            line(
                out,
                format_args!(
                    "{}",
                    cells(&mut view.columns.iter().map(|column| text(&column.cells[row])))
                ),
            );
        }
    }
    let mut notes = Vec::new();
    if view.rows == 0 {
        notes.push("no rows".to_owned());
    }
    notes.extend(view.rest.clone());
    if !view.not_measured.is_empty() {
        notes.push(format!("not measured: {}", view.not_measured.join(", ")));
    }
    if !notes.is_empty() {
        line(out, format_args!("\n{}", text(&notes.join("; "))));
    }
}

/// Escapes text so that nothing in a name starts a table cell, a tag, a link or emphasis.
pub fn text(plain: &str) -> String {
    let mut shown = String::with_capacity(plain.len());
    for c in width::printable(plain).chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '&' => shown.push_str("&amp;"),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '#' | '@' => {
                shown.push('\\');
                shown.push(c);
            }
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueno_plugin::Table;

    #[test]
    fn a_finding_is_one_line() {
        let mut finding = crate::testing::finding(trueno_model::Level::Warning, "a | b");
        finding.detail = Some("seen".into());
        let mut out = String::new();
        finding_text(&mut out, &finding);
        assert_eq!(
            out,
            "- **medium** a \\| b (`some_code`): seen; What to do.\n"
        );
    }

    #[test]
    fn names_cannot_break_out_of_their_cell() {
        let table = Table::build("by_name")
            .text("name", ["a|b", "<script>", "*x*"])
            .i64("self_ns", [3_000_000, 2, 1])
            .finish()
            .unwrap();
        let mut out = String::new();
        table_text(&mut out, "by name", &View::new(&table, 2));
        assert_eq!(
            out,
            "\n**by name**\n\n| name | self |\n| --- | ---: |\n| a\\|b | 3 ms |\n| &lt;script> | 2 ns |\n\n… and 1 more row\n"
        );
    }
}
