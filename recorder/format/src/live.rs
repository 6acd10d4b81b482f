//! The folder `live/` of a run: what a recording needs to survive the death of its process.
//!
//! | file | holds |
//! |---|---|
//! | `<number>.ring` | a thread's ring: records published and not yet taken by the writer |
//! | `<table>.rows` | rows that wait for their batch |
//! | `counts` | rows lost without a ring of their own |
//! | `log.jsonl` | names, clocks, and other rare things; locked while the writer lives |
//!
//! Rings, rows and counts are mapped and shared: a store is in the file at once, at the cost
//! of a store. (It survives the process, not a loss of power.) The folder is removed when
//! the run ends. [`crate::salvage`] reads it after a crash.

mod log;

use std::fs;
use std::path::Path;

pub use log::{Entry, LOG, Log, LoggedThread, parse as parse_log, read as read_log};

use crate::mapped_file::HEADER_BYTES;
use crate::regular_file;
use crate::row_counters::{FirstCounters, LaterCounters, MappedCounters};

/// Name of the folder in the run directory.
pub const LIVE: &str = "live";
/// Name of the counts in it.
pub const COUNTS: &str = "counts";

/// The content of `counts`.
#[repr(C)]
pub struct LostRows {
    no_ring_first: FirstCounters,
    unwritten_first: FirstCounters,
    // Behind what older recorders wrote.
    no_ring_later: LaterCounters,
    unwritten_later: LaterCounters,
}

const _: () = assert!(size_of::<LostRows>() <= HEADER_BYTES);

impl LostRows {
    /// Events of threads that could not get a ring.
    pub fn no_ring(&self) -> MappedCounters<'_> {
        MappedCounters {
            first: &self.no_ring_first,
            later: &self.no_ring_later,
        }
    }

    /// Rows that could not be written after the writer had failed.
    pub fn unwritten(&self) -> MappedCounters<'_> {
        MappedCounters {
            first: &self.unwritten_first,
            later: &self.unwritten_later,
        }
    }
}

/// File name of a ring.
pub fn ring_name(number: u32) -> String {
    format!("{number:06}.ring")
}

/// File name of a table's waiting rows.
pub fn rows_name(table: &str) -> String {
    format!("{table}.rows")
}

/// True while a process is recording into this run: it holds the lock of the log. `None`: there
/// is no log, or this system has no locks.
///
/// Whoever takes the lock unlocks it before closing the file: a child that is between fork and exec has it open as well.
pub fn is_recording(run: &Path) -> Option<bool> {
    let log = regular_file::open(&run.join(LIVE).join(LOG)).ok()?;
    match log.try_lock_shared() {
        Ok(()) => {
            // Closing it is not enough: a child that another thread is starting has it open as well for a moment.
            let _ = log.unlock();
            Some(false)
        }
        Err(fs::TryLockError::WouldBlock) => Some(true),
        Err(fs::TryLockError::Error(_)) => None,
    }
}
