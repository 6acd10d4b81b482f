//! The tables of one section on a page.

use trueno_plugin::Table;

use super::style::Meaning;
use super::terminal::{Detail, INDENT, Out, Page};
use super::terminal_choice::{self as choice, Choice};
use super::terminal_table::{self as fitted, Absent};
use super::view::{View, heading};
use super::{Section, width};

/// Those that the page has room for, and the names of the others.
pub fn tables(section: &Section, out: &mut Out) {
    let page = out.page;
    let choice = match page.detail {
        Detail::Full => choice::all(&section.tables, page.top),
        Detail::Brief | Detail::Head => choice::brief(&section.tables, page.top, |table, rows| {
            lines(table, rows, page).len()
        }),
    };
    for (table, rows) in &choice.shown {
        for line in lines(table, *rows, page) {
            out.line(&line);
        }
    }
    not_shown(section, &choice, out);
}

fn lines(table: &Table, rows: usize, page: Page) -> Vec<String> {
    let view = View::of(table, rows);
    let room = page.width - 2 * INDENT;
    let faint = |text: &str| page.palette.paint(Meaning::Faint, text);
    let title = width::shorten(&heading(table.name()), page.width - INDENT).into_owned();
    let title = page.palette.paint(Meaning::Heading, &title);
    let mut lines = vec![format!("{}{title}", " ".repeat(INDENT))];
    let indent = " ".repeat(2 * INDENT);
    if !view.constant.is_empty() {
        let constant = width::wrap(&view.constant.join(" · "), room);
        lines.extend(
            constant
                .iter()
                .map(|line| format!("{indent}{}", faint(line))),
        );
    }
    let absent = match page.detail {
        Detail::Full => Absent::Named,
        Detail::Brief | Detail::Head => Absent::Counted,
    };
    let fitted = fitted::lines(&view, room, absent, page.palette);
    lines.extend(fitted.iter().map(|line| format!("{indent}{line}")));
    lines
}

fn not_shown(section: &Section, choice: &Choice<'_>, out: &mut Out) {
    if !choice.left_out.is_empty() {
        let names: Vec<String> = choice
            .left_out
            .iter()
            .map(|table| format!("{} ({})", heading(table.name()), table.rows()))
            .collect();
        let lead = format!("more with --only {} or -v:", section.plugin);
        let lead = width::shorten(&lead, out.page.width / 2).into_owned();
        out.hanging(
            INDENT,
            (&lead, Meaning::Faint),
            &names.join(", "),
            Some(Meaning::Faint),
        );
    }
    if !choice.empty.is_empty() {
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
