//! The block of JSON: exact values of tables, texts once each.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value, json};
use trueno_model::units::Unit;
use trueno_model::{Cell, Report, width};
use trueno_plugin::{Column, Table};

use crate::view::{View, display_names, heading};

pub(super) const MAX_ROWS: usize = 1_000;
/// Limit on cells of all tables together. The longest tables are cut to reach it.
const MAX_CELLS: usize = 90_000;
/// Largest range in which doubles represent all integers.
const EXACT: u64 = 1 << 53;

/// JSON for the page's scripts: tables by element id, with at most `kept` rows each, and the timeline.
pub fn block(
    tables: &[(String, &Table)],
    kept: usize,
    top: usize,
    timeline: Option<Value>,
) -> String {
    let mut texts = Texts::default();
    let tables: Vec<Value> = tables
        .iter()
        .map(|(id, one)| table(id, one, kept, &mut texts))
        .collect();
    for_script(&json!({
        "top": top,
        "texts": printable(texts.texts.iter().copied()),
        "tables": tables,
        "timeline": timeline,
    }))
}

/// Escapes control characters, so that a name cannot hide or reverse the text next to it.
pub(super) fn printable<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Cow<'a, str>> {
    texts.map(width::printable).collect()
}

/// Rows of each table in the page: at most [`MAX_ROWS`], less if there are too many cells.
pub(super) fn rows_kept(report: &Report) -> usize {
    let tables = || report.sections.iter().flat_map(|section| &section.tables);
    let cells = |most: usize| -> usize {
        let each = tables().map(|table| table.rows().min(most) * table.columns().len());
        each.sum()
    };
    let mut most = MAX_ROWS;
    while most > 50 && cells(most) > MAX_CELLS {
        most = most * 3 / 4;
    }
    most
}

#[derive(Default)]
pub(super) struct Texts<'a> {
    numbers: HashMap<&'a str, usize>,
    pub(super) texts: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }
}

/// The columns of a table whose values differ, with the first rows of each.
pub(super) fn table<'a>(id: &str, table: &'a Table, most: usize, texts: &mut Texts<'a>) -> Value {
    let view = View::new(table, 0);
    let rows = table.rows().min(most);
    let columns: Vec<Value> = table
        .columns()
        .filter(|(name, _)| view.columns.iter().any(|column| column.name == *name))
        .map(|(name, column)| {
            let (kind, cells) = cells(column, rows, texts);
            let mut value = json!({
                "n": name,
                "h": heading(name),
                "u": unit(name),
                "k": kind,
                "f": matches!(column, Column::F64(_)),
                "c": cells,
            });
            let short = short(column, rows, texts);
            if !short.is_empty() {
                value["s"] = short.into();
            }
            value
        })
        .collect();
    json!({ "id": id, "rows": rows, "of": table.rows(), "columns": columns })
}

fn short<'a>(column: &'a Column, rows: usize, texts: &mut Texts<'a>) -> Map<String, Value> {
    let Column::Text(names) = column else {
        return Map::new();
    };
    let shown = display_names(column);
    let names = names.iter().take(rows).flatten();
    let names = names.map(|name| (name, shown.shown(name)));
    let names = names.filter(|(name, shown)| name != shown);
    let by_number = names.map(|(name, shown)| {
        let shown = width::printable(shown).into_owned();
        (texts.number(name).to_string(), shown.into())
    });
    by_number.collect()
}

/// `t`: text numbers; `n`: numbers; `i`: integers too long for a double, as texts; `b`: booleans.
fn cells<'a>(column: &'a Column, rows: usize, texts: &mut Texts<'a>) -> (&'static str, Vec<Value>) {
    let is_long = |row: usize| match Cell::at(column, row) {
        Cell::I64(value) => value.unsigned_abs() > EXACT,
        Cell::U64(value) => value > EXACT,
        _ => false,
    };
    let long = (0..rows).any(is_long);
    let mut value = |row: usize| match Cell::at(column, row) {
        Cell::Null => Value::Null,
        Cell::Text(text) => texts.number(text).into(),
        Cell::Bool(value) => value.into(),
        Cell::I64(value) if long => value.to_string().into(),
        Cell::U64(value) if long => value.to_string().into(),
        Cell::I64(value) => value.into(),
        Cell::U64(value) => value.into(),
        Cell::F64(value) if value.is_nan() => "NaN".into(),
        Cell::F64(value) if value.is_infinite() => {
            if value > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        Cell::F64(value) => value.into(),
    };
    let cells = (0..rows).map(&mut value).collect();
    let kind = match column {
        Column::Text(_) => "t",
        Column::Bool(_) => "b",
        _ if long => "i",
        _ => "n",
    };
    (kind, cells)
}

fn unit(column: &str) -> &'static str {
    match Unit::from_column(column) {
        Unit::Nanoseconds if super::table::is_position(column) => "at",
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "B",
        Unit::BytesPerSecond => "B/s",
        Unit::PerSecond => "/s",
        Unit::Share => "%",
        Unit::Label => "id",
        Unit::None => "",
    }
}

/// JSON for a `script` element: nothing in it can end the element or begin a comment.
pub(super) fn for_script(value: &Value) -> String {
    let plain = value.to_string();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}
