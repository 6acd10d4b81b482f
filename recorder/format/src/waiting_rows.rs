//! The memory of rows that wait for their batch.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::live::{
    FIRST_WORDS, HEADER_BYTES, Live, MAGIC_ROWS, Mapping, RowOrigin, RowsHeader, VALUES_AT,
    rows_words,
};
use crate::record::TABLE_COUNT;
use crate::schema::{TABLES, Table};
use crate::segment::BATCH_ROWS;

/// Memory of one table's waiting rows.
pub(crate) struct Waiting {
    memory: Mapping,
    /// Words of values.
    values: usize,
}

impl Waiting {
    /// In the files of `live/`. `None`: there is no memory.
    pub fn live(live: &Live, table: &Table) -> Option<Self> {
        let words = rows_words(table.columns.len());
        let waiting = Self {
            memory: live.rows(table.name, HEADER_BYTES + words * size_of::<u64>())?,
            values: words - VALUES_AT,
        };
        let header = waiting.header();
        let number = TABLES.iter().position(|other| other.name == table.name);
        header
            .table
            .store(number.unwrap_or(TABLE_COUNT) as u64, Ordering::Relaxed);
        header
            .kind
            .store(MAGIC_ROWS, table.columns.len() as u32, BATCH_ROWS as u64);
        Some(waiting)
    }

    fn header(&self) -> &RowsHeader {
        // SAFETY: the memory begins with a header, zeroed at first (a valid state of
        // atomics), aligned to a page, and lives as long as self.
        unsafe { self.memory.base().cast().as_ref() }
    }

    /// The first value of each column.
    #[inline(always)]
    pub fn all_first(&self) -> &[u64; FIRST_WORDS] {
        // SAFETY: inside the mapping, initialised; only the one owner of `self` writes it,
        // through `split`.
        unsafe { self.word(BATCH_ROWS).cast().as_ref() }
    }

    /// The values of all columns, [`COLUMN_STRIDE`] words each.
    #[inline(always)]
    pub fn all_values(&self) -> &[u64] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.word(VALUES_AT).as_ptr(), self.values) }
    }

    /// Both of them, to be written.
    #[inline(always)]
    pub fn split(&mut self) -> (&mut [u64; FIRST_WORDS], &mut [u64]) {
        let (first, values) = (self.word(BATCH_ROWS), self.word(VALUES_AT));
        // SAFETY: inside the mapping, initialised, apart from each other, and borrowed from self.
        unsafe {
            let values = std::slice::from_raw_parts_mut(values.as_ptr(), self.values);
            (first.cast().as_mut(), values)
        }
    }

    #[inline(always)]
    fn word(&self, at: usize) -> NonNull<u64> {
        // SAFETY: only asked for places inside the mapping.
        unsafe { self.memory.base().add(HEADER_BYTES).cast::<u64>().add(at) }
    }

    /// Which columns have their values one a row.
    pub fn set_varies(&self, varies: u64) {
        self.header().varies.store(varies, Ordering::Release);
    }

    /// The row's values are there: from now on it is one.
    #[inline(always)]
    pub fn set_origin(&self, row: usize, origin: RowOrigin) {
        self.origin(row & (BATCH_ROWS - 1))
            .store(origin.word(), Ordering::Release);
    }

    fn origin(&self, row: usize) -> &AtomicU64 {
        // SAFETY: the origins come first behind the header; the row is below `BATCH_ROWS`.
        unsafe { self.word(row).cast().as_ref() }
    }

    /// There are no rows any more; if they were written, that is said last.
    pub fn clear(&self, rows: usize, written: bool) {
        for row in 0..rows {
            self.origin(row).store(0, Ordering::Relaxed);
        }
        if written {
            self.header().batches.fetch_add(1, Ordering::Release);
        }
    }
}
