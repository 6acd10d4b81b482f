//! Loops that read and write memory, and do as little else as can be.
//!
//! They go through their arrays in blocks, over and over, and go on where they stopped: the way back to the start is a
//! conditional move, not a branch that is mispredicted at each end. As with the arithmetic, loops
//! in assembly are what they are at any optimisation level.
//!
//! Memory is what plain loads and stores reach: a triad of a program could do nothing about the line that the processor
//! reads before a plain store, and gets 0.7 of what streaming stores get.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::memory::{LARGE_PAGE_BYTES, Memory};

/// Array sizes are multiples of this: the largest block of a loop.
pub(super) const BLOCK_MULTIPLE: usize = 1024;
const FACTOR: f64 = 0.5;
/// Offset of array `k` from the start of a page, divided by `k`: a store and a load whose
/// addresses agree in their lower 12 bits would hinder each other.
const SHIFT_BYTES: usize = 1344;

/// Access pattern of a loop; the bytes counted are those the loop asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Copy,
    /// `a[i] = b[i]` with non-temporal stores.
    CopyStreaming,
    /// `a[i] = b[i] + factor * c[i]` in f64
    Triad,
}

impl Operation {
    /// Column `operation`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Copy => "copy",
            Self::CopyStreaming => "copy_nt",
            Self::Triad => "triad",
        }
    }

    /// Counts the arrays it goes through.
    pub fn arrays(self) -> usize {
        match self {
            Self::Read => 1,
            Self::Copy | Self::CopyStreaming => 2,
            Self::Triad => 3,
        }
    }
}

/// The arrays of one thread and the position in them.
///
/// `arrays` are `a`, `b`, `c`, without those that the operation does not use.
struct Place {
    a: *mut u8,
    b: *const u8,
    c: *const u8,
    bytes: usize,
    at: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Mover {
    pub operation: Operation,
    /// Bytes of each array in one round.
    block_bytes: usize,
    /// Goes over the next `blocks` blocks, and gives the sum of the 64-bit words it read, if it is
    /// `Read`.
    ///
    /// SAFETY: needs the instructions, and arrays of `bytes` that begin at multiples of 64; `at`
    /// is less than that, both are multiples of the block, and blocks are not 0.
    run: unsafe fn(place: &mut Place, blocks: u64) -> u64,
}

impl Mover {
    /// With the widest instructions of this processor.
    pub fn widest(operation: Operation) -> Option<Self> {
        Self::all(operation).pop()
    }

    /// Narrow registers first.
    fn all(operation: Operation) -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        return x86::movers(operation);
        #[cfg(target_arch = "aarch64")]
        return neon::movers(operation);
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            let _ = operation;
            Vec::new()
        }
    }

    /// Bytes counted for one block: of every array.
    pub fn bytes_counted(&self) -> u64 {
        (self.block_bytes * self.operation.arrays()) as u64
    }
}

pub(super) struct Moving {
    mover: Mover,
    bytes: usize,
    /// Blocks to process before a visit, to evict another working set from the caches.
    before: u64,
    /// Offset of the next block. If each visit started at 0, that data would still be in a cache.
    at: usize,
    /// Offset of the arrays in the memory: the start of a large page.
    offset: usize,
    /// Number of visits, times 2^64 divided by the golden ratio.
    visits: u64,
}

impl Moving {
    /// `bytes`: of all arrays together, at most; rounded down. `before`: bytes to go over before a
    /// visit.
    pub fn new(mover: Mover, bytes: usize, before: u64) -> Self {
        let arrays = mover.operation.arrays();
        Self {
            mover,
            bytes: (bytes / arrays / BLOCK_MULTIPLE).max(1) * BLOCK_MULTIPLE,
            before: before.div_ceil(mover.bytes_counted()),
            at: 0,
            offset: 0,
            visits: 0,
        }
    }

    /// Memory it needs.
    pub fn memory_bytes(&self) -> usize {
        self.start(self.mover.operation.arrays())
    }

    /// Blocks of one pass over the arrays.
    pub fn pass(&self) -> u64 {
        (self.bytes / self.mover.block_bytes) as u64
    }

    pub fn bytes_counted(&self) -> u64 {
        self.mover.bytes_counted()
    }

    /// Goes elsewhere in the memory, and makes the caches hold what they hold while it is measured
    /// there. Arrays that it goes over whole are filled anew; what others left in larger ones are
    /// finite numbers as well.
    pub fn warm(&mut self, memory: &mut Memory) {
        self.go_on(memory);
        if self.before >= self.pass() {
            self.fill(memory);
        }
        self.run(memory, self.before);
    }

    /// Not all pages are alike: the host of a virtual machine may back some of its large pages with small ones.
    /// A second-level cache was up to a fifth slower over those for as long as they were used.
    fn go_on(&mut self, memory: &mut Memory) {
        let left = memory.bytes().len().saturating_sub(self.memory_bytes());
        let places = (left / LARGE_PAGE_BYTES + 1) as u128;
        // Multiples of the golden ratio, without what is before the point, fill a unit evenly.
        self.visits = self.visits.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let place = (u128::from(self.visits) * places) >> 64;
        self.offset = place as usize * LARGE_PAGE_BYTES;
    }

    /// Fills array `k` with `k + 1` in f64, the first one (`a`) with zeros if it is written to.
    fn fill(&self, memory: &mut Memory) {
        let is_written = self.mover.operation != Operation::Read;
        for array in 0..self.mover.operation.arrays() {
            let value = if array == 0 && is_written {
                0.0
            } else {
                (array + 1) as f64
            };
            let start = self.offset + self.start(array);
            let bytes = &mut memory.bytes()[start..start + self.bytes];
            bytes.as_chunks_mut::<8>().0.fill(value.to_ne_bytes());
        }
    }

    /// Goes over the next `blocks` blocks.
    ///
    /// # Panics
    /// If the memory has less than [`Moving::memory_bytes`].
    pub fn run(&mut self, memory: &mut Memory, blocks: u64) -> u64 {
        if blocks == 0 {
            return 0;
        }
        let last = self.mover.operation.arrays() - 1;
        let starts = [0, 1.min(last), 2.min(last)].map(|array| self.start(array));
        let base = memory.bytes()[self.offset..][..self.memory_bytes()].as_mut_ptr();
        // SAFETY: the arrays lie within the memory.
        let [a, b, c] = starts.map(|start| unsafe { base.add(start) });
        let mut place = Place {
            a,
            b,
            c,
            bytes: self.bytes,
            at: self.at,
        };
        // SAFETY: movers are made for instructions that are there; the arrays begin at multiples
        // of 64 bytes and are whole blocks long, `at` is where a block begins, and there are
        // blocks.
        let sum = unsafe { (self.mover.run)(&mut place, blocks) };
        self.at = place.at;
        sum
    }

    fn start(&self, array: usize) -> usize {
        array * (self.bytes.next_multiple_of(4096) + SHIFT_BYTES)
    }
}
