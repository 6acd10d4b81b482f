//! Work that was launched and whose end is known only later, and only as a bound.

use super::profiler::BrickProfiler;
use super::rows::{self, Around, Moment};
use crate::BrickId;
use crate::names::Name;
use crate::record::device_timing;
use crate::session_state::lock;
use crate::span::Work;

/// Pieces of work that may wait; what comes on top gets no row.
const MAX_PENDING: usize = 1 << 16;
const BEFORE_IT_BEGAN: &str = "finalized with a time before its launch";

/// What waits for [`BrickProfiler::finalize`].
#[derive(Debug, Default)]
pub(super) struct Deferred {
    pending: Vec<Launch>,
    /// Beyond [`MAX_PENDING`]: counted, without a row.
    unkept: usize,
}

#[derive(Clone, Copy, Debug)]
struct Launch {
    known: Option<BrickId>,
    name: Name,
    start: Moment,
    elements: u64,
    /// Id of the row of `bricks`; 0: no run.
    brick: u64,
}

impl BrickProfiler {
    /// Records that a known brick launched its work since `start_ns` (of
    /// [`BrickProfiler::elapsed_ns`]); it ends before the next [`BrickProfiler::finalize`].
    pub fn record_deferred(&mut self, brick: BrickId, start_ns: u64, elements: u64) {
        self.defer(Some(brick), brick.into(), start_ns, elements);
    }

    /// Likewise, for a brick of any name.
    pub fn record_deferred_dynamic(&mut self, name: &str, start_ns: u64, elements: u64) {
        if self.is_enabled() {
            let known = BrickId::from_name(name);
            self.defer(known, Name::new(name), start_ns, elements);
        }
    }

    fn defer(&mut self, known: Option<BrickId>, name: Name, start_ns: u64, elements: u64) {
        if !self.is_enabled() {
            return;
        }
        let now = Moment::now(&self.rec);
        let start = now.at(self.epoch.monotonic_ns.saturating_add(start_ns), self.made);
        let mut work = Work::default();
        work.set(0, elements);
        let brick = self.record(name, (start, now), work);
        if self.deferred.pending.len() >= MAX_PENDING {
            self.deferred.unkept += 1;
            self.stats_of(known, name).add_bound(elements);
            return;
        }
        self.deferred.pending.push(Launch {
            known,
            name,
            start,
            elements,
            brick,
        });
    }

    /// All that was deferred had ended at `end_ns` (of [`BrickProfiler::elapsed_ns`]): call it
    /// after waiting for the device. Counts each piece; adds no durations.
    pub fn finalize(&mut self, end_ns: u64) {
        let Deferred { pending, unkept } = std::mem::take(&mut self.deferred);
        if pending.is_empty() {
            return;
        }
        if unkept > 0 {
            let problem = format!(
                "{unkept} deferred bricks have no row of kernels: more than {MAX_PENDING} waited \
                 (hint: call `finalize` more often)"
            );
            lock(&self.rec.shared().problems).push(problem);
        }
        let now = Moment::now(&self.rec);
        let end = now.at(self.epoch.monotonic_ns.saturating_add(end_ns), self.made);
        for launch in pending {
            let around = Around {
                parent: launch.brick,
                layer: None,
            };
            let (until, what) = if end.monotonic_ns >= launch.start.monotonic_ns {
                (end, (device_timing::BOUND, None))
            } else {
                let reason = Some(BEFORE_IT_BEGAN);
                (launch.start, (device_timing::LAUNCH, reason))
            };
            let times = (launch.start, until);
            rows::kernel(&self.rec, launch.name, times, around, what, None);
            let stats = self.stats_of(launch.known, launch.name);
            stats.add_bound(launch.elements);
        }
    }

    /// Whether anything waits for [`BrickProfiler::finalize`].
    pub fn has_pending(&self) -> bool {
        !self.deferred.pending.is_empty()
    }

    /// How much waits for [`BrickProfiler::finalize`].
    pub fn pending_count(&self) -> usize {
        self.deferred.pending.len()
    }
}
