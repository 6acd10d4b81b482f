//! Memory that outlives the process: a file mapped and shared.

pub mod cut_pages;

use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::ptr::NonNull;

use crate::file_size_signal;
use crate::folder::Folder;
use crate::held_file::Held;
use crate::regular_file::{self, MAX_TEXT_BYTES};

/// Zeroed memory in whole pages, most often every one of them mapped before it is used.
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    in_file: bool,
}

// SAFETY: plain memory; whoever reads and writes it keeps order among its threads.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A new file of that length in a folder, mapped and shared: what is stored here is in the file,
    /// whatever becomes of the process.
    ///
    /// # Errors
    /// There is such a file, the disk is full, or its file system cannot share mappings.
    pub fn create(folder: &Folder, name: &str, bytes: usize) -> io::Result<Self> {
        Self::create_with(folder, name, bytes, Self::populate)
    }

    /// As [`Mapping::create`], its pages mapped as they are reached: for memory of which most may never be.
    ///
    /// # Errors
    /// As there.
    pub fn create_unpopulated(folder: &Folder, name: &str, bytes: usize) -> io::Result<Self> {
        Self::create_with(folder, name, bytes, |_| Ok(()))
    }

    fn create_with(
        folder: &Folder,
        name: &str,
        bytes: usize,
        populate: impl Fn(&Self) -> io::Result<()>,
    ) -> io::Result<Self> {
        // Closed before the pages are mapped, which takes long: the program may close all descriptors meanwhile, and
        // have this number for a file of its own.
        let file = Held::new(folder.create_file(name)?.into())?;
        let mapped = file_size_signal::without(|| reserve(file.number(), bytes))
            .and_then(|()| Self::map(bytes, libc::MAP_SHARED, file.number()));
        drop(file);
        let mapping = mapped
            .and_then(|mapping| populate(&mapping).map(|()| mapping))
            .inspect(|mapping| cut_pages::watch(mapping.base.as_ptr() as usize, bytes));
        mapping.inspect_err(|_| {
            // Half a file is of no use to anyone.
            let _ = folder.remove_file(name);
        })
    }

    /// Memory without a file: lost with the process.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        let mapping = Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // Without it pages are mapped as they are reached: slower, not wrong.
        let _ = mapping.populate();
        Ok(mapping)
    }

    /// As [`Mapping::anonymous`], its pages mapped as they are reached: for rows that nobody waits for, of which there
    /// may be few.
    pub fn unpopulated(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// A copy of a file, in memory of its own. Second: its length.
    pub fn copy_of(path: &Path) -> io::Result<(Self, usize)> {
        let mut file = regular_file::open(path)?;
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if bytes as u64 > MAX_TEXT_BYTES {
            return Err(io::Error::other(format!(
                "it has {bytes} bytes, expected at most {MAX_TEXT_BYTES}"
            )));
        }
        let mapping = Self::map(bytes.max(1), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: the whole mapping, zeroed, and nobody else has it yet.
        let target = unsafe { std::slice::from_raw_parts_mut(mapping.base.as_ptr(), bytes) };
        io::Read::read_exact(&mut file, target)?;
        Ok((mapping, bytes))
    }

    fn map(bytes: usize, flags: libc::c_int, file: libc::c_int) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address the system chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            base,
            bytes,
            in_file: flags & libc::MAP_SHARED != 0,
        })
    }

    /// Faults in every page now and not during the first event that reaches it: a first touch costs several
    /// times as much as an event.
    fn populate(&self) -> io::Result<()> {
        if cfg!(miri) {
            // It knows no `madvise`, and has the pages.
            return Ok(());
        }
        let base = self.base.as_ptr();
        // SAFETY: exactly this mapping; its content stays as it is.
        let done = unsafe { libc::madvise(base.cast(), self.bytes, libc::MADV_POPULATE_WRITE) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) {
            // No page can be had: the store that comes later would be a fatal signal.
            return Err(error);
        }
        // Kernels before 5.14 do not know the call.
        for at in (0..self.bytes).step_by(4096) {
            // SAFETY: inside the mapping, which is zero so far and has its blocks on disk
            // (`reserve`). Volatile: the write must happen.
            unsafe { base.add(at).write_volatile(0) };
        }
        Ok(())
    }

    /// Its address.
    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its length.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if it is kept when the process is killed.
    pub fn is_in_file(&self) -> bool {
        self.in_file
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.in_file {
            cut_pages::forget(self.base.as_ptr() as usize);
        }
        // SAFETY: mapped in `map` with this length, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Sets the length of the file and allocates its blocks, so that no later store finds the disk full.
fn reserve(file: RawFd, bytes: usize) -> io::Result<()> {
    // SAFETY: takes numbers.
    match unsafe { libc::posix_fallocate(file, 0, bytes as libc::off_t) } {
        0 => Ok(()),
        libc::EOPNOTSUPP | libc::EINVAL => {
            // SAFETY: takes numbers.
            match unsafe { libc::ftruncate(file, bytes as libc::off_t) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let held = Folder::open(folder.path()).unwrap();
        let mapping = Mapping::create(&held, "a", 8192).unwrap();
        assert!(mapping.is_in_file());
        // SAFETY: inside the mapping.
        unsafe { mapping.base().as_ptr().add(5000).write(7) };
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes.len(), bytes[5000], bytes[4999]), (8192, 7, 0));
        assert!(
            Mapping::create(&held, "a", 8192).is_err(),
            "never shares a file that is there"
        );
    }

    #[test]
    fn a_file_that_cannot_be_had_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        assert!(Mapping::create(&held, "a", 1 << 60).is_err());
        assert!(!folder.path().join("a").exists());
    }
}
