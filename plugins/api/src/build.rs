//! Build a table to emit, column by column.

use crate::column::{Column, IntoCell};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::text::IntoText;

/// Columns in the making; [`Run::emit`](crate::Run::emit) takes it as it is.
///
/// Cells are plain values, references, or options of them; `None` is null,
/// which means *not measured*. Units follow from the end of a column's name:
/// `_ns`, `_bytes`, `_share` (a ratio), `_per_s`.
///
/// ```
/// # use trueno_plugin::Table;
/// let table = Table::build("by_category")
///     .text("category", ["ffn", "norm"])
///     .i64("self_ns", [300, 100])
///     .f64("busy_share", [Some(0.75), None])
///     .finish()?;
/// assert_eq!(table.rows(), 2);
/// # Ok::<(), trueno_plugin::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a table is seen only when it is emitted"]
pub struct TableBuilder {
    name: String,
    columns: Vec<(String, Column)>,
}

impl TableBuilder {
    /// Starts a table without columns.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
        }
    }

    /// The name it will have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds signed integers.
    pub fn i64(self, name: &str, cells: impl IntoIterator<Item = impl IntoCell<i64>>) -> Self {
        self.column(name, Column::I64(cells.into_iter().collect()))
    }

    /// Adds unsigned integers.
    pub fn u64(self, name: &str, cells: impl IntoIterator<Item = impl IntoCell<u64>>) -> Self {
        self.column(name, Column::U64(cells.into_iter().collect()))
    }

    /// Adds doubles.
    pub fn f64(self, name: &str, cells: impl IntoIterator<Item = impl IntoCell<f64>>) -> Self {
        self.column(name, Column::F64(cells.into_iter().collect()))
    }

    /// Adds truth values.
    pub fn bool(self, name: &str, cells: impl IntoIterator<Item = impl IntoCell<bool>>) -> Self {
        self.column(name, Column::Bool(cells.into_iter().collect()))
    }

    /// Adds text.
    pub fn text(self, name: &str, cells: impl IntoIterator<Item = impl IntoText>) -> Self {
        self.column(name, Column::Text(cells.into_iter().collect()))
    }

    /// Adds a column that exists already.
    pub fn column(mut self, name: &str, column: Column) -> Self {
        self.columns.push((name.to_owned(), column));
        self
    }

    /// The table.
    ///
    /// # Errors
    /// The name is not `[a-z][a-z0-9_]*`, there is no column, two columns have
    /// one name or different lengths (both are named), or a name holds a NUL byte.
    pub fn finish(self) -> Result<Table> {
        if !is_identifier(&self.name) {
            return Err(Error::failed(format!(
                "the table name {:?} does not fit [a-z][a-z0-9_]*, which is how queries call it",
                self.name
            )));
        }
        if self.columns.is_empty() {
            return Err(Error::failed(format!(
                "table `{}` has no columns",
                self.name
            )));
        }
        Table::from_columns(self.name, self.columns)
    }
}

/// Returns whether a text fits `[a-z][a-z0-9_]*`, as plugin ids and table names do.
pub const fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || !bytes[0].is_ascii_lowercase() {
        return false;
    }
    let mut i = 1;
    while i < bytes.len() {
        if !(bytes[i].is_ascii_lowercase() || bytes[i].is_ascii_digit() || bytes[i] == b'_') {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unequal_lengths_name_both_columns() {
        let error = Table::build("t")
            .i64("start_ns", [1, 2])
            .text("name", ["a"])
            .finish()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "table `t`: column `start_ns` has 2 rows, column `name` has 1"
        );
    }

    #[test]
    fn a_name_is_used_once() {
        let error = Table::build("t")
            .i64("x", [1])
            .u64("x", [1])
            .finish()
            .unwrap_err();
        assert_eq!(error.to_string(), "table `t`: two columns are named `x`");
    }

    #[test]
    fn names_fit_queries() {
        for bad in ["", "By", "9a", "a-b", "a b", "_a", "é"] {
            assert!(Table::build(bad).i64("x", [1]).finish().is_err(), "{bad:?}");
        }
        assert!(Table::build("by_9").i64("x", [1]).finish().is_ok());
        assert!(
            Table::build("t")
                .finish()
                .unwrap_err()
                .to_string()
                .contains("no columns")
        );
        assert!(
            Table::build("t")
                .i64("a\0b", [1])
                .finish()
                .unwrap_err()
                .to_string()
                .contains("NUL")
        );
    }

    #[test]
    fn cells_are_values_references_or_options() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let numbers = vec![1_u64, 2];
        let table = Table::build("t")
            .text("name", &names)
            .text("maybe", [Some("x"), None])
            .u64("n", &numbers)
            .u64("m", [Some(1), None])
            .bool("flag", [true, false])
            .finish()
            .unwrap();
        assert_eq!(
            table.to_string(),
            "name  maybe  n     m   flag\na     x      1     1   true\nb     null   2  null  false\n"
        );
    }
}
