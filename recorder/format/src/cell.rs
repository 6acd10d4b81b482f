//! The cells of a row.

use crate::error::Error;
use crate::schema::{ColumnType, Table};
use crate::text::Text;

/// One cell. Integers and texts fit their own column types only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// Value of a column of 32 or 64 bits.
    U64(u64),
    /// Signed.
    I64(i64),
    /// Floating-point.
    F64(f64),
    /// Yes or no.
    Bool(bool),
    /// From [`RunWriter::text`](crate::run_writer::RunWriter::text).
    Text(Text),
}

impl From<Option<u64>> for Cell {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::Null, Self::U64)
    }
}

impl From<Option<i64>> for Cell {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::I64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::F64)
    }
}

impl From<Option<Text>> for Cell {
    fn from(value: Option<Text>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }
}

impl Cell {
    /// The value in the form in which rows wait for their batch.
    pub(crate) fn word(self) -> Option<u64> {
        Some(match self {
            Self::Null => return None,
            Self::U64(value) => value,
            Self::I64(value) => value as u64,
            Self::F64(value) => value.to_bits(),
            Self::Bool(value) => u64::from(value),
            Self::Text(text) => u64::from(text.number()),
        })
    }

    fn fits(self, ty: ColumnType) -> bool {
        match self {
            Self::Null => true,
            Self::U64(value) => {
                ty == ColumnType::U64 || ty == ColumnType::U32 && u32::try_from(value).is_ok()
            }
            Self::I64(_) => ty == ColumnType::I64,
            Self::F64(_) => ty == ColumnType::F64,
            Self::Bool(_) => ty == ColumnType::Bool,
            Self::Text(_) => ty == ColumnType::Text,
        }
    }
}

/// Rejects cells that do not form a row of the table.
pub(crate) fn check(table: &Table, cells: &[Cell]) -> Result<(), Error> {
    let wrong = |problem: String| Error::Row {
        table: table.name,
        problem,
    };
    if cells.len() != table.columns.len() {
        let (expected, found) = (table.columns.len(), cells.len());
        return Err(wrong(format!("expected {expected} cells, found {found}")));
    }
    for (cell, column) in cells.iter().zip(table.columns) {
        if *cell == Cell::Null && !column.nullable {
            return Err(wrong(format!("column {} cannot be null", column.name)));
        }
        if !cell.fits(column.ty) {
            let (name, ty) = (column.name, column.ty);
            return Err(wrong(format!("column {name} is {ty:?}, found {cell:?}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::table;

    #[test]
    fn rows_that_do_not_fit_are_refused_with_the_column() {
        let edges = table("edges").unwrap();
        let kind = Cell::Text(Text::default());
        for (cells, word) in [
            (&[Cell::U64(1), Cell::U64(2)][..], "3 cells"),
            (&[Cell::U64(1), Cell::Null, kind], "to"),
            (&[Cell::U64(1), Cell::I64(2), kind], "to"),
            (&[Cell::U64(1), Cell::U64(2), Cell::U64(3)], "kind"),
        ] {
            let error = check(edges, cells).unwrap_err().to_string();
            assert!(error.contains("edges") && error.contains(word), "{error}");
        }
        assert!(check(edges, &[Cell::U64(1), Cell::U64(2), kind]).is_ok());
    }
}
