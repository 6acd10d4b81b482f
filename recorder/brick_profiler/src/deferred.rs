//! Work that was launched and whose end is known only later, and only as a bound.

use std::panic::Location;

use trueno_recorder::finished::{Enclosing, Kernel, KernelTimes, Moment, Site};
use trueno_recorder::{BrickId, Name};

use crate::clock;
use crate::profiler::BrickProfiler;

/// Limit on pending work; anything beyond it gets no row.
const MAX_PENDING: usize = 1 << 16;
const BEFORE_IT_BEGAN: &str = "finalized with a time before its launch";

#[derive(Debug, Default)]
pub(super) struct Deferred {
    pending: Vec<Launch>,
    /// Work beyond [`MAX_PENDING`]: counted, without a row.
    unkept: usize,
}

#[derive(Clone, Copy, Debug)]
struct Launch {
    known: Option<BrickId>,
    name: Name,
    place: &'static Location<'static>,
    start: Moment,
    elements: u64,
    /// Id of the row in `bricks`; 0 without a run.
    brick: u64,
}

impl BrickProfiler {
    /// Records that a known brick launched its work since `start_ns` (of
    /// [`BrickProfiler::elapsed_ns`]); it ends before the next [`BrickProfiler::finalize`].
    #[track_caller]
    pub fn record_deferred(&mut self, brick: BrickId, start_ns: u64, elements: u64) {
        self.defer(Some(brick), brick.into(), start_ns, elements);
    }

    /// Likewise, for a brick of any name.
    #[track_caller]
    pub fn record_deferred_dynamic(&mut self, name: &str, start_ns: u64, elements: u64) {
        if self.is_enabled() {
            let known = BrickId::from_name(name);
            self.defer(known, Name::new(name), start_ns, elements);
        }
    }

    #[track_caller]
    fn defer(&mut self, known: Option<BrickId>, name: Name, start_ns: u64, elements: u64) {
        if !self.is_enabled() {
            return;
        }
        let now = clock::now(&self.rec);
        let start = now.at(
            self.epoch.monotonic_ns().saturating_add(start_ns),
            self.made,
        );
        let place = Location::caller();
        let brick = self.record_brick((name, place), (start, now), elements, None);
        self.graph.stopped_is_deferred();
        if self.deferred.pending.len() >= MAX_PENDING {
            self.deferred.unkept += 1;
            self.stats_of(known, name).add_bound(elements);
            return;
        }
        self.deferred.pending.push(Launch {
            known,
            name,
            place,
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
            self.rec.problem(problem);
        }
        let now = clock::now(&self.rec);
        let end = now.at(self.epoch.monotonic_ns().saturating_add(end_ns), self.made);
        for launch in pending {
            let (end, times) = if end.monotonic_ns() >= launch.start.monotonic_ns() {
                (end, KernelTimes::Bound)
            } else {
                (launch.start, KernelTimes::Launch(BEFORE_IT_BEGAN))
            };
            self.rec.finished_kernel(&Kernel {
                name: Site::at(launch.name, launch.place),
                start: launch.start,
                end,
                enclosing: Enclosing {
                    parent: launch.brick,
                    layer: None,
                },
                times,
                launch: None,
                flops: None,
                bytes: None,
            });
            let stats = self.stats_of(launch.known, launch.name);
            stats.add_bound(launch.elements);
        }
    }

    /// Returns whether anything waits for [`BrickProfiler::finalize`].
    pub fn has_pending(&self) -> bool {
        !self.deferred.pending.is_empty()
    }

    /// Counts the pieces that wait for [`BrickProfiler::finalize`].
    pub fn pending_count(&self) -> usize {
        self.deferred.pending.len()
    }
}
