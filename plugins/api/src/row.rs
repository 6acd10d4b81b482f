//! Structs whose fields are the columns of a table.

use crate::build::TableBuilder;
use crate::column::{Column, ColumnType};
use crate::error::{Error, Result};
use crate::table::Table;

/// A field of a [`table_row!`](crate::table_row) struct: an `i64`, `u64`, `f64`, `bool` or `&str`, or an `Option` of
/// one if the column may have nulls.
pub trait Cell<'a>: Sized {
    /// Type of its column.
    const TYPE: ColumnType;
    /// Appends the value to a column of type [`TYPE`](Self::TYPE); does nothing if the column has another type.
    fn push(self, column: &mut Column);
    /// The value in a row; `None` if the column has another type, or holds a null that the field cannot hold.
    fn get(column: &'a Column, row: usize) -> Option<Self>;
}

macro_rules! cells {
    ($($ty:ty, $variant:ident;)*) => {$(
        impl<'a> Cell<'a> for $ty {
            const TYPE: ColumnType = ColumnType::$variant;

            fn push(self, column: &mut Column) {
                Some(self).push(column)
            }

            fn get(column: &'a Column, row: usize) -> Option<Self> {
                <Option<Self> as Cell<'a>>::get(column, row).flatten()
            }
        }

        impl<'a> Cell<'a> for Option<$ty> {
            const TYPE: ColumnType = ColumnType::$variant;

            fn push(self, column: &mut Column) {
                if let Column::$variant(cells) = column {
                    cells.push(self);
                }
            }

            fn get(column: &'a Column, row: usize) -> Option<Self> {
                match column {
                    Column::$variant(cells) => Some(cells.get(row)),
                    _ => None,
                }
            }
        }
    )*};
}
cells! {
    i64, I64;
    u64, U64;
    f64, F64;
    bool, Bool;
    &'a str, Text;
}

/// A struct made by [`table_row!`](crate::table_row).
pub trait TableRow<'a>: Sized {
    /// Name and type of each column.
    const COLUMNS: &'static [(&'static str, ColumnType)];
    /// Appends the row to `columns`, which must be in the order of [`COLUMNS`](Self::COLUMNS).
    fn push(self, columns: &mut [Column]);
    /// Reads a row. The error is the index of the column that holds a null although the field cannot.
    fn get(columns: &[&'a Column], row: usize) -> std::result::Result<Self, usize>;
}

impl TableBuilder {
    /// Adds a column for each field of a [`table_row!`](crate::table_row) struct.
    pub fn rows<'a, R: TableRow<'a>>(self, rows: impl IntoIterator<Item = R>) -> Self {
        let types = R::COLUMNS.iter().map(|(_, ty)| Column::new(*ty));
        let mut columns: Vec<Column> = types.collect();
        for row in rows {
            row.push(&mut columns);
        }
        let named = R::COLUMNS.iter().zip(columns);
        named.fold(self, |table, ((name, _), column)| {
            table.column(name, column)
        })
    }
}

impl Table {
    /// The rows as structs of [`table_row!`](crate::table_row). An optional input that does not exist has none.
    ///
    /// # Errors
    /// A column is not there or has another type; of a row, it is null in a column whose field is no `Option`.
    pub fn read<'a, R: TableRow<'a>>(&'a self) -> Result<impl Iterator<Item = Result<R>> + 'a> {
        let mut columns = Vec::with_capacity(R::COLUMNS.len());
        if !self.is_missing() {
            for (name, ty) in R::COLUMNS {
                columns.push(self.column_of(name, *ty)?);
            }
        }
        Ok((0..self.rows()).map(move |row| {
            R::get(&columns, row).map_err(|at| {
                let (table, column) = (self.name(), R::COLUMNS[at].0);
                Error::bad_input(format!(
                    "table `{table}`, row {row}: column `{column}` is null"
                ))
            })
        }))
    }
}

/// Declares a struct whose fields are the columns of a table, to read them ([`Table::read`]) and to emit them
/// ([`TableBuilder::rows`]).
///
/// Fields are [`Cell`]s. A struct with text has one lifetime, that of what it borrows from.
///
/// ```
/// use trueno_plugin::{Table, table_row};
///
/// table_row! {
///     struct Call<'a> {
///         name: &'a str,
///         dur_ns: i64,
///         flops: Option<u64>,
///     }
/// }
///
/// let calls = [
///     Call { name: "norm", dur_ns: 10, flops: None },
///     Call { name: "ffn", dur_ns: 60, flops: Some(800) },
/// ];
/// let table = Table::build("calls").rows(calls).finish()?;
/// let total_ns = table.read::<Call>()?.map(|call| Ok(call?.dur_ns)).sum::<trueno_plugin::Result<i64>>()?;
/// assert_eq!(total_ns, 70);
/// # Ok::<(), trueno_plugin::Error>(())
/// ```
#[macro_export]
macro_rules! table_row {
    (
        $(#[$meta:meta])* $vis:vis struct $row:ident<$life:lifetime> {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $row<$life> {
            $($(#[$field_meta])* $field_vis $field: $ty,)+
        }
        $crate::table_row!(@impl $life, $row<$life>, $($field: $ty,)+);
    };
    (
        $(#[$meta:meta])* $vis:vis struct $row:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $row {
            $($(#[$field_meta])* $field_vis $field: $ty,)+
        }
        $crate::table_row!(@impl 'a, $row, $($field: $ty,)+);
    };
    (@impl $life:lifetime, $row:ty, $($field:ident: $ty:ty,)+) => {
        impl<$life> $crate::TableRow<$life> for $row {
            const COLUMNS: &'static [(&'static str, $crate::ColumnType)] =
                &[$((stringify!($field), <$ty as $crate::Cell<$life>>::TYPE)),+];

            fn push(self, columns: &mut [$crate::Column]) {
                let mut columns = columns.iter_mut();
                $(if let Some(column) = columns.next() {
                    $crate::Cell::push(self.$field, column);
                })+
            }

            fn get(
                columns: &[&$life $crate::Column],
                row: usize,
            ) -> ::std::result::Result<Self, usize> {
                let mut next = 0..;
                let mut at = || next.next().unwrap_or(0);
                Ok(Self {
                    $($field: {
                        let at = at();
                        <$ty as $crate::Cell<$life>>::get(columns[at], row).ok_or(at)?
                    },)+
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    table_row! {
        #[derive(Debug, PartialEq)]
        struct Row<'a> {
            name: &'a str,
            signed: i64,
            unsigned: Option<u64>,
            share: Option<f64>,
            is_device: bool,
        }
    }

    table_row! {
        #[derive(Debug, PartialEq)]
        struct Names {
            signed: Option<i64>,
        }
    }

    fn row(name: &str, unsigned: Option<u64>) -> Row<'_> {
        Row {
            name,
            signed: -1,
            unsigned,
            share: unsigned.map(|value| value as f64 / 2.0),
            is_device: true,
        }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let table = Table::build("t").rows([row("a", None), row("ß", Some(3))]);
        let table = table.finish().unwrap();
        let back: Vec<Row> = table.read().unwrap().collect::<Result<_>>().unwrap();
        assert_eq!(back, [row("a", None), row("ß", Some(3))]);
        let columns: Vec<&str> = table.columns().map(|(name, _)| name).collect();
        assert_eq!(
            columns,
            ["name", "signed", "unsigned", "share", "is_device"]
        );
        let some: Vec<Names> = table.read().unwrap().collect::<Result<_>>().unwrap();
        assert_eq!(
            some,
            [Names { signed: Some(-1) }, Names { signed: Some(-1) }]
        );
        let none = Table::missing("t");
        assert_eq!(none.read::<Row>().unwrap().count(), 0);
    }

    #[test]
    fn a_null_a_type_and_a_name_that_do_not_fit_are_named() {
        let table = Table::build("t").i64("signed", [Some(1), None]);
        table_row! {
            struct Whole {
                signed: i64,
            }
        }
        table_row! {
            struct Other {
                signed: u64,
            }
        }
        let table = table.finish().unwrap();
        let rows: Vec<Result<i64>> = table
            .read::<Whole>()
            .unwrap()
            .map(|row| Ok(row?.signed))
            .collect();
        assert_eq!(rows[0].as_ref().unwrap(), &1);
        assert_eq!(
            rows[1].as_ref().unwrap_err().to_string(),
            "table `t`, row 1: column `signed` is null"
        );
        let error = table.read::<Other>().map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("`signed`"), "{error}");
        let error = table.read::<Row>().map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("`name`"), "{error}");
    }
}
