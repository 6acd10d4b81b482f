//! Reads the rings of threads, group by group.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::rows::Origin;
use crate::record::{Context, Record, kind};
use crate::ring::Ring;
use crate::shared::{Arrival, ThreadInfo};

/// Records looked at before their place is given back to the thread.
const CHUNK: u64 = 2048;
/// One primary record and the most extensions its flags can count.
const LARGEST_GROUP: usize = 16;

/// The reading end of one thread's rings.
pub(super) struct LaneReader {
    pub thread: Arc<ThreadInfo>,
    ring: Arc<Ring>,
    context: Context,
    /// A group cut in two by the end of the ring's memory.
    cut: Vec<Record>,
}

impl LaneReader {
    pub fn new(arrival: Arrival) -> Self {
        Self {
            thread: arrival.thread,
            ring: arrival.ring,
            context: Context::default(),
            cut: Vec::with_capacity(LARGEST_GROUP),
        }
    }

    /// Gives every group published until now to `take`. Whether the thread has ended and
    /// everything of it was read.
    pub fn drain(&mut self, mut take: impl FnMut(Origin, &[Record])) -> bool {
        loop {
            // Before the head: what is published afterwards is for the next time, and once
            // a ring has a successor or its thread has ended, its head does not move.
            let ended = self.thread.closed.load(Ordering::Acquire);
            let next = self.ring.next().cloned();
            let head = self.ring.head();
            let ring = self.ring.clone();
            while ring.tail() < head {
                let records = ring.readable(head.min(ring.tail() + CHUNK));
                self.groups(records, &mut take);
                ring.consume(records.len());
            }
            match next {
                Some(next) => self.ring = next,
                None => return ended,
            }
        }
    }

    fn groups(&mut self, mut records: &[Record], take: &mut impl FnMut(Origin, &[Record])) {
        if let Some(first) = self.cut.first() {
            let missing = (1 + first.extensions() - self.cut.len()).min(records.len());
            self.cut.extend_from_slice(&records[..missing]);
            records = &records[missing..];
            if self.cut.len() == 1 + self.cut[0].extensions() {
                take(
                    Origin {
                        thread: self.thread.index,
                        context: self.context,
                    },
                    &self.cut,
                );
                self.cut.clear();
            }
        }
        while let Some(first) = records.first() {
            let length = 1 + first.extensions();
            if first.kind == kind::CONTEXT {
                self.context = Context::load(first);
            } else if length > records.len() {
                self.cut.extend_from_slice(records);
                return;
            } else {
                let origin = Origin {
                    thread: self.thread.index,
                    context: self.context,
                };
                take(origin, &records[..length]);
            }
            records = &records[length..];
        }
    }

    /// The ring, when nothing more is read from it.
    pub fn into_ring(self) -> Arc<Ring> {
        self.ring
    }
}
