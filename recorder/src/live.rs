//! The folder `live/` of the run that is being recorded: see [`trueno_format::live`].
//!
//! Where a file cannot be had, memory of the process takes its place, recording goes on, and
//! the first reason is kept in [`Live::trouble`].

use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use trueno_format::folder::Folder;
use trueno_format::held_file::Identity;
use trueno_format::kept_rows::{KeepLast, KeptRows};
use trueno_format::live::{COUNTS, Entry, LIVE, LOG, LiveCounts, Log, ring_name, rows_name};
use trueno_format::mapped_file::HEADER_BYTES;
use trueno_format::mapping::Mapping;
use trueno_format::ring::Ring;
use trueno_format::schema::TABLES;

use crate::lock::lock;

pub(crate) struct Live {
    /// `None` if nothing is kept on disk.
    folders: Option<Folders>,
    next_ring: AtomicU32,
    log: Mutex<Option<Log>>,
    counts: Option<Mapping>,
    trouble: Mutex<Option<String>>,
}

/// Memory for several short rings, which are created as threads start.
pub(crate) struct RingBlock {
    memory: Arc<Mapping>,
    capacity: usize,
    first: u32,
    numbers: Range<u32>,
}

impl RingBlock {
    pub fn is_used_up(&self) -> bool {
        self.numbers.is_empty()
    }
}

struct Folders {
    run: Arc<Folder>,
    live: Arc<Folder>,
}

impl Live {
    /// For recorders that keep nothing. (Their counts lie in memory.)
    pub fn none() -> Self {
        Self {
            folders: None,
            next_ring: AtomicU32::new(0),
            log: Mutex::default(),
            counts: Mapping::anonymous(HEADER_BYTES).ok(),
            trouble: Mutex::default(),
        }
    }

    /// Makes the folder in that of a run, which has none.
    pub fn create(run: &Arc<Folder>) -> Self {
        let mut live = Self::none();
        let create = || {
            let folder = Arc::new(run.create_folder(LIVE)?);
            Ok((Log::create(&folder)?, folder))
        };
        match create() {
            Ok((log, folder)) => {
                live.log = Mutex::new(Some(log));
                let run = run.clone();
                live.folders = Some(Folders { run, live: folder });
            }
            Err(error) => {
                live.note(&run.path().join(LIVE), &error);
                return live;
            }
        }
        live.counts = live.memory(COUNTS, HEADER_BYTES).or(live.counts);
        live
    }

    /// Gives the reason why a kill would lose events, if it would.
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

    fn memory(&self, name: &str, bytes: usize) -> Option<Mapping> {
        self.memory_by(Mapping::create, name, bytes)
            .or_else(|| Mapping::anonymous(bytes).ok())
    }

    fn memory_by(
        &self,
        create: impl Fn(&Folder, &str, usize) -> io::Result<Mapping>,
        name: &str,
        bytes: usize,
    ) -> Option<Mapping> {
        let Folders { live, .. } = self.folders.as_ref()?;
        create(live, name, bytes)
            .inspect_err(|error| self.note(&live.path().join(name), error))
            .ok()
    }

    /// A ring that no thread uses yet. `None`: there is no memory.
    pub fn ring(&self, capacity: usize) -> Option<Arc<Ring>> {
        let (memory, number) = self.ring_memory(capacity)?;
        Some(self.counted(Ring::new(memory, number, capacity)))
    }

    /// As [`Live::ring`], its bytes taken from the memory for growth.
    pub fn ring_for_growth(&self, capacity: usize) -> Option<Arc<Ring>> {
        let (memory, number) = self.ring_memory(capacity)?;
        Some(self.counted(Ring::for_growth(memory, number, capacity)))
    }

    fn ring_memory(&self, capacity: usize) -> Option<(Mapping, u32)> {
        let number = self.next_ring.fetch_add(1, Ordering::Relaxed);
        let memory = self.memory(&ring_name(number), Ring::bytes(capacity)?)?;
        Some((memory, number))
    }

    /// Memory for `count` short rings in one file; pages come as they are reached.
    pub fn ring_block(&self, capacity: usize, count: usize) -> Option<RingBlock> {
        let first = self.next_ring.fetch_add(count as u32, Ordering::Relaxed);
        let bytes = Ring::bytes(capacity)?.checked_mul(count)?;
        let memory = self
            .memory_by(Mapping::create_unpopulated, &ring_name(first), bytes)
            .or_else(|| Mapping::unpopulated(bytes).ok())?;
        Some(RingBlock {
            memory: Arc::new(memory),
            capacity,
            numbers: first..first + count as u32,
            first,
        })
    }

    /// The next ring of a block. `None`: all are made.
    pub fn ring_of(&self, block: &mut RingBlock) -> Option<Arc<Ring>> {
        let number = block.numbers.next()?;
        let nth = (number - block.first) as usize;
        let ring = Ring::nth(&block.memory, nth, number, block.capacity)?;
        Some(self.counted(ring))
    }

    fn counted(&self, ring: Arc<Ring>) -> Arc<Ring> {
        if let (true, Some(counts)) = (ring.is_in_file(), self.counts()) {
            counts.files().add_ring();
        }
        ring
    }

    /// Removes the file of a ring that is not used again.
    pub fn remove_ring(&self, ring: &Ring) {
        if let (Some(Folders { live, .. }), true) = (&self.folders, ring.is_in_file()) {
            if let Some(counts) = self.counts() {
                counts.files().remove_ring();
            }
            // If it stays: it says that no thread uses it.
            let _ = live.remove_file(&ring_name(ring.number()));
        }
    }

    /// Memory for the waiting rows of a table.
    pub fn rows(&self, table: usize, bytes: usize) -> Option<Mapping> {
        let memory = self.memory(&rows_name(TABLES[table].name), bytes)?;
        if let (true, Some(counts)) = (memory.is_in_file(), self.counts()) {
            counts.files().add_rows(table);
        }
        Some(memory)
    }

    /// A rolling window whose rows lie in the folder.
    pub fn kept_rows(&self, keep: KeepLast) -> KeptRows {
        let live = self.folders.as_ref().map(|folders| folders.live.clone());
        KeptRows::new(keep, live)
    }

    /// The folder, if there is one.
    pub fn folder(&self) -> Option<&Folder> {
        self.folders.as_ref().map(|folders| &*folders.live)
    }

    pub fn counts(&self) -> Option<&LiveCounts> {
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
            let live = self.folders.as_ref().map(|folders| folders.live.path());
            self.note(&live.unwrap_or_default().join(LOG), &error);
        }
    }

    /// The log's file, for a forked process to close.
    pub fn log_descriptor(&self) -> Option<(RawFd, Identity)> {
        lock(&self.log).as_ref().map(Log::descriptor)
    }

    /// The run has ended: everything is in segments.
    pub fn remove(&self) {
        *lock(&self.log) = None;
        if let Some(Folders { run, live }) = &self.folders {
            // If it stays: run.json says that the run has ended.
            let _ = run.remove_folder(LIVE, live);
        }
    }
}
