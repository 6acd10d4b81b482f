//! Locks of open files and folders.

use std::fs::{File, TryLockError};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use crate::held_file::Identity;

/// The lock of an open file. It is unlocked explicitly: a child that another thread starts meanwhile has the file open
/// as well until it runs its program, and one that is only closed here would stay locked for that long.
#[derive(Debug)]
pub struct FileLock {
    file: ManuallyDrop<File>,
    identity: Option<Identity>,
}

impl FileLock {
    /// Locks a file or a folder. `None`: another process has it. A file system without locks keeps nobody out.
    pub fn take(file: File) -> Option<Self> {
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => Some(Self {
                identity: Identity::of_open(&file).ok(),
                file: ManuallyDrop::new(file),
            }),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let number = self.file.as_raw_fd();
        if self.identity.is_some_and(|it| it.is_of_number(number)) {
            // Where that fails the lock goes with the last that has it open.
            let _ = self.file.unlock();
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}
