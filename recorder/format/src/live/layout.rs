//! What stands where in the mapped files of `live/`: the rings and the waiting rows.
//!
//! All numbers are in the byte order of the machine, as the files live and die on it or on
//! one like it; [`MAGIC_RING`] tells when they do not.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::record::{Context, Record};
use crate::ring::Positions;
use crate::row_counters::RowCounters;
use crate::segment::BATCH_ROWS;

/// Changes with every change of a record, a header, or the numbers of fixed names.
pub(crate) const LIVE_VERSION: u32 = 1;
pub(crate) const MAGIC_RING: u64 = u64::from_le_bytes(*b"trueRING");
pub(crate) const MAGIC_ROWS: u64 = u64::from_le_bytes(*b"trueROWS");
/// Headers take one page: records begin behind it.
pub(crate) const HEADER_BYTES: usize = 4096;
const NAME_BYTES: usize = 128;

/// What a mapped file is, at its very beginning.
#[repr(C)]
pub(crate) struct Kind {
    /// Stored last: without it the file was not finished and holds nothing.
    pub magic: AtomicU64,
    pub version: AtomicU32,
    /// Bytes of a record, or columns of the table.
    pub width: AtomicU32,
    /// Records, or rows, that there is room for.
    pub capacity: AtomicU64,
}

impl Kind {
    pub fn store(&self, magic: u64, width: u32, capacity: u64) {
        self.version.store(LIVE_VERSION, Ordering::Relaxed);
        self.width.store(width, Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Relaxed);
        self.magic.store(magic, Ordering::Release);
    }

    /// The capacity, if the file is what it should be and of this version.
    pub fn capacity_of(&self, magic: u64, width: u32) -> Option<u64> {
        let right = self.magic.load(Ordering::Acquire) == magic
            && self.version.load(Ordering::Relaxed) == LIVE_VERSION
            && self.width.load(Ordering::Relaxed) == width;
        right.then(|| self.capacity.load(Ordering::Relaxed))
    }

    /// Whether it was finished at all.
    pub fn is_finished(&self) -> bool {
        self.magic.load(Ordering::Acquire) != 0
    }
}

/// First page of a ring.
#[repr(C)]
pub(crate) struct RingHeader {
    pub kind: Kind,
    /// 0: no thread uses it, and it holds nothing. Stored last when a thread takes it.
    pub in_use: AtomicU32,
    /// Index of the thread.
    pub thread: AtomicU32,
    /// How often it was taken: with the ring's number, it names one use.
    pub uses: AtomicU64,
    /// Its place among the rings of its thread, which take over from each other.
    pub order: AtomicU64,
    pub os_id: AtomicU64,
    pub start_ticks: AtomicU64,
    name_length: AtomicU32,
    name: [AtomicU8; NAME_BYTES],
    /// The iteration and layer that hold at the tail: flags as of [`Context::store`], then both.
    context: [AtomicU64; 3],
    /// Rows that found the ring full.
    pub dropped: RowCounters,
    pub positions: Positions,
}

/// The rows of one table that wait for their batch; what comes behind: [`rows_words`].
#[repr(C)]
pub(crate) struct RowsHeader {
    pub kind: Kind,
    /// Number of the table.
    pub table: AtomicU64,
    /// Batches that were written before these rows: where the journal knows more, these
    /// rows are on disk already.
    pub batches: AtomicU64,
    /// A bit for each column whose values stand one a row; the others have the first in all rows.
    pub varies: AtomicU64,
}

const _: () = assert!(size_of::<RingHeader>() <= HEADER_BYTES);
const _: () = assert!(size_of::<RowsHeader>() <= HEADER_BYTES);
const _: () =
    assert!(align_of::<RingHeader>() <= HEADER_BYTES && align_of::<Record>() <= HEADER_BYTES);

/// Words for the first value of each column: a table has fewer columns than that.
pub(crate) const FIRST_WORDS: usize = 64;
/// From a column's values to those of the next: not a power of two, or the same row of all
/// columns would want the same few places of the cache.
pub(crate) const COLUMN_STRIDE: usize = BATCH_ROWS + 8;
/// Where the values begin: behind an origin a row and the first values.
pub(crate) const VALUES_AT: usize = BATCH_ROWS + FIRST_WORDS;

/// Words behind the header: an origin a row, the first value of each column, and the
/// values of each column. Behind the table's own columns comes one with a bit for
/// every cell of the row that is there.
pub(crate) const fn rows_words(columns: usize) -> usize {
    VALUES_AT + (columns + 1) * COLUMN_STRIDE
}

/// What a thread says of itself when it takes a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub thread: u32,
    pub order: u64,
    pub os_id: u64,
    pub start_ticks: u64,
    pub name: Option<String>,
}

impl RingHeader {
    /// A thread takes the ring, which is empty.
    pub fn take(&self, who: &Identity) {
        self.thread.store(who.thread, Ordering::Relaxed);
        self.order.store(who.order, Ordering::Relaxed);
        self.os_id.store(who.os_id, Ordering::Relaxed);
        self.start_ticks.store(who.start_ticks, Ordering::Relaxed);
        let name = who.name.as_deref().unwrap_or("");
        let length = (0..=name.len().min(NAME_BYTES))
            .rev()
            .find(|at| name.is_char_boundary(*at));
        let length = length.unwrap_or(0);
        for (to, from) in self.name.iter().zip(&name.as_bytes()[..length]) {
            to.store(*from, Ordering::Relaxed);
        }
        // The longest length there is says that there is no name.
        let stored = if who.name.is_some() {
            length as u32
        } else {
            u32::MAX
        };
        self.name_length.store(stored, Ordering::Relaxed);
        self.set_context(Context::default());
        self.dropped.clear();
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.in_use.store(1, Ordering::Release);
    }

    pub fn identity(&self) -> Identity {
        let length = self.name_length.load(Ordering::Relaxed) as usize;
        let name = self.name.get(..length).map(|bytes| {
            let bytes: Vec<u8> = bytes.iter().map(|b| b.load(Ordering::Relaxed)).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Identity {
            thread: self.thread.load(Ordering::Relaxed),
            order: self.order.load(Ordering::Relaxed),
            os_id: self.os_id.load(Ordering::Relaxed),
            start_ticks: self.start_ticks.load(Ordering::Relaxed),
            name,
        }
    }

    /// Kept beside the tail, and stored before the tail passes the record that changed it.
    pub fn set_context(&self, context: Context) {
        let mut record = Record::default();
        context.store(&mut record);
        let words = [u64::from(record.flags), record.m[1], record.m[2]];
        for (to, word) in self.context.iter().zip(words) {
            to.store(word, Ordering::Release);
        }
    }

    pub fn context(&self) -> Context {
        let [flags, iteration, layer] =
            [0, 1, 2].map(|at: usize| self.context[at].load(Ordering::Acquire));
        Context::load(&Record {
            flags: flags as u8,
            m: [0, iteration, layer, 0],
            ..Record::default()
        })
    }
}

/// Where a waiting row comes from; 0: there is no row.
///
/// A row from a ring counts once the ring's tail has passed its record: so it is in exactly
/// one of both places, whenever the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOrigin(u64);

const POSITION_BITS: u32 = 44;
/// One bit short, so that no row of a ring looks like one of the writer's own.
const RING_MASK: u64 = (1 << 19) - 1;

impl RowOrigin {
    /// The writer's own row.
    pub const OWN: Self = Self(u64::MAX);

    pub fn ring(ring: u32, position: u64) -> Self {
        Self(
            ((u64::from(ring) & RING_MASK) + 1) << POSITION_BITS
                | position & ((1 << POSITION_BITS) - 1),
        )
    }

    pub fn word(self) -> u64 {
        self.0
    }

    /// Ring and position of the record, unless the row is the writer's own. `word` is not 0.
    pub fn position(word: u64) -> Option<(u32, u64)> {
        let ring = (word >> POSITION_BITS).wrapping_sub(1) as u32;
        (word != u64::MAX).then_some((ring, word & ((1 << POSITION_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_come_back() {
        for (ring, position) in [(0, 0), (7, 1), ((1 << 19) - 1, (1 << 44) - 1)] {
            let word = RowOrigin::ring(ring, position).word();
            assert_ne!(word, 0);
            assert_eq!(RowOrigin::position(word), Some((ring, position)));
        }
        assert_eq!(RowOrigin::position(RowOrigin::OWN.word()), None);
    }
}
