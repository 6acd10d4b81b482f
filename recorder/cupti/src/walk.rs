//! Records of a raw buffer, one after the other.

use std::collections::BTreeMap;

use crate::kind::KINDS;
use crate::record::kind_of;

/// Record sizes by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(BTreeMap<u32, usize>);

impl Default for Sizes {
    /// Sizes in CUPTI 13.0.85.
    fn default() -> Self {
        Self(KINDS.iter().map(|kind| (kind.number, kind.bytes)).collect())
    }
}

impl FromIterator<(u32, usize)> for Sizes {
    fn from_iter<I: IntoIterator<Item = (u32, usize)>>(sizes: I) -> Self {
        Self(sizes.into_iter().collect())
    }
}

impl Sizes {
    /// Size of a kind, where it is known.
    pub fn get(&self, number: u32) -> Option<usize> {
        self.0.get(&number).copied().filter(|bytes| *bytes >= 4)
    }

    /// All sizes, by kind.
    pub fn iter(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.0.iter().map(|(number, bytes)| (*number, *bytes))
    }
}

/// A reason why the rest of a buffer cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The length of the record is unknown, and so is the start of the next one.
    #[error("a record of kind {kind} at byte {offset}, whose length is not known")]
    UnknownKind {
        kind: u32,
        /// Offset in the buffer.
        offset: usize,
    },
    #[error("a record of kind {kind} at byte {offset} is cut")]
    Cut {
        kind: u32,
        /// Offset in the buffer.
        offset: usize,
    },
}

/// The records of a buffer; ends at the first one whose length is not known.
#[derive(Clone, Debug)]
pub struct Records<'b> {
    bytes: &'b [u8],
    offset: usize,
    sizes: &'b Sizes,
    stopped: bool,
}

/// The records of the valid part of a buffer.
pub fn records<'b>(bytes: &'b [u8], sizes: &'b Sizes) -> Records<'b> {
    Records {
        bytes,
        offset: 0,
        sizes,
        stopped: false,
    }
}

impl<'b> Iterator for Records<'b> {
    type Item = Result<&'b [u8], Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.offset..)?;
        if self.stopped || rest.is_empty() {
            return None;
        }
        let offset = self.offset;
        let Some(kind) = kind_of(rest) else {
            self.stopped = true;
            return Some(Err(Stop::Cut { kind: 0, offset }));
        };
        let Some(bytes) = self.sizes.get(kind) else {
            self.stopped = true;
            return Some(Err(Stop::UnknownKind { kind, offset }));
        };
        let Some(record) = rest.get(..bytes) else {
            self.stopped = true;
            return Some(Err(Stop::Cut { kind, offset }));
        };
        self.offset += bytes;
        Some(Ok(record))
    }
}
