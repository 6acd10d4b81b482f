//! Memory of any Rust program: a global allocator that records what is taken and given back.
//!
//! ```no_run
//! use std::alloc::System;
//! use trueno_recorder::Recorder;
//! use trueno_recorder::alloc::{Allocations, Recording};
//!
//! #[global_allocator]
//! static MEMORY: Recording<System> = Recording(System);
//!
//! # fn main() -> Result<(), trueno_recorder::Error> {
//! let rec = Recorder::builder("my.run").allocations(Allocations::SAMPLED).create()?;
//! let brick = rec.brick("load");
//! let weights = vec![0.0f32; 1 << 20]; // a row of `allocations`, under the brick `load`
//! # drop((weights, brick)); Ok(()) }
//! ```
//!
//! Rows have the tag `heap` and a `weight`. [`Allocations::Every`] records all allocations and
//! releases; each row stands for itself. [`Allocations::Sampled`] draws them:
//!
//! # What a sample stands for
//!
//! Sample points lie in the stream of allocated bytes of a thread as a Poisson process, one in
//! `mean_bytes` on average. An allocation that holds at least one is recorded: one of s bytes with the
//! probability p = 1 − exp(−s / `mean_bytes`), whatever came before it. Its row has the true bytes
//! and the weight 1 / p, so that Σ weight is an unbiased estimate of the number of allocations, and
//! Σ weight · bytes of their bytes (Horvitz and Thompson). The release of a block that was recorded is
//! found by its address and recorded with the same weight, so live bytes are estimated without bias too; no
//! other release is. `realloc` gives back and takes, and the new size is drawn for itself.
//!
//! # What is not there
//!
//! Memory taken before the recording began, and with it the meaning of its release: recorded by
//! `Every` (an address that nothing took), not by `Sampled`. Memory of the recorder itself. Memory that is not
//! taken through Rust's global allocator: C libraries, `mmap`, stacks, thread-local storage. Rows for which there was no room
//! are counted as dropped, as everywhere.
//!
//! In a forked child nothing is recorded. Allocations in destructors of thread-locals that run
//! after the recorder's own are counted as dropped.

mod active;
mod addresses;
mod hook;
mod sampler;

use std::alloc::{GlobalAlloc, Layout};

/// For other allocators than Rust's: the draw of samples, their weight, and their addresses.
#[doc(hidden)]
pub mod sampling {
    pub use super::addresses::{clear, insert, may_hold, remove};
    pub use super::sampler::{Sampler, weight};
}

pub(crate) use active::{check, forked, start, stop};

/// Choice of the program's allocations that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocations {
    /// All allocations and frees.
    Every,
    /// One in `mean_bytes` bytes on average, with the corresponding frees.
    Sampled {
        /// Mean distance of sample points, in bytes; at least 1.
        mean_bytes: u64,
    },
}

impl Allocations {
    /// One sample per 512 KiB: about 2,000 rows a second for a program that allocates 1 GB a second.
    pub const SAMPLED: Self = Self::Sampled {
        mean_bytes: 512 << 10,
    };

    pub(crate) fn describe(self) -> String {
        match self {
            Self::Every => "every".to_owned(),
            Self::Sampled { mean_bytes } => {
                format!("sampled, one in {mean_bytes} bytes on average")
            }
        }
    }
}

/// Wraps any allocator and records its calls, if a recorder enables it
/// ([`Builder::allocations`](crate::Builder::allocations)). Otherwise it adds one load and one branch to each call.
///
/// With the crate's feature `off` it adds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recording<A>(pub A);

// SAFETY: blocks are those of the inner allocator, untouched; the hooks neither unwind nor, for
// they are inside the recorder when they allocate, come back to themselves.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Recording<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the inner allocator's.
        let block = unsafe { self.0.alloc(layout) };
        hook::taken(block, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        hook::taken(block, layout.size());
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Before it is free: another thread may get the address at once.
        hook::given_back(block, layout.size());
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let was_recorded = hook::given_back(block, layout.size());
        // SAFETY: as above.
        let moved = unsafe { self.0.realloc(block, layout, new_size) };
        if moved.is_null() {
            if was_recorded {
                hook::still_there(block, layout.size());
            }
        } else {
            hook::taken(moved, new_size);
        }
        moved
    }
}
