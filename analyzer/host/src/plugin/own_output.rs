//! The analyzer's own output: standard output and error, also where plugins that were loaded into this process have
//! theirs redirected.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnOutput {
    Stdout,
    Stderr,
}

impl OwnOutput {
    /// The original file, once the descriptor is redirected for plugins.
    fn file(self) -> Option<&'static File> {
        #[cfg(target_os = "linux")]
        return super::foreign_output::own(self);
        #[cfg(not(target_os = "linux"))]
        None
    }

    pub fn is_terminal(self) -> bool {
        self.as_fd().is_terminal()
    }

    pub(super) fn descriptor(self) -> RawFd {
        match self {
            OwnOutput::Stdout => libc::STDOUT_FILENO,
            OwnOutput::Stderr => libc::STDERR_FILENO,
        }
    }
}

impl AsFd for OwnOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.file() {
            Some(file) => file.as_fd(),
            // SAFETY: nobody closes it.
            None => unsafe { BorrowedFd::borrow_raw(self.descriptor()) },
        }
    }
}

impl AsRawFd for OwnOutput {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl Write for OwnOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (self.file(), self) {
            (Some(mut file), _) => file.write(bytes),
            (None, OwnOutput::Stdout) => io::stdout().write(bytes),
            (None, OwnOutput::Stderr) => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match (self.file(), self) {
            (Some(mut file), _) => file.flush(),
            (None, OwnOutput::Stdout) => io::stdout().flush(),
            (None, OwnOutput::Stderr) => io::stderr().flush(),
        }
    }
}
