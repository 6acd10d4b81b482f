//! A ring of another process, read without taking anything from it.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::Look;
use super::event::{Event, decode};
use super::shared_pages::SharedPages;
use crate::mapped_file::HEADER_BYTES;
use crate::record::{Record, extension, kind};
use crate::ring::{Identity, MAGIC_RING, Ring, RingHeader};
use crate::timeline::Timeline;

/// Number of records copied at a time, before checking that they were not overwritten.
const COPIED: usize = 1024;
/// Records after the published head that the thread may be writing: more than two groups.
const UNPUBLISHED: u64 = 64;

pub(super) struct ObservedRing {
    _pages: Arc<SharedPages>,
    base: NonNull<u8>,
    capacity: u64,
    at: u64,
    /// Records before this position are to be read now.
    stop: u64,
    /// End of the first event that was read, if earlier ones had been overwritten before the first poll.
    first_end_ns: Option<i64>,
    /// True if earlier events of this ring were overwritten and no event has been read yet.
    is_cut: bool,
    copied: Box<[Record; COPIED]>,
}

// SAFETY: the base points into the pages, which it holds.
unsafe impl Send for ObservedRing {}

impl ObservedRing {
    /// The rings of a file, by place, which are made and not known yet. Those of another version are none.
    pub fn all_new<'a>(
        pages: &'a Arc<SharedPages>,
        is_known: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, Self)> + 'a {
        let count = Self::count_in(pages);
        let each = pages.bytes() / count.max(1);
        (0..count)
            .filter(move |nth| !is_known(*nth))
            .filter_map(move |nth| Some((nth, Self::at(pages, nth * each, each)?)))
    }

    /// Rings that there is room for in a file; 0 before its first one is made.
    pub fn count_in(pages: &SharedPages) -> usize {
        if pages.bytes() < HEADER_BYTES {
            return 0;
        }
        // SAFETY: as in `header`.
        let first: &RingHeader = unsafe { pages.base().cast().as_ref() };
        Ring::count_in(first, pages.bytes()).unwrap_or(0)
    }

    fn at(pages: &Arc<SharedPages>, from: usize, bytes: usize) -> Option<Self> {
        let mut ring = Self {
            // SAFETY: inside the pages.
            base: unsafe { pages.base().add(from) },
            _pages: pages.clone(),
            capacity: 0,
            at: 0,
            stop: 0,
            first_end_ns: None,
            is_cut: false,
            copied: Box::new([Record::default(); COPIED]),
        };
        let header = ring.header();
        let width = size_of::<Record>() as u32;
        let capacity = header.kind.capacity_of(MAGIC_RING, width)?;
        if !capacity.is_power_of_two()
            || capacity < 4 * UNPUBLISHED
            || usize::try_from(capacity).ok().and_then(Ring::bytes) != Some(bytes)
        {
            return None;
        }
        let (head, tail) = (header.positions.head(), header.positions.tail());
        let uses = header.uses.load(Ordering::Relaxed);
        ring.capacity = capacity;
        // What the thread before has left in the ring is not this one's.
        ring.at = match uses {
            // With some room, as the thread goes on meanwhile.
            0 | 1 => head.saturating_sub(capacity - capacity / 8 - UNPUBLISHED),
            _ => tail,
        };
        ring.is_cut = ring.at > 0;
        ring.stop = ring.at;
        Some(ring)
    }

    fn header(&self) -> &RingHeader {
        // SAFETY: the pages begin with a header, any bits of which are valid; they are mapped as long as self. All of
        // it is atomics, which are only loaded here: the pages cannot be written.
        unsafe { self.base.cast::<RingHeader>().as_ref() }
    }

    /// The thread that has it.
    pub fn identity(&self) -> Identity {
        self.header().identity()
    }

    /// Returns whether a thread has it.
    pub fn is_in_use(&self) -> bool {
        self.header().in_use.load(Ordering::Acquire) != 0
    }

    /// Times that it was taken.
    pub fn uses(&self) -> u64 {
        self.header().uses.load(Ordering::Relaxed)
    }

    /// Records that it has room for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Position of the writer, and records that it has not taken yet.
    pub fn writer_position(&self) -> (u64, u64) {
        let positions = &self.header().positions;
        (positions.tail(), positions.unread().min(self.capacity))
    }

    /// Rows of a table that found it full.
    pub fn dropped(&self, table: usize) -> u64 {
        self.header().dropped().get(table)
    }

    /// See [`super::Observer::complete_from_ns`].
    pub fn first_end_ns(&self) -> Option<i64> {
        self.first_end_ns
    }

    /// Returns whether all that was published was read.
    pub fn is_read(&self) -> bool {
        self.header().positions.head() <= self.at
    }

    /// From now on what lies before the head is to be read.
    pub fn stop_at_head(&mut self) {
        self.stop = self.header().positions.head();
    }

    /// Gives the events from where it was left on.
    pub fn read(&mut self, timeline: &mut Timeline, take: &mut dyn FnMut(&Event), look: &mut Look) {
        let thread = self.identity().thread;
        // A signal in the recorder may set the head back by a little.
        let written = self.stop.saturating_sub(self.at);
        look.busiest_share = look
            .busiest_share
            .max(written as f64 / self.capacity as f64);
        while self.at < self.stop {
            self.skip_overwritten(look);
            let count = (self.stop.saturating_sub(self.at)).min(COPIED as u64) as usize;
            for nth in 0..count {
                self.copied[nth] = self.record(self.at + nth as u64);
            }
            // Loads before this one are done: what the thread wrote over them it has published by now, or is writing.
            fence(Ordering::Acquire);
            if self.oldest_whole() > self.at {
                continue;
            }
            self.groups(count, thread, timeline, take, look);
        }
    }

    /// Position of the oldest record that cannot be overwritten at this moment.
    fn oldest_whole(&self) -> u64 {
        let head = self.header().positions.head();
        (head + UNPUBLISHED).saturating_sub(self.capacity)
    }

    fn skip_overwritten(&mut self, look: &mut Look) {
        let oldest = self.oldest_whole();
        if oldest > self.at {
            // With some room, as the thread goes on meanwhile.
            let to = (oldest + self.capacity / 8).min(self.stop.max(oldest));
            // What lay there before the first look is not missed.
            if !self.is_cut {
                look.overwritten += to - self.at;
            }
            self.at = to;
        }
    }

    fn record(&self, position: u64) -> Record {
        let at = (position & (self.capacity - 1)) as usize;
        // SAFETY: the records follow the header's page inside the mapping, and `at` lies within the capacity. Any bytes
        // are a record. Volatile, as the thread may write there meanwhile: then what was read is not used.
        unsafe {
            let records = self.base.as_ptr().add(HEADER_BYTES).cast::<Record>();
            records.add(at).read_volatile()
        }
    }

    fn groups(
        &mut self,
        count: usize,
        thread: u32,
        timeline: &mut Timeline,
        take: &mut dyn FnMut(&Event),
        look: &mut Look,
    ) {
        let is_last = self.at + count as u64 >= self.stop;
        let mut records = &self.copied[..count];
        while let Some(first) = records.first() {
            // After a jump the rest of a group, and a record that only says which iteration it is.
            let is_group = first.kind < extension::LABELS && first.kind != kind::CONTEXT;
            let length = if is_group { 1 + first.extensions() } else { 1 };
            if length > records.len() && !is_last {
                break;
            }
            let length = length.min(records.len());
            if is_group && let Some(event) = decode(&records[..length], thread, timeline) {
                if std::mem::take(&mut self.is_cut) {
                    self.first_end_ns = Some(event.end_ns);
                }
                look.events += 1;
                take(&event);
            }
            self.at += length as u64;
            look.records += length as u64;
            records = &records[length..];
        }
    }
}
