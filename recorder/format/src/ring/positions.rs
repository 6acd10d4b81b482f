//! Positions of the two ends of a ring: all that its producer and its consumer say to one another.
//!
//! Nothing here touches records, and the atomics are a parameter: so the same code also runs under loom
//! (`recorder/model`), which tries every interleaving.

use std::sync::atomic::{AtomicU64, Ordering};

/// An atomic word, with the orders that are asked for.
pub trait AtomicWord: Default {
    /// As [`AtomicU64::load`].
    fn load(&self, order: Ordering) -> u64;

    /// As [`AtomicU64::store`].
    fn store(&self, value: u64, order: Ordering);
}

impl AtomicWord for AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
}

/// A cache line and its neighbour, which the prefetcher fetches with it.
#[derive(Default)]
#[repr(C, align(128))]
struct Apart<T>(T);

/// The two positions, counted in records since the beginning. They never wrap (2^64 records).
#[derive(Default)]
#[repr(C)]
pub struct Positions<W = AtomicU64> {
    head: Apart<W>,
    tail: Apart<W>,
}

/// State that a consumer may act on, see [`Positions::look`].
pub struct Seen<N> {
    /// The producer has ended: nothing comes after `head` and what follows in `next`.
    pub ended: bool,
    /// The ring that carries on; nothing comes after `head` in this one.
    pub next: Option<N>,
    /// Records before it are published.
    pub head: u64,
}

impl<W: AtomicWord> Positions<W> {
    /// Records before it are published, and visible to the caller.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }

    /// Records before it are read; their places are the producer's.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    /// Records published and not yet read.
    pub fn unread(&self) -> u64 {
        // The tail first: it does not overtake a head that is read later, unless somebody else writes to its file.
        let tail = self.tail();
        self.head().saturating_sub(tail)
    }

    /// For the consumer: what there is, in the order that loses nothing. `ended` and `next`
    /// are asked before the head: once either is there, the head does not move any more.
    #[inline]
    pub fn look<N>(
        &self,
        ended: impl FnOnce() -> bool,
        next: impl FnOnce() -> Option<N>,
    ) -> Seen<N> {
        let ended = ended();
        let next = next();
        let head = self.head();
        Seen { ended, next, head }
    }

    /// For the consumer: it is done with all records before `tail`, and gives them back.
    #[inline(always)]
    pub fn consume(&self, tail: u64) {
        self.tail.0.store(tail, Ordering::Release);
    }
}

/// For the consumer: place and number of the records from position `from` on that lie
/// side by side, up to position `end`, in a ring of `capacity` (a power of two).
#[inline(always)]
pub fn readable(from: u64, end: u64, capacity: u64) -> (usize, usize) {
    let at = from & (capacity - 1);
    (at as usize, (end - from).min(capacity - at) as usize)
}

/// The producer's own knowledge of its ring.
#[derive(Clone, Copy)]
pub struct Cursor {
    mask: u64,
    head: u64,
    /// The head may advance to here without reading the tail; if equal to the head, read the tail first.
    limit: u64,
}

impl Cursor {
    /// The one producer of a ring that has none.
    pub fn new<W: AtomicWord>(positions: &Positions<W>, capacity: u64) -> Self {
        let head = positions.head();
        Self {
            mask: capacity - 1,
            head,
            limit: head,
        }
    }

    /// True if the next record must go through [`Cursor::reserve`].
    #[inline(always)]
    pub fn must_reserve(&self) -> bool {
        // A signal handler that records on this thread may have passed it.
        self.head >= self.limit
    }

    /// True if `count` records fit without a look at the tail, which another core writes.
    #[inline(always)]
    pub fn has_room(&self, count: u64) -> bool {
        // A signal handler that records on this thread may have passed the limit.
        count <= self.limit.saturating_sub(self.head)
    }

    /// Makes the next record go through [`Cursor::reserve`].
    pub fn look_first(&mut self) {
        self.limit = self.head;
    }

    /// Looks at the tail: whether `count` records fit. Afterwards the head may move on for
    /// half a ring before the next look. Second: whether the ring is half full.
    pub fn reserve<W: AtomicWord>(&mut self, positions: &Positions<W>, count: u64) -> (bool, bool) {
        let capacity = self.mask + 1;
        // A signal that came between a look at the head and its publication has set the head back, behind what its
        // handler recorded and the consumer has read since: without this there would never be room again.
        let ahead = positions.tail().wrapping_sub(self.head);
        if (1..=capacity).contains(&ahead) {
            self.head = self.head.wrapping_add(ahead);
        }
        // Others can write to the file that the tail lies in: what it then says leaves no room, and no panic.
        let used = self.head.wrapping_sub(positions.tail()).min(capacity);
        let free = capacity - used;
        let fits = count <= free;
        let half = capacity / 2;
        self.limit = if fits {
            // Saturating, as the head of a ring that is taken anew comes from that file as well.
            self.head.saturating_add(free.min(half.max(count)))
        } else {
            self.head
        };
        (fits, used >= half)
    }

    /// The place of the next record, which is then counted as written. There must be room:
    /// `must_reserve` was false, or `reserve` granted it.
    #[inline(always)]
    pub fn advance(&mut self) -> usize {
        let at = self.head & self.mask;
        self.head = self.head.wrapping_add(1);
        at as usize
    }

    /// Publishes what was written.
    #[inline(always)]
    pub fn publish<W: AtomicWord>(&self, positions: &Positions<W>) {
        positions.head.0.store(self.head, Ordering::Release);
    }
}
