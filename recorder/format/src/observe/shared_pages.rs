//! A file of another process, mapped for reading alone.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

use crate::regular_file;

pub(super) struct SharedPages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: memory that is only read, by atomic or volatile loads.
unsafe impl Send for SharedPages {}
// SAFETY: as above.
unsafe impl Sync for SharedPages {}

impl SharedPages {
    /// Maps a file that is there. An empty one is an error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = regular_file::open(path)?;
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address the system chooses. PROT_READ alone: nothing here can change the file.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { base, bytes })
    }

    /// Their address.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Their length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for SharedPages {
    fn drop(&mut self) {
        // SAFETY: mapped in `open` with this length, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
