//! The reading end of a thread's rings: records, group by group.

use std::sync::Arc;

use super::Ring;
use crate::record::{Context, Record, kind};
use crate::waiting_rows::RowOrigin;

/// One primary record and the most extensions its flags can count.
const LARGEST_GROUP: usize = 16;

/// The origin of a group.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Index of the thread.
    pub thread: u32,
    /// The iteration and layer that hold there.
    pub context: Context,
}

/// The reading end of one thread's rings.
pub struct RingReader {
    ring: Arc<Ring>,
    /// Of the next group. Kept here, so that it is written once a context and not once a row.
    origin: Origin,
    /// A group cut in two by the end of the ring's memory.
    cut: Vec<Record>,
}

impl RingReader {
    /// Reads from a ring, and from those that follow it.
    pub fn new(thread: u32, ring: Arc<Ring>) -> Self {
        Self {
            origin: Origin {
                thread,
                context: ring.header().context(),
            },
            ring,
            cut: Vec::with_capacity(LARGEST_GROUP),
        }
    }

    /// Gives every group published until now to `take`, with what follows it in memory, and rings that were left
    /// behind to `leave`. `take` says how many records it took: the group, and maybe further ones that are no
    /// contexts and have no extensions. `ended` says whether the thread is gone; it is asked before the records are
    /// looked for. True: the thread has ended and everything of it was read.
    ///
    /// A record belongs to its ring until `take` has returned: only then the tail passes it.
    #[inline]
    pub fn drain(
        &mut self,
        ended: impl Fn() -> bool,
        mut take: impl FnMut(&Origin, RowOrigin, &[Record]) -> usize,
        mut leave: impl FnMut(Arc<Ring>),
    ) -> bool {
        loop {
            let ring = self.ring.clone();
            let seen = ring.look(&ended);
            self.groups(&ring, seen.head, &mut take);
            drop(ring);
            match seen.next {
                Some(next) => {
                    next.header().set_context(self.origin.context);
                    leave(std::mem::replace(&mut self.ring, next));
                }
                None => return seen.ended,
            }
        }
    }

    #[inline]
    fn groups(
        &mut self,
        ring: &Ring,
        head: u64,
        take: &mut impl FnMut(&Origin, RowOrigin, &[Record]) -> usize,
    ) {
        let positions = &ring.header().positions;
        let mut at = positions.tail();
        // A head out of reach was not written by the ring's producer: its file was written to, or cut.
        let head = if head.wrapping_sub(at) <= ring.capacity() {
            head
        } else {
            at
        };
        while at < head {
            let mut records = ring.readable(at, head);
            while let Some(first) = records.first() {
                let mut length = 1 + first.extensions();
                if first.kind == kind::CONTEXT {
                    self.origin.context = Context::load(first);
                    ring.header().set_context(self.origin.context);
                } else if length <= records.len() {
                    length = take(&self.origin, RowOrigin::ring(ring.number(), at), records);
                } else {
                    self.copy_cut_group(ring, at, length, head);
                    take(&self.origin, RowOrigin::ring(ring.number(), at), &self.cut);
                    at += length as u64;
                    positions.consume(at);
                    break;
                }
                at += length as u64;
                positions.consume(at);
                records = &records[length..];
            }
        }
    }

    #[cold]
    fn copy_cut_group(&mut self, ring: &Ring, at: u64, length: usize, head: u64) {
        let first = ring.readable(at, head);
        self.cut.clear();
        self.cut.extend_from_slice(first);
        let rest = ring.readable(at + first.len() as u64, head);
        self.cut
            .extend_from_slice(&rest[..(length - first.len()).min(rest.len())]);
    }

    /// The ring, when nothing more is read from it.
    pub fn into_ring(self) -> Arc<Ring> {
        self.ring
    }
}
