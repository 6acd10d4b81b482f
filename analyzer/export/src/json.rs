//! Values of frames as JSON, put together by hand: a row is written, never built.

use std::fmt::Write as _;

use polars::prelude::{AnyValue, Column, DataFrame};
use trueno_engine::attributes::AttributeValue;

/// Above this, readers that keep numbers as doubles would change them: such integers are texts.
const EXACT_IN_DOUBLES: i128 = 1 << 53;

/// A text in quotes.
pub(super) fn text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// One value; `false`, and nothing written, for a null.
pub(super) fn value(out: &mut String, column: &Column, row: usize) -> bool {
    match column.get(row) {
        Err(_) | Ok(AnyValue::Null) => return false,
        Ok(AnyValue::Boolean(value)) => {
            let _ = write!(out, "{value}");
        }
        Ok(AnyValue::String(value)) => text(out, value),
        Ok(found) if found.get_str().is_some() => text(out, found.get_str().unwrap_or_default()),
        Ok(AnyValue::Float64(value)) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        Ok(found) if found.is_integer() => integer(out, found.extract().unwrap_or_default()),
        Ok(found) => text(out, &found.to_string()),
    }
    true
}

pub(super) fn attribute(out: &mut String, value: AttributeValue<'_>) {
    match value {
        AttributeValue::Integer(value) => integer(out, value.into()),
        AttributeValue::Unsigned(value) => integer(out, value.into()),
        AttributeValue::Number(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        AttributeValue::Truth(value) => {
            let _ = write!(out, "{value}");
        }
        other => text(out, &other.to_string()),
    }
}

/// A number, or a text where doubles would not hold it.
pub(super) fn integer(out: &mut String, value: i128) {
    let quote = if value.abs() > EXACT_IN_DOUBLES {
        "\""
    } else {
        ""
    };
    let _ = write!(out, "{quote}{value}{quote}");
}

/// `"name":value` of every column that has one in this row, without `except`.
pub(super) fn members(out: &mut String, frame: &DataFrame, row: usize, except: &[&str]) {
    for column in frame.columns() {
        let name = column.name().as_str();
        if except.contains(&name) {
            continue;
        }
        let before = out.len();
        if !out.ends_with('{') {
            out.push(',');
        }
        text(out, name);
        out.push(':');
        if !value(out, column, row) {
            out.truncate(before);
        }
    }
}

/// Nanoseconds as microseconds with three decimals: exact.
pub(super) fn micros(out: &mut String, ns: i64) {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let _ = write!(out, "{sign}{}.{:03}", ns / 1000, ns % 1000);
}
