//! The bytes of a file: hashed, unpacked, and as UTF-8.
//!
//! ```text
//! Tap (hash, progress) → Unpacked (gzip, zstd) → Utf16 → the importer
//! ```
//!
//! What a file does not need costs it nothing: a plain file is read straight from the disk. Odd files are read
//! as well, and [`Source::end`] says what was odd: padding or garbage behind packed data, UTF-16.

mod packing;
mod tap;
mod utf16;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(crate) use packing::Packing;
use packing::Unpacked;
use tap::Tap;
use utf16::{Order, Utf16};
use xxhash_rust::xxh3::xxh3_64;

use crate::{Error, Notes, Options};

const HEAD_BYTES: usize = 4;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// For what reports no progress.
pub(crate) fn no_progress() -> &'static mut dyn FnMut(u64) {
    // A closure without captures takes no memory, so nothing leaks.
    Box::leak(Box::new(|_| ()))
}

/// Reads a file once, from beginning to end.
pub(crate) struct Source<'a> {
    path: PathBuf,
    text: Text<'a>,
}

enum Text<'a> {
    Bytes(Limited<'a>),
    Utf16(Box<Utf16<Limited<'a>>>),
}

impl<'a> Source<'a> {
    /// Opens a file and detects its compression and encoding from the first bytes.
    pub fn open(
        path: &Path,
        options: &Options,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, "open it", e))?;
        let unpacked = Unpacked::new(Tap::new(file, progress));
        let unpacked = unpacked.map_err(|e| Error::io(path, "read it", e))?;
        let mut limited = Limited {
            unpacked,
            max_ratio: options.max_ratio,
            given: 0,
            ahead: Vec::new(),
            failed: None,
        };
        limited.look_ahead();
        let text = match Order::of(&limited.ahead) {
            Some((order, mark_bytes)) => {
                limited.ahead.drain(..mark_bytes);
                Text::Utf16(Box::new(Utf16::new(limited, order)))
            }
            None => {
                if limited.ahead.starts_with(UTF8_MARK) {
                    limited.ahead.drain(..UTF8_MARK.len());
                }
                Text::Bytes(limited)
            }
        };
        let path = path.to_owned();
        Ok(Self { path, text })
    }

    pub fn hash_of(path: &Path, options: &Options) -> Result<u64, Error> {
        Source::open(path, options, no_progress())?.hash()
    }

    pub fn packing(&self) -> Option<Packing> {
        self.limited().unpacked.packing()
    }

    /// The error for a file that cannot be read beyond a position.
    pub fn refusal(&self, place: impl Into<String>, error: io::Error) -> Error {
        let Some(packing) = self.packing() else {
            return Error::io(&self.path, "read it", error);
        };
        Error::damaged(
            &self.path,
            place.into(),
            format!(
                "the {} file cannot be unpacked: {error}; fetch it again",
                packing.name()
            ),
        )
    }

    /// Reads what the importer left, and warns of anything unusual.
    pub fn end(&mut self, notes: &mut Notes) {
        let mut rest = vec![0; 1 << 16];
        // Of a file that is cut the importer has said so.
        while matches!(self.read(&mut rest), Ok(count) if count > 0) {}
        if let Some(text) = self.limited().unpacked.trailing() {
            notes.warn(text);
        }
        if let Text::Utf16(utf16) = &self.text {
            notes.warn(utf16.summary());
        }
    }

    pub fn hash(self) -> Result<u64, Error> {
        let limited = match self.text {
            Text::Bytes(limited) => limited,
            Text::Utf16(utf16) => utf16.into_inner(),
        };
        let tap = limited.unpacked.into_tap();
        tap.and_then(Tap::hash)
            .map_err(|error| Error::io(&self.path, "read it to its end", error))
    }

    fn limited(&self) -> &Limited<'a> {
        match &self.text {
            Text::Bytes(limited) => limited,
            Text::Utf16(utf16) => utf16.get_ref(),
        }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.text {
            Text::Bytes(limited) => limited.read(into),
            Text::Utf16(utf16) => utf16.read(into),
        }
    }
}

/// One hash for several files; that of the file if there is only one.
pub(crate) fn hash_of_all(hashes: &[u64]) -> u64 {
    match hashes {
        [hash] => *hash,
        hashes => {
            let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
            xxh3_64(&bytes)
        }
    }
}

/// Stops if a small file expands to a huge one.
struct Limited<'a> {
    unpacked: Unpacked<'a>,
    max_ratio: u64,
    given: u64,
    /// Read but not returned yet.
    ahead: Vec<u8>,
    /// An error while reading ahead, returned after `ahead`.
    failed: Option<io::Error>,
}

impl Limited<'_> {
    fn look_ahead(&mut self) {
        let mut head = [0; HEAD_BYTES];
        let mut count = 0;
        while count < head.len() {
            match self.unpacked.read(&mut head[count..]) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.ahead.extend_from_slice(&head[..count]);
    }
}

impl Read for Limited<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(into.len());
            into[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Ok(count);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let count = self.unpacked.read(into)?;
        if self.unpacked.packing().is_some() {
            self.given += count as u64;
            let read = self.unpacked.bytes_read();
            if self.given > Options::FREE_BYTES.max(read.saturating_mul(self.max_ratio)) {
                return Err(io::Error::other(format!(
                    "more than {} times as long unpacked as packed; if that is intended, raise --max-ratio",
                    self.max_ratio
                )));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
