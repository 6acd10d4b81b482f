//! Events that have a row, and those that have none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use trueno_format::row_counters::RowCounters;
use trueno_format::schema::TableId;

use crate::live::Live;

pub(crate) struct EventCounts {
    live: Arc<Live>,
    /// Rows in segments or on their way into one.
    pub rows: RowCounters,
    /// Events of threads without a ring. Also in `live/counts`, which survives a kill and which other processes
    /// can write to.
    without_ring: RowCounters,
    /// Rows that could not be written; also in `live/counts`.
    unwritten: RowCounters,
    /// Events that met a closed recorder.
    pub late: AtomicU64,
    /// Detached intervals whose end is yet to come.
    pub detached: AtomicU64,
    /// Work of open bricks and launches that will have a row of its own.
    pub open_on_device: AtomicU64,
    /// No record will be read any more.
    pub stopped: AtomicBool,
}

impl EventCounts {
    pub fn new(live: Arc<Live>) -> Self {
        Self {
            live,
            rows: RowCounters::default(),
            without_ring: RowCounters::default(),
            unwritten: RowCounters::default(),
            late: AtomicU64::new(0),
            detached: AtomicU64::new(0),
            open_on_device: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Counts events of threads that could not get a ring.
    pub fn no_ring(&self, table: TableId, events: u64) {
        self.without_ring.add(table as usize, events);
        if let Some(counts) = self.live.counts() {
            counts.no_ring().add(table as usize, events);
        }
    }

    /// Counts rows that could not be written.
    pub fn lose(&self, table: usize, rows: u64) {
        self.unwritten.add(table, rows);
        if let Some(counts) = self.live.counts() {
            counts.unwritten().add(table, rows);
        }
    }

    /// Rows that could not be written, all tables.
    pub fn lost(&self) -> u64 {
        self.unwritten.sum()
    }

    /// Rows of a table that had no ring or could not be written.
    pub fn lost_of(&self, table: usize) -> u64 {
        let without_ring = self.without_ring.get(table);
        without_ring.saturating_add(self.unwritten.get(table))
    }
}
