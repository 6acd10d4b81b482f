//! Typed columns: the closed set of types that cross the boundary.

use std::collections::TryReserveError;
use std::fmt;

use crate::slice::{ColumnSlice, PlainSlice};
use crate::text::TextColumn;
use crate::validity::Validity;

/// The type of a column. No other types cross the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Signed 64-bit integer, Arrow `l`.
    I64,
    /// Unsigned 64-bit integer, Arrow `L`.
    U64,
    /// IEEE 754 double, Arrow `g`.
    F64,
    /// Boolean, Arrow `b`.
    Bool,
    /// UTF-8 text with 64-bit offsets, Arrow `U`.
    Text,
}

impl ColumnType {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::I64, Self::U64, Self::F64, Self::Bool, Self::Text];

    /// Name in messages and reports: `i64`, `u64`, `f64`, `bool`, `text`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A contiguous column of one fixed-width type.
///
/// A null row still has a slot in [`values`](Self::values); it holds 0 (or `false`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlainColumn<T> {
    pub(crate) values: Vec<T>,
    pub(crate) validity: Validity,
}

/// Signed 64-bit integers: times and durations in nanoseconds.
pub type I64Column = PlainColumn<i64>;
/// Unsigned 64-bit integers: ids, counts, bytes.
pub type U64Column = PlainColumn<u64>;
/// Doubles: shares and rates.
pub type F64Column = PlainColumn<f64>;
/// Truth values.
pub type BoolColumn = PlainColumn<bool>;

impl<T: Copy> PlainColumn<T> {
    /// Rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns whether any row is null.
    pub fn has_nulls(&self) -> bool {
        self.validity.nulls() > 0
    }

    /// Number of null rows.
    pub fn null_count(&self) -> usize {
        self.validity.nulls()
    }

    /// The value of a row, `None` when it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize) -> Option<T> {
        let value = self.values[row];
        self.validity.is_valid(row).then_some(value)
    }

    /// The value of a row that cannot be null.
    ///
    /// # Panics
    /// If the row is null or there is no such row.
    #[inline]
    #[track_caller]
    pub fn value(&self, row: usize) -> T {
        match self.get(row) {
            Some(value) => value,
            None => panic!("row {row} is null (hint: use get, or leave nulls out in the query)"),
        }
    }

    /// All slots, contiguous. Look at [`has_nulls`](Self::has_nulls) first: a null's slot holds 0.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Values of all rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<T>> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Takes the slots out, nulls as 0.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

impl<T: Copy + Default> PlainColumn<T> {
    pub(crate) fn push(&mut self, value: Option<T>) {
        self.values.push(value.unwrap_or_default());
        self.validity.push(value.is_some());
    }

    /// Zeroes the values of null rows, so that what the producer left there never reaches a result.
    fn try_append(&mut self, slice: &PlainSlice<'_, T>) -> Result<(), TryReserveError> {
        let before = self.values.len();
        self.values.try_reserve(slice.len())?;
        self.values.extend_from_slice(slice.values);
        self.validity.append(&slice.valid);
        if slice.has_nulls() {
            for (row, value) in self.values[before..].iter_mut().enumerate() {
                if !slice.valid.get(row) {
                    *value = T::default();
                }
            }
        }
        Ok(())
    }
}

impl<T: Copy> From<Vec<T>> for PlainColumn<T> {
    fn from(values: Vec<T>) -> Self {
        let mut validity = Validity::default();
        validity.extend_valid(values.len());
        Self { values, validity }
    }
}

impl<T: Copy + Default, C: IntoCell<T>> FromIterator<C> for PlainColumn<T> {
    fn from_iter<I: IntoIterator<Item = C>>(cells: I) -> Self {
        let mut column = Self::default();
        cells
            .into_iter()
            .for_each(|cell| column.push(cell.into_cell()));
        column
    }
}

/// Values of a column of `T`: a `T`, a `&T`, or an `Option` of either.
pub trait IntoCell<T> {
    /// The value, or `None` for null.
    fn into_cell(self) -> Option<T>;
}

// One impl per integer type and shape, so that literals need no suffix.
macro_rules! cells {
    ($($ty:ty),*) => {$(
        impl IntoCell<$ty> for $ty {
            fn into_cell(self) -> Option<$ty> {
                Some(self)
            }
        }
        impl IntoCell<$ty> for &$ty {
            fn into_cell(self) -> Option<$ty> {
                Some(*self)
            }
        }
        impl IntoCell<$ty> for Option<$ty> {
            fn into_cell(self) -> Option<$ty> {
                self
            }
        }
        impl IntoCell<$ty> for &Option<$ty> {
            fn into_cell(self) -> Option<$ty> {
                *self
            }
        }
    )*};
}
cells!(i64, u64, f64, bool);

/// A column of any of the five types.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// See [`ColumnType::I64`].
    I64(I64Column),
    /// See [`ColumnType::U64`].
    U64(U64Column),
    /// See [`ColumnType::F64`].
    F64(F64Column),
    /// See [`ColumnType::Bool`].
    Bool(BoolColumn),
    /// See [`ColumnType::Text`].
    Text(TextColumn),
}

impl Column {
    /// An empty column.
    pub fn new(ty: ColumnType) -> Self {
        match ty {
            ColumnType::I64 => Self::I64(I64Column::default()),
            ColumnType::U64 => Self::U64(U64Column::default()),
            ColumnType::F64 => Self::F64(F64Column::default()),
            ColumnType::Bool => Self::Bool(BoolColumn::default()),
            ColumnType::Text => Self::Text(TextColumn::default()),
        }
    }

    /// Its type.
    pub fn ty(&self) -> ColumnType {
        match self {
            Self::I64(_) => ColumnType::I64,
            Self::U64(_) => ColumnType::U64,
            Self::F64(_) => ColumnType::F64,
            Self::Bool(_) => ColumnType::Bool,
            Self::Text(_) => ColumnType::Text,
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.validity().len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of null rows.
    pub fn null_count(&self) -> usize {
        self.validity().nulls()
    }

    /// Appends the rows of a slice. Does nothing if the slice has another type.
    pub(crate) fn try_append(&mut self, slice: &ColumnSlice<'_>) -> Result<(), TryReserveError> {
        match (self, slice) {
            (Self::I64(to), ColumnSlice::I64(slice)) => to.try_append(slice),
            (Self::U64(to), ColumnSlice::U64(slice)) => to.try_append(slice),
            (Self::F64(to), ColumnSlice::F64(slice)) => to.try_append(slice),
            (Self::Bool(to), ColumnSlice::Bool(slice)) => {
                to.values.try_reserve(slice.len())?;
                let values = slice.iter().map(Option::unwrap_or_default);
                to.values.extend(values);
                to.validity.append(&slice.valid);
                Ok(())
            }
            (Self::Text(to), ColumnSlice::Text(slice)) => {
                slice.iter().for_each(|text| to.push(text));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn validity(&self) -> &Validity {
        match self {
            Self::I64(c) => &c.validity,
            Self::U64(c) => &c.validity,
            Self::F64(c) => &c.validity,
            Self::Bool(c) => &c.validity,
            Self::Text(c) => &c.validity,
        }
    }

    /// One cell as text: numbers as Rust prints them, a null as `None`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cell_text(&self, row: usize) -> Option<String> {
        match self {
            Self::I64(c) => c.get(row).map(|v| v.to_string()),
            Self::U64(c) => c.get(row).map(|v| v.to_string()),
            Self::F64(c) => c.get(row).map(|v| v.to_string()),
            Self::Bool(c) => c.get(row).map(|v| v.to_string()),
            Self::Text(c) => c.get(row).map(str::to_owned),
        }
    }
}
