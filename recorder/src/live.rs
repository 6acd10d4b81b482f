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
//! the run ends. [`crate::rest`] reads it after a crash.
//!
//! Where a file cannot be had, memory of the process takes its place, recording goes on, and
//! the first reason is kept in [`Live::trouble`].

mod layout;
mod log;
mod mapping;

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) use layout::{
    COLUMN_STRIDE, FIRST_WORDS, HEADER_BYTES, Identity, Kind, MAGIC_RING, MAGIC_ROWS, RingHeader,
    RowOrigin, RowsHeader, VALUES_AT, rows_words,
};
pub(crate) use log::{Entry, LOG, Log, read as read_log};
pub(crate) use mapping::Mapping;

use crate::ring::Ring;
use crate::row_counters::RowCounters;
use crate::session_state::lock;

/// Name of the folder in the run directory.
pub const LIVE: &str = "live";
/// Name of the counts in it.
pub(crate) const COUNTS: &str = "counts";

/// What `counts` holds.
#[repr(C)]
pub(crate) struct LostCounts {
    /// Events of threads that could not get a ring.
    pub no_ring: RowCounters,
    /// Rows that could not be written after the writer had failed.
    pub unwritten: RowCounters,
}

/// The folder while recording.
pub(crate) struct Live {
    /// `None`: nothing is kept.
    folder: Option<PathBuf>,
    next_ring: AtomicU32,
    log: Mutex<Option<Log>>,
    counts: Option<Mapping>,
    trouble: Mutex<Option<String>>,
}

impl Live {
    /// For recorders that keep nothing. (Their counts lie in memory.)
    pub fn none() -> Self {
        Self {
            folder: None,
            next_ring: AtomicU32::new(0),
            log: Mutex::default(),
            counts: Mapping::anonymous(HEADER_BYTES).ok(),
            trouble: Mutex::default(),
        }
    }

    /// Makes the folder in a run directory, which has none.
    pub fn create(run: &Path) -> Self {
        let folder = run.join(LIVE);
        let mut live = Self::none();
        match fs::create_dir(&folder).and_then(|()| Log::create(&folder.join(LOG))) {
            Ok(log) => live.log = Mutex::new(Some(log)),
            Err(error) => {
                live.note(&folder, &error);
                return live;
            }
        }
        live.folder = Some(folder);
        live.counts = live.memory(COUNTS, HEADER_BYTES).or(live.counts);
        live
    }

    /// Why a kill would lose events, if it would.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    fn note(&self, path: &Path, error: &io::Error) {
        lock(&self.trouble).get_or_insert_with(|| {
            format!(
                "{}: {error}; events are kept in memory only, and a kill would lose the latest \
                 (hint: record to a local disk with some MiB free)",
                path.display()
            )
        });
    }

    /// Zeroed memory, in a new file of that name where it can be had.
    fn memory(&self, name: &str, bytes: usize) -> Option<Mapping> {
        if let Some(folder) = &self.folder {
            let path = folder.join(name);
            match Mapping::create(&path, bytes) {
                Ok(mapping) => return Some(mapping),
                Err(error) => self.note(&path, &error),
            }
        }
        Mapping::anonymous(bytes).ok()
    }

    /// A ring that no thread uses yet. `None`: there is no memory.
    pub fn ring(&self, capacity: usize) -> Option<Arc<Ring>> {
        let number = self.next_ring.fetch_add(1, Ordering::Relaxed);
        let memory = self.memory(&ring_name(number), Ring::bytes(capacity)?)?;
        Some(Ring::new(memory, number, capacity))
    }

    /// Removes the file of a ring that is not used again.
    pub fn remove_ring(&self, ring: &Ring) {
        if let (Some(folder), true) = (&self.folder, ring.in_file()) {
            // If it stays: it says that no thread uses it.
            let _ = fs::remove_file(folder.join(ring_name(ring.number())));
        }
    }

    /// Memory for the waiting rows of a table.
    pub fn rows(&self, table: &str, bytes: usize) -> Option<Mapping> {
        self.memory(&rows_name(table), bytes)
    }

    pub fn counts(&self) -> Option<&LostCounts> {
        // SAFETY: a page of zeros is a valid state of the counts, and it lives as long as self.
        self.counts
            .as_ref()
            .map(|page| unsafe { page.base().cast().as_ref() })
    }

    /// Appends to the log; they are with the operating system when this returns.
    pub fn log(&self, entries: &[Entry]) {
        let mut log = lock(&self.log);
        let Some(open) = &mut *log else { return };
        if let Err(error) = open.append(entries) {
            drop(log);
            let folder = self.folder.clone().unwrap_or_default();
            self.note(&folder.join(LOG), &error);
        }
    }

    /// The log's file, for a forked process to let go of.
    pub fn log_descriptor(&self) -> Option<RawFd> {
        lock(&self.log).as_ref().map(Log::descriptor)
    }

    /// The run has ended: everything is in segments.
    pub fn remove(&self) {
        *lock(&self.log) = None;
        if let Some(folder) = &self.folder {
            // If it stays: run.json says that the run has ended.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// File name of a ring.
pub(crate) fn ring_name(number: u32) -> String {
    format!("{number:06}.ring")
}

/// File name of a table's waiting rows.
pub(crate) fn rows_name(table: &str) -> String {
    format!("{table}.rows")
}

/// Whether a process is recording into this run: it holds the lock of the log. `None`: there
/// is no log, or this system has no locks.
pub fn is_recording(run: &Path) -> Option<bool> {
    let log = fs::File::open(run.join(LIVE).join(LOG)).ok()?;
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
