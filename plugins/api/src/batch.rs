//! Some rows of an input, as they are lent.

use crate::column::ColumnType;
use crate::error::Result;
use crate::slice::{BoolSlice, ColumnSlice, F64Slice, I64Slice, TextSlice, U64Slice};
use crate::table::{no_column, other_type};

/// Some consecutive rows of an input, as [`Batches`](crate::Batches) lends them.
#[derive(Debug)]
pub struct Batch<'a> {
    pub(crate) name: &'a str,
    pub(crate) fields: &'a [(String, ColumnType)],
    pub(crate) columns: Vec<ColumnSlice<'a>>,
    pub(crate) rows: usize,
}

macro_rules! typed {
    ($($(#[$doc:meta])* $method:ident $variant:ident $slice:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// There is no such column, or it has another type.
        pub fn $method(&self, column: &str) -> Result<$slice<'a>> {
            match self.column(column)? {
                ColumnSlice::$variant(found) => Ok(found),
                other => Err(other_type(self.name, column, other.ty(), ColumnType::$variant)),
            }
        }
    )*};
}

impl<'a> Batch<'a> {
    /// Rows, at least one.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns whether there is such a column.
    pub fn has(&self, column: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == column)
    }

    /// A column of any type.
    ///
    /// # Errors
    /// There is no such column.
    pub fn column(&self, column: &str) -> Result<ColumnSlice<'a>> {
        let at = self.fields.iter().position(|(name, _)| name == column);
        at.map(|at| self.columns[at]).ok_or_else(|| {
            let names = self.fields.iter().map(|(name, _)| name.as_str());
            no_column(self.name, column, names)
        })
    }

    typed! {
        /// A column of signed integers.
        i64 I64 I64Slice;
        /// A column of unsigned integers.
        u64 U64 U64Slice;
        /// A column of doubles.
        f64 F64 F64Slice;
        /// A column of truth values.
        bool Bool BoolSlice;
        /// A column of text.
        text Text TextSlice;
    }
}
