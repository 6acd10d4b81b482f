//! Memory to measure with: whole pages, untouched until their thread writes to them, in large
//! pages where the system gives them, so that the address translation is not what is measured.

use std::io;
use std::ptr::NonNull;

/// A large page of x86-64 and, with small pages of 4 KiB, of aarch64.
pub(super) const LARGE_PAGE_BYTES: usize = 2 << 20;

/// An anonymous mapping, used in whole large pages: in a physically indexed cache, small pages would lie at random
/// and might evict each other.
pub(super) struct Memory {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    offset: usize,
    bytes: usize,
}

// SAFETY: it owns its mapping, as a box does.
unsafe impl Send for Memory {}

impl Memory {
    /// Zeros, at the start of a large page.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let whole = bytes.checked_next_multiple_of(LARGE_PAGE_BYTES);
        let mapped_bytes = whole
            .and_then(|whole| whole.checked_add(LARGE_PAGE_BYTES))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping; nothing else lies there.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        #[cfg(target_os = "linux")]
        // SAFETY: advice on the mapping just made; refused, it changes nothing.
        unsafe {
            libc::madvise(start, mapped_bytes, libc::MADV_HUGEPAGE);
        }
        let mapped = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let address = start.addr();
        Ok(Self {
            mapped,
            mapped_bytes,
            offset: address.next_multiple_of(LARGE_PAGE_BYTES) - address,
            bytes,
        })
    }

    /// Gives every page to the thread that calls, with ones in f64 in it.
    pub fn touch(&mut self) {
        let words = self.bytes().as_chunks_mut::<8>();
        words.0.fill(1f64.to_ne_bytes());
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is longer by a large page, holds zeros at first, and is this one's
        // alone.
        unsafe {
            let start = self.mapped.as_ptr().add(self.offset);
            std::slice::from_raw_parts_mut(start, self.bytes)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` and nobody has a reference to it any more.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// Limit on the memory that measurements use, for one thread and for all together: a quarter of what the system, or
/// the program's control group, has left. `None` if neither reports it.
pub(super) fn allowed_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok();
    let left = meminfo.as_deref().and_then(available_bytes);
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    left.into_iter().chain(group).min().map(|bytes| bytes / 4)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_aligned_and_one_s_own() {
        let mut memory = Memory::new(10_000).unwrap();
        assert!(memory.bytes().iter().all(|byte| *byte == 0));
        assert!(
            memory
                .bytes()
                .as_ptr()
                .addr()
                .is_multiple_of(LARGE_PAGE_BYTES)
        );
        memory.bytes().fill(7);
        assert_eq!(memory.bytes().len(), 10_000);
        assert!(Memory::new(usize::MAX / 2).is_err());
        assert!(Memory::new(usize::MAX).is_err());
    }

    #[test]
    fn what_is_left_is_read() {
        let text = "MemTotal:  24652052 kB\nMemAvailable:   1000 kB\n";
        assert_eq!(available_bytes(text), Some(1_024_000));
        assert_eq!(available_bytes("MemTotal:  24652052 kB\n"), None);
        assert_eq!(available_bytes("MemAvailable: ? kB\n"), None);
    }
}
