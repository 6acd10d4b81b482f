//! Rows of `bricks`: guards of bricks, functions and tasks.

use std::panic::Location;

use crate::attributes::AttributeValue;
use crate::device::Launched;
use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::open_stack::Parent;
use crate::recorder::Recorder;
use crate::row_details::Labels;
use crate::shapes::Signature;
use crate::span::{NamePlace, OpenRow, Span, open_at};
use crate::span_id::SpanId;
use crate::task::Detached;
use trueno_format::record::{Record, Subject, extension, kind};
use trueno_format::schema::TableId;

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
    pub(crate) row: OpenRow<'r>,
}

impl<'r> BrickGuard<'r> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn begin(recorder: &'r Recorder, name: impl Into<Name>, kind: u8) -> Self {
        let tables = recorder.tables();
        let row = if tables.has_just(TableId::Bricks) {
            let named = (name.into(), Location::caller());
            OpenRow::begin_at(recorder, (Class::Brick, TableId::Bricks), named, kind)
        } else if tables.has(TableId::Bricks) {
            let named = (name.into(), Location::caller());
            let (lane, name) = open_asking(recorder, kind, named);
            OpenRow::new(
                Span::opened_last(recorder, lane),
                kind,
                name.number(),
                [0; 4],
            )
        } else {
            OpenRow::off(recorder, kind)
        };
        Self { row }
    }

    /// Elements processed.
    #[inline(always)]
    pub fn elements(&mut self, elements: u64) -> &mut Self {
        self.row.set(0, elements);
        self
    }

    /// Floating-point operations.
    #[inline(always)]
    pub fn flops(&mut self, flops: u64) -> &mut Self {
        self.row.set(1, flops);
        self
    }

    /// Bytes read and bytes written.
    #[inline(always)]
    pub fn bytes(&mut self, read: u64, written: u64) -> &mut Self {
        self.row.set(2, read);
        self.row.set(3, written);
        self
    }

    /// Sets its backend: `scalar`, `avx2`, `avx512`, `cuda`, ...; of work that is not in f32 with its precision: `avx512 f64`.
    #[inline(always)]
    pub fn backend(&mut self, backend: impl Into<Name>) -> &mut Self {
        self.row.set_backend(backend);
        self
    }

    /// Sets the category. Default: that of the known brick with this name, if there is one.
    pub fn category(&mut self, category: impl Into<Name>) -> &mut Self {
        if self.row.span.is_on() {
            // First: it may be code of the program.
            let category = category.into();
            if let Some(details) = self.row.details() {
                details.category = category.number();
            }
        }
        self
    }

    /// The operands it computes with: a [`Signature`], or operands to be looked up.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// use trueno_recorder::Operand;
    /// let mut brick = rec.brick("aten::mm");
    /// brick.shapes(&[
    ///     Operand::new(&[16, 128], "f32"),
    ///     Operand::new(&[128, 256], "f32").strides(&[1, 128]), // transposed
    /// ]);
    /// ```
    #[inline]
    pub fn shapes(&mut self, shapes: impl Into<Signature>) -> &mut Self {
        let is_kept = self.row.span.recorder.records(TableId::Signatures);
        if self.row.span.is_on() && is_kept {
            // First: it may be code of the program.
            let shapes = shapes.into();
            if let Some(id) = self.row.span.lane().and_then(|lane| lane.met(shapes))
                && let Some(details) = self.row.details()
            {
                details.signature = id + 1;
            }
        }
        self
    }

    /// Declares that the brick launches work on this stream of the recorder's [`Device`](crate::Device).
    /// Call it before the first launch, once for each stream. Without a device, and with
    /// [`SyncMode::None`](crate::SyncMode), it does nothing.
    ///
    /// The stream's work from here to the last submission before the guard's drop becomes a row of
    /// `kernels` with the brick's name. If the stream is idle here, that row includes the time until
    /// the first launch reaches it.
    #[inline]
    pub fn stream(&mut self, stream: u32) -> &mut Self {
        if self.row.span.is_on() && self.row.span.recorder.tables().has_device() {
            self.row
                .span
                .recorder
                .device_stream(self.row.span.id(), stream);
        }
        self
    }

    /// Sets an attribute of the row: a row of `attributes`, recorded at once. If a key is set again, both rows are kept
    /// and the last one counts.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let mut brick = rec.brick("prefill");
    /// brick.set("batch", 32).set("model", "tiny").set("cached", false);
    /// ```
    #[inline]
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        self.row.span.set(key, value);
        self
    }

    /// The row's id; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.row.span.id()
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
        if self.row.span.is_on() && !self.row.end_quickly(TableId::Bricks, Parent::Brick) {
            let (of, at, subject, m, more) = self.row.words();
            close(of, at, subject, m, more);
        }
    }
}

#[cold]
#[inline(never)]
fn close(
    of: (*mut Lane, &Recorder),
    at: (u64, u64),
    subject: Subject,
    m: (u64, u64),
    more: (u64, u64),
) {
    let (mut span, mut subject, m) = OpenRow::parts((of, at, subject, m, more));
    let (recorder, seq, start) = (span.recorder, span.seq(), span.start);
    let details = span.take_details();
    let labels = details.labels(subject.backend);
    let tables = recorder.tables_at_end();
    if tables.has_device() {
        let name = Name::from_number(subject.name);
        recorder.device_before_end(span.id(), subject.kind, Launched::new(start, name, labels));
    }
    let Some(lane) = span.lane() else { return };
    let end = lane.now_unless(recorder.tables().has_just(TableId::Bricks));
    #[cfg(feature = "perf")]
    if tables.has_perf() {
        crate::brick_counters::end(lane, seq, end);
    }
    let below = lane.close(seq);
    subject.backend = labels.short_backend();
    let seqs = (seq, lane.brick_below(below));
    let record = Record::new((start, end), seqs, subject, m);
    if !tables.has(TableId::Bricks) {
        recorder.too_late();
    } else if labels.need_extension() || details.parent != 0 {
        push_extended(lane, record, labels, details.parent);
    } else {
        lane.push(TableId::Bricks, record);
    }
    if subject.kind == kind::TASK {
        // Where it has no scope nothing happens.
        lane.leave(seq);
    }
}

/// Opens a row that may need the device or CPU counters. Null if it is not recorded.
#[cold]
#[inline(never)]
fn open_asking(recorder: &Recorder, kind: u8, named: NamePlace) -> (*mut Lane, Name) {
    if recorder.tables().has_device() && kind == kind::BRICK {
        recorder.device_before_brick();
    }
    let (lane, name) = open_at(recorder, (Class::Brick, TableId::Bricks), named);
    // SAFETY: null, or the calling thread's own lane; no other reference to it exists now.
    #[cfg(feature = "perf")]
    if let Some(opened) = unsafe { lane.as_mut() }
        && recorder.tables().has_perf()
    {
        crate::brick_counters::begin(opened, opened.last_seq());
        // Again, after the counters.
        opened.now();
    }
    (lane, name)
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
    #[track_caller]
    pub fn brick(&self, name: impl Into<Name>) -> BrickGuard<'_> {
        BrickGuard::begin(self, name, kind::BRICK)
    }

    /// Opens a row for work that is not a brick, such as loading weights (`kind` `function`).
    #[inline]
    #[track_caller]
    pub fn function(&self, name: impl Into<Name>) -> BrickGuard<'_> {
        BrickGuard::begin(self, name, kind::FUNCTION)
    }
}
