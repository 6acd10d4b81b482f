//! Rows by table, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::schema::{TABLES, TableId};

/// Number of tables in format 1.5. Their counts stay at the same offsets in mapped files although there are more
/// tables now. Otherwise everything after them would move, and files of killed programs would be misread.
const FIRST: usize = 20;
/// Room for the counts of later tables, at a separate offset.
const LATER: usize = 44;

const _: () = assert!(TABLES.len() <= FIRST + LATER);

/// A count for every table. Zeroed memory is a valid one.
#[derive(Default)]
#[repr(transparent)]
pub struct RowCounters([AtomicU64; TABLES.len()]);

/// Counts of the tables of format 1.5, in a mapped file.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct FirstCounters([AtomicU64; FIRST]);

/// Counts of later tables, in a mapped file. Zero in files of older recorders.
#[repr(transparent)]
pub(crate) struct LaterCounters([AtomicU64; LATER]);

/// A count for every table, in a mapped file.
#[derive(Clone, Copy)]
pub struct MappedCounters<'a> {
    pub(crate) first: &'a FirstCounters,
    pub(crate) later: &'a LaterCounters,
}

impl RowCounters {
    #[inline(always)]
    fn cell(&self, table: usize) -> &AtomicU64 {
        &self.0[table]
    }

    /// Sets the count of a table.
    pub fn set(&self, table: usize, count: u64) {
        self.cell(table).store(count, Ordering::Relaxed);
    }
}

impl MappedCounters<'_> {
    #[inline(always)]
    fn cell(&self, table: usize) -> &AtomicU64 {
        match table.checked_sub(FIRST) {
            None => &self.first.0[table],
            Some(later) => &self.later.0[later],
        }
    }

    /// Forgets them.
    pub fn clear(&self) {
        (0..TABLES.len()).for_each(|table| self.cell(table).store(0, Ordering::Relaxed));
    }
}

macro_rules! counters {
    ($($ty:ty),*) => {$(
        impl $ty {
            /// For one adding thread: no locked instruction.
            pub fn add_alone(&self, table: TableId, count: u64) {
                let cell = self.cell(table as usize);
                // Wrapping: it may lie in a file that others can write, and a recorded program does not panic for that.
                cell.store(
                    cell.load(Ordering::Relaxed).wrapping_add(count),
                    Ordering::Relaxed,
                );
            }

            /// Counts rows, of any thread.
            pub fn add(&self, table: usize, count: u64) {
                self.cell(table).fetch_add(count, Ordering::Relaxed);
            }

            /// Rows of a table.
            pub fn get(&self, table: usize) -> u64 {
                self.cell(table).load(Ordering::Relaxed)
            }

            /// Rows of all tables.
            pub fn sum(&self) -> u64 {
                (0..TABLES.len())
                    .map(|table| self.get(table))
                    .fold(0, u64::saturating_add)
            }
        }
    )*};
}

counters!(RowCounters, MappedCounters<'_>);
