//! The bytes of a file: counted, hashed and, where they are packed, unpacked.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use xxhash_rust::xxh3::Xxh3;

use crate::{Error, Options};

/// First bytes of gzip.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a file from its beginning to its end, once.
pub(crate) struct Source<'a> {
    bytes: Bytes<'a>,
    max_ratio: u64,
    /// Bytes given out.
    given: u64,
}

enum Bytes<'a> {
    Plain(Box<Tap<'a>>),
    Packed(Box<MultiGzDecoder<Tap<'a>>>),
}

impl<'a> Source<'a> {
    /// Opens a file; whether it is packed is seen from its first bytes.
    pub fn open(
        path: &Path,
        options: &Options,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, "open it", e))?;
        let mut tap = Tap {
            file,
            ahead: Vec::new(),
            hash: Xxh3::new(),
            read: 0,
            progress,
        };
        tap.look_ahead()
            .map_err(|e| Error::io(path, "read it", e))?;
        let bytes = if tap.ahead.starts_with(&GZIP) {
            Bytes::Packed(Box::new(MultiGzDecoder::new(tap)))
        } else {
            Bytes::Plain(Box::new(tap))
        };
        Ok(Self {
            bytes,
            max_ratio: options.max_ratio,
            given: 0,
        })
    }

    /// True for a packed file.
    pub fn is_packed(&self) -> bool {
        matches!(self.bytes, Bytes::Packed(_))
    }

    /// Reads the rest of the file; the hash of all its bytes, as they lie on the disk.
    pub fn hash(self) -> io::Result<u64> {
        let mut tap = match self.bytes {
            Bytes::Plain(tap) => *tap,
            Bytes::Packed(packed) => packed.into_inner(),
        };
        let mut rest = vec![0; 1 << 16];
        while tap.read(&mut rest)? > 0 {}
        Ok(tap.hash.digest())
    }
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (count, read) = match &mut self.bytes {
            Bytes::Plain(tap) => return tap.read(into),
            Bytes::Packed(packed) => (packed.read(into)?, packed.get_ref().read),
        };
        self.given += count as u64;
        if self.given > Options::FREE_BYTES.max(read.saturating_mul(self.max_ratio)) {
            return Err(io::Error::other(format!(
                "more than {} times as long unpacked as packed; where that is meant, raise --max-ratio",
                self.max_ratio
            )));
        }
        Ok(count)
    }
}

/// The file itself.
struct Tap<'a> {
    file: File,
    /// Read already, not given out yet.
    ahead: Vec<u8>,
    hash: Xxh3,
    read: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl Tap<'_> {
    fn look_ahead(&mut self) -> io::Result<()> {
        let mut first = [0; GZIP.len()];
        let mut count = 0;
        while count < first.len() {
            match self.file.read(&mut first[count..])? {
                0 => break,
                more => count += more,
            }
        }
        self.ahead.extend_from_slice(&first[..count]);
        Ok(())
    }
}

impl Read for Tap<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = if self.ahead.is_empty() {
            self.file.read(into)?
        } else {
            let count = self.ahead.len().min(into.len());
            into[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            count
        };
        self.hash.update(&into[..count]);
        self.read += count as u64;
        (self.progress)(self.read);
        Ok(count)
    }
}
