//! Values that NVTX ranges and marks carry.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::context::Context;
use super::row::Row;
use super::source::Value;
use crate::Error;
use crate::json_attributes::attribute;

/// Key of a value without a name.
const PAYLOAD: &str = "payload";

mod column {
    pub const UNSIGNED_64: usize = 7;
    pub const FIRST_OF_NUMBERS: usize = 8;
    pub const LAST_OF_NUMBERS: usize = 12;
    pub const JSON: usize = 13;
    pub const JSON_ID: usize = 14;
    pub const BYTES: usize = 15;
}

/// The values of a row by key: the members of a structure, or a single value as `payload`.
pub fn members(record: Row<'_>, context: &mut Context<'_>) -> Map<String, Json> {
    let mut found = Map::new();
    let single = number(record);
    found.extend(single.map(|value| (PAYLOAD.to_owned(), value)));
    if let Some(data) = bytes(record) {
        found.extend(context.schemas.members(data, context.notes));
    }
    let Some(text) = json_text(record, context) else {
        return found;
    };
    match serde_json::from_str(&text) {
        Ok(Json::Object(members)) => found.extend(members),
        Ok(Json::Null) => {}
        Ok(value) => drop(found.insert(PAYLOAD.to_owned(), value)),
        Err(_) => drop(found.insert(PAYLOAD.to_owned(), text.into_owned().into())),
    }
    found
}

fn number(record: Row<'_>) -> Option<Json> {
    // The database has signed numbers only: those beyond are negative there.
    if let Some(Value::Int(value)) = record.values.get(column::UNSIGNED_64) {
        return Some(value.cast_unsigned().into());
    }
    let numbers = column::FIRST_OF_NUMBERS..=column::LAST_OF_NUMBERS;
    numbers
        .into_iter()
        .find_map(|at| match record.values.get(at)? {
            Value::Int(value) => Some((*value).into()),
            Value::Real(value) => Some((*value).into()),
            _ => None,
        })
}

/// Bytes of a structure. In Parquet, bytes that are valid text come as text.
fn bytes(record: Row<'_>) -> Option<&[u8]> {
    match record.values.get(column::BYTES)? {
        Value::Blob(bytes) => Some(bytes),
        Value::Text(text) => Some(text.as_bytes()),
        _ => None,
    }
}

fn json_text<'r>(record: Row<'r>, context: &mut Context<'_>) -> Option<Cow<'r, str>> {
    if let Some(Value::Text(text)) = record.values.get(column::JSON) {
        return Some(Cow::Borrowed(text));
    }
    let id = record.int(column::JSON_ID, context.notes);
    context.string(id).map(|text| Cow::Owned(text.to_owned()))
}

/// Writes a row's values as attributes; lists and structures as JSON.
pub fn attributes(
    span: u64,
    members: &Map<String, Json>,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    for (key, value) in members {
        if let Some(row) = attribute(span, key, value, context.into, context.notes) {
            context.add(&row)?;
        }
    }
    Ok(())
}
