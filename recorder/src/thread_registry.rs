//! Threads that record, and their way to the writer and out of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use trueno_format::dropped_names::{DroppedNames, NamedRows};
use trueno_format::ring::{Identity, Ring};
use trueno_format::row_counters::RowCounters;
use trueno_format::schema::TABLES;

use crate::lane::os_thread;
use crate::lock::lock;
use crate::open_stack;

/// One thread that records. Aligned, because the thread writes to it for every row and must not share the cache
/// line.
#[repr(align(64))]
pub(crate) struct ThreadInfo {
    pub index: u32,
    pub name: Option<String>,
    pub os_id: u64,
    pub start_ticks: u64,
    rings: AtomicU64,
    /// Set after the thread's last record.
    pub closed: AtomicBool,
    /// Rows that found the ring full, by table; only the thread itself adds.
    pub dropped: RowCounters,
    /// Those whose name is known.
    pub dropped_names: DroppedNames,
    /// Place of the innermost row whose end is yet to come; only the thread itself stores. See
    /// [`ThreadInfo::open_rows`].
    pub open: AtomicU64,
}

impl ThreadInfo {
    /// Rows whose end is yet to come.
    pub fn open_rows(&self) -> u64 {
        open_stack::rows_at(self.open.load(Ordering::Relaxed))
    }

    /// A thread that has recorded nothing yet.
    pub fn new(index: u32, name: Option<String>, os_id: u64, start_ticks: u64) -> Self {
        Self {
            index,
            name,
            os_id,
            start_ticks,
            rings: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            dropped: RowCounters::default(),
            dropped_names: DroppedNames::default(),
            open: AtomicU64::new(0),
        }
    }

    /// Gives the thread's identity for its next ring.
    pub fn identity(&self) -> Identity {
        Identity {
            thread: self.index,
            order: self.rings.fetch_add(1, Ordering::Relaxed),
            os_id: self.os_id,
            start_ticks: self.start_ticks,
            name: self.name.clone(),
        }
    }
}

pub(crate) struct Arrival {
    pub thread: Arc<ThreadInfo>,
    pub ring: Arc<Ring>,
}

#[derive(Default)]
pub(crate) struct ThreadRegistry {
    next_thread: AtomicU32,
    pub arrivals: Mutex<Vec<Arrival>>,
    /// Threads that may still record.
    pub recording: Mutex<BTreeMap<u32, Arc<ThreadInfo>>>,
    ended_dropped: RowCounters,
    ended_dropped_names: Mutex<NamedRows>,
    left: Mutex<Vec<Arc<Ring>>>,
}

impl ThreadRegistry {
    /// Makes the calling thread known to the writer.
    pub fn register(&self, ring: &Arc<Ring>, start_ticks: u64) -> Arc<ThreadInfo> {
        // In a thread whose locals are being destroyed `current()` would panic.
        let name = std::panic::catch_unwind(|| std::thread::current().name().map(str::to_owned));
        let os_id = os_thread();
        let mut arrivals = lock(&self.arrivals);
        let thread = Arc::new(ThreadInfo::new(
            self.next_thread.fetch_add(1, Ordering::Relaxed),
            name.ok().flatten(),
            os_id,
            start_ticks,
        ));
        ring.header().take(&thread.identity());
        lock(&self.recording).insert(thread.index, thread.clone());
        arrivals.push(Arrival {
            thread: thread.clone(),
            ring: ring.clone(),
        });
        thread
    }

    /// The writer has read the last record of these threads.
    pub fn retire<'a>(&self, ended: impl Iterator<Item = &'a Arc<ThreadInfo>>) {
        let mut threads = lock(&self.recording);
        for thread in ended {
            threads.remove(&thread.index);
            if thread.dropped.sum() == 0 {
                continue;
            }
            for table in 0..TABLES.len() {
                self.ended_dropped.add(table, thread.dropped.get(table));
            }
            thread
                .dropped_names
                .add_to(&mut lock(&self.ended_dropped_names));
        }
    }

    /// Rows of a table that found a full ring, so far.
    pub fn dropped(&self, table: usize) -> u64 {
        let threads = lock(&self.recording);
        let of_threads = threads.values().map(|thread| thread.dropped.get(table));
        of_threads.fold(self.ended_dropped.get(table), u64::saturating_add)
    }

    /// Rows that found a full ring, so far, by table and name.
    pub fn dropped_names(&self) -> NamedRows {
        let threads = lock(&self.recording);
        let mut sums = lock(&self.ended_dropped_names).clone();
        for thread in threads.values() {
            thread.dropped_names.add_to(&mut sums);
        }
        sums
    }

    /// Events that were published too late to be read.
    pub fn unread(&self) -> u64 {
        let arrived = lock(&self.arrivals)
            .iter()
            .map(|arrival| arrival.ring.clone())
            .collect::<Vec<_>>();
        let left = lock(&self.left).clone();
        arrived.iter().chain(&left).map(unread_events).sum()
    }

    /// The writer reads these rings no more.
    pub fn leave(&self, rings: impl IntoIterator<Item = Arc<Ring>>) {
        lock(&self.left).extend(rings);
    }
}

fn unread_events(ring: &Arc<Ring>) -> u64 {
    let mut ring = ring.clone();
    let mut count = 0;
    loop {
        let events = ring
            .unread_records()
            .filter(|record| record.table().is_some());
        count += events.map(|record| record.rows() as u64).sum::<u64>();
        match ring.next().cloned() {
            Some(next) => ring = next,
            None => return count,
        }
    }
}
