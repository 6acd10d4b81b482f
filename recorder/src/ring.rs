//! The ring of records between one thread and the writer.
//!
//! One producer, one consumer. The head is published with a release store
//! after the records are written; the tail likewise after they are read. A
//! ring that may grow is followed by another one, found through `next`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::record::Record;

/// A cache line and its neighbour, which the prefetcher fetches along.
#[derive(Default)]
#[repr(C, align(128))]
struct Apart<T>(T);

/// First thing in the ring's memory: the two positions, counted in records since
/// the beginning. They never wrap (2^64 records).
#[derive(Default)]
#[repr(C)]
struct Header {
    head: Apart<AtomicU64>,
    tail: Apart<AtomicU64>,
}

/// The memory of a ring: a header, then the records.
struct Memory {
    base: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// Zeroed memory for that many records, every page of it touched. `None` when there is none left.
    fn new(records: usize) -> Option<Self> {
        let bytes = records
            .checked_mul(size_of::<Record>())?
            .checked_add(size_of::<Header>())?;
        let layout = Layout::from_size_align(bytes, align_of::<Header>()).ok()?;
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let memory = Self { base, layout };
        memory.touch(bytes);
        Some(memory)
    }

    /// Maps every page now, and not under the first event that reaches it.
    fn touch(&self, bytes: usize) {
        const PAGE: usize = 4096;
        let base = self.base.as_ptr();
        let inner = base.align_offset(PAGE)..(bytes - bytes % PAGE).saturating_sub(PAGE);
        // SAFETY: whole pages inside the allocation; the call maps them and keeps what they hold.
        let populated = !inner.is_empty()
            && unsafe {
                libc::madvise(
                    base.add(inner.start).cast(),
                    inner.len(),
                    libc::MADV_POPULATE_WRITE,
                ) == 0
            };
        // Kernels before 5.14 do not know the call; the edges lie outside of it.
        let step = if populated { inner.len() } else { PAGE };
        for at in (0..bytes).step_by(step).chain([bytes - 1]) {
            // SAFETY: inside the allocation, which is zero so far. Volatile: the write must happen.
            unsafe { base.add(at).write_volatile(0) };
        }
    }

    fn header(&self) -> &Header {
        // SAFETY: the memory begins with a header, zeroed (a valid state of atomics), aligned
        // by the layout, and lives as long as self.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    fn records(&self) -> *mut Record {
        // SAFETY: the records follow the header inside the same allocation.
        unsafe { self.base.as_ptr().add(size_of::<Header>()).cast() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

/// One ring; shared by its producer and the writer.
pub(crate) struct Ring {
    memory: Memory,
    capacity: u64,
    next: OnceLock<Arc<Ring>>,
}

// SAFETY: positions are atomics; records before the head are only read and records
// from the head on are only written by the one producer (`Producer` is not Clone).
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring of `capacity` records (a power of two), its memory touched.
    pub fn new(capacity: usize) -> Option<Arc<Self>> {
        debug_assert!(capacity.is_power_of_two());
        let memory = Memory::new(capacity)?;
        Some(Arc::new(Self {
            memory,
            capacity: capacity as u64,
            next: OnceLock::new(),
        }))
    }

    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Records published and not yet read.
    pub fn unread(&self) -> u64 {
        let header = self.memory.header();
        header.head.0.load(Ordering::Acquire) - header.tail.0.load(Ordering::Acquire)
    }

    /// The ring that carries on after this one; once it is there, no record is added here.
    pub fn next(&self) -> Option<&Arc<Ring>> {
        self.next.get()
    }

    /// Where the producer stands.
    pub fn head(&self) -> u64 {
        self.memory.header().head.0.load(Ordering::Acquire)
    }

    /// Makes a ring that was read to its end fit for another thread.
    ///
    /// `None` while records are unread, another ring follows or anyone else holds it.
    pub fn recycle(self: Arc<Self>) -> Option<Arc<Self>> {
        let mut ring = self;
        let unread = ring.unread();
        let alone = Arc::get_mut(&mut ring)?;
        (unread == 0 && alone.next.get().is_none()).then_some(ring)
    }

    /// The contiguous records at the tail, up to position `end`. Only the one consumer may call it.
    pub fn readable(&self, end: u64) -> &[Record] {
        let tail = self.memory.header().tail.0.load(Ordering::Relaxed);
        let at = tail & (self.capacity - 1);
        let count = (end - tail).min(self.capacity - at);
        // SAFETY: records in [tail, head) are written, were published before `head` was read
        // with Acquire, and the producer does not touch them until `consume` moves the tail.
        unsafe {
            std::slice::from_raw_parts(self.memory.records().add(at as usize), count as usize)
        }
    }

    /// What was published and not read. Only when there is no consumer any more.
    pub fn unread_records(&self) -> impl Iterator<Item = Record> + '_ {
        (self.tail()..self.head()).map(|at| {
            let at = (at & (self.capacity - 1)) as usize;
            // SAFETY: as in `readable`: published, and never overwritten while it is unread.
            unsafe { *self.memory.records().add(at) }
        })
    }

    /// Gives `count` read records back. Only the one consumer may call it.
    pub fn consume(&self, count: usize) {
        let tail = &self.memory.header().tail.0;
        tail.store(
            tail.load(Ordering::Relaxed) + count as u64,
            Ordering::Release,
        );
    }

    /// Position of the consumer.
    pub fn tail(&self) -> u64 {
        self.memory.header().tail.0.load(Ordering::Acquire)
    }
}

/// The writing end of a ring.
pub(crate) struct Producer {
    records: *mut Record,
    mask: u64,
    head: u64,
    /// The head may go up to here without a look at the tail; equal to the head: look first.
    limit: u64,
    ring: Arc<Ring>,
}

impl Producer {
    /// The producer of a ring that has none (a fresh or recycled one).
    pub fn new(ring: Arc<Ring>) -> Self {
        let head = ring.head();
        Self {
            records: ring.memory.records(),
            mask: ring.capacity - 1,
            head,
            limit: head,
            ring,
        }
    }

    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Whether the next record must go through [`Producer::reserve`].
    #[inline(always)]
    pub fn must_reserve(&self) -> bool {
        self.head == self.limit
    }

    /// Makes the next record go through [`Producer::reserve`].
    pub fn look_first(&mut self) {
        self.limit = self.head;
    }

    /// Looks at the tail: whether `count` records fit. Afterwards the head may move on for
    /// half a ring before the next look. Second: whether the ring is half full.
    pub fn reserve(&mut self, count: u64) -> (bool, bool) {
        let used = self.head - self.ring.tail();
        let free = self.ring.capacity - used;
        let fits = count <= free;
        let half = self.ring.capacity / 2;
        self.limit = if fits {
            self.head + free.min(half.max(count))
        } else {
            self.head
        };
        (fits, used >= half)
    }

    /// Writes one record without publishing it.
    ///
    /// # Safety
    /// There must be room: `must_reserve` was false, or `reserve` granted it.
    #[inline(always)]
    pub unsafe fn write(&mut self, record: Record) {
        // SAFETY: the index is masked into the ring; the caller vouches that the slot is free.
        unsafe {
            self.records
                .add((self.head & self.mask) as usize)
                .write(record)
        };
        self.head += 1;
    }

    /// Publishes what was written.
    #[inline(always)]
    pub fn publish(&self) {
        self.ring
            .memory
            .header()
            .head
            .0
            .store(self.head, Ordering::Release);
    }

    /// Carries on in another ring.
    pub fn follow(&mut self, next: Arc<Ring>) {
        let old = std::mem::replace(self, Self::new(next.clone()));
        // Set once: this producer leaves the old ring for good.
        let _ = old.ring.next.set(next);
    }
}
