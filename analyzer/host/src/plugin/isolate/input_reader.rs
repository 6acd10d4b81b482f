//! One input in the memory file, read from front to back.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Reads a range of a file, and frees what has been read where the system allows it. The memory of an in-memory
/// file then shrinks as its reader's grows.
pub struct InputReader {
    file: Arc<File>,
    from: u64,
    to: u64,
    at: u64,
    given_back: u64,
}

/// Freeing stays this far behind reading.
const GIVE_BACK_BYTES: u64 = 4 << 20;

impl InputReader {
    pub fn new(file: Arc<File>, (from, to): (u64, u64)) -> InputReader {
        InputReader {
            file,
            from,
            to,
            at: from,
            given_back: from.next_multiple_of(4096),
        }
    }

    fn give_back(&mut self) {
        let end = self.at & !4095;
        if end < self.given_back + GIVE_BACK_BYTES {
            return;
        }
        // SAFETY: a call on an open file with numbers. It fails on files without holes, which does no harm.
        unsafe {
            libc::fallocate(
                self.file.as_raw_fd(),
                libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
                self.given_back as i64,
                (end - self.given_back) as i64,
            );
        }
        self.given_back = end;
    }
}

impl Read for InputReader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.to - self.at).unwrap_or(usize::MAX);
        let most = room.min(to.len());
        let read = self.file.read_at(&mut to[..most], self.at)?;
        self.at += read as u64;
        self.give_back();
        Ok(read)
    }
}

impl Seek for InputReader {
    /// The reader of Arrow streams only seeks forward.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => self.from.checked_add(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.to.checked_add_signed(by),
        };
        match at.filter(|at| (self.from..=self.to).contains(at)) {
            Some(at) => {
                self.at = at;
                Ok(at - self.from)
            }
            None => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
}
