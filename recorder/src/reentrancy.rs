//! Marks the recorder's own code: memory that it takes is not the program's, and must not be recorded.
//!
//! That is more than a matter of counting. What the recorder holds while it allocates (a lane, a
//! lock) is what recording the allocation would need. So whoever holds a lock of the recorder, or
//! changes a lane in a way that may allocate, holds a [`ReentrancyGuard`].
//!
//! The allocator's hook turns back while one is held. The recorder's own blocks are therefore not in the run.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    // Without a destructor: it can be read as long as the thread runs.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While it lives, allocations of its thread are treated as the recorder's own.
pub(crate) struct ReentrancyGuard(PhantomData<*const ()>);

impl ReentrancyGuard {
    /// Marks the thread from here on.
    #[inline(always)]
    pub fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self(PhantomData)
    }

    /// The calling thread is the recorder's, to its end.
    pub fn hold_forever() {
        std::mem::forget(Self::enter());
    }

    /// Returns whether the recorder is at work on this thread.
    #[inline(always)]
    pub fn is_held() -> bool {
        DEPTH.get() != 0
    }
}

impl Drop for ReentrancyGuard {
    #[inline(always)]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
