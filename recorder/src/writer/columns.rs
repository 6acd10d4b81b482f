//! Rows of one table on their way into a batch, column by column.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::waiting::{Waiting, Words};
use crate::live::{Live, RowOrigin};
use crate::names::Name;
use crate::schema::{ColumnType, Table};
use crate::segment::BATCH_ROWS;

/// One column: every value as 64 bits, whatever its type; a text as the number of its name.
struct Column {
    ty: ColumnType,
    nullable: bool,
    values: Words,
    /// A bit for every value that is there.
    valid: Words,
    present: usize,
}

/// Up to [`BATCH_ROWS`] rows of a table.
pub(crate) struct Columns {
    columns: Vec<Column>,
    rows: usize,
    waiting: Waiting,
}

/// A row being filled, left to right in the order of the schema.
pub(crate) struct Row<'a> {
    columns: std::slice::IterMut<'a, Column>,
    at: usize,
}

impl Columns {
    /// `None`: there is no memory.
    pub fn new(table: &Table, live: &Live) -> Option<Self> {
        let waiting = Waiting::live(live, table)?;
        let column = |(number, column): (usize, &crate::schema::Column)| {
            let (values, valid) = waiting.column(number);
            Column {
                ty: column.ty,
                nullable: column.nullable,
                values,
                valid,
                present: 0,
            }
        };
        Some(Self {
            columns: table.columns.iter().enumerate().map(column).collect(),
            rows: 0,
            waiting,
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row: `fill` must put every column. There must be room. It counts when its
    /// origin says so.
    #[inline(always)]
    pub fn row(&mut self, origin: RowOrigin, fill: impl FnOnce(&mut Row<'_>)) {
        let mut row = Row {
            columns: self.columns.iter_mut(),
            at: self.rows & (BATCH_ROWS - 1),
        };
        fill(&mut row);
        debug_assert!(
            row.columns.next().is_none(),
            "a row has fewer cells than its table columns"
        );
        self.waiting.set_origin(self.rows, origin);
        self.rows += 1;
    }

    /// Forgets the rows; whether they were written is kept with them.
    pub fn clear(&mut self, written: bool) {
        self.waiting.clear(self.rows, written);
        self.rows = 0;
        for column in &mut self.columns {
            column.valid.fill(0);
            column.present = 0;
        }
    }

    /// The columns as Arrow arrays; texts become keys, in the order `key` hands them out (column, name).
    pub fn arrays(&self, mut key: impl FnMut(usize, Name) -> i32) -> Vec<ArrayRef> {
        let mut text = 0;
        let array = |column: &Column| -> ArrayRef {
            let values = &column.values[..self.rows];
            let nulls = column.nulls(self.rows);
            match column.ty {
                ColumnType::U32 => {
                    let values: Vec<u32> = values.iter().map(|v| *v as u32).collect();
                    Arc::new(UInt32Array::new(values.into(), nulls))
                }
                ColumnType::U64 => Arc::new(UInt64Array::new(values.to_vec().into(), nulls)),
                ColumnType::I64 => {
                    let values: Vec<i64> = values.iter().map(|v| *v as i64).collect();
                    Arc::new(Int64Array::new(values.into(), nulls))
                }
                ColumnType::F64 => {
                    let values: Vec<f64> = values.iter().map(|v| f64::from_bits(*v)).collect();
                    Arc::new(Float64Array::new(values.into(), nulls))
                }
                ColumnType::Bool => {
                    let bits = BooleanBuffer::collect_bool(self.rows, |at| values[at] != 0);
                    Arc::new(BooleanArray::new(bits, nulls))
                }
                ColumnType::Text => {
                    let column_number = text;
                    text += 1;
                    let keys: Vec<i32> = match &nulls {
                        None => values
                            .iter()
                            .map(|v| key(column_number, name(*v)))
                            .collect(),
                        Some(_) if column.present == 0 => vec![0; self.rows],
                        Some(nulls) => values
                            .iter()
                            .zip(nulls)
                            .map(|(v, valid)| {
                                if valid {
                                    key(column_number, name(*v))
                                } else {
                                    0
                                }
                            })
                            .collect(),
                    };
                    Arc::new(Int32Array::new(keys.into(), nulls))
                }
            }
        };
        self.columns.iter().map(array).collect()
    }
}

fn name(value: u64) -> Name {
    Name::from_number(value as u32)
}

impl Column {
    fn nulls(&self, rows: usize) -> Option<NullBuffer> {
        if !self.nullable || self.present == rows {
            return None;
        }
        let bits = BooleanBuffer::new(Buffer::from_slice_ref(&*self.valid), 0, rows);
        Some(NullBuffer::new(bits))
    }
}

impl Row<'_> {
    /// The next cell, which is there.
    #[inline(always)]
    pub fn put(&mut self, value: u64) -> &mut Self {
        if let Some(column) = self.columns.next() {
            column.values[self.at] = value;
            if column.nullable {
                column.valid[self.at / 64] |= 1 << (self.at % 64);
                column.present += 1;
            }
        }
        self
    }

    /// The next cell, which may be null.
    #[inline(always)]
    pub fn put_if(&mut self, value: Option<u64>) -> &mut Self {
        if let Some(column) = self.columns.next() {
            debug_assert!(column.nullable, "a null in a column that has none");
            column.values[self.at] = value.unwrap_or(0);
            column.valid[self.at / 64] |= u64::from(value.is_some()) << (self.at % 64);
            column.present += usize::from(value.is_some());
        }
        self
    }

    /// The next so many cells are null.
    #[inline(always)]
    pub fn nulls(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            self.put_if(None);
        }
        self
    }

    /// The next cell, a text.
    #[inline(always)]
    pub fn text(&mut self, name: Name) -> &mut Self {
        self.put(u64::from(name.number()))
    }

    /// The next cell, a text that may be null.
    #[inline(always)]
    pub fn text_if(&mut self, name: Option<Name>) -> &mut Self {
        self.put_if(name.map(|name| u64::from(name.number())))
    }

    /// The next cell, a signed number.
    #[inline(always)]
    pub fn signed(&mut self, value: i64) -> &mut Self {
        self.put(value as u64)
    }
}
