//! The reading end of a thread's rings: records, group by group.

use std::sync::Arc;

use super::Ring;
use crate::record::{Context, Record, kind};
use crate::waiting_rows::RowOrigin;

/// Number of records copied from the ring at a time: as many as are turned into rows together, and more than a
/// group has.
const COPIED: usize = 64;

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
    /// Origin of the next group. Cached, so that it is written once per context instead of once per row.
    origin: Origin,
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
        let capacity = ring.capacity();
        let head = match head.wrapping_sub(at) {
            unread if unread <= capacity => head,
            // A signal that came between a look at the tail and a record let its handler have the room: as many records
            // lie over the oldest ones, which are lost. Without this the head stayed out of reach for ever.
            unread if unread <= 2 * capacity => {
                at = head - capacity;
                head
            }
            // It was not written by the ring's producer: its file was written to, or cut.
            _ => at,
        };
        if at >= head {
            return;
        }
        // Copies, which nobody else writes to.
        let mut copies = [Record::default(); COPIED];
        while at < head {
            let copied = ring.copy(at, head, &mut copies);
            let mut records = &copies[..copied];
            while let Some(first) = records.first() {
                let group = 1 + first.extensions();
                // The rest of a group behind the copies comes with the next ones. Nothing but damage ends a group at
                // the head: it is taken as it is.
                if group > records.len() && records.len() < copied {
                    break;
                }
                let mut length = group.min(records.len());
                if first.kind == kind::CONTEXT {
                    self.origin.context = Context::load(first);
                    ring.header().set_context(self.origin.context);
                } else {
                    length = take(&self.origin, RowOrigin::ring(ring.number(), at), records)
                        .min(records.len());
                }
                at += length as u64;
                positions.consume(at);
                records = &records[length..];
            }
        }
    }

    /// The ring, when nothing more is read from it.
    pub fn into_ring(self) -> Arc<Ring> {
        self.ring
    }
}
