//! Attributes of rows from JSON.

use serde_json::Value;
use trueno_format::run_writer::RunWriter;
use trueno_format::schema::AttributeRow;

use crate::Notes;

pub const MAX_TEXT_BYTES: usize = 64 << 10;

/// Converts a member of an object to an attribute and its type; lists and objects become JSON. `None` if the value
/// is null or too long.
pub fn attribute(
    span: u64,
    key: &str,
    value: &Value,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Option<AttributeRow> {
    let mut row = AttributeRow {
        span,
        name: into.text(key),
        ..AttributeRow::default()
    };
    let text = match value {
        Value::Null => return None,
        Value::Bool(value) => {
            row.truth = Some(*value);
            return Some(row);
        }
        Value::Number(number) => {
            row.integer = number.as_i64();
            row.unsigned = number.as_u64().filter(|_| row.integer.is_none());
            let is_whole = row.integer.is_some() || row.unsigned.is_some();
            row.number = number.as_f64().filter(|_| !is_whole);
            return Some(row);
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() > MAX_TEXT_BYTES {
        notes.leave_out_argument(key);
        return None;
    }
    row.text = Some(into.text(&text));
    Some(row)
}
