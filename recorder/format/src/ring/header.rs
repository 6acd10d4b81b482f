//! The first page of a ring: whose it is, what holds at its tail, and where its ends stand.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::Positions;
use crate::dropped_names::DroppedNames;
use crate::mapped_file::{FileKind, HEADER_BYTES};
use crate::record::{Context, Record};
use crate::row_counters::{FirstCounters, LaterCounters, MappedCounters};

/// Magic number of the file of a ring.
pub const MAGIC_RING: u64 = u64::from_le_bytes(*b"trueRING");
const NAME_BYTES: usize = 128;

/// First page of a ring.
#[repr(C)]
pub struct RingHeader {
    /// Kind, version and size.
    pub kind: FileKind,
    /// 0: no thread uses it, and it holds nothing. Stored last when a thread takes it.
    pub in_use: AtomicU32,
    /// Index of the thread.
    pub thread: AtomicU32,
    /// Times it was taken: with the ring's number, it names one use.
    pub uses: AtomicU64,
    /// Its place among the rings of its thread, which take over from each other.
    pub order: AtomicU64,
    /// Number of the thread, by the operating system.
    pub os_id: AtomicU64,
    /// Clock of its first event.
    pub start_ticks: AtomicU64,
    name_length: AtomicU32,
    name: [AtomicU8; NAME_BYTES],
    /// Iteration and layer at the tail: flags as in [`Context::store`], then both numbers.
    context: [AtomicU64; 3],
    dropped_first: FirstCounters,
    /// Positions of its two ends.
    pub positions: Positions,
    /// The same rows by name. Zeros in rings of older recorders.
    pub dropped_names: DroppedNames,
    dropped_later: LaterCounters,
}

/// These offsets are the same in the files of all recorders. New fields go at the end.
const _: () = assert!(
    std::mem::offset_of!(RingHeader, dropped_first) == 224
        && std::mem::offset_of!(RingHeader, positions) == 384
        && std::mem::offset_of!(RingHeader, dropped_names) == 640
        && std::mem::offset_of!(RingHeader, dropped_later) == 1664
);

const _: () = assert!(size_of::<RingHeader>() <= HEADER_BYTES);
const _: () =
    assert!(align_of::<RingHeader>() <= HEADER_BYTES && align_of::<Record>() <= HEADER_BYTES);

/// A thread, as it names itself when it takes a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Index of the thread.
    pub thread: u32,
    /// Place of the ring among those of its thread.
    pub order: u64,
    /// Number of the thread, by the operating system.
    pub os_id: u64,
    /// Clock of its first event.
    pub start_ticks: u64,
    /// Name that the program gave it.
    pub name: Option<String>,
}

impl RingHeader {
    /// Rows that found the ring full.
    #[inline]
    pub fn dropped(&self) -> MappedCounters<'_> {
        MappedCounters {
            first: &self.dropped_first,
            later: &self.dropped_later,
        }
    }

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
        self.dropped().clear();
        self.dropped_names.clear();
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.in_use.store(1, Ordering::Release);
    }

    /// The thread that took it.
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

    /// The context that holds at the tail.
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
