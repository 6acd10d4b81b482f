//! Rows by table, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::{TABLE_COUNT, TableNumber};

/// A count for every table. Zeroed memory is a valid one.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct RowCounters([AtomicU64; TABLE_COUNT]);

impl RowCounters {
    /// For one adding thread: no locked instruction.
    pub fn add_alone(&self, table: TableNumber, count: u64) {
        let cell = &self.0[table as usize];
        cell.store(cell.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    pub fn add(&self, table: usize, count: u64) {
        self.0[table].fetch_add(count, Ordering::Relaxed);
    }

    pub fn set(&self, table: usize, count: u64) {
        self.0[table].store(count, Ordering::Relaxed);
    }

    pub fn get(&self, table: usize) -> u64 {
        self.0[table].load(Ordering::Relaxed)
    }

    pub fn sum(&self) -> u64 {
        (0..TABLE_COUNT).map(|table| self.get(table)).sum()
    }

    pub fn clear(&self) {
        (0..TABLE_COUNT).for_each(|table| self.set(table, 0));
    }
}
