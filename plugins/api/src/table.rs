//! A table in memory: named columns of equal length.

use std::fmt;

use crate::build::TableBuilder;
use crate::column::{BoolColumn, Column, ColumnType, F64Column, I64Column, U64Column};
use crate::error::{Error, Result};
use crate::text::TextColumn;

/// Named columns of equal length, owned.
///
/// [`Run::table`](crate::Run::table) reads one; [`Table::build`] starts one to emit.
/// Its `Display` is a text grid, made for messages and snapshots in tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    name: String,
    columns: Vec<(String, Column)>,
    rows: usize,
    missing: bool,
}

macro_rules! typed {
    ($($(#[$doc:meta])* $method:ident $variant:ident $column:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// There is no such column, or it has another type.
        pub fn $method(&self, column: &str) -> Result<&$column> {
            if self.missing {
                static EMPTY: std::sync::LazyLock<$column> = std::sync::LazyLock::new(<$column>::default);
                return Ok(&EMPTY);
            }
            match self.column(column)? {
                Column::$variant(found) => Ok(found),
                other => Err(other_type(&self.name, column, other.ty(), ColumnType::$variant)),
            }
        }
    )*};
}

impl Table {
    /// Starts a table to emit. Names are `[a-z][a-z0-9_]*`.
    pub fn build(name: impl Into<String>) -> TableBuilder {
        TableBuilder::new(name)
    }

    /// A table of these columns.
    ///
    /// # Errors
    /// Two columns have one name or different lengths, or a name holds a NUL byte.
    pub fn from_columns(name: impl Into<String>, columns: Vec<(String, Column)>) -> Result<Self> {
        let name = name.into();
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        for (i, (column, cells)) in columns.iter().enumerate() {
            if cells.len() != rows {
                return Err(Error::failed(format!(
                    "table `{name}`: column `{}` has {rows} rows, column `{column}` has {}",
                    columns[0].0,
                    cells.len()
                )));
            }
            if column.contains('\0') {
                return Err(Error::failed(format!(
                    "table `{name}`: the column name {column:?} holds a NUL byte"
                )));
            }
            if columns[..i].iter().any(|(earlier, _)| earlier == column) {
                return Err(Error::failed(format!(
                    "table `{name}`: two columns are named `{column}`"
                )));
            }
        }
        Ok(Self {
            name,
            columns,
            rows,
            missing: false,
        })
    }

    /// The table that an optional input reads as when it does not exist.
    pub fn missing(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            rows: 0,
            missing: true,
        }
    }

    /// For a table that came without a name, as streams do.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Name of the input or of the output.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns whether this is an optional input whose table does not exist. It has no rows, and
    /// every column is empty.
    pub fn is_missing(&self) -> bool {
        self.missing
    }

    /// Name and column, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, &Column)> + '_ {
        self.columns
            .iter()
            .map(|(name, column)| (name.as_str(), column))
    }

    /// Takes the columns out.
    pub fn into_columns(self) -> Vec<(String, Column)> {
        self.columns
    }

    /// Returns whether there is such a column.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| name == column)
    }

    /// A column of any type.
    ///
    /// # Errors
    /// There is no such column.
    pub fn column(&self, column: &str) -> Result<&Column> {
        match self.columns.iter().find(|(name, _)| name == column) {
            Some((_, found)) => Ok(found),
            None => {
                let names = self.columns.iter().map(|(name, _)| name.as_str());
                Err(no_column(&self.name, column, names))
            }
        }
    }

    pub(crate) fn column_of(&self, column: &str, ty: ColumnType) -> Result<&Column> {
        let found = self.column(column)?;
        if found.ty() == ty {
            Ok(found)
        } else {
            Err(other_type(&self.name, column, found.ty(), ty))
        }
    }

    typed! {
        /// A column of signed integers.
        i64 I64 I64Column;
        /// A column of unsigned integers.
        u64 U64 U64Column;
        /// A column of doubles.
        f64 F64 F64Column;
        /// A column of truth values.
        bool Bool BoolColumn;
        /// A column of text.
        text Text TextColumn;
    }
}

pub(crate) fn no_column<'a>(
    table: &str,
    column: &str,
    names: impl Iterator<Item = &'a str>,
) -> Error {
    Error::bad_input(format!(
        "table `{table}` has no column `{column}` (it has {})",
        list(names)
    ))
}

pub(crate) fn other_type(table: &str, column: &str, found: ColumnType, asked: ColumnType) -> Error {
    Error::bad_input(format!(
        "table `{table}`: column `{column}` is {found}, but was read as {asked} (hint: read it with .{found}(), or cast it in the query)"
    ))
}

/// Formats names as `` `a`, `b` ``, or `nothing` if there are none.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<Vec<String>> =
            vec![self.columns.iter().map(|(name, _)| name.clone()).collect()];
        for row in 0..self.rows {
            let cell = |(_, column): &(String, Column)| {
                column.cell_text(row).unwrap_or_else(|| "null".to_owned())
            };
            lines.push(self.columns.iter().map(cell).collect());
        }
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                lines
                    .iter()
                    .map(|line| line[i].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for line in &lines {
            let mut text = String::new();
            for (i, cell) in line.iter().enumerate() {
                let width = widths[i];
                let gap = if i == 0 { "" } else { "  " };
                match &self.columns[i].1 {
                    Column::Text(_) => text.push_str(&format!("{gap}{cell:<width$}")),
                    _ => text.push_str(&format!("{gap}{cell:>width$}")),
                }
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}
