//! Sorts more records than memory should hold: sorted runs go to a file and are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Error;

const BUFFER_BYTES: usize = 32 << 20;
const RUN_BYTES: usize = 1 << 16;

/// Sorts records of `N` words, compared word by word, with a temporary file if needed.
pub(crate) struct Sorter<const N: usize> {
    waiting: Vec<[u64; N]>,
    most: usize,
    path: PathBuf,
    file: Option<File>,
    /// First byte and end of each sorted run in the file.
    runs: Vec<(u64, u64)>,
}

impl<const N: usize> Sorter<N> {
    /// `path` is used for a temporary file when the records do not fit in memory.
    pub fn new(path: PathBuf) -> Self {
        Self::with_memory(path, BUFFER_BYTES)
    }

    /// As [`Sorter::new`] with less memory, for rare records.
    pub fn small(path: PathBuf) -> Self {
        Self::with_memory(path, BUFFER_BYTES / 8)
    }

    fn with_memory(path: PathBuf, bytes: usize) -> Self {
        Self {
            waiting: Vec::new(),
            most: (bytes / (8 * N)).max(1),
            path,
            file: None,
            runs: Vec::new(),
        }
    }

    /// Path of the temporary file, whether or not it exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn push(&mut self, record: [u64; N]) -> Result<(), Error> {
        if self.waiting.len() == self.most {
            let done = self.spill();
            done.map_err(|error| Error::io(&self.path, "write it", error))?;
        }
        self.waiting.push(record);
        Ok(())
    }

    /// All records in order; none are left.
    pub fn take(&mut self) -> Result<Sorted<N>, Error> {
        let empty = Self {
            waiting: Vec::new(),
            path: self.path.clone(),
            file: None,
            runs: Vec::new(),
            ..*self
        };
        std::mem::replace(self, empty).sorted()
    }

    fn spill(&mut self) -> io::Result<()> {
        self.waiting.sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(scratch(&self.path)?),
        };
        let start = file.seek(SeekFrom::End(0))?;
        let mut to = BufWriter::with_capacity(RUN_BYTES, file);
        for word in self.waiting.iter().flatten() {
            to.write_all(&word.to_le_bytes())?;
        }
        to.flush()?;
        drop(to);
        let bytes = (self.waiting.len() * N * 8) as u64;
        self.runs.push((start, start + bytes));
        self.waiting.clear();
        Ok(())
    }

    pub fn sorted(self) -> Result<Sorted<N>, Error> {
        let path = self.path.clone();
        let sorted = self.merged(&path);
        sorted.map_err(|error| Error::io(&path, "sort it", error))
    }

    fn merged(mut self, path: &Path) -> io::Result<Sorted<N>> {
        if self.runs.is_empty() {
            self.waiting.sort_unstable();
            return Ok(Sorted::Memory(self.waiting.into_iter()));
        }
        self.spill()?;
        self.waiting = Vec::new();
        let mut merge = Merge {
            heads: BinaryHeap::with_capacity(self.runs.len()),
            runs: Vec::with_capacity(self.runs.len()),
            file: self.file.take(),
            path: path.to_owned(),
        };
        for (number, &(next, end)) in self.runs.iter().enumerate() {
            merge.runs.push(Run {
                next,
                end,
                bytes: Vec::new(),
                at: 0,
            });
            merge.advance(number)?;
        }
        Ok(Sorted::File(Box::new(merge)))
    }
}

/// On Unix the file is unlinked at once, so that no crash leaves it behind.
fn scratch(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    if cfg!(unix) {
        fs::remove_file(path)?;
    }
    Ok(file)
}

pub(crate) enum Sorted<const N: usize> {
    Memory(std::vec::IntoIter<[u64; N]>),
    File(Box<Merge<N>>),
}

impl<const N: usize> Sorted<N> {
    pub fn next(&mut self) -> Result<Option<[u64; N]>, Error> {
        match self {
            Self::Memory(records) => Ok(records.next()),
            Self::File(merge) => {
                let next = merge.next();
                next.map_err(|error| Error::io(&merge.path, "read it", error))
            }
        }
    }
}

pub(crate) struct Merge<const N: usize> {
    heads: BinaryHeap<Reverse<([u64; N], usize)>>,
    runs: Vec<Run>,
    file: Option<File>,
    path: PathBuf,
}

struct Run {
    next: u64,
    end: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl<const N: usize> Merge<N> {
    fn next(&mut self) -> io::Result<Option<[u64; N]>> {
        let Some(Reverse((record, run))) = self.heads.pop() else {
            return Ok(None);
        };
        self.advance(run)?;
        Ok(Some(record))
    }

    fn advance(&mut self, number: usize) -> io::Result<()> {
        let run = &mut self.runs[number];
        if run.at == run.bytes.len() {
            let whole = (RUN_BYTES / (8 * N) * 8 * N) as u64;
            let count = (run.end - run.next).min(whole) as usize;
            run.bytes.resize(count, 0);
            run.at = 0;
            if count == 0 {
                return Ok(());
            }
            if let Some(file) = &mut self.file {
                file.seek(SeekFrom::Start(run.next))?;
                file.read_exact(&mut run.bytes)?;
            }
            run.next += count as u64;
        }
        let mut record = [0; N];
        let bytes = &run.bytes[run.at..run.at + 8 * N];
        for (word, bytes) in record.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        run.at += 8 * N;
        self.heads.push(Reverse((record, number)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_in_order_from_memory_and_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for memory in [1 << 20, 1 << 10, 16] {
            let path = folder.path().join("spill");
            let mut sorter = Sorter::<2>::with_memory(path.clone(), memory);
            let mut expected: Vec<[u64; 2]> = (0..5_000_u64)
                .map(|i| [i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54, i])
                .collect();
            for record in &expected {
                sorter.push(*record).unwrap();
            }
            expected.sort_unstable();
            let mut sorted = sorter.sorted().unwrap();
            let mut found = Vec::new();
            while let Some(record) = sorted.next().unwrap() {
                found.push(record);
            }
            assert_eq!(found, expected, "with {memory} bytes");
            assert!(!cfg!(unix) || !path.exists());
        }
    }
}
