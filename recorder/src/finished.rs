//! Rows of intervals that have ended already: for adapters of other instrumentation, whose handles are values that end
//! by a call, so that nothing is open on a thread meanwhile.
//!
//! ```
//! use trueno_recorder::Recorder;
//! use trueno_recorder::finished::{Brick, BrickPlace, Moment, Site};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("decode.run");
//! let rec = Recorder::create(path)?;
//! let start = Moment::now(&rec);
//! // ... the work ...
//! if let Some(place) = BrickPlace::take(&rec) {
//!     let mut brick = Brick::new(Site::here("attention"), start, Moment::now(&rec));
//!     brick.elements = Some(4096);
//!     rec.finished_brick(place, &brick);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::panic::Location;

use crate::clock::monotonic_ns;
use crate::lane::{Class, Lane};
use crate::lock::lock;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::Work;
use crate::span_id::SpanId;
use crate::threads;
use trueno_format::record::{Context, Record, device_timing, extension, kind, pair, row_id};
use trueno_format::schema::TableId;
use trueno_format::{Launch, PtxHash, TileLevel};

/// Readings this many ticks apart, some microseconds, are not from the same moment.
const CLOSE_TICKS: u64 = 10_000;
const MAX_TRIES: u32 = 4;

/// One moment on the recorder's clock and on the system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    ticks: u64,
    /// 0 if the clocks were not read.
    monotonic_ns: u64,
}

impl Moment {
    /// Reads both clocks next to each other, again if the thread was interrupted in between.
    pub fn now(rec: &Recorder) -> Self {
        if !rec.is_enabled() {
            return Self {
                ticks: 0,
                monotonic_ns: monotonic_ns(),
            };
        }
        let clock = rec.shared().clock;
        let mut tries = 0;
        loop {
            let before = clock.ticks();
            let monotonic_ns = monotonic_ns();
            let ticks = clock.ticks();
            tries += 1;
            if ticks.saturating_sub(before) < CLOSE_TICKS || tries == MAX_TRIES {
                return Self {
                    ticks,
                    monotonic_ns,
                };
            }
        }
    }

    /// False of the default: no clock was read.
    pub fn is_read(self) -> bool {
        self.monotonic_ns != 0
    }

    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub fn monotonic_ns(self) -> u64 {
        self.monotonic_ns
    }

    /// Nanoseconds from `earlier` to this moment; 0 if `earlier` is later.
    pub fn ns_since(self, earlier: Self) -> u64 {
        self.monotonic_ns.saturating_sub(earlier.monotonic_ns)
    }

    /// The moment at `monotonic_ns`, by the rate of the clocks since `origin`.
    pub fn at(self, monotonic_ns: u64, origin: Self) -> Self {
        let ns = self.ns_since(origin);
        let ticks = self.ticks.saturating_sub(origin.ticks);
        let rate = if ns > 0 {
            ticks as f64 / ns as f64
        } else {
            1.0
        };
        let apart = monotonic_ns as f64 - self.monotonic_ns as f64;
        Self {
            ticks: self.ticks.saturating_add_signed((apart * rate) as i64),
            monotonic_ns,
        }
    }
}

/// The number of a row of `bricks`, taken before the row is written, so that others can name it.
#[derive(Clone, Copy, Debug)]
pub struct BrickPlace {
    thread: u32,
    seq: u32,
}

impl BrickPlace {
    /// Takes the next number of the calling thread. `None`: there is no run, or none with bricks.
    pub fn take(rec: &Recorder) -> Option<Self> {
        on_lane(rec, TableId::Bricks, |lane| {
            let seq = lane.open(Class::Wait, TableId::Bricks)?;
            lane.close(seq);
            let thread = lane.thread().index;
            Some(Self { thread, seq })
        })
    }

    /// The row's id.
    pub fn id(self) -> u64 {
        row_id(self.thread, self.seq)
    }

    /// The row's id, for attributes and edges.
    pub fn span(self) -> SpanId {
        SpanId::with_context(self.id(), Context::default())
    }
}

struct Reopened<'r> {
    rec: &'r Recorder,
    seq: Option<u32>,
}

impl Drop for Reopened<'_> {
    fn drop(&mut self) {
        if let Some(seq) = self.seq {
            self.rec.with_lane(|lane| lane.close(seq));
        }
    }
}

/// The scope and the layer around a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Enclosing {
    /// Id of the enclosing row; 0: what the thread has open.
    pub parent: u64,
    /// The layer; `None`: that of the thread.
    pub layer: Option<u32>,
}

/// A name, and the place in the program that its row tells of in columns `file` and `line`.
#[derive(Clone, Copy, Debug)]
pub struct Site(Name);

impl Site {
    /// A name where this is called.
    #[track_caller]
    pub fn here(name: impl Into<Name>) -> Self {
        Self::at(name, Location::caller())
    }

    /// A name at a stored source location.
    pub fn at(name: impl Into<Name>, place: &'static Location<'static>) -> Self {
        Self(name.into().at(place))
    }

    /// A name at a line of a file, in whatever language.
    pub fn in_file(name: impl Into<Name>, file: &str, line: u32) -> Self {
        Self(name.into().at_line(file, line))
    }
}

/// The name with its source location, for guards as well: their rows have this location and not the one of the guard.
/// Bindings of other languages pass the location as text.
///
/// ```
/// # let rec = trueno_recorder::Recorder::disabled();
/// use trueno_recorder::finished::Site;
/// let _brick = rec.brick(Site::in_file("attention", "model.py", 12));
/// ```
impl From<Site> for Name {
    fn from(site: Site) -> Self {
        site.0
    }
}

/// Without a source location.
impl From<Name> for Site {
    fn from(name: Name) -> Self {
        Self(name)
    }
}

/// The kind of a row of `bricks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BrickKind {
    Layer(u32),
    Brick,
    Task,
    Function,
}

/// A row of `bricks`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "as the columns")]
pub struct Brick {
    pub kind: BrickKind,
    pub name: Site,
    pub start: Moment,
    pub end: Moment,
    pub enclosing: Enclosing,
    pub elements: Option<u64>,
    pub flops: Option<u64>,
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
}

impl Brick {
    /// A brick with only a name and times.
    pub fn new(name: impl Into<Site>, start: Moment, end: Moment) -> Self {
        Self {
            kind: BrickKind::Brick,
            name: name.into(),
            start,
            end,
            enclosing: Enclosing::default(),
            elements: None,
            flops: None,
            read_bytes: None,
            written_bytes: None,
        }
    }
}

/// Meaning of a kernel's times.
#[derive(Clone, Copy, Debug)]
pub enum KernelTimes {
    /// Times of the work, as read by the host or stated by the program.
    Host,
    /// The work is somewhere between these times.
    Bound,
    /// Times of the launch only. The row is not valid, for this reason.
    Launch(&'static str),
}

/// The shape and the source of a launch.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as the columns")]
pub struct LaunchShape {
    pub grid: (u32, u32, u32),
    pub block: (u32, u32, u32),
    pub shared_memory_bytes: u32,
    pub ptx: Option<PtxHash>,
}

/// A row of `kernels`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as the columns")]
pub struct Kernel {
    pub name: Site,
    pub start: Moment,
    pub end: Moment,
    pub enclosing: Enclosing,
    pub times: KernelTimes,
    pub launch: Option<LaunchShape>,
    pub flops: Option<u64>,
    pub bytes: Option<u64>,
}

/// Direction of a transfer; H: host, D: device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TransferDirection {
    H2D,
    D2H,
    D2D,
}

/// A row of `transfers`. Its times contain the work (`bound`), unless they are known to be those of the work.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as the columns")]
pub struct Transfer {
    pub direction: TransferDirection,
    pub bytes: u64,
    pub start: Moment,
    pub end: Moment,
    pub is_timed: bool,
    pub enclosing: Enclosing,
}

/// A row of `tiles`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as the columns")]
pub struct Tile {
    pub level: TileLevel,
    pub start: Moment,
    pub end: Moment,
    /// Its parent, if that is a row of the calling thread.
    pub brick: Option<BrickPlace>,
    pub row: u32,
    pub column: u32,
    pub elements: u64,
    pub flops: u64,
}

impl Recorder {
    /// Writes a row of `bricks`.
    pub fn finished_brick(&self, place: BrickPlace, brick: &Brick) {
        let mut work = Work::default();
        let given = [
            brick.elements,
            brick.flops,
            brick.read_bytes,
            brick.written_bytes,
        ];
        for (at, value) in given.into_iter().enumerate() {
            if let Some(value) = value {
                work.set(at, value);
            }
        }
        let kind = match brick.kind {
            BrickKind::Layer(number) => {
                work.m[0] = u64::from(number);
                kind::LAYER
            }
            BrickKind::Brick => kind::BRICK,
            BrickKind::Task => kind::TASK,
            BrickKind::Function => kind::FUNCTION,
        };
        on_lane(self, TableId::Bricks, |lane| {
            let (parent, context) = around_or_open(lane, brick.enclosing);
            let primary = Record {
                start: brick.start.ticks,
                end: brick.end.ticks.max(brick.start.ticks),
                seq: place.seq,
                name: brick.name.0.number(),
                kind,
                flags: work.given | 1 << 4,
                m: work.m,
                ..Record::default()
            };
            let mut origin = Record {
                kind: extension::ORIGIN,
                name: place.thread,
                ..Record::default()
            };
            context.store(&mut origin);
            origin.m[0] = parent;
            lane.push_group(TableId::Bricks, 1, &[primary, origin]);
            Some(())
        });
    }

    /// Writes a row of `kernels`, and names it.
    pub fn finished_kernel(&self, kernel: &Kernel) -> SpanId {
        let (timing, reason) = match kernel.times {
            KernelTimes::Host => (device_timing::HOST, 0),
            KernelTimes::Bound => (device_timing::BOUND, 0),
            KernelTimes::Launch(why) => (device_timing::LAUNCH, Name::new(why).number()),
        };
        let mut work = Work::default();
        for (at, value) in [(1, kernel.flops), (2, kernel.bytes)] {
            if let Some(value) = value {
                work.set(at, value);
            }
        }
        let launch = kernel.launch.map(LaunchShape::record);
        let work = (work.given != 0).then_some(Record {
            kind: extension::WORK,
            flags: work.given,
            m: work.m,
            ..Record::default()
        });
        let primary = Record {
            name: kernel.name.0.number(),
            kind: kind::DEVICE_WORK,
            flags: timing,
            m: [0, 0, u64::from(reason), 0],
            ..Record::default()
        };
        let times = (kernel.start, kernel.end);
        let more = [launch, work];
        self.finished_device_work(TableId::Kernels, primary, times, kernel.enclosing, more)
    }

    /// Writes a row of `transfers`, and names it.
    pub fn finished_transfer(&self, transfer: &Transfer) -> SpanId {
        let direction = match transfer.direction {
            TransferDirection::H2D => "h2d",
            TransferDirection::D2H => "d2h",
            TransferDirection::D2D => "d2d",
        };
        let primary = Record {
            name: Name::new(direction).number(),
            kind: kind::TRANSFER,
            flags: if transfer.is_timed {
                device_timing::HOST
            } else {
                device_timing::BOUND
            },
            m: [0, 0, transfer.bytes, 0],
            ..Record::default()
        };
        let times = (transfer.start, transfer.end);
        let enclosing = transfer.enclosing;
        self.finished_device_work(TableId::Transfers, primary, times, enclosing, [None; 2])
    }

    fn finished_device_work(
        &self,
        table: TableId,
        primary: Record,
        (start, end): (Moment, Moment),
        enclosing: Enclosing,
        more: [Option<Record>; 2],
    ) -> SpanId {
        on_lane(self, table, |lane| {
            let seq = lane.open(Class::Kernel, table)?;
            lane.close(seq);
            let (brick, context) = around_or_open(lane, enclosing);
            let mut group = [primary, Record::default(), Record::default()];
            let mut used = 1;
            for record in more.into_iter().flatten() {
                group[used] = record;
                used += 1;
            }
            let primary = &mut group[0];
            primary.start = start.ticks;
            primary.end = end.ticks.max(start.ticks);
            primary.seq = seq;
            primary.parent = lane.thread().index;
            primary.m[0] = brick;
            primary.flags |= (used as u8 - 1) << 4;
            lane.push_group(table, 1, &group[..used]);
            Some(SpanId::new(lane.thread().index, seq, context))
        })
        .unwrap_or(SpanId::NONE)
    }

    /// Writes a row of `tiles`.
    pub fn finished_tile(&self, tile: &Tile) {
        let mut work = Work::default();
        work.set(0, tile.elements);
        work.set(1, tile.flops);
        work.m[3] = pair(tile.row, tile.column);
        on_lane(self, TableId::Tiles, |lane| {
            let seq = lane.open(Class::Tile, TableId::Tiles)?;
            lane.close(seq);
            let parent = match tile.brick {
                Some(brick) if brick.thread == lane.thread().index => brick.seq,
                _ => lane.work_below(lane.depth()),
            };
            let record = Record {
                start: tile.start.ticks,
                end: tile.end.ticks.max(tile.start.ticks),
                seq,
                parent,
                kind: kind::TILE,
                flags: work.given,
                backend: tile.level as u16,
                m: work.m,
                ..Record::default()
            };
            lane.push(TableId::Tiles, record);
            Some(())
        });
    }

    /// Runs `record`. Its rows get the row of `place` as parent, as if that were open, if it is on the calling thread.
    ///
    /// ```
    /// # use trueno_recorder::{Recorder, finished::BrickPlace};
    /// # let rec = Recorder::disabled();
    /// if let Some(place) = BrickPlace::take(&rec) {
    ///     rec.within(place, |rec| rec.allocation("activations", 4096, None));
    /// }
    /// ```
    pub fn within<R>(&self, place: BrickPlace, record: impl FnOnce(&Self) -> R) -> R {
        let open = |lane: &mut Lane| {
            let own = lane.thread().index == place.thread;
            own.then(|| lane.reopen(place.seq))
        };
        let seq = on_lane(self, TableId::Bricks, open).map(|()| place.seq);
        let _reopened = Reopened { rec: self, seq };
        record(self)
    }

    /// The id of the scope around a row, for [`Recorder::checksum_of`].
    pub fn enclosing_span(&self, enclosing: Enclosing) -> SpanId {
        on_lane(self, TableId::Checksums, |lane| {
            let (parent, context) = around_or_open(lane, enclosing);
            Some(SpanId::with_context(parent, context))
        })
        .unwrap_or(SpanId::NONE)
    }

    /// Adds a text to the `problems` of `run.json`.
    pub fn problem(&self, text: String) {
        lock(&self.shared().mailbox.problems).push(text);
    }
}

impl LaunchShape {
    fn record(self) -> Record {
        let mut launch = Launch::default();
        launch.set_grid(self.grid.into());
        launch.set_block(self.block.into());
        launch.set_shared_memory(self.shared_memory_bytes);
        if let Some(hash) = self.ptx {
            launch.set_ptx(hash);
        }
        launch.record()
    }
}

fn on_lane<T>(
    rec: &Recorder,
    table: TableId,
    work: impl FnOnce(&mut Lane) -> Option<T>,
) -> Option<T> {
    if !rec.records(table) {
        return None;
    }
    let lane = threads::lane(rec.shared());
    // SAFETY: null or the calling thread's own lane, valid until the thread ends; no other
    // reference to it exists while `work` runs, which calls nothing of the program.
    match unsafe { lane.as_mut() } {
        Some(lane) => work(lane),
        None => {
            rec.no_ring(table);
            None
        }
    }
}

fn around_or_open(lane: &Lane, enclosing: Enclosing) -> (u64, Context) {
    let mut context = lane.context_of(u32::MAX);
    context.layer = enclosing.layer.or(context.layer);
    let parent = match (enclosing.parent, lane.brick_below(lane.depth())) {
        (0, 0) => 0,
        (0, open) => row_id(lane.thread().index, open),
        (parent, _) => parent,
    };
    (parent, context)
}
