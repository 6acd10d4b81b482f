//! Guards: an interval from the call to the drop, on one thread.

use crate::device::Launched;
use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::{Labels, Work};
use crate::span_id::SpanId;
use crate::task::Detached;
use crate::threads;
use trueno_format::TileLevel;
use trueno_format::record::{Record, extension, kind};
use trueno_format::schema::TableId;

/// An open interval; `lane` is null when nothing is recorded.
///
/// The pointer keeps guards on their thread: it makes them neither `Send` nor `Sync`.
#[derive(Clone, Copy)]
pub(crate) struct Span<'r> {
    lane: *mut Lane,
    pub recorder: &'r Recorder,
    pub start: u64,
    pub seq: u32,
}

impl<'r> Span<'r> {
    /// An interval that is not recorded.
    #[inline(always)]
    pub fn off(recorder: &'r Recorder) -> Self {
        Self {
            lane: std::ptr::null_mut(),
            recorder,
            start: 0,
            seq: 0,
        }
    }

    /// Opens an interval on the calling thread; the clock is read last.
    #[inline(always)]
    pub fn begin(recorder: &'r Recorder, class: Class, table: TableId) -> Self {
        let lane = threads::lane(recorder.shared());
        if lane.is_null() {
            recorder.no_ring(table);
            return Self::off(recorder);
        }
        // SAFETY: the calling thread's own lane, valid while the recorder is borrowed (a lane is
        // not freed while an interval is open on it); no other reference to it exists now.
        let lane_ref = unsafe { &mut *lane };
        match lane_ref.open(class, table) {
            Some(seq) => Self {
                lane,
                recorder,
                start: lane_ref.now(),
                seq,
            },
            None => Self::off(recorder),
        }
    }

    /// Reads the thread's counters; the clock is read again, after them.
    #[cfg(feature = "perf")]
    #[cold]
    pub fn counted(mut self) -> Self {
        let seq = self.seq;
        if let Some(lane) = self.lane() {
            crate::brick_counters::begin(lane, seq);
            self.start = lane.now();
        }
        self
    }

    /// As [`Span::begin`], if the tile is one of those that are recorded.
    pub fn begin_sampled(recorder: &'r Recorder, level: TileLevel) -> Self {
        let lane = threads::lane(recorder.shared());
        // SAFETY: null, or as in `begin`; the reference ends before the lane is used again.
        let sampling = unsafe { lane.as_mut() }.and_then(|lane| lane.tile_sampling.as_mut());
        if sampling.is_none_or(|sampling| sampling.takes(level)) {
            Self::begin(recorder, Class::Tile, TableId::Tiles)
        } else {
            Self::off(recorder)
        }
    }

    /// Returns whether the interval is recorded.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        !self.lane.is_null()
    }

    /// The thread's lane; `None` when nothing is recorded.
    #[inline(always)]
    pub fn lane(&mut self) -> Option<&mut Lane> {
        // SAFETY: null, or valid until this interval is closed (see `begin`); guards stay on
        // their thread, and the reference ends before any other code of the thread runs.
        unsafe { self.lane.as_mut() }
    }

    /// Forgets the lane: the drop that follows does nothing.
    pub fn disarm(&mut self) {
        self.lane = std::ptr::null_mut();
    }

    pub fn id(&self) -> SpanId {
        // SAFETY: as in `lane`.
        match unsafe { self.lane.as_ref() } {
            Some(lane) => SpanId::new(lane.thread().index, self.seq, lane.context_of(self.seq)),
            None => SpanId::NONE,
        }
    }
}

/// An open row of `bricks`: a brick, a function or a task. Recorded when dropped.
///
/// Everything said about its work is *declared*: the recorder keeps it as given.
///
/// A guard stays on its thread; [`BrickGuard::detach`] makes a twin that may leave it.
///
/// ```compile_fail,E0277
/// # let rec = trueno_recorder::Recorder::disabled();
/// let brick = rec.brick("stays here");
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(brick));
/// });
/// ```
#[must_use = "the interval lasts until the guard is dropped"]
pub struct BrickGuard<'r> {
    pub(crate) span: Span<'r>,
    pub(crate) name: Name,
    pub(crate) kind: u8,
    pub(crate) labels: Labels,
    pub(crate) work: Work,
    /// Id given for a task; 0: the enclosing row of this thread.
    pub(crate) parent: u64,
}

impl<'r> BrickGuard<'r> {
    #[inline(always)]
    pub(crate) fn begin(recorder: &'r Recorder, name: impl Into<Name>, kind: u8) -> Self {
        let tables = recorder.tables();
        let (name, span) = if tables.has(TableId::Bricks) {
            let name = name.into();
            if tables.has_device() && kind == kind::BRICK {
                recorder.device_before_brick();
            }
            let span = Span::begin(recorder, Class::Brick, TableId::Bricks);
            #[cfg(feature = "perf")]
            let span = if tables.has_perf() {
                span.counted()
            } else {
                span
            };
            (name, span)
        } else {
            (Name::from_number(0), Span::off(recorder))
        };
        Self {
            span,
            name,
            kind,
            labels: Labels::NONE,
            work: Work::default(),
            parent: 0,
        }
    }

    /// Elements processed.
    #[inline(always)]
    pub fn elements(&mut self, elements: u64) -> &mut Self {
        self.work.set(0, elements);
        self
    }

    /// Floating-point operations.
    #[inline(always)]
    pub fn flops(&mut self, flops: u64) -> &mut Self {
        self.work.set(1, flops);
        self
    }

    /// Bytes read and bytes written.
    #[inline(always)]
    pub fn bytes(&mut self, read: u64, written: u64) -> &mut Self {
        self.work.set(2, read);
        self.work.set(3, written);
        self
    }

    /// Sets its backend: `scalar`, `avx2`, `avx512`, `cuda`, ...; of work that is not in f32 with its precision: `avx512 f64`.
    #[inline(always)]
    pub fn backend(&mut self, backend: impl Into<Name>) -> &mut Self {
        if !self.span.recorder.is_off() {
            self.labels.backend = backend.into();
        }
        self
    }

    /// The category, where the name does not spell a known brick or another one is wanted.
    pub fn category(&mut self, category: impl Into<Name>) -> &mut Self {
        if !self.span.recorder.is_off() {
            self.labels.category = category.into();
        }
        self
    }

    /// The brick gives work to this stream of the recorder's [`Device`](crate::Device): call it
    /// before the first launch, once for each stream. Without a device, and with
    /// [`SyncMode::None`](crate::SyncMode), it does nothing.
    ///
    /// What the stream does from here until it has done what was submitted before the guard's
    /// drop becomes a row of `kernels` with the brick's name. If the stream is idle here, the
    /// time until the first launch reaches it is part of that.
    #[inline]
    pub fn stream(&mut self, stream: u32) -> &mut Self {
        if self.span.is_on() && self.span.recorder.tables().has_device() {
            self.span.recorder.device_stream(self.span.id(), stream);
        }
        self
    }

    /// Names the row; [`SpanId::NONE`] when nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.span.id()
    }

    /// For work that ends elsewhere: the twin can be sent to another thread and ended there.
    ///
    /// From here on the row encloses nothing on this thread; it keeps its parent,
    /// iteration and layer, and the thread it began on.
    pub fn detach(mut self) -> Detached {
        Detached::from_guard(&mut self)
    }
}

impl Drop for BrickGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.span.is_on() {
            close(
                self.span,
                self.name,
                self.kind,
                self.labels,
                self.work,
                self.parent,
            );
        }
    }
}

/// Takes copies, so that a guard lives in registers and one that is off costs nothing.
#[inline(never)]
fn close(mut span: Span<'_>, name: Name, kind: u8, labels: Labels, work: Work, parent: u64) {
    let (recorder, seq, start) = (span.recorder, span.seq, span.start);
    if recorder.tables().has_device() {
        recorder.device_before_end(span.id(), kind, Launched::new(start, name, labels));
    }
    let Some(lane) = span.lane() else { return };
    let end = lane.now();
    #[cfg(feature = "perf")]
    if recorder.tables().has_perf() {
        crate::brick_counters::end(lane, seq, end);
    }
    let below = lane.close(seq);
    let record = Record {
        start,
        end,
        seq,
        parent: lane.brick_below(below),
        name: name.number(),
        kind,
        flags: work.given,
        backend: labels.short_backend(),
        m: work.m,
    };
    if !recorder.records(TableId::Bricks) {
        // Of a task; where there is no scope nothing happens.
        lane.leave(seq);
        recorder.too_late();
    } else if labels.need_extension() || kind == kind::TASK {
        push_extended(lane, record, labels, parent);
    } else {
        lane.push(TableId::Bricks, record);
    }
}

#[cold]
pub(crate) fn push_extended(lane: &mut Lane, mut record: Record, labels: Labels, parent: u64) {
    let mut group = [record; 3];
    let mut count = 1;
    if labels.need_extension() {
        group[count] = labels.extension();
        count += 1;
    }
    if parent != 0 {
        record.parent = 0;
        group[count] = Record {
            kind: extension::PARENT,
            m: [parent, 0, 0, 0],
            ..Record::default()
        };
        count += 1;
    }
    record.flags |= (count as u8 - 1) << 4;
    group[0] = record;
    lane.push_group(TableId::Bricks, 1, &group[..count]);
    if record.kind == kind::TASK {
        lane.leave(record.seq);
    }
}

impl Recorder {
    /// Opens a brick: one step of the computation, known ([`BrickId`](crate::BrickId)) or of any name.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// use trueno_recorder::BrickId;
    /// let mut brick = rec.brick(BrickId::QkvProjection);
    /// brick.elements(4096).flops(2 * 4096 * 64).bytes(4 * 4096, 4 * 64).backend("avx2");
    /// drop(brick); // ends here
    /// ```
    #[inline]
    pub fn brick(&self, name: impl Into<Name>) -> BrickGuard<'_> {
        BrickGuard::begin(self, name, kind::BRICK)
    }

    /// Opens a function: anything worth seeing that is not a brick, such as loading weights.
    #[inline]
    pub fn function(&self, name: impl Into<Name>) -> BrickGuard<'_> {
        BrickGuard::begin(self, name, kind::FUNCTION)
    }
}
