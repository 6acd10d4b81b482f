//! Kernel launches on host threads.

use std::panic::Location;

use crate::attributes::AttributeValue;
use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::open_stack::Parent;
use crate::recorder::Recorder;
use crate::row_details::Labels;
use crate::span::{OpenRow, Span, open_at};
use crate::span_id::SpanId;
use trueno_format::record::{Record, Subject, kind};
use trueno_format::schema::TableId;
use trueno_format::{Launch, PtxHash};

/// An open row of `kernels`. Recorded when dropped, under the brick that encloses it.
///
/// FLOPs and bytes are *declared* (`work_source`).
#[must_use = "the interval lasts until the guard is dropped"]
pub struct KernelGuard<'r> {
    row: OpenRow<'r>,
}

impl KernelGuard<'_> {
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

    /// Bytes moved, both ways together.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.row.set(2, bytes);
        self
    }

    /// Sets its backend: `scalar`, `avx2`, `avx512`, `cuda`, ...; of work that is not in f32 with its precision: `avx512 f64`.
    #[inline(always)]
    pub fn backend(&mut self, backend: impl Into<Name>) -> &mut Self {
        self.row.set_backend(backend);
        self
    }

    /// Blocks of the launch.
    #[inline]
    pub fn grid(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        if let Some(launch) = self.launch() {
            launch.set_grid([x, y, z]);
        }
        self
    }

    /// Threads of a block.
    #[inline]
    pub fn block(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        if let Some(launch) = self.launch() {
            launch.set_block([x, y, z]);
        }
        self
    }

    /// The source, from [`Recorder::ptx`].
    #[inline]
    pub fn ptx(&mut self, hash: PtxHash) -> &mut Self {
        if let Some(launch) = self.launch() {
            launch.set_ptx(hash);
        }
        self
    }

    #[inline(always)]
    fn launch(&mut self) -> Option<&mut Launch> {
        let details = self.row.details()?;
        Some(&mut details.launch)
    }

    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
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
}

impl Drop for KernelGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.row.span.is_on() && !self.row.end_quickly(TableId::Kernels, Parent::Brick) {
            let (of, at, subject, m, more) = self.row.words();
            close(of, at, subject, m, more);
        }
    }
}

#[inline(never)]
fn close(
    of: (*mut Lane, &Recorder),
    at: (u64, u64),
    subject: Subject,
    m: (u64, u64),
    more: (u64, u64),
) {
    let (mut span, subject, m) = OpenRow::parts((of, at, subject, m, more));
    if !span.recorder.tables().has_just(TableId::Kernels) || !end_with_launch(&mut span, subject, m)
    {
        end_slowly(span, subject, m);
    }
}

/// Ends a kernel with a launch and no other details right after the clock was read, using two records. False if
/// nothing was done.
#[inline(always)]
fn end_with_launch(span: &mut Span<'_>, subject: Subject, m: [u64; 4]) -> bool {
    let (seq, start) = (span.seq(), span.start);
    let Some(lane) = span.lane() else {
        return false;
    };
    let Some(launch) = lane.just_launch(seq) else {
        return false;
    };
    let Some(parent) = lane.close_with_details(seq) else {
        return false;
    };
    let mut record = Record::new((start, lane.last_ticks()), (seq, parent), subject, m);
    record.flags |= 1 << 4;
    // SAFETY: `close_with_details` found room for two just now.
    unsafe { lane.push_pair(record, launch) };
    true
}

#[cold]
#[inline(never)]
fn end_slowly(mut span: Span<'_>, mut subject: Subject, m: [u64; 4]) {
    let (recorder, seq, start) = (span.recorder, span.seq(), span.start);
    let details = span.take_details();
    let Some(lane) = span.lane() else { return };
    let end = lane.now_unless(recorder.tables().has_just(TableId::Kernels));
    let labels = details.labels(subject.backend);
    subject.backend = labels.short_backend();
    let below = lane.close(seq);
    let seqs = (seq, lane.brick_below(below));
    let record = Record::new((start, end), seqs, subject, m);
    if !recorder.tables_at_end().has(TableId::Kernels) {
        recorder.too_late();
    } else if labels.need_extension() || details.launch.is_given() {
        push_extended(lane, record, labels, &details.launch);
    } else {
        lane.push(TableId::Kernels, record);
    }
}

fn push_extended(lane: &mut Lane, mut record: Record, labels: Labels, launch: &Launch) {
    let extended = |record: &mut Record, by: u8| record.flags |= by << 4;
    if !labels.need_extension() {
        extended(&mut record, 1);
        lane.push_group(TableId::Kernels, 1, &[record, launch.record()]);
    } else if !launch.is_given() {
        extended(&mut record, 1);
        lane.push_group(TableId::Kernels, 1, &[record, labels.extension()]);
    } else {
        extended(&mut record, 2);
        let group = [record, launch.record(), labels.extension()];
        lane.push_group(TableId::Kernels, 1, &group);
    }
}

impl Recorder {
    /// Opens a kernel that runs on the calling thread, under the open brick.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let mut kernel = rec.kernel("gemv");
    /// kernel.backend("avx512").grid(64, 1, 1).block(256, 1, 1).flops(8192).bytes(16640);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn kernel(&self, name: impl Into<Name>) -> KernelGuard<'_> {
        let tables = self.tables();
        let row = if tables.has_just(TableId::Kernels) {
            let named = (name.into(), Location::caller());
            OpenRow::begin_at(self, (Class::Kernel, TableId::Kernels), named, kind::KERNEL)
        } else if tables.has(TableId::Kernels) {
            let named = (name.into(), Location::caller());
            let (lane, name) = open_at(self, (Class::Kernel, TableId::Kernels), named);
            OpenRow::new(
                Span::opened_last(self, lane),
                kind::KERNEL,
                name.number(),
                [0; 4],
            )
        } else {
            OpenRow::off(self, kind::KERNEL)
        };
        KernelGuard { row }
    }
}
