//! Values of cells, and how they become the 64 bits that wait for a batch.

use super::ColumnType;
use crate::text::Text;

/// Takes the cells of a row, in the order of the columns.
pub trait CellSink {
    /// Adds the next cell, in a column that is never null.
    fn value(&mut self, word: u64);

    /// Adds the next cell, in a column that may be null.
    fn optional(&mut self, word: Option<u64>);
}

/// A value that a cell can have.
pub trait Value: Copy {
    /// Type of columns with such values.
    const TYPE: ColumnType;

    /// The value in the form in which rows wait for their batch.
    fn word(self) -> u64;
}

/// The type of a column's field in a row: a [`Value`], or an `Option` of one.
pub trait Field: Copy {
    /// Storage type.
    const TYPE: ColumnType;
    /// True if it may be missing.
    const NULLABLE: bool;

    /// Passes the value to `sink`.
    fn put_into(self, sink: &mut impl CellSink);
}

macro_rules! values {
    ($($ty:ty, $column:ident, |$value:ident| $word:expr;)*) => {$(
        impl Value for $ty {
            const TYPE: ColumnType = ColumnType::$column;

            #[inline(always)]
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        }

        impl Field for $ty {
            const TYPE: ColumnType = ColumnType::$column;
            const NULLABLE: bool = false;

            #[inline(always)]
            fn put_into(self, sink: &mut impl CellSink) {
                sink.value(self.word());
            }
        }
    )*};
}

values! {
    u32, U32, |value| u64::from(value);
    u64, U64, |value| value;
    i64, I64, |value| value as u64;
    f64, F64, |value| value.to_bits();
    bool, Bool, |value| u64::from(value);
    Text, Text, |text| u64::from(text.number());
}

impl<V: Value> Field for Option<V> {
    const TYPE: ColumnType = V::TYPE;
    const NULLABLE: bool = true;

    #[inline(always)]
    fn put_into(self, sink: &mut impl CellSink) {
        sink.optional(self.map(V::word));
    }
}
