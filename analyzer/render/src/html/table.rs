//! A table: its first rows as they stand without a script.

use std::fmt::Write;

use trueno_model::{Cell, units};
use trueno_plugin::{Table, agreeing};

use super::text;
use crate::glossary;
use crate::view::{View, heading};

/// Longer texts may break anywhere.
const LONG: usize = 48;

pub(super) fn is_position(name: &str) -> bool {
    ["start_ns", "end_ns", "time_ns"]
        .iter()
        .any(|end| name == *end || name.ends_with(&format!("_{end}")))
}

/// Writes a collapsible table with its name as heading (`h3`, `h4`).
pub fn write(
    out: &mut String,
    id: &str,
    table: &Table,
    tag: &str,
    top: usize,
    kept: usize,
    open: bool,
) {
    let shown = |rows: usize| units::show(Cell::U64(rows as u64), units::Unit::None);
    let count = shown(table.rows());
    let rows = agreeing(table.rows(), "row", "rows");
    let state = if open { " open" } else { "" };
    let _ = writeln!(
        out,
        "<details class=\"table\" id=\"{id}\"{state}><summary><{tag}>{}</{tag}> <span class=\"faint\">{count} {rows}</span></summary>",
        text(&heading(table.name()))
    );
    plain(out, table, top);
    if table.rows() > kept {
        let _ = writeln!(
            out,
            "<p class=\"note\">The page holds the first {} of {count} rows; <code>report --csv DIR</code> and <code>--json FILE</code> have all.</p>",
            shown(kept)
        );
    }
    out.push_str("</details>\n");
}

fn recorded<'a>(table: &'a Table, column: &str, row: usize) -> Option<&'a str> {
    match Cell::at(table.column(column).ok()?, row) {
        Cell::Text(name) => Some(name),
        _ => None,
    }
}

pub(super) fn plain(out: &mut String, table: &Table, top: usize) {
    view(out, table, &View::new(table, top));
}

pub(super) fn view(out: &mut String, table: &Table, view: &View) {
    let mut notes = view.constant.clone();
    if !view.columns.is_empty() {
        out.push_str("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
        for column in &view.columns {
            let class = if column.right_aligned {
                " class=\"r\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<th scope=\"col\"{class}{}>{}</th>",
                glossary::explain(&column.name)
                    .map_or(String::new(), |words| format!(" title=\"{}\"", text(words))),
                text(&column.heading)
            );
        }
        out.push_str("</tr></thead>\n<tbody>");
        for row in 0..view.rows {
            out.push_str("<tr>");
            for column in &view.columns {
                let class = match column.right_aligned {
                    true => " class=\"r\"",
                    false if column.cells[row].chars().count() > LONG => " class=\"long\"",
                    false => "",
                };
                let title = recorded(table, &column.name, row)
                    .filter(|name| **name != column.cells[row])
                    .map_or(String::new(), |name| format!(" title=\"{}\"", text(name)));
                let _ = write!(out, "<td{class}{title}>{}</td>", text(&column.cells[row]));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }
    if view.rows == 0 {
        notes.push("no rows".to_owned());
    }
    if let Some(rest) = &view.rest {
        let _ = writeln!(out, "<p class=\"note rest\">{}</p>", text(rest));
    }
    if !view.not_measured.is_empty() {
        notes.push(format!("not measured: {}", view.not_measured.join(", ")));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", text(&notes.join("; ")));
    }
}
