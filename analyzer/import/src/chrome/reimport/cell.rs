//! A value of an export as a cell of its column.

use trueno_format::run_writer::{Cell, RunWriter};
use trueno_format::schema::ColumnType;

use super::event::Field;
use crate::chrome::decimal::integer;
use crate::chrome::scanner::Value;

/// Converts a value; `None` if it does not fit the column's type. Integers beyond 2^53 and numbers that JSON lacks,
/// such as NaN, are written as strings.
pub(super) fn cell(field: &Field, ty: ColumnType, into: &mut RunWriter) -> Option<Cell> {
    let text = std::str::from_utf8(&field.text);
    match (field.kind, ty) {
        (Value::Nested, _) => None,
        (Value::Word, _) if field.text == b"null" => Some(Cell::Null),
        (Value::Word, ColumnType::Bool) => text.ok()?.parse().ok().map(Cell::Bool),
        (Value::Text, ColumnType::Text) => {
            let text = String::from_utf8_lossy(&field.text);
            Some(Cell::Text(into.text(&text)))
        }
        (Value::Word, _) | (_, ColumnType::Bool | ColumnType::Text) => None,
        (_, ColumnType::U32) => Some(Cell::U64(u32::try_from(integer(&field.text)?).ok()?.into())),
        (_, ColumnType::U64) => u64::try_from(integer(&field.text)?).ok().map(Cell::U64),
        (_, ColumnType::I64) => i64::try_from(integer(&field.text)?).ok().map(Cell::I64),
        (_, ColumnType::F64) => text.ok()?.parse().ok().map(Cell::F64),
    }
}
