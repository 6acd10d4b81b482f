//! Appends chunks.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{HEADER_BYTES, MAGIC};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Chunk {
    Facts = 1,
    Names = 2,
    Callback = 3,
    Records = 4,
    Ranges = 5,
    Clock = 6,
    Dropped = 7,
    Note = 8,
    Thread = 9,
    End = 10,
    GraphClones = 11,
    GraphEdges = 12,
}

impl Chunk {
    pub(super) fn from_number(number: u32) -> Option<Self> {
        [
            Self::Facts,
            Self::Names,
            Self::Callback,
            Self::Records,
            Self::Ranges,
            Self::Clock,
            Self::Dropped,
            Self::Note,
            Self::Thread,
            Self::End,
            Self::GraphClones,
            Self::GraphEdges,
        ]
        .into_iter()
        .find(|kind| *kind as u32 == number)
    }
}

/// A spool being written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    /// Bytes of all whole chunks.
    length: u64,
    buffer: Vec<u8>,
}

impl Writer {
    /// Makes the file, which must not be there.
    ///
    /// # Errors
    /// It is there, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        file.write_all(MAGIC)?;
        Ok(Self {
            file,
            length: MAGIC.len() as u64,
            buffer: Vec::new(),
        })
    }

    /// Appends a chunk, in one write: it is with the operating system when this returns.
    ///
    /// # Errors
    /// The disk is full. What was written of the chunk is taken back, which may leave room for a shorter one.
    pub fn chunk(&mut self, kind: Chunk, parts: &[&[u8]]) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.resize(HEADER_BYTES, 0);
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
        let (header, payload) = self.buffer.split_at_mut(HEADER_BYTES);
        header[..4].copy_from_slice(&(kind as u32).to_le_bytes());
        header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[8..].copy_from_slice(&hash(kind as u32, payload).to_le_bytes());
        let written = self.file.write_all(&self.buffer);
        match written {
            Ok(()) => self.length += self.buffer.len() as u64,
            // A reader leaves a torn chunk out, so nothing is lost where this fails too.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }
}

pub(super) fn hash(kind: u32, payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, kind.into())
}
