//! The reading end of a thread that records.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trueno_format::record::Record;
use trueno_format::ring::{Origin, Ring, RingReader};
use trueno_format::waiting_rows::RowOrigin;

use crate::thread_registry::{Arrival, ThreadInfo};

pub(super) struct LaneReader {
    pub thread: Arc<ThreadInfo>,
    reader: RingReader,
}

impl LaneReader {
    pub fn new(arrival: Arrival) -> Self {
        Self {
            reader: RingReader::new(arrival.thread.index, arrival.ring),
            thread: arrival.thread,
        }
    }

    /// As [`RingReader::drain`].
    #[inline]
    pub fn drain(
        &mut self,
        take: impl FnMut(&Origin, RowOrigin, &[Record]) -> usize,
        leave: impl FnMut(Arc<Ring>),
    ) -> bool {
        let closed = &self.thread.closed;
        self.reader
            .drain(|| closed.load(Ordering::Acquire), take, leave)
    }

    /// The ring, when nothing more is read from it.
    pub fn into_ring(self) -> Arc<Ring> {
        self.reader.into_ring()
    }
}
