//! The folder `live/` of a run: what a recording needs to survive the death of its process.
//!
//! | file | holds |
//! |---|---|
//! | `<number>.ring` | a thread's ring: records published and not yet taken by the writer; short rings lie side by side in one file, which has the number of the first |
//! | `<table>.rows` | rows that wait for their batch |
//! | `<table>.<number>.rows` | a full batch of a rolling window, with the same layout |
//! | `counts` | rows lost without a ring of their own; files made, so that a deleted one is missed; tables that the writer reads from the kernel |
//! | `control` | a socket for requests to the recorder, if the program wants one |
//! | `log.jsonl` | names, clocks, and other rare things; locked while the writer lives |
//!
//! Rings, rows and counts are mapped and shared: a store is in the file at once, at the cost
//! of a store. (It survives the process, not a loss of power.) The folder is removed when
//! the run ends. [`crate::salvage`] reads it after a crash.

mod log;

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub use log::{Entry, LOG, Log, LoggedThread, parse as parse_log, read as read_log};

use crate::folder::Folder;
use crate::mapped_file::HEADER_BYTES;
use crate::regular_file;
use crate::row_counters::{FirstCounters, LaterCounters, MappedCounters};
use crate::schema::TABLES;

/// Name of the folder in the run directory.
pub const LIVE: &str = "live";
/// Name of the socket in it that takes requests, of a recorder that has one.
pub const CONTROL: &str = "control";
/// Name of the counts in it.
pub const COUNTS: &str = "counts";

/// The content of `counts`.
#[repr(C)]
pub struct LiveCounts {
    no_ring_first: FirstCounters,
    unwritten_first: FirstCounters,
    // Behind what older recorders wrote.
    no_ring_later: LaterCounters,
    unwritten_later: LaterCounters,
    files: LiveFiles,
    /// A bit for each table that the writer fills from a source that is lost when it dies.
    unread: AtomicU64,
    // Of a rolling window.
    discarded_first: FirstCounters,
    discarded_later: LaterCounters,
    kept_from_ns: AtomicU64,
}

/// Files of the folder that were made and not removed again by the recorder: others may delete some.
#[repr(C)]
pub struct LiveFiles {
    rings_made: AtomicU64,
    rings_removed: AtomicU64,
    tables: AtomicU64,
}

const _: () = assert!(TABLES.len() <= u64::BITS as usize);

impl LiveFiles {
    /// Counts a ring's file, which is there.
    pub fn add_ring(&self) {
        self.rings_made.fetch_add(1, Ordering::Release);
    }

    /// Counts a ring's file, before it is removed.
    pub fn remove_ring(&self) {
        self.rings_removed.fetch_add(1, Ordering::Release);
    }

    /// Counts the file of a table's waiting rows, which is there.
    pub fn add_rows(&self, table: usize) {
        self.tables.fetch_or(1 << table, Ordering::Release);
    }

    /// The file of a table's waiting rows is about to get another name, and the next one is not there yet.
    pub fn remove_rows(&self, table: usize) {
        self.tables.fetch_and(!(1 << table), Ordering::Release);
    }

    /// Rings whose files must be there.
    pub fn rings(&self) -> u64 {
        let removed = self.rings_removed.load(Ordering::Acquire);
        let made = self.rings_made.load(Ordering::Acquire);
        made.saturating_sub(removed)
    }

    /// True if the file of a table's waiting rows must be there.
    pub fn has_rows(&self, table: usize) -> bool {
        self.tables.load(Ordering::Acquire) >> table & 1 == 1
    }
}

const _: () = assert!(size_of::<LiveCounts>() <= HEADER_BYTES);

impl LiveCounts {
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

    /// Rows that have left a rolling window.
    pub fn discarded(&self) -> MappedCounters<'_> {
        MappedCounters {
            first: &self.discarded_first,
            later: &self.discarded_later,
        }
    }

    /// A rolling window holds what began from here on.
    pub fn keep_from(&self, from_ns: i64) {
        let from_ns = from_ns.max(0).cast_unsigned();
        self.kept_from_ns.store(from_ns, Ordering::Release);
    }

    /// The beginning of the rolling window.
    pub fn kept_from_ns(&self) -> i64 {
        let from_ns = self.kept_from_ns.load(Ordering::Acquire);
        i64::try_from(from_ns).unwrap_or(0)
    }

    /// Files that are there; older recorders counted none.
    pub fn files(&self) -> &LiveFiles {
        &self.files
    }

    /// Says that rows of a table come from what is gone with the writer, as the kernel's buffers are: how many it had not
    /// read when it died is not known.
    pub fn add_unread(&self, table: usize) {
        self.unread.fetch_or(1 << table, Ordering::Release);
    }

    /// True if nobody knows how many rows of a table a dead writer had not read yet.
    pub fn has_unread(&self, table: usize) -> bool {
        self.unread.load(Ordering::Acquire) >> table & 1 == 1
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

/// File name of a full batch of rows that a rolling window keeps.
pub fn kept_rows_name(table: &str, number: u32) -> String {
    format!("{table}.{number:06}.rows")
}

/// True while a process is recording into this run: it holds the lock of the log. `None`: there
/// is no log, or this system has no locks.
///
/// Whoever takes the lock unlocks it before closing the file: a child that is between fork and exec has it open as well.
pub fn is_recording(run: &Path) -> Option<bool> {
    is_locked(&regular_file::open(&run.join(LIVE).join(LOG)).ok()?)
}

/// Like [`is_recording`], for a run whose folder is open.
pub(crate) fn is_recording_in(run: &Folder) -> Option<bool> {
    is_locked(&run.folder(LIVE).ok()?.open_file(LOG).ok()?)
}

fn is_locked(log: &File) -> Option<bool> {
    match log.try_lock_shared() {
        Ok(()) => {
            // Closing it is not enough: a child that another thread is starting has it open as well for a moment.
            let _ = log.unlock();
            Some(false)
        }
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}
