//! Values of rows as JSON, put together by hand: a row is written, never built.

use std::fmt::Write as _;

use trueno_engine::attributes::AttributeValue;

use super::rows::{OpenTable, Piece, Row, Shape};

/// Larger integers are written as strings, because readers that use doubles would change them.
const EXACT_IN_DOUBLES: u64 = 1 << 53;

#[derive(Default)]
pub(super) struct QuotedTexts(Vec<Option<Box<str>>>);

impl QuotedTexts {
    pub(super) fn get(&mut self, table: &OpenTable, number: u64) -> Option<&str> {
        let at = usize::try_from(number).ok()?;
        if self.0.get(at).is_none_or(Option::is_none) {
            let mut quoted = String::new();
            text(&mut quoted, table.text(number)?);
            if self.0.len() <= at {
                self.0.resize(at + 1, None);
            }
            self.0[at] = Some(quoted.into());
        }
        self.0[at].as_deref()
    }
}

pub(super) fn text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

pub(super) fn value(out: &mut String, value: AttributeValue<'_>) {
    match value {
        AttributeValue::Integer(value) => integer(out, value < 0, value.unsigned_abs()),
        AttributeValue::Unsigned(value) => integer(out, false, value),
        AttributeValue::Number(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        AttributeValue::Truth(value) => out.push_str(if value { "true" } else { "false" }),
        other => text(out, &other.to_string()),
    }
}

/// Writes a number, or a string if a double cannot hold it.
fn integer(out: &mut String, is_negative: bool, value: u64) {
    let quote = if value > EXACT_IN_DOUBLES { "\"" } else { "" };
    out.push_str(quote);
    if is_negative {
        out.push('-');
    }
    unsigned(out, value);
    out.push_str(quote);
}

/// Writes a decimal number without `core::fmt`.
pub(super) fn unsigned(out: &mut String, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// Writes `"name":value` for each column with a value in this row, without `except`.
pub(super) fn members(out: &mut String, row: Row<'_>, except: &[&str]) {
    for (at, name) in row.table.columns.iter().enumerate() {
        if except.contains(&name.as_str()) {
            continue;
        }
        if let Some(found) = row.value(at) {
            member(out, name);
            value(out, found);
        }
    }
}

pub(super) fn member(out: &mut String, name: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    text(out, name);
    out.push(':');
}

/// Members of columns that are equal in many rows, each preceded by a comma.
pub(super) fn same_members(table: &OpenTable, columns: &[(usize, u64)]) -> String {
    let mut out = String::new();
    for (column, bits) in columns {
        if let Some(found) = table.value(*column, *bits) {
            member(&mut out, &table.columns[*column]);
            value(&mut out, found);
        }
    }
    out
}

pub(super) fn shaped_members(
    out: &mut String,
    row: Row<'_>,
    shape: &Shape<String>,
    texts: &mut QuotedTexts,
) {
    let begin = out.len();
    for piece in &shape.pieces {
        match piece {
            Piece::Same(members) => out.push_str(members),
            Piece::Column(at) => {
                let Some(bits) = row.of.bits(*at) else {
                    continue;
                };
                if row.table.is_text(*at) {
                    if let Some(quoted) = texts.get(row.table, bits) {
                        out.push_str(&row.table.members[*at]);
                        out.push_str(quoted);
                    }
                } else if let Some(found) = row.table.value(*at, bits) {
                    out.push_str(&row.table.members[*at]);
                    value(out, found);
                }
            }
        }
    }
    // Every member has a comma before it, but the first.
    if out.len() > begin {
        out.remove(begin);
    }
}

/// Writes nanoseconds as microseconds with three decimals, which is exact.
pub(super) fn micros(out: &mut String, ns: i64) {
    if ns < 0 {
        out.push('-');
    }
    let ns = ns.unsigned_abs();
    unsigned(out, ns / 1000);
    let decimals = ns % 1000;
    out.push('.');
    for digit in [decimals / 100, decimals / 10 % 10, decimals % 10] {
        out.push(char::from(b'0' + digit as u8));
    }
}
