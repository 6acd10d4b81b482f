//! Rings of one recorder: first ones, those that follow full ones, and spare ones.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use trueno_format::dropped_names::NamedRows;
use trueno_format::live::Entry;
use trueno_format::ring::Ring;
use trueno_format::schema::TABLES;

use crate::live::{Live, RingBlock};
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

/// Longer rings kept for the next threads when theirs have ended, of each length.
const SPARE_RINGS: usize = 4;
/// Records in the first ring of a thread whose rings may grow: threads of a scope or a pool often record a few rows.
const FIRST_RECORDS: usize = 1 << 8;
/// A ring that is outgrown is followed by one so many times as long.
const STEP: u64 = 8;
/// First rings that share a file: making one takes longer than most threads record.
const BLOCK_RINGS: usize = 64;
/// Threads that have ended and whose rings wait for the writer: so many, and it is woken.
const MAX_ENDED: usize = 32;

pub(crate) struct RingPool {
    live: Arc<Live>,
    sizes: RingSizes,
    /// Records in a thread's first ring, which longer ones up to `sizes.records` follow if it is shorter.
    first_records: usize,
    /// Bytes of `sizes.growth_bytes` that are taken.
    grown_bytes: AtomicU64,
    longer_rings: Mutex<LongerRings>,
    first_rings: Mutex<FirstRings>,
    /// Threads that ended since the writer looked last.
    ended: AtomicUsize,
    /// Records of the longest ring that a thread uses, those for growth apart.
    longest: AtomicU64,
}

/// Rings that are no first ones and that no thread uses.
#[derive(Default)]
struct LongerRings {
    spare: Vec<Arc<Ring>>,
    /// Lengths that threads found no ring of since the writer looked last, with the indices of the threads.
    missing: BTreeSet<(u64, u32)>,
}

impl LongerRings {
    fn count(&self, records: u64) -> usize {
        let alike = |ring: &&Arc<Ring>| ring.capacity() == records;
        self.spare.iter().filter(alike).count()
    }

    fn take(&mut self, records: u64) -> Option<Arc<Ring>> {
        let is_it = |ring: &Arc<Ring>| ring.capacity() == records;
        let at = self.spare.iter().position(is_it)?;
        let ring = self.spare.swap_remove(at);
        // One that others have written to meanwhile is left alone.
        ring.is_fresh().then_some(ring)
    }
}

/// Short rings that no thread uses. As many stay as threads were there at once.
#[derive(Default)]
struct FirstRings {
    spare: Vec<Arc<Ring>>,
    block: Option<RingBlock>,
}

impl RingPool {
    pub fn new(live: Arc<Live>, overflow: Overflow, sizes: RingSizes) -> Self {
        let first_records = match overflow {
            Overflow::Grow => sizes.records.min(FIRST_RECORDS),
            Overflow::Drop | Overflow::Block => sizes.records,
        };
        Self {
            live,
            sizes,
            first_records,
            grown_bytes: AtomicU64::new(0),
            longer_rings: Mutex::default(),
            first_rings: Mutex::default(),
            ended: AtomicUsize::new(0),
            longest: AtomicU64::new(0),
        }
    }

    /// A ring for a new thread: one that was given back, else a fresh one.
    pub fn first(&self) -> Option<Arc<Ring>> {
        if !self.starts_small() {
            return self.spare_or_new(self.sizes.records as u64);
        }
        let mut rings = lock(&self.first_rings);
        while let Some(spare) = rings.spare.pop() {
            // One that others have written to meanwhile is left alone.
            if spare.is_fresh() {
                return Some(spare);
            }
        }
        self.have_block(&mut rings);
        self.live.ring_of(rings.block.as_mut()?)
    }

    fn have_block(&self, rings: &mut FirstRings) {
        if rings.block.as_ref().is_none_or(RingBlock::is_used_up) {
            rings.block = self.live.ring_block(self.first_records, BLOCK_RINGS);
        }
    }

    /// A thread has ended. True: the writer should read what such threads have left now, as others may need their
    /// rings.
    pub fn thread_ended(&self) -> bool {
        self.ended.fetch_add(1, Ordering::Relaxed) + 1 == MAX_ENDED
    }

    /// The writer looks for threads that have ended.
    pub fn look_for_ended(&self) {
        self.ended.store(0, Ordering::Relaxed);
    }

    fn spare_or_new(&self, records: u64) -> Option<Arc<Ring>> {
        self.longest.fetch_max(records, Ordering::Relaxed);
        let spare = lock(&self.longer_rings).take(records);
        spare.or_else(|| self.live.ring(records as usize))
    }

    fn starts_small(&self) -> bool {
        self.first_records < self.sizes.records
    }

    /// True if a ring of that many records is to be left once it is half full, or its thread has recorded more rows than
    /// it has room for: the next one is longer, and the writer need not be woken so often.
    pub fn is_outgrown(&self, capacity: u64) -> bool {
        capacity < self.sizes.records as u64 && self.starts_small()
    }

    fn step(&self, capacity: u64) -> u64 {
        (capacity * STEP).min(self.sizes.records as u64)
    }

    /// The next longer ring for a thread after an outgrown one of `capacity` records, if there is one. If not,
    /// [`RingPool::stock`] makes it; `wake` lets the writer do so now.
    pub fn ready(&self, capacity: u64, thread: u32, wake: impl FnOnce()) -> Option<Arc<Ring>> {
        let records = self.step(capacity);
        let mut longer = lock(&self.longer_rings);
        let ring = longer.take(records);
        let is_news = ring.is_some() || longer.missing.insert((records, thread));
        drop(longer);
        if ring.is_some() {
            self.longest.fetch_max(records, Ordering::Relaxed);
        }
        if is_news {
            wake();
        }
        ring
    }

    /// A ring to follow one of `capacity` records that has no room: a longer one after a short one, after others one
    /// twice as large, or as large as memory for growth is left.
    pub fn grown(&self, capacity: u64) -> Option<Arc<Ring>> {
        if !self.is_outgrown(capacity) {
            let records = (capacity * 2).min(LARGEST_RING.max(capacity));
            return self.grown_to(records, self.sizes.records as u64);
        }
        let records = self.step(capacity);
        let is_first = capacity == self.first_records as u64;
        let is_ready = lock(&self.longer_rings).count(records) > 0;
        // The writer makes the longer one, which takes milliseconds. Until it has, one more of this length will do.
        if !is_first
            && !is_ready
            && let Some(ring) = self.grown_to(capacity, capacity)
        {
            return Some(ring);
        }
        self.spare_or_new(records)
    }

    /// A ring of `records` records or fewer, but at least `least`, from the memory for growth.
    fn grown_to(&self, mut records: u64, least: u64) -> Option<Arc<Ring>> {
        loop {
            let bytes = Ring::bytes(records as usize)? as u64;
            if self.take_growth(bytes) {
                let ring = self.live.ring_for_growth(records as usize);
                if ring.is_none() {
                    self.give_back_growth(bytes);
                }
                return ring;
            }
            if records <= least {
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

    /// Has rings ready for the next new thread, for the first one that outgrows its own, and for those that found none:
    /// making one of full length takes milliseconds.
    pub fn stock(&self) {
        if self.starts_small() {
            let mut rings = lock(&self.first_rings);
            if rings.spare.is_empty() {
                self.have_block(&mut rings);
            }
        }
        let missing = std::mem::take(&mut lock(&self.longer_rings).missing);
        let missing: Vec<_> = missing.into_iter().map(|(records, _)| records).collect();
        for alike in missing.chunk_by(u64::eq) {
            self.have(alike[0], alike.len());
        }
        if !self.starts_small() {
            return self.have(self.sizes.records as u64, 1);
        }
        match self.longest.load(Ordering::Relaxed) {
            0 => {
                let second = self.step(self.first_records as u64);
                self.have(second, 1);
                self.have(self.step(second), 1);
            }
            longest if self.is_outgrown(longest) => self.have(self.step(longest), 1),
            _ => {}
        }
    }

    /// Has so many spare rings of a length.
    fn have(&self, records: u64, count: usize) {
        while lock(&self.longer_rings).count(records) < count {
            let Some(ring) = self.live.ring(records as usize) else {
                return;
            };
            lock(&self.longer_rings).spare.push(ring);
        }
    }

    /// Takes back a ring that was read to its end.
    pub fn give_back(&self, ring: Arc<Ring>) {
        self.keep_dropped(&ring);
        ring.header().in_use.store(0, Ordering::Release);
        if ring.is_growth() {
            let bytes = Ring::bytes(ring.capacity() as usize).unwrap_or(0) as u64;
            self.give_back_growth(bytes);
            return self.live.remove_ring(&ring);
        }
        if self.starts_small() && ring.capacity() == self.first_records as u64 {
            // One that another ring followed is used again as well: it is read.
            if let Some(ring) = ring.recycle() {
                lock(&self.first_rings).spare.push(ring);
            }
            return;
        }
        let is_left = ring.next().is_some() && ring.capacity() == self.sizes.records as u64;
        let mut longer = lock(&self.longer_rings);
        if is_left || longer.count(ring.capacity()) >= SPARE_RINGS {
            return self.live.remove_ring(&ring);
        }
        if let Some(ring) = ring.recycle() {
            longer.spare.push(ring);
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
