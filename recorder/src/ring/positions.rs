//! Who may touch which record: two positions, counted in records since the beginning.
//!
//! Records from the tail to the head are published: the one consumer reads them, the
//! producer leaves them alone. The others are the producer's. Each side stores its own
//! position with release and loads the other's with acquire. Positions never wrap.

use super::sync::{AtomicU64, Ordering};

/// A cache line and its neighbour, which the prefetcher fetches along.
#[repr(C, align(128))]
struct Apart<T>(T);

/// Head and tail of a ring.
#[repr(C)]
pub(crate) struct Positions {
    head: Apart<AtomicU64>,
    tail: Apart<AtomicU64>,
}

impl Positions {
    /// Of a ring that was never used. (Mapped memory begins as zeros, which is the same.)
    #[allow(dead_code, reason = "for models of the protocol")]
    pub fn new() -> Self {
        Self {
            head: Apart(AtomicU64::new(0)),
            tail: Apart(AtomicU64::new(0)),
        }
    }

    /// How far records are published.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }

    /// How far records were read.
    #[inline(always)]
    pub fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    /// Producer: everything before `head` was written.
    #[inline(always)]
    pub fn publish(&self, head: u64) {
        self.head.0.store(head, Ordering::Release);
    }

    /// Consumer: everything before `tail` is done with.
    #[inline(always)]
    pub fn consume(&self, tail: u64) {
        self.tail.0.store(tail, Ordering::Release);
    }
}
