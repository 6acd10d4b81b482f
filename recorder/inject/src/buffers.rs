//! Memory that CUPTI writes records into.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::session::lock;

/// Bytes of a buffer: some 2,000 launches with their calls. CUPTI gives a buffer back only when all work in it is over, so
/// a kill loses that many at most, and those whose work still runs.
pub const BUFFER_BYTES: usize = 512 << 10;

/// A buffer, by its address: it belongs to nobody while it is in the pool.
#[derive(Clone, Copy, Debug)]
pub struct Buffer(usize);

/// A buffer that CUPTI gave back, and what of it holds records.
#[derive(Clone, Copy, Debug)]
pub struct Full {
    pub buffer: Buffer,
    pub valid_bytes: usize,
}

/// Buffers that are free, and those that wait to be read.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Buffer>>,
    /// Buffers that CUPTI has.
    lent: AtomicUsize,
    full: Mutex<Arrived>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Arrived {
    buffers: Vec<Full>,
    /// True if nobody is to wait any more.
    woken: bool,
}

impl Buffer {
    pub fn base(self) -> *mut u8 {
        self.0 as *mut u8
    }

    pub fn at(base: *mut u8) -> Self {
        Self(base as usize)
    }

    /// Zeroed memory, aligned to a page. `None`: there is none.
    fn new() -> Option<Self> {
        // SAFETY: a new mapping of this process's own.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                BUFFER_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        (base != libc::MAP_FAILED).then_some(Self(base as usize))
    }
}

impl Pool {
    /// A buffer to fill. `None`: there is no memory.
    pub fn take(&self) -> Option<Buffer> {
        let free = lock(&self.free).pop();
        let buffer = free.or_else(Buffer::new)?;
        self.lent.fetch_add(1, Ordering::Relaxed);
        Some(buffer)
    }

    /// Takes note that CUPTI gave one back.
    pub fn returned(&self) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
    }

    /// Number of buffers that CUPTI has not given back.
    pub fn lent(&self) -> usize {
        self.lent.load(Ordering::Relaxed)
    }

    /// A buffer that was read.
    pub fn give_back(&self, buffer: Buffer) {
        lock(&self.free).push(buffer);
    }

    /// A buffer to read.
    pub fn push(&self, full: Full) {
        lock(&self.full).buffers.push(full);
        self.arrived.notify_one();
    }

    /// Waits so long for a buffer to read.
    pub fn wait(&self, at_most: Duration) {
        let full = lock(&self.full);
        let waited = self
            .arrived
            .wait_timeout_while(full, at_most, |full| full.buffers.is_empty() && !full.woken);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Buffers to read, in the order in which they came.
    pub fn take_full(&self) -> Vec<Full> {
        std::mem::take(&mut lock(&self.full).buffers)
    }

    /// Wakes all that wait; nobody waits from now on.
    pub fn wake(&self) {
        lock(&self.full).woken = true;
        self.arrived.notify_all();
    }
}
