//! Single launches and transfers that a program gives to a device.
//!
//! A launch has its id before its row, so that edges can name it at once; the row is written when its marks were reached.

use std::panic::Location;
use std::sync::atomic::Ordering;

use super::pending::{Marks, Piece, What};
use super::rows::When;
use crate::attributes::AttributeValue;
use crate::lane::Class;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::Work;
use crate::span_id::SpanId;
use crate::threads;
use trueno_format::record::{pair, row_id, unpair};
use trueno_format::schema::TableId;
use trueno_format::{Launch, PtxHash};

const NOT_ASKED: &str = "the recorder has no such device, or its sync mode is none";

/// The common part of both guards: work that is being submitted to a stream.
struct OpenPiece<'r> {
    recorder: &'r Recorder,
    /// `None` if it is not recorded.
    piece: Option<Piece>,
    device: u32,
    id: SpanId,
}

impl<'r> OpenPiece<'r> {
    fn off(recorder: &'r Recorder) -> Self {
        Self {
            recorder,
            piece: None,
            device: 0,
            id: SpanId::NONE,
        }
    }

    fn new(recorder: &'r Recorder, what: What, name: Name, device: u32, stream: u32) -> Self {
        let table = what.table();
        let lane = threads::lane(recorder.shared());
        // SAFETY: null or the calling thread's own lane, valid until the thread ends; the reference
        // ends with this function, which calls nothing of program or device.
        let Some(lane) = (unsafe { lane.as_mut() }) else {
            recorder.no_ring(table);
            return Self::off(recorder);
        };
        let Some(seq) = lane.open(Class::Kernel, table) else {
            return Self::off(recorder);
        };
        let below = lane.close(seq);
        let thread = lane.thread().index;
        let brick = match lane.brick_below(below) {
            0 => 0,
            brick => row_id(thread, brick),
        };
        let start = lane.now();
        let piece = Piece {
            what,
            id: row_id(thread, seq),
            brick,
            name,
            backend: 0,
            thread,
            stream,
            start,
            launched: start,
            marks: Marks {
                before: None,
                behind: None,
            },
        };
        let open = &recorder.shared().counts.open_on_device;
        open.fetch_add(1, Ordering::Relaxed);
        Self {
            recorder,
            piece: Some(piece),
            device,
            id: SpanId::new(thread, seq, lane.context()),
        }
    }

    /// The recorder's device, if it is the target of the work. Also after the end of the run, which may have
    /// come since a mark was put.
    fn work(&self) -> Option<&'r super::DeviceWork> {
        let marked = self.piece.is_some_and(|piece| piece.marks.before.is_some());
        if !marked && !self.recorder.tables_at_end().has_device() {
            return None;
        }
        let work = self.recorder.device()?;
        (work.number == self.device).then_some(work)
    }

    fn mark_before(&mut self) {
        let work = self.work();
        if let Some(piece) = &mut self.piece {
            piece.marks.before = work.and_then(|work| work.mark(piece.what.table(), piece.stream));
        }
    }

    fn mark_behind(&mut self) {
        let work = self.work();
        if let Some(piece) = &mut self.piece
            && piece.marks.before.is_some()
            && piece.marks.behind.is_none()
        {
            piece.marks.behind = work.and_then(|work| work.mark(piece.what.table(), piece.stream));
        }
    }

    fn cancel(&mut self) {
        let work = self.work();
        if let (Some(piece), Some(work)) = (self.take(), work) {
            work.release(piece);
        }
    }

    fn take(&mut self) -> Option<Piece> {
        let piece = self.piece.take()?;
        let open = &self.recorder.shared().counts.open_on_device;
        open.fetch_sub(1, Ordering::Relaxed);
        Some(piece)
    }
}

impl Drop for OpenPiece<'_> {
    fn drop(&mut self) {
        self.mark_behind();
        let work = self.work();
        let Some(mut piece) = self.take() else {
            return;
        };
        piece.launched = self.recorder.shared().clock.ticks().max(piece.start);
        if let Some(work) = work {
            return work.push(piece);
        }
        let table = piece.what.table();
        if !self.recorder.tables_at_end().has(table) {
            return self.recorder.too_late();
        }
        let lane = threads::lane(self.recorder.shared());
        // SAFETY: as in `new`.
        match unsafe { lane.as_mut() } {
            Some(lane) => {
                piece.publish(lane, self.device, When::Unknown(NOT_ASKED));
            }
            None => self.recorder.no_ring(table),
        }
    }
}

/// A kernel that is being launched on a device: one row of `kernels`, under the brick open here.
///
/// [`LaunchGuard::begin`] right before the launch and the drop right after it put marks on the stream; the
/// row has the times between them, in the device's own clock (`timing` `device`). Without a device clock it is
/// `bound`, with [`SyncMode::None`](crate::SyncMode::None) its times are those of the call, and it is not `valid`.
///
/// FLOPs and bytes are *declared*.
#[must_use = "the row is recorded when the guard is dropped"]
pub struct LaunchGuard<'r>(OpenPiece<'r>);

impl LaunchGuard<'_> {
    fn launch(&mut self) -> Option<(&mut Launch, &mut Work)> {
        match &mut self.0.piece.as_mut()?.what {
            What::Kernel { launch, work } => Some((launch, work)),
            _ => None,
        }
    }

    fn state(&mut self, at: usize, value: u64) -> &mut Self {
        if let Some((_, work)) = self.launch() {
            work.set(at, value);
        }
        self
    }

    /// Elements processed.
    pub fn elements(&mut self, elements: u64) -> &mut Self {
        self.state(0, elements)
    }

    /// Floating-point operations.
    pub fn flops(&mut self, flops: u64) -> &mut Self {
        self.state(1, flops)
    }

    /// Bytes moved, both ways together.
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.state(2, bytes)
    }

    /// Sets its backend, such as `cuda`; a name beyond the first 65,535 is left out.
    pub fn backend(&mut self, backend: impl Into<Name>) -> &mut Self {
        if let Some(piece) = &mut self.0.piece {
            piece.backend = u16::try_from(backend.into().number()).unwrap_or(0);
        }
        self
    }

    /// Blocks of the launch.
    pub fn grid(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        if let Some((launch, _)) = self.launch() {
            launch.set_grid([x, y, z]);
        }
        self
    }

    /// Threads of a block.
    pub fn block(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        if let Some((launch, _)) = self.launch() {
            launch.set_block([x, y, z]);
        }
        self
    }

    /// The source, from [`Recorder::ptx`].
    pub fn ptx(&mut self, hash: PtxHash) -> &mut Self {
        if let Some((launch, _)) = self.launch() {
            launch.set_ptx(hash);
        }
        self
    }

    /// Bytes of dynamic shared memory.
    pub fn shared_memory(&mut self, bytes: u32) -> &mut Self {
        if let Some((launch, _)) = self.launch() {
            launch.set_shared_memory(bytes);
        }
        self
    }

    /// Registers per thread, as the driver states them.
    pub fn registers(&mut self, registers: u32) -> &mut Self {
        if let Some((_, work)) = self.launch() {
            work.m[3] = pair(registers, unpair(work.m[3]).1);
            work.given |= 8;
        }
        self
    }

    /// Bytes of static shared memory, as the driver states them.
    pub fn static_shared_memory(&mut self, bytes: u32) -> &mut Self {
        if let Some((_, work)) = self.launch() {
            work.m[3] = pair(unpair(work.m[3]).0, bytes);
            work.given |= 16;
        }
        self
    }

    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        self.0.recorder.attribute(self.0.id, key, value);
        self
    }

    /// The row's id; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.0.id
    }

    /// The launch comes next: a mark on the stream.
    pub fn begin(&mut self) {
        self.0.mark_before();
    }

    /// It was given to the stream: a mark behind it. Else the drop puts it there.
    pub fn end(&mut self) {
        self.0.mark_behind();
    }

    /// Cancels the row: nothing was launched.
    pub fn cancel(mut self) {
        self.0.cancel();
    }
}

/// A copy or fill that is being given to a device: one row of `transfers`, under the brick open here.
///
/// Times as of a [`LaunchGuard`]; where they are not known, `timing` is `host`: those of the call.
#[must_use = "the row is recorded when the guard is dropped"]
pub struct TransferGuard<'r>(OpenPiece<'r>);

impl TransferGuard<'_> {
    /// Kinds of memory: `pageable`, `pinned`, `device`, `managed` or `array`.
    pub fn memory(&mut self, from: impl Into<Name>, to: impl Into<Name>) -> &mut Self {
        if let Some(Piece {
            what: What::Transfer { memory, .. },
            ..
        }) = &mut self.0.piece
        {
            *memory = [from.into().number(), to.into().number()];
        }
        self
    }

    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        self.0.recorder.attribute(self.0.id, key, value);
        self
    }

    /// The row's id; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.0.id
    }

    /// The transfer comes next: a mark on the stream.
    pub fn begin(&mut self) {
        self.0.mark_before();
    }

    /// It was given to the stream: a mark behind it. Else the drop puts it there.
    pub fn end(&mut self) {
        self.0.mark_behind();
    }

    /// Cancels the row: nothing was transferred.
    pub fn cancel(mut self) {
        self.0.cancel();
    }
}

impl Recorder {
    /// Opens a launch on a stream of a device, the recorder's own ([`Builder::device`](crate::Builder::device))
    /// if its times are to be known.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let mut launch = rec.launch("gemv", 0, 7);
    /// launch.grid(64, 1, 1).block(256, 1, 1).flops(8192);
    /// launch.begin();
    /// // ... the launch itself ...
    /// drop(launch);
    /// ```
    #[track_caller]
    pub fn launch(&self, name: impl Into<Name>, device: u32, stream: u32) -> LaunchGuard<'_> {
        if !self.records(TableId::Kernels) {
            return LaunchGuard(OpenPiece::off(self));
        }
        let what = What::Kernel {
            launch: Launch::default(),
            work: Work::default(),
        };
        let name = name.into().at(Location::caller());
        LaunchGuard(OpenPiece::new(self, what, name, device, stream))
    }

    /// Opens a copy or fill on a stream of a device; `direction`: `h2d`, `d2h`, `d2d`, `p2p`, `h2h` or `memset`.
    pub fn transfer(
        &self,
        direction: &'static str,
        bytes: u64,
        device: u32,
        stream: u32,
    ) -> TransferGuard<'_> {
        if !self.records(TableId::Transfers) {
            return TransferGuard(OpenPiece::off(self));
        }
        let what = What::Transfer {
            bytes,
            memory: [0; 2],
        };
        TransferGuard(OpenPiece::new(self, what, direction.into(), device, stream))
    }
}
