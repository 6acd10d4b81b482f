//! The memory of rows that wait for their batch: a mapped file, so that they outlive the process.
//!
//! A row counts when its ring's tail has passed its record. Rows wait with the place of their record, and the tail
//! is stored after the row: so a kill between the two leaves the record in the ring and not twice, without any
//! undo. The number of batches in the header does the same between rows and disk.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapped_file::{FileKind, HEADER_BYTES};
use crate::mapping::Mapping;
use crate::schema::{TABLES, Table};
use crate::segment::BATCH_ROWS;

/// Magic number of the file of waiting rows.
pub const MAGIC_ROWS: u64 = u64::from_le_bytes(*b"trueROWS");

/// The rows of one table that wait for their batch; what comes behind: [`WaitingRows::bytes`].
#[repr(C)]
pub struct RowsHeader {
    /// Kind, version and size.
    pub kind: FileKind,
    /// Number of the table.
    pub table: AtomicU64,
    /// Batches that were written before these rows: where the journal knows more, these
    /// rows are on disk already.
    pub batches: AtomicU64,
    /// A bit for each column whose values stand one a row; the others have the first in all rows.
    pub varies: AtomicU64,
    /// Of a full batch of a rolling window: the table's rows before it, plus one. 0: not stored.
    rows_before: AtomicU64,
}

impl RowsHeader {
    /// Rows of the table before this full batch of a rolling window.
    pub fn rows_before(&self) -> Option<u64> {
        self.rows_before.load(Ordering::Acquire).checked_sub(1)
    }
}

const _: () = assert!(size_of::<RowsHeader>() <= HEADER_BYTES);

/// Words for the first value of each column: a table has fewer columns than that.
pub const FIRST_WORDS: usize = 64;
/// From a column's values to those of the next: not a power of two, or the same row of all
/// columns would want the same few places of the cache.
pub const COLUMN_STRIDE: usize = BATCH_ROWS + 8;
/// Offset of the values, in words: behind an origin a row and the first values.
pub const VALUES_AT: usize = BATCH_ROWS + FIRST_WORDS;

/// Words behind the header: an origin a row, the first value of each column, and the
/// values of each column. Behind the table's own columns comes one with a bit for
/// every cell of the row that is there.
pub const fn rows_words(columns: usize) -> usize {
    VALUES_AT + (columns + 1) * COLUMN_STRIDE
}

/// Origin of a waiting row; 0: there is no row.
///
/// A row from a ring counts once the ring's tail has passed its record: so it is in exactly
/// one of both places, whenever the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOrigin(u64);

const POSITION_BITS: u32 = 44;
const POSITION_MASK: u64 = (1 << POSITION_BITS) - 1;
/// One bit short of the maximum, so that no row of a ring resembles one that the writer itself created.
const RING_MASK: u64 = (1 << 19) - 1;

impl RowOrigin {
    /// The writer's own row.
    pub const OWN: Self = Self(u64::MAX);

    /// The record at a position of a ring.
    #[inline]
    pub fn ring(ring: u32, position: u64) -> Self {
        Self(((u64::from(ring) & RING_MASK) + 1) << POSITION_BITS | position & POSITION_MASK)
    }

    /// The record so many places behind this one in the ring; the writer's own stays so.
    #[inline]
    pub fn plus(self, records: u64) -> Self {
        match self {
            Self::OWN => self,
            Self(word) => Self(word & !POSITION_MASK | (word + records) & POSITION_MASK),
        }
    }

    /// The value as it stands in the file.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    /// Ring and position of the record, unless the row is the writer's own. `word` is not 0.
    pub fn record_of(word: u64) -> Option<(u32, u64)> {
        let ring = (word >> POSITION_BITS).wrapping_sub(1) as u32;
        (word != u64::MAX).then_some((ring, word & POSITION_MASK))
    }
}

/// Memory of one table's waiting rows.
pub struct WaitingRows {
    memory: Mapping,
    values: usize,
}

impl WaitingRows {
    /// Memory that a table needs, in bytes.
    pub fn bytes(table: &Table) -> usize {
        HEADER_BYTES + rows_words(table.columns.len()) * size_of::<u64>()
    }

    /// Waiting rows in zeroed memory of [`WaitingRows::bytes`].
    pub fn new(table: &Table, memory: Mapping) -> Self {
        let waiting = Self {
            memory,
            values: rows_words(table.columns.len()) - VALUES_AT,
        };
        let header = waiting.header();
        let number = TABLES.iter().position(|other| other.name == table.name);
        header
            .table
            .store(number.unwrap_or(TABLES.len()) as u64, Ordering::Relaxed);
        header
            .kind
            .store(MAGIC_ROWS, table.columns.len() as u32, BATCH_ROWS as u64);
        waiting
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

    /// Batches that are written before these rows.
    pub fn set_batches(&self, batches: u64) {
        self.header().batches.store(batches, Ordering::Release);
    }

    /// Rows of the table before these, of a rolling window.
    pub fn set_rows_before(&self, rows: u64) {
        self.header().rows_before.store(rows + 1, Ordering::Release);
    }

    /// True if they outlive the process.
    pub fn is_in_file(&self) -> bool {
        self.memory.is_in_file()
    }

    /// Says of each column whether it has its values one a row.
    pub fn set_varies(&self, varies: u64) {
        self.header().varies.store(varies, Ordering::Release);
    }

    /// The row's values are there: from now on it is one.
    #[inline(always)]
    pub fn set_origin(&self, row: usize, origin: RowOrigin) {
        self.origin(row & (BATCH_ROWS - 1))
            .store(origin.word(), Ordering::Release);
    }

    #[cfg(test)]
    pub(crate) fn origin_of(&self, row: usize) -> RowOrigin {
        RowOrigin(self.origin(row).load(Ordering::Acquire))
    }

    #[inline]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_come_back() {
        for (ring, position) in [(0, 0), (7, 1), ((1 << 19) - 1, (1 << 44) - 1)] {
            let word = RowOrigin::ring(ring, position).word();
            assert_ne!(word, 0);
            assert_eq!(RowOrigin::record_of(word), Some((ring, position)));
        }
        assert_eq!(RowOrigin::record_of(RowOrigin::OWN.word()), None);
        assert_eq!(RowOrigin::ring(7, 5).plus(3), RowOrigin::ring(7, 8));
        assert_eq!(RowOrigin::OWN.plus(3), RowOrigin::OWN);
    }
}
