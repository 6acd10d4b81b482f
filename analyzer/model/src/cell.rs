//! One value of a table, whatever its type.

use serde::{Serialize, Serializer};
use trueno_plugin::Column;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not measured or unknown.
    Null,
    I64(i64),
    U64(u64),
    /// May be NaN or infinite.
    F64(f64),
    Bool(bool),
    Text(&'a str),
}

impl<'a> Cell<'a> {
    pub fn at(column: &'a Column, row: usize) -> Cell<'a> {
        let found = match column {
            Column::I64(c) => c.get(row).map(Cell::I64),
            Column::U64(c) => c.get(row).map(Cell::U64),
            Column::F64(c) => c.get(row).map(Cell::F64),
            Column::Bool(c) => c.get(row).map(Cell::Bool),
            Column::Text(c) => c.get(row).map(Cell::Text),
        };
        found.unwrap_or(Cell::Null)
    }

    /// For shares and bars. Integers beyond 2^53 lose their last digits.
    pub fn number(self) -> Option<f64> {
        match self {
            Cell::I64(value) => Some(value as f64),
            Cell::U64(value) => Some(value as f64),
            Cell::F64(value) if value.is_finite() => Some(value),
            _ => None,
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Cell::Null => to.serialize_unit(),
            Cell::I64(value) => to.serialize_i64(value),
            Cell::U64(value) => to.serialize_u64(value),
            Cell::F64(value) if value.is_finite() => to.serialize_f64(value),
            Cell::F64(_) => to.serialize_unit(),
            Cell::Bool(value) => to.serialize_bool(value),
            Cell::Text(text) => to.serialize_str(text),
        }
    }
}
