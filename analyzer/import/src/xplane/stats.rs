//! Stats: named values of events and planes.

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::AttributeRow;

use super::messages::{StatValue, XPlane, XStat};
use crate::Notes;
use crate::json_attributes::MAX_TEXT_BYTES;

pub fn name_of<'p>(plane: &'p XPlane, stat: &XStat) -> &'p [u8] {
    let metadata = plane.stat_metadata.get(&stat.metadata_id);
    metadata.map_or(b"", |metadata| metadata.name.as_slice())
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'p> {
    Double(f64),
    Unsigned(u64),
    Integer(i64),
    Text(&'p [u8]),
}

impl<'p> Value<'p> {
    /// `None` if the stat has no value, or bytes that are not text.
    pub fn new(plane: &'p XPlane, stat: &'p XStat) -> Option<Self> {
        Some(match stat.value.as_ref()? {
            StatValue::Double(value) => Value::Double(*value),
            StatValue::Unsigned(value) => Value::Unsigned(*value),
            StatValue::Integer(value) => Value::Integer(*value),
            StatValue::Text(text) => Value::Text(text),
            StatValue::Bytes(_) => return None,
            StatValue::Reference(id) => {
                let id = i64::try_from(*id).ok()?;
                Value::Text(&plane.stat_metadata.get(&id)?.name)
            }
        })
    }

    pub fn unsigned(self) -> Option<u64> {
        match self {
            Value::Unsigned(value) => Some(value),
            Value::Integer(value) => u64::try_from(value).ok(),
            // Up to here each whole number has a value of its own.
            Value::Double(value) if value >= 0.0 && value.fract() == 0.0 && value < 9e15 => {
                Some(value as u64)
            }
            Value::Double(_) | Value::Text(_) => None,
        }
    }

    pub fn number(self) -> Option<f64> {
        match self {
            Value::Double(value) => Some(value),
            Value::Unsigned(value) => Some(value as f64),
            Value::Integer(value) => Some(value as f64),
            Value::Text(_) => None,
        }
    }

    pub fn text(self) -> Option<&'p [u8]> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn shown(self) -> String {
        match self {
            Value::Double(value) => value.to_string(),
            Value::Unsigned(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        }
    }
}

pub fn attribute(
    span: u64,
    name: &[u8],
    value: Value<'_>,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Option<AttributeRow> {
    let key = String::from_utf8_lossy(name);
    let mut row = AttributeRow {
        span,
        name: into.text(&key),
        ..AttributeRow::default()
    };
    match value {
        Value::Double(value) => row.number = Some(value),
        Value::Integer(value) => row.integer = Some(value),
        Value::Unsigned(value) => match i64::try_from(value) {
            Ok(value) => row.integer = Some(value),
            Err(_) => row.unsigned = Some(value),
        },
        Value::Text(text) if text.len() > MAX_TEXT_BYTES => {
            notes.leave_out_argument(&key);
            return None;
        }
        Value::Text(text) => row.text = Some(into.text(&String::from_utf8_lossy(text))),
    }
    Some(row)
}
