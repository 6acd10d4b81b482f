//! Reads a spool, also one that is cut or damaged.

use std::io;
use std::path::Path;

use super::write::hash;
use super::{Chunk, ClockReading, End, Facts, HEADER_BYTES, MAGIC, MAX_BYTES, Note, RangeEvent};
use crate::layout::Field;

/// Something in a spool.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'s> {
    /// Facts about the recording process; later ones replace earlier ones.
    Facts(Box<Facts>),
    Name(u32, &'s [u8]),
    /// Domain (1 driver, 2 runtime), number and name of a function.
    Callback(u32, u32, &'s [u8]),
    Record(&'s [u8]),
    Range(RangeEvent),
    Clock(ClockReading),
    Dropped(u64),
    Note(Note),
    /// A thread, by the operating system's number, and its name.
    Thread(u32, &'s [u8]),
    /// A node of a graph, and the node it was cloned from.
    GraphClone(u64, u64),
    /// A node of a graph, and a node that may begin after it.
    GraphEdge(u64, u64),
    End(End),
}

/// The parts that could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Chunks whose hash does not hold, or that do not hold what they should.
    pub chunks: u64,
    /// Bytes behind the last whole chunk.
    pub cut_bytes: u64,
}

/// Reads a spool that lies in memory.
#[derive(Debug)]
pub struct Reader<'s> {
    bytes: &'s [u8],
    offset: usize,
    damage: Damage,
}

/// Reads the file of a spool.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

impl<'s> Reader<'s> {
    /// `None`: it does not begin as a spool does.
    pub fn new(bytes: &'s [u8]) -> Option<Self> {
        bytes.starts_with(MAGIC).then_some(Self {
            bytes,
            offset: MAGIC.len(),
            damage: Damage::default(),
        })
    }

    /// Gives all items to `take`; what could not be read.
    pub fn read(mut self, mut take: impl FnMut(Item<'s>)) -> Damage {
        while let Some((kind, payload)) = self.chunk() {
            let whole = payload.and_then(|payload| {
                let kind = Chunk::from_number(kind)?;
                items(kind, payload, &mut take)
            });
            if whole.is_none() {
                self.damage.chunks += 1;
            }
        }
        self.damage
    }

    /// Reads the next chunk: its kind, and its payload if the hash matches.
    fn chunk(&mut self) -> Option<(u32, Option<&'s [u8]>)> {
        let rest = self.bytes.get(self.offset..)?;
        if rest.is_empty() {
            return None;
        }
        let next = Self::header(rest).and_then(|(kind, bytes, hash)| {
            let payload = rest.get(HEADER_BYTES..HEADER_BYTES.checked_add(bytes)?)?;
            Some((kind, payload, hash))
        });
        let Some((kind, payload, stated)) = next else {
            // Nobody knows where the next chunk begins.
            self.damage.cut_bytes = rest.len() as u64;
            self.offset = self.bytes.len();
            return None;
        };
        self.offset += HEADER_BYTES + payload.len();
        let holds = hash(kind, payload) == stated;
        Some((kind, holds.then_some(payload)))
    }

    fn header(rest: &[u8]) -> Option<(u32, usize, u64)> {
        let kind = u32::at(rest, 0)?;
        Chunk::from_number(kind)?;
        let bytes = usize::try_from(u32::at(rest, 4)?).ok()?;
        (bytes <= MAX_BYTES).then_some((kind, bytes, u64::at(rest, 8)?))
    }
}

/// `None` if the payload does not match the kind of chunk.
fn items<'s>(kind: Chunk, payload: &'s [u8], take: &mut impl FnMut(Item<'s>)) -> Option<()> {
    match kind {
        Chunk::Facts => take(Item::Facts(serde_json::from_slice(payload).ok()?)),
        Chunk::Names => texts(payload, |number, text| take(Item::Name(number, text)))?,
        Chunk::Thread => texts(payload, |number, text| take(Item::Thread(number, text)))?,
        Chunk::Callback => {
            let (domain, number) = (u32::at(payload, 0)?, u32::at(payload, 4)?);
            take(Item::Callback(domain, number, payload.get(8..)?));
        }
        Chunk::Records => {
            let mut rest = payload;
            while !rest.is_empty() {
                let end = usize::try_from(u32::at(rest, 0)?).ok()?.checked_add(4)?;
                take(Item::Record(rest.get(4..end)?));
                rest = &rest[end..];
            }
        }
        Chunk::Ranges => {
            let (events, rest) = payload.as_chunks::<{ RangeEvent::BYTES }>();
            for event in events {
                take(Item::Range(RangeEvent::read(event)?));
            }
            if !rest.is_empty() {
                return None;
            }
        }
        Chunk::Clock => take(Item::Clock(ClockReading::read(payload)?)),
        Chunk::Dropped => take(Item::Dropped(u64::at(payload, 0)?)),
        Chunk::Note => take(Item::Note(serde_json::from_slice(payload).ok()?)),
        Chunk::GraphClones => pairs(payload, |a, b| take(Item::GraphClone(a, b)))?,
        Chunk::GraphEdges => pairs(payload, |a, b| take(Item::GraphEdge(a, b)))?,
        Chunk::End => take(Item::End(serde_json::from_slice(payload).ok()?)),
    }
    Some(())
}

fn pairs(payload: &[u8], mut take: impl FnMut(u64, u64)) -> Option<()> {
    let (pairs, rest) = payload.as_chunks::<16>();
    for pair in pairs {
        take(u64::at(pair, 0)?, u64::at(pair, 8)?);
    }
    rest.is_empty().then_some(())
}

/// A sequence of number, length and text.
fn texts<'s>(payload: &'s [u8], mut take: impl FnMut(u32, &'s [u8])) -> Option<()> {
    let mut rest = payload;
    while !rest.is_empty() {
        let number = u32::at(rest, 0)?;
        let end = usize::try_from(u32::at(rest, 4)?).ok()?.checked_add(8)?;
        take(number, rest.get(8..end)?);
        rest = &rest[end..];
    }
    Some(())
}
