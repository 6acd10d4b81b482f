//! Columns of one batch, where they lie: borrowed from the host, checked, not copied.

use crate::bits::Bits;
use crate::column::ColumnType;

/// The rows of one column of fixed width in a [`Batch`](crate::Batch).
#[derive(Clone, Copy, Debug)]
pub struct PlainSlice<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) valid: Bits<'a>,
}

/// Signed 64-bit integers.
pub type I64Slice<'a> = PlainSlice<'a, i64>;
/// Unsigned 64-bit integers.
pub type U64Slice<'a> = PlainSlice<'a, u64>;
/// Doubles.
pub type F64Slice<'a> = PlainSlice<'a, f64>;

/// The rows of one column of truth values in a [`Batch`](crate::Batch).
#[derive(Clone, Copy, Debug)]
pub struct BoolSlice<'a> {
    pub(crate) values: Bits<'a>,
    pub(crate) valid: Bits<'a>,
}

/// The rows of one column of text in a [`Batch`](crate::Batch).
#[derive(Clone, Copy, Debug)]
pub struct TextSlice<'a> {
    /// One more than there are rows, in ascending order.
    pub(crate) offsets: &'a [i64],
    /// The bytes from the first offset to the last. Rows with a value are valid UTF-8.
    pub(crate) bytes: &'a [u8],
    pub(crate) valid: Bits<'a>,
}

/// The rows of a column of any of the five types.
#[derive(Clone, Copy, Debug)]
pub enum ColumnSlice<'a> {
    /// See [`ColumnType::I64`].
    I64(I64Slice<'a>),
    /// See [`ColumnType::U64`].
    U64(U64Slice<'a>),
    /// See [`ColumnType::F64`].
    F64(F64Slice<'a>),
    /// See [`ColumnType::Bool`].
    Bool(BoolSlice<'a>),
    /// See [`ColumnType::Text`].
    Text(TextSlice<'a>),
}

macro_rules! rows {
    ($(impl [$($param:tt)*] $kind:ty, $value:ty;)*) => {$(
        #[allow(clippy::len_without_is_empty)] // no batch is empty
        impl<'a, $($param)*> $kind {
            /// Rows.
            #[inline]
            pub fn len(&self) -> usize {
                self.valid.len()
            }

            /// Returns whether any row is null.
            #[inline]
            pub fn has_nulls(&self) -> bool {
                self.null_count() > 0
            }

            /// Number of null rows.
            #[inline]
            pub fn null_count(&self) -> usize {
                self.valid.zeros()
            }

            /// The value of a row that cannot be null.
            ///
            /// # Panics
            /// If the row is null or there is no such row.
            #[inline]
            #[track_caller]
            pub fn value(&self, row: usize) -> $value {
                match self.get(row) {
                    Some(value) => value,
                    None => panic!("row {row} of a batch is null (hint: use get, or leave nulls out in the query)"),
                }
            }

            /// Values of all rows in order.
            #[inline]
            pub fn iter(self) -> impl ExactSizeIterator<Item = Option<$value>> + 'a {
                (0..self.len()).map(move |row| self.get(row))
            }
        }
    )*};
}
rows! {
    impl [T: Copy + 'a] PlainSlice<'a, T>, T;
    impl [] BoolSlice<'a>, bool;
    impl [] TextSlice<'a>, &'a str;
}

impl<'a, T: Copy> PlainSlice<'a, T> {
    /// The value of a row, `None` when it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize) -> Option<T> {
        let value = self.values[row];
        self.valid.get(row).then_some(value)
    }

    /// All values, if no row is null: the slot of a null holds anything.
    #[inline]
    pub fn values(&self) -> Option<&'a [T]> {
        (self.valid.zeros() == 0).then_some(self.values)
    }
}

impl BoolSlice<'_> {
    /// The value of a row, `None` when it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize) -> Option<bool> {
        assert!(row < self.len(), "row {row} of a batch of {}", self.len());
        self.valid.get(row).then(|| self.values.get(row))
    }
}

impl<'a> TextSlice<'a> {
    /// The text of a row, `None` when it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize) -> Option<&'a str> {
        let (from, to) = (self.offsets[row], self.offsets[row + 1]);
        if !self.valid.get(row) {
            return None;
        }
        let first = self.offsets[0];
        let bytes = &self.bytes[(from - first) as usize..(to - first) as usize];
        // SAFETY: rows that hold a value were found to be UTF-8 when the batch was read.
        Some(unsafe { std::str::from_utf8_unchecked(bytes) })
    }
}

impl ColumnSlice<'_> {
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
}
