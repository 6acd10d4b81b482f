//! One section on a page.

use trueno_model::units::{self, Unit};
use trueno_model::{Section, SectionStatus, width};
use trueno_plugin::Table;

use super::choice::{self, Choice};
use super::findings;
use super::table::{self as fitted, Absent};
use super::{INDENT, Out, Page};
use crate::form::Detail;
use crate::glossary;
use crate::style::Meaning;
use crate::view::{Names, View, heading};

/// Name, outcome and tables. On a full page also findings, which a brief page has at its top.
pub fn lines(section: &Section, out: &mut Out<'_>) {
    let full = out.page.detail == Detail::Full;
    let name = width::printable(&section.plugin).into_owned();
    let name = if full {
        width::printable(&format!("{name} {}", section.version)).into_owned()
    } else {
        name
    };
    let room = out.page.width.saturating_sub(width::measure(&name) + 1);
    let summary = if full {
        section.summary.clone()
    } else {
        width::shorten(&width::printable(&section.summary), room).into_owned()
    };
    out.hanging(0, (&name, Meaning::Heading), &summary, Some(Meaning::Faint));
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
    tables(section, out);
    if full {
        findings::write_section(section, out);
    }
}

/// For a section of which a brief page shows nothing: the names of its tables.
pub fn silent(section: &Section) -> Option<Vec<String>> {
    let choice = choice::brief(&section.tables, 1, |_, rows| rows);
    let nothing = choice.shown.is_empty() && choice.told.is_empty();
    (nothing && section.status == SectionStatus::Ok).then(|| names(&choice.left_out))
}

fn names(tables: &[&Table]) -> Vec<String> {
    let count =
        |table: &Table| units::show(trueno_model::Cell::U64(table.rows() as u64), Unit::None);
    tables
        .iter()
        .map(|table| format!("{} ({})", heading(table.name()), count(table)))
        .collect()
}

fn tables(section: &Section, out: &mut Out<'_>) {
    let page = out.page;
    let choice = match page.detail {
        Detail::Full => choice::all(&section.tables, page.top),
        Detail::Brief | Detail::Head | Detail::Findings => {
            choice::brief(&section.tables, page.top, |table, rows| {
                table_lines(table, rows, page).len()
            })
        }
    };
    for (table, rows) in &choice.shown {
        for line in table_lines(table, *rows, page) {
            out.line(&line);
        }
        if page.detail == Detail::Full && *rows < table.rows() {
            let command = page
                .commands
                .rows(&section.plugin, table.name(), table.rows());
            out.command("all rows", &command);
        }
    }
    for (table, verdicts) in &choice.told {
        let lead = format!("{}:", heading(table.name()));
        out.hanging(INDENT, (&lead, Meaning::Heading), verdicts, None);
    }
    not_shown(&choice, out);
}

fn table_lines(table: &Table, rows: usize, page: Page<'_>) -> Vec<String> {
    let names = match page.detail {
        Detail::Full => Names::Recorded,
        Detail::Brief | Detail::Head | Detail::Findings => Names::Short,
    };
    let view = View::with_names(table, rows, names);
    let room = page.width - 2 * INDENT;
    let faint = |text: &str| page.palette.paint(Meaning::Faint, text);
    let indent = " ".repeat(2 * INDENT);
    let title = width::shorten(&heading(table.name()), page.width - INDENT).into_owned();
    let constant = view.constant.join(" · ");
    let beside = page
        .width
        .saturating_sub(INDENT + width::measure(&title) + 2);
    let mut first = page.palette.paint(Meaning::Heading, &title);
    let mut lines = Vec::new();
    match page.detail {
        Detail::Full => {
            let constant = width::wrap(&constant, room);
            let constant = constant.iter().filter(|line| !line.is_empty());
            lines.extend(constant.map(|line| format!("{indent}{}", faint(line))));
        }
        _ if constant.is_empty() || beside < 12 => {}
        Detail::Brief | Detail::Head | Detail::Findings => {
            let text = width::shorten(&constant, beside);
            first.push_str(&format!("  {}", faint(&text)));
        }
    }
    lines.insert(0, format!("{}{first}", " ".repeat(INDENT)));
    let absent = match page.detail {
        Detail::Full => Absent::Named,
        Detail::Brief | Detail::Head | Detail::Findings => Absent::Unsaid,
    };
    let fitted = fitted::lines(&view, room, absent, page.palette);
    lines.extend(fitted.iter().map(|line| format!("{indent}{line}")));
    if page.detail == Detail::Full {
        let legend = width::wrap(&legend(&view), room);
        let legend = legend.iter().filter(|line| !line.is_empty());
        lines.extend(legend.map(|line| format!("{indent}{}", faint(line))));
    }
    lines
}

fn legend(view: &View) -> String {
    let columns = view.columns.iter();
    let known = columns.filter_map(|column| {
        let words = glossary::explain(&column.name)?;
        Some(format!("{}: {words}", column.heading))
    });
    let mut known: Vec<String> = known.collect();
    let has_kinds = view.columns.iter().any(|column| {
        let mut cells = column.cells.iter();
        column.name == "name" && cells.any(|cell| cell.starts_with("kind:"))
    });
    if has_kinds {
        known.push(glossary::KINDS.to_owned());
    }
    known.join("; ")
}

fn not_shown(choice: &Choice<'_>, out: &mut Out<'_>) {
    let full = out.page.detail == Detail::Full;
    if !choice.left_out.is_empty() {
        let names = names(&choice.left_out);
        let room = out.page.width - INDENT - "also: ".len();
        let names = fitting(&names, room);
        out.hanging(
            INDENT,
            ("also:", Meaning::Faint),
            &names,
            Some(Meaning::Faint),
        );
    }
    if full && !choice.empty.is_empty() {
        let names: Vec<String> = choice
            .empty
            .iter()
            .map(|table| heading(table.name()))
            .collect();
        out.hanging(
            INDENT,
            ("no rows:", Meaning::Faint),
            &names.join(", "),
            Some(Meaning::Faint),
        );
    }
}

/// As many names as fit into one line, and how many more there are.
fn fitting(names: &[String], room: usize) -> String {
    (0..=names.len())
        .rev()
        .map(|shown| match names.len() - shown {
            0 => names.join(", "),
            more => {
                let mut parts = names[..shown].to_vec();
                parts.push(format!("{more} more"));
                parts.join(", ")
            }
        })
        .find(|text| width::measure(text) <= room)
        .unwrap_or_else(|| format!("{} tables", names.len()))
}
