//! The memory of rows that wait for their batch: a header, an origin a row, and for every
//! column values and validity bits, side by side.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::live::{
    HEADER_BYTES, Live, MAGIC_ROWS, Mapping, RowOrigin, RowsHeader, VALID_WORDS, rows_words,
};
use crate::record::TABLE_COUNT;
use crate::schema::{TABLES, Table};
use crate::segment::BATCH_ROWS;

/// Words of a mapping, used by one owner.
pub(crate) struct Words {
    base: NonNull<u64>,
    count: usize,
}

// SAFETY: like a boxed slice; the mapping behind it is kept beside it and may be sent.
unsafe impl Send for Words {}

impl Deref for Words {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        // SAFETY: in bounds (`Waiting::words`), initialised, and only used through self.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }
}

impl DerefMut for Words {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.count) }
    }
}

/// Memory of one table's waiting rows.
pub(crate) struct Waiting {
    memory: Mapping,
}

impl Waiting {
    /// In the files of `live/`. `None`: there is no memory.
    pub fn live(live: &Live, table: &Table) -> Option<Self> {
        let bytes = HEADER_BYTES + rows_words(table.columns.len()) * size_of::<u64>();
        let waiting = Self {
            memory: live.rows(table.name, bytes)?,
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

    /// The values and the validity bits of a column.
    pub fn column(&self, number: usize) -> (Words, Words) {
        let at = rows_words(number);
        (
            self.words(at, BATCH_ROWS),
            self.words(at + BATCH_ROWS, VALID_WORDS),
        )
    }

    fn words(&self, at: usize, count: usize) -> Words {
        // SAFETY: `column` asks for columns that the table has, so it lies in the mapping.
        let base = unsafe { self.memory.base().add(HEADER_BYTES).cast::<u64>().add(at) };
        Words { base, count }
    }

    /// The row's values are there: from now on it is one.
    #[inline(always)]
    pub fn set_origin(&self, row: usize, origin: RowOrigin) {
        self.origin(row & (BATCH_ROWS - 1))
            .store(origin.word(), Ordering::Release);
    }

    fn origin(&self, row: usize) -> &AtomicU64 {
        // SAFETY: the origins come first behind the header; the row is below `BATCH_ROWS`.
        unsafe {
            let base = self.memory.base().add(HEADER_BYTES).cast::<AtomicU64>();
            base.add(row).as_ref()
        }
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
