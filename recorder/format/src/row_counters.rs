//! Rows by table, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::schema::{TABLES, TableId};

/// A count for every table. Zeroed memory is a valid one.
#[derive(Default)]
#[repr(transparent)]
pub struct RowCounters([AtomicU64; TABLES.len()]);

impl RowCounters {
    /// For one adding thread: no locked instruction.
    pub fn add_alone(&self, table: TableId, count: u64) {
        let cell = &self.0[table as usize];
        // Wrapping: it may lie in a file that others can write, and a recorded program does not panic for that.
        cell.store(
            cell.load(Ordering::Relaxed).wrapping_add(count),
            Ordering::Relaxed,
        );
    }

    /// Counts rows, of any thread.
    pub fn add(&self, table: usize, count: u64) {
        self.0[table].fetch_add(count, Ordering::Relaxed);
    }

    /// Sets the count of a table.
    pub fn set(&self, table: usize, count: u64) {
        self.0[table].store(count, Ordering::Relaxed);
    }

    /// Rows of a table.
    pub fn get(&self, table: usize) -> u64 {
        self.0[table].load(Ordering::Relaxed)
    }

    /// Rows of all tables.
    pub fn sum(&self) -> u64 {
        (0..TABLES.len())
            .map(|table| self.get(table))
            .fold(0, u64::saturating_add)
    }

    /// Forgets them.
    pub fn clear(&self) {
        (0..TABLES.len()).for_each(|table| self.set(table, 0));
    }
}
