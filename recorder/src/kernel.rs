//! Kernel launches on host threads.

use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::{Labels, Work};
use crate::span::Span;
use crate::span_id::SpanId;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;
use trueno_format::{Launch, PtxHash};

/// An open row of `kernels`. Recorded when dropped, under the brick that encloses it.
///
/// FLOPs and bytes are *declared* (`work_source`).
#[must_use = "the interval lasts until the guard is dropped"]
pub struct KernelGuard<'r> {
    span: Span<'r>,
    name: Name,
    labels: Labels,
    work: Work,
    launch: Launch,
}

impl KernelGuard<'_> {
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

    /// Bytes moved, both ways together.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.work.set(2, bytes);
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

    /// Blocks of the launch.
    #[inline(always)]
    pub fn grid(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        self.launch.set_grid([x, y, z]);
        self
    }

    /// Threads of a block.
    #[inline(always)]
    pub fn block(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        self.launch.set_block([x, y, z]);
        self
    }

    /// The source, from [`Recorder::ptx`].
    #[inline(always)]
    pub fn ptx(&mut self, hash: PtxHash) -> &mut Self {
        self.launch.set_ptx(hash);
        self
    }

    /// Names the row; [`SpanId::NONE`] when nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.span.id()
    }
}

impl Drop for KernelGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.span.is_on() {
            close(self.span, self.name, self.labels, self.work, self.launch);
        }
    }
}

/// Takes copies, so that a guard lives in registers and one that is off costs nothing.
#[inline(never)]
fn close(mut span: Span<'_>, name: Name, labels: Labels, work: Work, launch: Launch) {
    let (recorder, seq, start) = (span.recorder, span.seq, span.start);
    let Some(lane) = span.lane() else { return };
    let end = lane.now();
    let below = lane.close(seq);
    let record = Record {
        start,
        end,
        seq,
        parent: lane.brick_below(below),
        name: name.number(),
        kind: kind::KERNEL,
        flags: work.given,
        backend: labels.short_backend(),
        m: work.m,
    };
    if !recorder.records(TableId::Kernels) {
        recorder.too_late();
    } else if labels.need_extension() || launch.is_given() {
        push_extended(lane, record, labels, launch);
    } else {
        lane.push(TableId::Kernels, record);
    }
}

#[cold]
fn push_extended(lane: &mut Lane, mut record: Record, labels: Labels, launch: Launch) {
    let mut group = [record; 3];
    let mut count = 1;
    if launch.is_given() {
        group[count] = launch.record();
        count += 1;
    }
    if labels.need_extension() {
        group[count] = labels.extension();
        count += 1;
    }
    record.flags |= (count as u8 - 1) << 4;
    group[0] = record;
    lane.push_group(TableId::Kernels, 1, &group[..count]);
}

impl Recorder {
    /// Opens a kernel that runs on the calling thread, under the brick open there.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let mut kernel = rec.kernel("gemv");
    /// kernel.backend("avx512").grid(64, 1, 1).block(256, 1, 1).flops(8192).bytes(16640);
    /// ```
    #[inline]
    pub fn kernel(&self, name: impl Into<Name>) -> KernelGuard<'_> {
        let (name, span) = if self.records(TableId::Kernels) {
            let name = name.into();
            (name, Span::begin(self, Class::Kernel, TableId::Kernels))
        } else {
            (Name::from_number(0), Span::off(self))
        };
        KernelGuard {
            span,
            name,
            labels: Labels::NONE,
            work: Work::default(),
            launch: Launch::default(),
        }
    }
}
