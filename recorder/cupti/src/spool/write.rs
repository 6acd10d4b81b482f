//! Appends chunks.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
    /// Closed only if its number still belongs to this file: a program may close all descriptors that it did
    /// not open, and reuse the numbers.
    file: ManuallyDrop<File>,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    /// Length of the file up to the end of the last whole chunk.
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
            identity: identity(&file)?,
            file: ManuallyDrop::new(file),
            path: std::path::absolute(path)?,
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
        self.reopen_if_closed()?;
        let written = self.file.write_all(&self.buffer);
        match written {
            Ok(()) => self.length += self.buffer.len() as u64,
            // A reader leaves a torn chunk out, so nothing is lost where this fails too.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }
}

impl Writer {
    fn is_ours(&self) -> bool {
        identity(&self.file).is_ok_and(|found| found == self.identity)
    }

    fn reopen_if_closed(&mut self) -> io::Result<()> {
        if self.is_ours() {
            return Ok(());
        }
        let file = OpenOptions::new().append(true).open(&self.path)?;
        if identity(&file)? != self.identity {
            return Err(io::Error::other(
                "the program has closed its descriptor, and another file has its name",
            ));
        }
        self.file = ManuallyDrop::new(file);
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let facts = file.metadata()?;
    Ok((facts.dev(), facts.ino()))
}

pub(super) fn hash(kind: u32, payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, kind.into())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_lost_descriptor_is_opened_anew_and_the_other_file_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let mut writer = Writer::create(&path).unwrap();
        writer.chunk(Chunk::Note, &[b"one"]).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        let theirs = tempfile::tempfile().unwrap();
        let number = writer.file.as_raw_fd();
        // SAFETY: a number of this test.
        assert_eq!(unsafe { libc::dup2(theirs.as_raw_fd(), number) }, number);
        writer.chunk(Chunk::Note, &[b"two"]).unwrap();
        assert_eq!(theirs.metadata().unwrap().len(), 0);
        assert_eq!(
            std::fs::metadata(&path).unwrap().len(),
            2 * length - MAGIC.len() as u64
        );
    }
}
