//! Memory that CUPTI writes records into.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::session::lock;

/// Size of a buffer: about 2,000 launches with their calls. CUPTI returns a buffer only when all work in it is
/// over, so a kill loses at most that many, plus those whose work is still running.
pub const BUFFER_BYTES: usize = 512 << 10;

#[derive(Clone, Copy, Debug)]
pub struct Buffer(usize);

#[derive(Clone, Copy, Debug)]
pub struct Full {
    pub buffer: Buffer,
    pub valid_bytes: usize,
}

#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Buffer>>,
    lent: AtomicUsize,
    full: Mutex<Arrived>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Arrived {
    buffers: Vec<Full>,
    /// True once no thread should wait any more.
    woken: bool,
}

impl Buffer {
    pub fn base(self) -> *mut u8 {
        self.0 as *mut u8
    }

    pub fn at(base: *mut u8) -> Self {
        Self(base as usize)
    }

    /// Zeroed, page-aligned memory. `None` if there is none.
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
    pub fn take(&self) -> Option<Buffer> {
        let free = lock(&self.free).pop();
        let buffer = free.or_else(Buffer::new)?;
        self.lent.fetch_add(1, Ordering::Relaxed);
        Some(buffer)
    }

    pub fn returned(&self) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn lent(&self) -> usize {
        self.lent.load(Ordering::Relaxed)
    }

    pub fn give_back(&self, buffer: Buffer) {
        lock(&self.free).push(buffer);
    }

    pub fn push(&self, full: Full) {
        lock(&self.full).buffers.push(full);
        self.arrived.notify_one();
    }

    pub fn wait(&self, at_most: Duration) {
        let full = lock(&self.full);
        let waited = self
            .arrived
            .wait_timeout_while(full, at_most, |full| full.buffers.is_empty() && !full.woken);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Buffers to read, in the order of their return.
    pub fn take_full(&self) -> Vec<Full> {
        std::mem::take(&mut lock(&self.full).buffers)
    }

    /// Wakes all waiting threads; from now on no thread waits.
    pub fn wake(&self) {
        lock(&self.full).woken = true;
        self.arrived.notify_all();
    }
}
