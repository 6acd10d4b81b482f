//! The form for a terminal. No line is wider than asked.

mod choice;
mod findings;
mod opening;
mod section;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use trueno_model::{Problem, Report, Section, SectionStatus, width};

use crate::commands::{self, Commands};
use crate::form::{Detail, Layout, ReportForm};
use crate::header_text;
use crate::header_text::Completeness;
use crate::style::{Meaning, Palette};

/// Narrowest and widest page. Tables need the minimum, and longer lines are hard to read.
pub const WIDTHS: std::ops::RangeInclusive<usize> = 80..=200;
pub(crate) const INDENT: usize = 2;
/// Minimum width beside a label, which may be a plugin's own long name.
const MIN_BESIDE: usize = 24;

const BRIEF_ROWS: usize = 7;
/// Rows of each table on a full page: of the whole report, and of a few plugins.
const FULL_ROWS: usize = 10;
const FEW_PLUGINS_ROWS: usize = 50;
const FEW_PLUGINS: usize = 3;
/// Above this number of lines, tables have the fewest rows, unless the user chose a number.
const MAX_LINES: usize = 2_000;
const FEWEST_ROWS: usize = 3;

#[derive(Debug)]
pub(crate) struct Terminal;

impl ReportForm for Terminal {
    fn name(&self) -> &'static str {
        "text"
    }

    fn old_names(&self) -> &'static [&'static str] {
        &["terminal"]
    }

    fn about(&self) -> &'static str {
        "For people at a terminal"
    }

    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        let rows = match layout.detail {
            Detail::Brief | Detail::Head | Detail::Findings => BRIEF_ROWS,
            Detail::Full if report.sections.len() <= FEW_PLUGINS => FEW_PLUGINS_ROWS,
            Detail::Full => FULL_ROWS,
        };
        let page = |top| Page {
            width: layout.width,
            top,
            detail: layout.detail,
            palette: layout.palette,
            commands: layout.commands,
        };
        let mut text = render(report, page(layout.top.unwrap_or(rows)));
        if layout.top.is_none() && text.lines().count() > MAX_LINES {
            text = render(report, page(FEWEST_ROWS));
        }
        to.write_all(text.as_bytes())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Clamped to [`WIDTHS`].
    pub width: usize,
    pub top: usize,
    pub detail: Detail,
    pub palette: Palette,
    pub commands: &'a Commands,
}

pub fn render(report: &Report, page: Page<'_>) -> String {
    let page = Page {
        width: page.width.clamp(*WIDTHS.start(), *WIDTHS.end()),
        ..page
    };
    let mut out = Out {
        page,
        text: String::new(),
    };
    opening::failed(report, &mut out);
    opening::sentence(report, &mut out);
    match page.detail {
        Detail::Full => header(report, &mut out),
        Detail::Brief | Detail::Head | Detail::Findings => opening::origin(report, &mut out),
    }
    if page.detail != Detail::Findings {
        opening::devices(report, &mut out);
    }
    findings::holds_back(report, &mut out);
    match page.detail {
        Detail::Findings => findings::all(report, &mut out),
        Detail::Head | Detail::Brief | Detail::Full => findings::head(report, &mut out),
    }
    if page.detail == Detail::Brief {
        opening::threads(report, &mut out);
    }
    match page.detail {
        Detail::Head | Detail::Findings => failures(report, &mut out),
        Detail::Brief | Detail::Full => sections(report, &mut out),
    }
    problems(report, &mut out);
    out.text
}

fn failures(report: &Report, out: &mut Out<'_>) {
    let failed = report
        .sections
        .iter()
        .filter(|section| section.status == SectionStatus::Failed);
    for (at, section) in failed.enumerate() {
        if at == 0 {
            out.blank();
        }
        let lead = format!("{} failed:", width::printable(&section.plugin));
        let why = section.message.as_deref().unwrap_or("no reason given");
        out.hanging(0, (&lead, section.status.into()), why, None);
    }
}

/// Sections with gains come first. On a brief page, sections that did not run share a last line.
fn sections(report: &Report, out: &mut Out<'_>) {
    let brief = out.page.detail == Detail::Brief;
    // A brief page opens with it.
    let shown = |section: &&Section| !(brief && section.plugin == crate::opening::PLUGIN);
    let (first, others): (Vec<_>, Vec<_>) = report
        .sections
        .iter()
        .filter(shown)
        .partition(|section| section.tables.iter().any(choice::tells_gains));
    let (skipped, others): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|section| brief && section.status == SectionStatus::Skipped);
    let mut silent = Vec::new();
    for section in first.into_iter().chain(others) {
        match brief.then(|| section::silent(section)).flatten() {
            Some(names) => silent.push((section, names)),
            None => {
                out.blank();
                section::lines(section, out);
            }
        }
    }
    if !brief {
        return;
    }
    out.blank();
    for (section, names) in silent.iter().filter(|(_, names)| !names.is_empty()) {
        let lead = format!("{} also has:", width::printable(&section.plugin));
        let names = names.join(", ");
        out.hanging(0, (&lead, Meaning::Faint), &names, Some(Meaning::Faint));
    }
    for section in skipped {
        let why = section.message.as_deref().unwrap_or("no reason given");
        let lead = format!("{} was skipped:", width::printable(&section.plugin));
        out.hanging(0, (&lead, section.status.into()), why, None);
    }
    more(report, out);
}

const MORE_WIDTH: usize = 16;

/// Commands that show the rest, with plugin and table names of this report.
fn more(report: &Report, out: &mut Out<'_>) {
    let page = out.page;
    let tables = report.sections.iter().flat_map(|section| {
        let tables = section.tables.iter();
        tables.map(move |table| (section.plugin.as_str(), table))
    });
    let filled = tables.filter(|(_, table)| table.rows() > 0);
    let largest = filled.max_by_key(|(_, table)| table.rows());
    out.line(&out.paint(Meaning::Faint, "more:"));
    out.command("all findings", &page.commands.findings());
    if let Some((plugin, table)) = largest {
        out.command("one analysis", &page.commands.plugin(plugin));
        let rows = page.commands.rows(plugin, table.name(), table.rows());
        out.command("all rows", &rows);
    }
    out.command("all tables", &page.commands.everything());
    let files = "--html FILE, --json FILE, --csv DIR";
    let lead = format!("  {}", width::pad("in files", MORE_WIDTH, false));
    out.line(&out.paint(Meaning::Faint, &format!("{lead}{files}")));
}

pub(crate) struct Out<'a> {
    pub(crate) page: Page<'a>,
    text: String,
}

impl Out<'_> {
    /// A command after a few words. It is on lines of its own that a shell reads as one, so it can be pasted.
    pub(crate) fn command(&mut self, words: &str, command: &[String]) {
        let lead = format!(
            "{}{}",
            " ".repeat(INDENT),
            width::pad(words, MORE_WIDTH, false)
        );
        let column = INDENT + MORE_WIDTH;
        let room = self.page.width.saturating_sub(column);
        for (at, line) in commands::lines(command, room).iter().enumerate() {
            let lead = if at == 0 {
                self.paint(Meaning::Faint, &lead)
            } else {
                " ".repeat(column)
            };
            self.line(&format!("{lead}{line}"));
        }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.line("");
    }

    pub(crate) fn paint(&self, meaning: Meaning, text: &str) -> String {
        self.page.palette.paint(meaning, text)
    }

    pub(crate) fn titled(&mut self, title: &str, of: &str) {
        self.hanging(0, (title, Meaning::Heading), of, Some(Meaning::Faint));
    }

    /// `lead` painted, then wrapped text beside it with a hanging indent.
    pub(crate) fn hanging(
        &mut self,
        indent: usize,
        lead: (&str, Meaning),
        text: &str,
        text_meaning: Option<Meaning>,
    ) {
        let most = self.page.width.saturating_sub(indent + MIN_BESIDE);
        let lead = (&*width::shorten(lead.0, most), lead.1);
        let column = indent + width::measure(lead.0) + usize::from(!lead.0.is_empty());
        let room = self.page.width.saturating_sub(column);
        for (i, part) in width::wrap(text, room).iter().enumerate() {
            let part = text_meaning.map_or(part.clone(), |meaning| self.paint(meaning, part));
            let line = if i == 0 && !lead.0.is_empty() {
                format!(
                    "{}{} {part}",
                    " ".repeat(indent),
                    self.paint(lead.1, lead.0)
                )
            } else {
                format!("{}{part}", " ".repeat(column))
            };
            self.line(line.trim_end());
        }
    }
}

fn header(report: &Report, out: &mut Out<'_>) {
    for (name, text) in header_text::header(&report.header) {
        out.hanging(
            0,
            (&width::pad(name, 9, false), Meaning::Faint),
            &text,
            None,
        );
    }
    if header_text::leaves_out_values(&report.header) {
        out.command("all values", &out.page.commands.info);
    }
    let name = width::pad("complete", 9, false);
    let complete = (name.as_str(), Meaning::Faint);
    let reasons = match header_text::completeness(report) {
        Completeness::Complete => return out.hanging(0, complete, "yes", Some(Meaning::Good)),
        Completeness::NotKnown(reason) => {
            let text = format!("not known: {reason}");
            return out.hanging(0, complete, &text, None);
        }
        Completeness::Incomplete(reasons) => reasons,
    };
    out.hanging(0, complete, "no:", Some(Meaning::Error));
    for reason in reasons {
        out.hanging(INDENT, ("-", Meaning::Error), &reason, None);
    }
}

/// Problems of a page that is not full, the worst first.
const MAX_PROBLEMS: usize = 6;

fn problems(report: &Report, out: &mut Out<'_>) {
    let mut problems = header_text::problems(report);
    if problems.open.is_empty() && problems.notes.is_empty() {
        return;
    }
    let is_brief = matches!(out.page.detail, Detail::Brief | Detail::Head);
    let by_severity = |problem: &&Problem| std::cmp::Reverse(problem.severity);
    if is_brief {
        problems.open.sort_by_key(by_severity);
    }
    // What changes no figure comes last.
    let mut all = problems.open;
    all.extend(problems.notes);
    let mut most = all.len();
    if is_brief {
        most = MAX_PROBLEMS;
    }
    out.blank();
    out.titled("problems", "");
    for problem in all.iter().take(most) {
        out.hanging(
            INDENT,
            (
                findings::severity(problem.severity),
                problem.severity.into(),
            ),
            &header_text::problem(problem),
            None,
        );
    }
    if all.len() > most {
        let words = format!("{} more", all.len() - most);
        out.command(&words, &out.page.commands.everything());
    }
}
