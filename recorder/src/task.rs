//! Work on several threads: tasks, and intervals that end elsewhere.

use std::sync::atomic::Ordering;

use crate::attributes::AttributeValue;
use crate::brick::BrickGuard;
use crate::device::Launched;
use crate::lane::Scope;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::{Labels, Work};
use crate::span::OpenRow;
use crate::span_id::SpanId;
use crate::threads;
use trueno_format::record::{Record, extension, kind};
use trueno_format::schema::TableId;

/// An interval that ends when [`Detached::end`] is called or it is dropped, on any thread. Made by [`BrickGuard::detach`].
///
/// The row is on the thread it began on. If the ring is full at the end, the drop is counted for the thread
/// that ended it.
#[must_use = "the interval lasts until it is ended"]
pub struct Detached {
    /// `None` if nothing is recorded.
    recorder: Option<Recorder>,
    id: SpanId,
    thread: u32,
    seq: u32,
    start: u64,
    parent: u64,
    name: Name,
    kind: u8,
    labels: Labels,
    work: Work,
}

impl Detached {
    pub(crate) fn from_guard(guard: &mut BrickGuard<'_>) -> Self {
        let OpenRow { span, subject, m } = &mut guard.row;
        let (id, seq, start) = (span.id(), span.seq(), span.start);
        let details = span.take_details();
        let mut detached = Self {
            recorder: None,
            id,
            thread: 0,
            seq,
            start,
            parent: details.parent,
            name: Name::from_number(subject.name),
            kind: subject.kind,
            labels: details.labels(subject.backend),
            work: Work {
                m: *m,
                given: subject.flags,
            },
        };
        if let Some(lane) = span.lane() {
            let below = lane.close(seq);
            lane.leave(seq);
            #[cfg(feature = "perf")]
            crate::brick_counters::forget(lane, seq);
            detached.thread = lane.thread().index;
            if detached.parent == 0 {
                detached.parent = match lane.brick_below(below) {
                    0 => 0,
                    parent => trueno_format::record::row_id(detached.thread, parent),
                };
            }
            let recorder = span.recorder.clone();
            recorder
                .shared()
                .counts
                .detached
                .fetch_add(1, Ordering::Relaxed);
            detached.recorder = Some(recorder);
        }
        span.disarm();
        detached
    }

    /// Elements processed.
    pub fn elements(&mut self, elements: u64) -> &mut Self {
        self.work.set(0, elements);
        self
    }

    /// Floating-point operations.
    pub fn flops(&mut self, flops: u64) -> &mut Self {
        self.work.set(1, flops);
        self
    }

    /// Bytes read and bytes written.
    pub fn bytes(&mut self, read: u64, written: u64) -> &mut Self {
        self.work.set(2, read);
        self.work.set(3, written);
        self
    }

    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        if let Some(recorder) = &self.recorder {
            recorder.attribute(self.id, key, value);
        }
        self
    }

    /// The row's id; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.id
    }

    /// Ends the interval now.
    pub fn end(self) {}

    fn record(&self, end: u64) -> ([Record; 3], usize) {
        let mut primary = Record {
            start: self.start,
            end: end.max(self.start),
            seq: self.seq,
            parent: 0,
            name: self.name.number(),
            kind: self.kind,
            flags: self.work.given,
            backend: self.labels.short_backend(),
            m: self.work.m,
        };
        let mut origin = Record {
            kind: extension::ORIGIN,
            name: self.thread,
            ..Record::default()
        };
        self.id.context().store(&mut origin);
        origin.m[0] = self.parent;
        let count = if self.labels.need_extension() { 3 } else { 2 };
        primary.flags |= (count as u8 - 1) << 4;
        ([primary, origin, self.labels.extension()], count)
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let Some(recorder) = self.recorder.take() else {
            return;
        };
        recorder
            .shared()
            .counts
            .detached
            .fetch_sub(1, Ordering::Relaxed);
        let tables = recorder.tables_at_end();
        if !tables.has(TableId::Bricks) {
            recorder.too_late();
            return;
        }
        if tables.has_device() {
            let launched = Launched::new(self.start, self.name, self.labels);
            recorder.device_before_end(self.id, self.kind, launched);
        }
        let lane = threads::lane(recorder.shared());
        // SAFETY: null or the calling thread's own lane, valid until the thread ends; no other
        // reference to it exists now.
        let Some(lane) = (unsafe { lane.as_mut() }) else {
            recorder.no_ring(TableId::Bricks);
            return;
        };
        let (group, count) = self.record(lane.now());
        lane.push_group(TableId::Bricks, 1, &group[..count]);
    }
}

impl Recorder {
    /// Opens a task: work on the calling thread for another row.
    ///
    /// `parent` may be on any thread; the task and its rows get its iteration and layer. Without
    /// one, the enclosing row of this thread is the parent.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let brick = rec.brick("AttentionScore");
    /// let parent = brick.id();
    /// std::thread::scope(|scope| {
    ///     for head in 0..2 {
    ///         let rec = rec.clone();
    ///         scope.spawn(move || {
    ///             let _task = rec.task(format!("head {head}"), Some(parent));
    ///         });
    ///     }
    /// });
    /// ```
    #[track_caller]
    pub fn task(&self, name: impl Into<Name>, parent: Option<SpanId>) -> BrickGuard<'_> {
        let mut guard = BrickGuard::begin(self, name, kind::TASK);
        let seq = guard.row.span.seq();
        let parent = parent.filter(|parent| !parent.is_none());
        if let (Some(parent), Some(lane)) = (parent, guard.row.span.lane()) {
            lane.enter(seq, Scope::Task(parent.context()));
            if let Some(details) = guard.row.details() {
                details.parent = parent.get();
            }
        }
        guard
    }
}
