//! Rings of one recorder: first ones, those that follow full ones, and spare ones.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use trueno_format::dropped_names::NamedRows;
use trueno_format::live::Entry;
use trueno_format::ring::Ring;
use trueno_format::schema::TABLES;

use crate::live::Live;
use crate::lock::lock;
use crate::overflow::Overflow;

/// A ring that grows is followed by one twice as large, up to this many records.
const LARGEST_RING: u64 = 1 << 20;

/// Memory for rings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingSizes {
    /// Records in a thread's first ring.
    pub records: usize,
    /// Most memory for rings that follow full ones, of all threads together.
    pub growth_bytes: u64,
}

/// Rings kept for the next threads when theirs have ended.
const SPARE_RINGS: usize = 4;
/// Records in the first ring of a thread whose rings may grow: threads of a scope or a pool often record a few rows.
const FIRST_RECORDS: usize = 1 << 10;
/// First rings that wait for another thread.
const SPARE_FIRST_RINGS: usize = 256;

pub(crate) struct RingPool {
    live: Arc<Live>,
    sizes: RingSizes,
    /// Records in a thread's first ring, which one of `sizes.records` follows if it is shorter.
    first_records: usize,
    /// Bytes of `sizes.growth_bytes` that are taken.
    grown_bytes: AtomicU64,
    spare: Mutex<Vec<Arc<Ring>>>,
    spare_first: Mutex<Vec<Arc<Ring>>>,
    /// First rings to have ready: more, once a thread had to make its own.
    first_rings: AtomicUsize,
}

impl RingPool {
    pub fn new(live: Arc<Live>, overflow: Overflow, sizes: RingSizes) -> Self {
        Self {
            live,
            sizes,
            first_records: match overflow {
                Overflow::Grow => sizes.records.min(FIRST_RECORDS),
                Overflow::Drop | Overflow::Block => sizes.records,
            },
            grown_bytes: AtomicU64::new(0),
            spare: Mutex::default(),
            spare_first: Mutex::default(),
            first_rings: AtomicUsize::new(1),
        }
    }

    /// A ring for a new thread: one that was given back, else a fresh one.
    pub fn first(&self) -> Option<Arc<Ring>> {
        if !self.starts_small() {
            return self.full_ring();
        }
        let spare = lock(&self.spare_first).pop();
        if spare.is_none() {
            let wanted = self.first_rings.load(Ordering::Relaxed);
            let wanted = (2 * wanted).min(SPARE_FIRST_RINGS);
            self.first_rings.store(wanted, Ordering::Relaxed);
        }
        let spare = spare.filter(|ring| ring.is_fresh());
        spare.or_else(|| self.live.ring(self.first_records))
    }

    fn full_ring(&self) -> Option<Arc<Ring>> {
        // One that others have written to meanwhile is left alone.
        let spare = lock(&self.spare).pop().filter(|ring| ring.is_fresh());
        spare.or_else(|| self.live.ring(self.sizes.records))
    }

    fn starts_small(&self) -> bool {
        self.first_records < self.sizes.records
    }

    /// True if a ring of that many records is to be left once it is half full: the next one is longer, and the writer
    /// need not be woken so often.
    pub fn is_outgrown(&self, capacity: u64) -> bool {
        capacity < self.sizes.records as u64 && self.starts_small()
    }

    /// A ring to follow a full one of `capacity` records: one of full length after a short one, else one twice as
    /// large, or as large as memory for growth is left.
    pub fn grown(&self, capacity: u64) -> Option<Arc<Ring>> {
        if self.is_outgrown(capacity) {
            return self.full_ring();
        }
        let mut records = (capacity * 2).min(LARGEST_RING.max(capacity));
        loop {
            let bytes = Ring::bytes(records as usize)? as u64;
            if self.take_growth(bytes) {
                let ring = self.live.ring(records as usize);
                if ring.is_none() {
                    self.give_back_growth(bytes);
                }
                return ring;
            }
            if records <= self.sizes.records as u64 {
                return None;
            }
            records /= 2;
        }
    }

    fn take_growth(&self, bytes: u64) -> bool {
        let more = |taken: u64| {
            let sum = taken.checked_add(bytes)?;
            (sum <= self.sizes.growth_bytes).then_some(sum)
        };
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        self.grown_bytes.fetch_update(set, fetch, more).is_ok()
    }

    /// Saturating: the place of a ring lies in a file that others can write.
    fn give_back_growth(&self, bytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(bytes));
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.grown_bytes.fetch_update(set, fetch, less);
    }

    /// Has rings ready for the next new threads: making one of full length takes a millisecond.
    pub fn stock(&self) {
        let wanted = self.first_rings.load(Ordering::Relaxed);
        while self.starts_small() && lock(&self.spare_first).len() < wanted {
            let Some(ring) = self.live.ring(self.first_records) else {
                break;
            };
            lock(&self.spare_first).push(ring);
        }
        if lock(&self.spare).is_empty()
            && let Some(ring) = self.live.ring(self.sizes.records)
        {
            lock(&self.spare).push(ring);
        }
    }

    /// Takes back a ring that was read to its end.
    pub fn give_back(&self, ring: Arc<Ring>) {
        self.keep_dropped(&ring);
        ring.header().in_use.store(0, Ordering::Release);
        // The ring of full length that follows a short one is not growth.
        let full_order = u64::from(self.starts_small());
        let order = ring.header().order.load(Ordering::Relaxed);
        if order > full_order {
            let bytes = Ring::bytes(ring.capacity() as usize).unwrap_or(0) as u64;
            self.give_back_growth(bytes);
            return self.live.remove_ring(&ring);
        }
        let (spare, most, records) = if order < full_order {
            (&self.spare_first, SPARE_FIRST_RINGS, self.first_records)
        } else {
            (&self.spare, SPARE_RINGS, self.sizes.records)
        };
        let mut spare = lock(spare);
        let fits = ring.capacity() == records as u64 && ring.next().is_none();
        if !fits || spare.len() >= most {
            return self.live.remove_ring(&ring);
        }
        if let Some(ring) = ring.recycle() {
            spare.push(ring);
        }
    }

    /// Keeps the counts of drops for when the ring is used again and the process is killed then.
    fn keep_dropped(&self, ring: &Ring) {
        let header = ring.header();
        if header.dropped().sum() == 0 {
            return;
        }
        let rows = (0..TABLES.len()).map(|table| (table, header.dropped().get(table)));
        let mut names = NamedRows::new();
        header.dropped_names.add_to(&mut names);
        self.live.log(&[Entry::Dropped {
            ring: ring.number(),
            uses: header.uses.load(Ordering::Relaxed),
            rows: rows
                .filter(|(_, rows)| *rows > 0)
                .map(|(table, rows)| (TABLES[table].name.to_owned(), rows))
                .collect(),
            names: names
                .into_iter()
                .map(|((table, name), rows)| (TABLES[table].name.to_owned(), name, rows))
                .collect(),
        }]);
    }
}
