//! The ring of records between one thread and the writer.
//!
//! One producer, one consumer; who may touch what is in `positions`, which `recorder/model`
//! runs through every interleaving. A ring lies in
//! memory that outlives the process (see [`crate::live`]) where that can be had. A ring that
//! may grow is followed by another one, found through `next`.

mod header;
mod positions;
mod reader;

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

pub(crate) use header::MAGIC_RING;
pub use header::{Identity, RingHeader};
pub use positions::{AtomicWord, Cursor, Positions, Seen, readable};
pub use reader::{Origin, RingReader};

use crate::mapped_file::HEADER_BYTES;
use crate::mapping::Mapping;
use crate::record::Record;

/// Positions above this are treated as damage. The rest of the range allows counting on without overflow.
const MAX_POSITION: u64 = 1 << 62;

/// One ring; shared by its producer and the writer.
pub struct Ring {
    memory: Arc<Mapping>,
    /// Start of the ring in the mapping, which several short rings share.
    base: NonNull<u8>,
    /// Number of its file; never reused in a run.
    number: u32,
    capacity: u64,
    /// True if its bytes count as growth of the memory.
    is_growth: bool,
    next: OnceLock<Arc<Ring>>,
}

// SAFETY: positions are atomics; records before the head are only read and records
// from the head on are only written by the one producer (`Producer` is not Clone).
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// Bytes of memory for a ring of that many records; `None`: more than there can be.
    pub fn bytes(capacity: usize) -> Option<usize> {
        capacity
            .checked_mul(size_of::<Record>())?
            .checked_add(HEADER_BYTES)
    }

    /// A ring of `capacity` records (a power of two) in zeroed memory of [`Ring::bytes`].
    pub fn new(memory: Mapping, number: u32, capacity: usize) -> Arc<Self> {
        Arc::new(Self::at(Arc::new(memory), 0, number, capacity, false))
    }

    /// As [`Ring::new`]. Its bytes count as memory for growth.
    pub fn for_growth(memory: Mapping, number: u32, capacity: usize) -> Arc<Self> {
        Arc::new(Self::at(Arc::new(memory), 0, number, capacity, true))
    }

    /// As [`Ring::new`], the one at place `nth` of memory that holds several of that capacity, one behind the other.
    /// `None`: it ends before that.
    pub fn nth(
        memory: &Arc<Mapping>,
        nth: usize,
        number: u32,
        capacity: usize,
    ) -> Option<Arc<Self>> {
        let bytes = Self::bytes(capacity)?;
        let from = bytes.checked_mul(nth)?;
        let fits = from.checked_add(bytes)? <= memory.bytes();
        fits.then(|| Arc::new(Self::at(memory.clone(), from, number, capacity, false)))
    }

    fn at(
        memory: Arc<Mapping>,
        from: usize,
        number: u32,
        capacity: usize,
        is_growth: bool,
    ) -> Self {
        debug_assert!(capacity.is_power_of_two());
        let ring = Self {
            // SAFETY: inside the memory, which callers know to be long enough.
            base: unsafe { memory.base().add(from) },
            memory,
            number,
            capacity: capacity as u64,
            is_growth,
            next: OnceLock::new(),
        };
        let width = size_of::<Record>() as u32;
        ring.header().kind.store(MAGIC_RING, width, ring.capacity);
        ring
    }

    /// Rings in a file of so many bytes, by its first header: those of threads that record little share one. `None`:
    /// that is no ring of this version.
    pub fn count_in(first: &RingHeader, bytes: usize) -> Option<usize> {
        let width = size_of::<Record>() as u32;
        let capacity = first.kind.capacity_of(MAGIC_RING, width)?;
        let each = Self::bytes(usize::try_from(capacity).ok()?)?;
        (bytes >= each && bytes.is_multiple_of(each)).then_some(bytes / each)
    }

    /// True if somebody else has written over its head, or emptied its file: nobody reads it any more.
    pub fn is_disturbed(&self) -> bool {
        let kind = &self.header().kind;
        kind.capacity_of(MAGIC_RING, size_of::<Record>() as u32) != Some(self.capacity)
    }

    /// The ring that a range of the memory of a process that is gone holds. `None`: it holds none, it is
    /// damaged, or was written by another version.
    pub fn restored(memory: &Arc<Mapping>, range: Range<usize>, number: u32) -> Option<Arc<Self>> {
        let bytes = range.len();
        if bytes < HEADER_BYTES || range.end > memory.bytes() {
            return None;
        }
        let mut ring = Self {
            // SAFETY: inside the memory.
            base: unsafe { memory.base().add(range.start) },
            memory: memory.clone(),
            number,
            capacity: 0,
            is_growth: false,
            next: OnceLock::new(),
        };
        let header = ring.header();
        let (kind, positions) = (&header.kind, &header.positions);
        let capacity = kind.capacity_of(MAGIC_RING, size_of::<Record>() as u32)?;
        let unread = positions.head().checked_sub(positions.tail())?;
        if positions.head() > MAX_POSITION {
            return None;
        }
        let fits = Ring::bytes(usize::try_from(capacity).ok()?)? == bytes;
        // A signal at the wrong moment puts some records over others, see `RingReader`.
        if !capacity.is_power_of_two() || !fits || unread > 2 * capacity {
            return None;
        }
        ring.capacity = capacity;
        Some(Arc::new(ring))
    }

    /// Another ring carries on.
    pub fn set_next(&self, next: Arc<Ring>) {
        // Set once, by whoever leaves this ring for good.
        let _ = self.next.set(next);
    }

    /// Its number in the run.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Records that it has room for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// True if its bytes count as memory for growth.
    pub fn is_growth(&self) -> bool {
        self.is_growth
    }

    /// True if a kill leaves its records.
    pub fn is_in_file(&self) -> bool {
        self.memory.is_in_file()
    }

    /// Its first page.
    #[inline(always)]
    pub fn header(&self) -> &RingHeader {
        // SAFETY: the memory begins with a header, zeroed at first (a valid state of
        // atomics), aligned to a page, and lives as long as self.
        unsafe { self.base.cast::<RingHeader>().as_ref() }
    }

    #[inline]
    fn records(&self) -> *mut Record {
        // SAFETY: the records follow the header's page inside the same mapping.
        unsafe { self.base.as_ptr().add(HEADER_BYTES).cast() }
    }

    /// Records published and not yet read.
    pub fn unread(&self) -> u64 {
        self.header().positions.unread()
    }

    /// The ring that carries on after this one; once it is there, no record is added here.
    pub fn next(&self) -> Option<&Arc<Ring>> {
        self.next.get()
    }

    /// State that the one consumer may act on; `ended` says whether the producer is gone.
    #[inline]
    pub fn look(&self, ended: impl FnOnce() -> bool) -> Seen<Arc<Ring>> {
        self.header().positions.look(ended, || self.next().cloned())
    }

    /// True if it holds nothing and its positions can be those of a ring: others can write to its file.
    pub fn is_fresh(&self) -> bool {
        let positions = &self.header().positions;
        positions.head() == positions.tail() && positions.head() < MAX_POSITION
    }

    /// Makes a ring that was read to its end fit for another thread.
    ///
    /// `None` while records are unread or anyone else holds it.
    pub fn recycle(self: Arc<Self>) -> Option<Arc<Self>> {
        let mut ring = self;
        let unread = ring.unread();
        let alone = Arc::get_mut(&mut ring)?;
        alone.next.take();
        (unread == 0).then_some(ring)
    }

    /// Copies the records from position `from` on into `to`, around the end of the ring's memory where they lie so,
    /// up to position `end` or the end of `to`; gives how many. Both lie between tail and head. Only the one consumer
    /// may call it.
    ///
    /// They are copied and not lent: the memory may be a file that others write to, and a record must not change
    /// between a look at its length and its use.
    #[inline]
    pub fn copy(&self, from: u64, end: u64, to: &mut [Record]) -> usize {
        let mut copied = 0;
        while copied < to.len() && from + (copied as u64) < end {
            let (at, count) = readable(from + copied as u64, end, self.capacity);
            let count = count.min(to.len() - copied);
            for (to, at) in to[copied..copied + count].iter_mut().zip(at..) {
                *to = self.record(at);
            }
            copied += count;
        }
        copied
    }

    #[inline(always)]
    fn record(&self, at: usize) -> Record {
        // SAFETY: `at` lies within the capacity; the record was published before `head` was read with Acquire, and the
        // producer does not touch it until the tail has passed it. Any bytes are a record; volatile, as another process
        // may write to the file: one read, of whatever is there.
        unsafe { self.records().add(at).read_volatile() }
    }

    /// Records that were published and not read. Only when there is no consumer any more.
    pub fn unread_records(&self) -> impl Iterator<Item = Record> + '_ {
        let positions = &self.header().positions;
        let first = positions.head().saturating_sub(self.capacity);
        (positions.tail().max(first)..positions.head())
            .map(|at| self.record((at & (self.capacity - 1)) as usize))
    }
}

/// The writing end of a ring.
pub struct Producer {
    records: *mut Record,
    /// Pointer into the header of `ring`, computed once.
    positions: NonNull<Positions>,
    cursor: Cursor,
    ring: Arc<Ring>,
}

impl Producer {
    /// The producer of a ring that has none (a fresh or recycled one).
    pub fn new(ring: Arc<Ring>) -> Self {
        Self {
            records: ring.records(),
            positions: NonNull::from(&ring.header().positions),
            cursor: Cursor::new(&ring.header().positions, ring.capacity),
            ring,
        }
    }

    /// The ring it writes to.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// True if the next record must go through [`Producer::reserve`].
    #[inline(always)]
    pub fn must_reserve(&self) -> bool {
        self.cursor.must_reserve()
    }

    /// True if `count` records fit, as far as is known without a look at the tail.
    #[inline(always)]
    pub fn has_room(&self, count: u64) -> bool {
        self.cursor.has_room(count)
    }

    /// Makes the next record go through [`Producer::reserve`].
    pub fn look_first(&mut self) {
        self.cursor.look_first();
    }

    /// Looks for room for `count` records. First: they fit; second: the ring is half full.
    pub fn reserve(&mut self, count: u64) -> (bool, bool) {
        self.cursor.reserve(&self.ring.header().positions, count)
    }

    /// Writes one record without publishing it.
    ///
    /// # Safety
    /// There must be room: `must_reserve` was false, or `reserve` granted it.
    #[inline(always)]
    pub unsafe fn write(&mut self, record: Record) {
        // SAFETY: the place is masked into the ring; the caller vouches that it is free.
        unsafe { self.records.add(self.cursor.advance()).write(record) };
    }

    /// Publishes what was written.
    #[inline(always)]
    pub fn publish(&self) {
        // SAFETY: in the memory of the ring, which is held as long as self.
        self.cursor.publish(unsafe { self.positions.as_ref() });
    }

    /// Writes one record and publishes it, with what was written before.
    ///
    /// # Safety
    /// As of [`Producer::write`].
    #[inline(always)]
    pub unsafe fn push(&mut self, record: Record) {
        let at = self.cursor.advance();
        // Before the store, which the compiler must take for one that may change the cursor.
        let cursor = self.cursor;
        // SAFETY: as in `write`.
        unsafe { self.records.add(at).write(record) };
        // SAFETY: as in `publish`.
        cursor.publish(unsafe { self.positions.as_ref() });
    }

    /// Carries on in another ring.
    pub fn follow(&mut self, next: Arc<Ring>) {
        let old = std::mem::replace(self, Self::new(next.clone()));
        old.ring.set_next(next);
    }
}

#[cfg(test)]
mod tests;
