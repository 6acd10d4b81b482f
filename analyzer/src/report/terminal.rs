//! The form for a terminal. No line is wider than asked.

use super::style::{Meaning, Palette};
use super::top::{self, Top};
use super::words::Completeness;
use super::{Finding, Level, Report, Section, SectionStatus, terminal_section, width, words};

/// Narrowest and widest page: below, tables say nothing; above, eyes lose the line.
pub const WIDTHS: std::ops::RangeInclusive<usize> = 80..=200;
/// Findings at the top of a report.
const TOP_FINDINGS: usize = 3;
/// Findings that are mere notes, of a section of a brief page.
const NOTES: usize = 2;
pub(super) const INDENT: usize = 2;

/// How much a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What a report opens with, and what is wrong: no sections.
    Head,
    /// Of each section the tables that fit some twenty lines; the others are named.
    Brief,
    /// All tables, and all that findings say.
    Full,
}

/// How a page looks.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Columns, brought into [`WIDTHS`].
    pub width: usize,
    /// Rows shown of each table.
    pub top: usize,
    /// How much is said.
    pub detail: Detail,
    /// Colours or none.
    pub palette: Palette,
}

/// The whole report as text.
pub fn render(report: &Report, page: Page) -> String {
    let page = Page {
        width: page.width.clamp(*WIDTHS.start(), *WIDTHS.end()),
        ..page
    };
    let mut out = Out {
        page,
        text: String::new(),
    };
    header(report, &mut out);
    holds_back(report, &mut out);
    top_findings(report, &mut out);
    if page.detail != Detail::Head {
        for section in &report.sections {
            out.blank();
            section_lines(section, &mut out);
        }
    }
    problems(report, &mut out);
    out.text
}

pub(super) struct Out {
    pub(super) page: Page,
    text: String,
}

impl Out {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.line("");
    }

    pub(super) fn paint(&self, meaning: Meaning, text: &str) -> String {
        self.page.palette.paint(meaning, text)
    }

    /// `lead` painted, then `text` beside it, wrapped and indented under itself.
    pub(super) fn hanging(
        &mut self,
        indent: usize,
        lead: (&str, Meaning),
        text: &str,
        text_meaning: Option<Meaning>,
    ) {
        let column = indent + width::of(lead.0) + usize::from(!lead.0.is_empty());
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

fn header(report: &Report, out: &mut Out) {
    let brief = out.page.detail != Detail::Full;
    for (name, mut text) in words::header(&report.header) {
        if brief && name == "program" {
            text = width::shorten(&text, out.page.width - 10).into_owned();
        }
        out.hanging(
            0,
            (&width::pad(name, 9, false), Meaning::Faint),
            &text,
            None,
        );
    }
    let name = width::pad("complete", 9, false);
    let complete = (name.as_str(), Meaning::Faint);
    let reasons = match words::completeness(report) {
        Completeness::Complete => return out.hanging(0, complete, "yes", Some(Meaning::Good)),
        Completeness::NotKnown(reason) => {
            let text = format!("not known: {reason}");
            return out.hanging(0, complete, &text, None);
        }
        Completeness::Incomplete(reasons) => reasons,
    };
    out.blank();
    out.hanging(
        0,
        ("INCOMPLETE", Meaning::Error),
        "this run does not hold all that happened:",
        None,
    );
    for reason in reasons {
        out.hanging(INDENT, ("-", Meaning::Error), &reason, None);
    }
}

/// The first lines of `bottleneck.top`, or why there are none.
fn holds_back(report: &Report, out: &mut Out) {
    let top = Top::of(report);
    out.blank();
    let title = "what holds it back";
    if top.findings.is_empty() {
        let text = format!("{title}: {}", top.none());
        return out.hanging(0, ("", Meaning::Faint), &text, Some(Meaning::Faint));
    }
    let shown = top.findings.len();
    let of = match top.more {
        0 => String::new(),
        more => format!(" ({shown} of {}, most first)", shown as u64 + more),
    };
    let title = out.paint(Meaning::Heading, title);
    out.line(&format!("{title}{}", out.paint(Meaning::Faint, &of)));
    for line in &top.findings {
        let lead = format!("{} {}", line.rank, width::pad(&line.severity, 6, false));
        let meaning = match line.severity.as_str() {
            "high" => Meaning::Warning,
            _ => Meaning::Faint,
        };
        out.hanging(INDENT, (&lead, meaning), &line.sentence, None);
    }
}

fn top_findings(report: &Report, out: &mut Out) {
    let mut findings = report.findings();
    let all = findings.len();
    // Those stand above already.
    findings.retain(|(plugin, _)| *plugin != top::PLUGIN);
    out.blank();
    if findings.is_empty() {
        let none = if all > 0 {
            "no other findings"
        } else {
            "no findings"
        };
        out.line(&out.paint(Meaning::Faint, none));
        return;
    }
    let shown = findings.len().min(TOP_FINDINGS);
    let of = if shown < findings.len() {
        format!(" ({shown} of {}, worst first)", findings.len())
    } else {
        String::new()
    };
    let title = out.paint(Meaning::Heading, "findings");
    out.line(&format!("{title}{}", out.paint(Meaning::Faint, &of)));
    for (plugin, finding) in &findings[..shown] {
        let text = format!("{} [{plugin}]", finding.title);
        out.hanging(
            INDENT,
            (severity(finding.severity), finding.severity.into()),
            &text,
            None,
        );
    }
}

/// Padded to one width, so that titles stand under each other.
fn severity(level: Level) -> &'static str {
    match level {
        Level::Info => "info   ",
        Level::Warning => "warning",
        Level::Error => "error  ",
    }
}

fn section_lines(section: &Section, out: &mut Out) {
    let name = format!("{} {}", section.plugin, section.version);
    out.hanging(
        0,
        (&width::printable(&name), Meaning::Heading),
        &section.summary,
        Some(Meaning::Faint),
    );
    let state = match section.status {
        SectionStatus::Ok => None,
        SectionStatus::Failed => Some("failed: "),
        SectionStatus::Skipped => Some("skipped:"),
    };
    if let Some(state) = state {
        out.hanging(
            INDENT,
            (state, section.status.into()),
            section.message.as_deref().unwrap_or("no reason given"),
            None,
        );
    }
    terminal_section::tables(section, out);
    let mut notes = 0;
    for finding in &section.findings {
        notes += usize::from(finding.severity == Level::Info);
        if out.page.detail == Detail::Full || finding.severity > Level::Info || notes <= NOTES {
            finding_lines(finding, out);
        }
    }
    if out.page.detail != Detail::Full && notes > NOTES {
        let more = notes - NOTES;
        let what = if more == 1 { "note" } else { "notes" };
        let text = format!("{more} more {what} with --only {} or -v", section.plugin);
        out.hanging(INDENT, ("", Meaning::Faint), &text, Some(Meaning::Faint));
    }
}

fn finding_lines(finding: &Finding, out: &mut Out) {
    let title = format!("{} ({})", finding.title, finding.code);
    out.hanging(
        INDENT,
        (severity(finding.severity), finding.severity.into()),
        &title,
        None,
    );
    let under = INDENT + severity(finding.severity).len() + 1;
    // Of a mere note, a brief page says what to do, and not how it was seen.
    let brief = out.page.detail == Detail::Brief && finding.severity == Level::Info;
    let detail = finding.detail.as_ref().filter(|_| !brief);
    for text in detail.into_iter().chain(&finding.suggestion) {
        out.hanging(under - 1, ("", Meaning::Faint), text, None);
    }
}

fn problems(report: &Report, out: &mut Out) {
    if report.problems.is_empty() {
        return;
    }
    out.blank();
    out.line(&out.paint(Meaning::Heading, "problems"));
    for problem in &report.problems {
        out.hanging(
            INDENT,
            (severity(problem.severity), problem.severity.into()),
            &words::problem(problem),
            None,
        );
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
