//! The file itself: hashed on the way, with its progress.

use std::fs::File;
use std::io::{self, BufRead, Read};

use xxhash_rust::xxh3::Xxh3;

const BUFFER_BYTES: usize = 1 << 16;

/// Reads a file and allows to look ahead with [`Tap::peek`].
pub(super) struct Tap<'a> {
    file: File,
    /// Read but not returned yet, from `at` on.
    ahead: Vec<u8>,
    at: usize,
    hash: Xxh3,
    read: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> Tap<'a> {
    pub fn new(file: File, progress: &'a mut dyn FnMut(u64)) -> Self {
        Self {
            file,
            ahead: Vec::new(),
            at: 0,
            hash: Xxh3::new(),
            read: 0,
            progress,
        }
    }

    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next bytes, without consuming them; fewer than `most` at the end of the file.
    pub fn peek(&mut self, most: usize) -> io::Result<&[u8]> {
        while self.ahead.len() - self.at < most {
            if self.pull(most)? == 0 {
                break;
            }
        }
        let rest = &self.ahead[self.at..];
        Ok(&rest[..rest.len().min(most)])
    }

    fn pull(&mut self, least: usize) -> io::Result<usize> {
        self.ahead.drain(..self.at);
        self.at = 0;
        let from = self.ahead.len();
        self.ahead.resize(from + least.max(BUFFER_BYTES), 0);
        let count = loop {
            match self.file.read(&mut self.ahead[from..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.ahead.truncate(from + *count.as_ref().unwrap_or(&0));
        let count = count?;
        self.hash.update(&self.ahead[from..]);
        self.read += count as u64;
        (self.progress)(self.read);
        Ok(count)
    }

    pub fn hash(mut self) -> io::Result<u64> {
        loop {
            self.at = self.ahead.len();
            if self.pull(0)? == 0 {
                return Ok(self.hash.digest());
            }
        }
    }
}

impl Read for Tap<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at < self.ahead.len() {
            let count = self.ahead.len() - self.at;
            let count = count.min(into.len());
            into[..count].copy_from_slice(&self.ahead[self.at..self.at + count]);
            self.at += count;
            return Ok(count);
        }
        let count = self.file.read(into)?;
        self.hash.update(&into[..count]);
        self.read += count as u64;
        (self.progress)(self.read);
        Ok(count)
    }
}

impl BufRead for Tap<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.ahead.len() {
            self.pull(0)?;
        }
        Ok(&self.ahead[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at = (self.at + count).min(self.ahead.len());
    }
}
