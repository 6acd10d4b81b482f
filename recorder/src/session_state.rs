//! State that the recording threads, the writer and the handles of one recorder share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use trueno_format::ring::Ring;
use trueno_format::schema::TABLES;

use crate::checksum::sampling::Sampling;
use crate::clock::Clock;
use crate::event_counts::EventCounts;
use crate::lane::Lane;
use crate::live::Live;
use crate::lock::lock;
use crate::mailbox::Mailbox;
use crate::overflow::Overflow;
use crate::own_time::OwnTime;
use crate::pauses::Pauses;
use crate::perf::PerfShared;
use crate::ring_pool::{RingPool, RingSizes};
use crate::thread_registry::{ThreadInfo, ThreadRegistry};
use crate::tile_sampling;

/// Bit next to those of tables: bricks may launch work on a device.
pub(crate) const HAS_DEVICE: u32 = 1 << 31;
/// Bit next to those of tables: CPU counters are read around bricks.
pub(crate) const HAS_PERF: u32 = 1 << 30;

/// Bit next to those of tables: only some tiles are recorded.
pub(crate) const SAMPLES_TILES: u32 = 1 << 29;
/// Bit next to those of tables: reading the clock is a call ([`Clock::is_inline`] is false).
pub(crate) const CALLS_CLOCK: u32 = 1 << 28;

const _: () = assert!(TABLES.len() <= 28);

struct AbandonedLane(*mut Lane);

// SAFETY: only ever freed, and not before the last guard is gone (`SessionState::free_abandoned`).
unsafe impl Send for AbandonedLane {}

pub(crate) struct SessionState {
    /// Tells recorders of one process apart; never used twice.
    pub number: u64,
    pub clock: Clock,
    pub overflow: Overflow,
    /// Not set: every checksum, no samples.
    pub sampling: OnceLock<Sampling>,
    /// Not set: every tile.
    pub tiles_every: OnceLock<tile_sampling::Every>,
    /// Not set: no counters of the CPU.
    pub perf: OnceLock<PerfShared>,
    pub live: Arc<Live>,
    pub rings: RingPool,
    pub threads: ThreadRegistry,
    pub mailbox: Mailbox,
    pub counts: EventCounts,
    pub own_time: OwnTime,
    /// Times that another thread met the lane of one, whose memory it shares.
    pub foreign: AtomicU64,
    pub pauses: Mutex<Pauses>,
    abandoned: Mutex<Vec<AbandonedLane>>,
}

impl SessionState {
    pub fn new(clock: Clock, overflow: Overflow, rings: RingSizes, live: Live) -> Arc<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let live = Arc::new(live);
        Arc::new(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            clock,
            overflow,
            sampling: OnceLock::new(),
            tiles_every: OnceLock::new(),
            perf: OnceLock::new(),
            rings: RingPool::new(live.clone(), overflow, rings),
            threads: ThreadRegistry::default(),
            mailbox: Mailbox::new(live.clone()),
            counts: EventCounts::new(live.clone()),
            live,
            own_time: OwnTime::default(),
            foreign: AtomicU64::new(0),
            pauses: Mutex::default(),
            abandoned: Mutex::default(),
        })
    }

    /// Makes the calling thread known to the writer.
    pub fn register(&self, ring: &Arc<Ring>) -> Arc<ThreadInfo> {
        self.threads.register(ring, self.clock.ticks())
    }

    /// Rows of a table that were not recorded, so far.
    pub fn dropped(&self, table: usize) -> u64 {
        let lost = self.counts.lost_of(table);
        self.threads.dropped(table).saturating_add(lost)
    }

    /// Events after the end: those that met a closed recorder, and those published too late.
    pub fn late(&self) -> u64 {
        let met = self.counts.late.load(Ordering::Relaxed);
        if self.counts.stopped.load(Ordering::Acquire) {
            met + self.threads.unread()
        } else {
            met
        }
    }

    /// Keeps a lane whose thread has ended while guards still point to it.
    pub fn abandon(&self, lane: *mut Lane) {
        lock(&self.abandoned).push(AbandonedLane(lane));
    }

    /// Frees abandoned lanes.
    ///
    /// # Safety
    /// No guard of this recorder may exist any more.
    pub unsafe fn free_abandoned(&self) {
        for AbandonedLane(lane) in std::mem::take(&mut *lock(&self.abandoned)) {
            // SAFETY: made by `Box::into_raw`, given up by its thread, used by no guard.
            drop(unsafe { Box::from_raw(lane) });
        }
    }
}
