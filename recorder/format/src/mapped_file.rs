//! The head of every mapped file of `live/`.
//!
//! All numbers are in the byte order of the machine, as the files live and die on it or on
//! one like it; the magic number tells when they do not.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::mapping::Mapping;

/// Must change with every change of a record, a header, or the numbers of fixed texts. Exception: a header that
/// grows at its end, because that part is zero in older files, so programs of older and newer recorders that were
/// killed are read alike.
const LIVE_VERSION: u32 = 1;
/// Headers take one page: records begin behind it.
pub const HEADER_BYTES: usize = 4096;

/// Kind and version of a mapped file, at its very beginning.
#[repr(C)]
pub struct FileKind {
    /// Stored last: without it the file was not finished and holds nothing.
    pub magic: AtomicU64,
    /// Version of records, headers and fixed texts.
    pub version: AtomicU32,
    /// Bytes of a record, or columns of the table.
    pub width: AtomicU32,
    /// Records, or rows, that there is room for.
    pub capacity: AtomicU64,
}

impl FileKind {
    /// Finishes the header.
    pub fn store(&self, magic: u64, width: u32, capacity: u64) {
        self.version.store(LIVE_VERSION, Ordering::Relaxed);
        self.width.store(width, Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Relaxed);
        self.magic.store(magic, Ordering::Release);
    }

    /// The capacity, if the file is what it should be and of this version.
    pub fn capacity_of(&self, magic: u64, width: u32) -> Option<u64> {
        let right = self.magic.load(Ordering::Acquire) == magic
            && self.version.load(Ordering::Relaxed) == LIVE_VERSION
            && self.width.load(Ordering::Relaxed) == width;
        right.then(|| self.capacity.load(Ordering::Relaxed))
    }

    /// True if it was finished at all.
    pub fn is_finished(&self) -> bool {
        self.magic.load(Ordering::Acquire) != 0
    }

    /// True if the mapped file, of that size, was initialised completely.
    pub fn is_finished_in(memory: &Mapping, bytes: usize) -> bool {
        // SAFETY: long enough, aligned to a page; any bits are valid in it.
        bytes >= size_of::<Self>() && unsafe { memory.base().cast::<Self>().as_ref() }.is_finished()
    }
}
