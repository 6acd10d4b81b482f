//! Locks of open files and folders.

use std::fs::{File, TryLockError};

/// The lock of an open file. It is unlocked explicitly: a child that another thread starts meanwhile has the file open
/// as well until it runs its program, and one that is only closed here would stay locked for that long.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks a file or a folder. `None`: another process has it. A file system without locks keeps nobody out.
    pub fn take(file: File) -> Option<Self> {
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => Some(Self(file)),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Where that fails the lock goes with the last that has it open.
        let _ = self.0.unlock();
    }
}
