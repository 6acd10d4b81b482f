//! Finished intervals as rows of the run: the original's handles are values that end by a call,
//! so nothing is open on a thread meanwhile.

use crate::clock::monotonic_ns;
use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::record::{Context, Record, TableNumber, device_timing, extension, kind, row_id};
use crate::recorder::Recorder;
use crate::span::Work;
use crate::span_id::SpanId;
use crate::threads;

/// Some microseconds: readings that far apart are not of one moment.
const CLOSE_TICKS: u64 = 10_000;
const MAX_TRIES: u32 = 4;

/// One moment on the recorder's clock and on the system's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    pub ticks: u64,
    /// 0: the clocks were not read.
    pub monotonic_ns: u64,
}

impl Moment {
    /// Both clocks, read next to each other: where the thread was interrupted in between, again.
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

    pub fn is_read(self) -> bool {
        self.monotonic_ns != 0
    }

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

/// A row's number within a thread, taken before the row is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub thread: u32,
    pub seq: u32,
}

impl Place {
    pub fn id(self) -> u64 {
        row_id(self.thread, self.seq)
    }
}

/// What lies around a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Around {
    /// Id of the enclosing scope; 0: what the thread has open.
    pub parent: u64,
    pub layer: Option<u32>,
}

fn on_lane<T>(
    rec: &Recorder,
    table: TableNumber,
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

/// Takes the next number of the calling thread.
pub(super) fn place(rec: &Recorder, table: TableNumber) -> Option<Place> {
    on_lane(rec, table, |lane| {
        let seq = lane.open(Class::Wait, table)?;
        lane.close(seq);
        let thread = lane.thread().index;
        Some(Place { thread, seq })
    })
}

fn around_or_open(lane: &Lane, around: Around) -> (u64, Context) {
    let mut context = lane.context_of(u32::MAX);
    context.layer = around.layer.or(context.layer);
    let parent = match (around.parent, lane.brick_below(lane.depth())) {
        (0, 0) => 0,
        (0, open) => row_id(lane.thread().index, open),
        (parent, _) => parent,
    };
    (parent, context)
}

/// Names what lies around a row, with a layer that the caller states.
pub(super) fn span(rec: &Recorder, around: Around, layer: Option<u32>) -> SpanId {
    let around = Around {
        layer: layer.or(around.layer),
        ..around
    };
    on_lane(rec, TableNumber::Checksums, |lane| {
        let (parent, context) = around_or_open(lane, around);
        Some(SpanId::with_context(parent, context))
    })
    .unwrap_or(SpanId::NONE)
}

/// Writes a row of `bricks` of that record kind.
pub(super) fn brick(
    rec: &Recorder,
    place: Place,
    (of, name): (u8, Name),
    (start, end): (Moment, Moment),
    around: Around,
    work: Work,
) {
    on_lane(rec, TableNumber::Bricks, |lane| {
        let (parent, context) = around_or_open(lane, around);
        let primary = Record {
            start: start.ticks,
            end: end.ticks.max(start.ticks),
            seq: place.seq,
            name: name.number(),
            kind: of,
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
        lane.push_group(TableNumber::Bricks, 1, &[primary, origin]);
        Some(())
    });
}

/// Writes a row of `kernels` with `timing` one of [`device_timing`]; why it is not valid, if so.
pub(super) fn kernel(
    rec: &Recorder,
    name: Name,
    (start, end): (Moment, Moment),
    around: Around,
    (timing, reason): (u8, Option<&'static str>),
    launch: Option<Record>,
) {
    on_lane(rec, TableNumber::Kernels, |lane| {
        let seq = lane.open(Class::Kernel, TableNumber::Kernels)?;
        lane.close(seq);
        let (brick, _) = around_or_open(lane, around);
        let reason = reason.map_or(0, |text| Name::new(text).number());
        let primary = Record {
            start: start.ticks,
            end: end.ticks.max(start.ticks),
            seq,
            parent: lane.thread().index,
            name: name.number(),
            kind: kind::DEVICE_WORK,
            flags: timing & device_timing::MASK | u8::from(launch.is_some()) << 4,
            m: [brick, 0, u64::from(reason), 0],
            ..Record::default()
        };
        let group = [primary, launch.unwrap_or_default()];
        let records = 1 + usize::from(launch.is_some());
        lane.push_group(TableNumber::Kernels, 1, &group[..records]);
        Some(())
    });
}

/// Writes a row of `tiles`, under `scope` where that is of this thread.
pub(super) fn tile(
    rec: &Recorder,
    level: crate::TileLevel,
    (start, end): (Moment, Moment),
    scope: Option<Place>,
    work: Work,
) {
    on_lane(rec, TableNumber::Tiles, |lane| {
        let seq = lane.open(Class::Tile, TableNumber::Tiles)?;
        lane.close(seq);
        let parent = match scope {
            Some(scope) if scope.thread == lane.thread().index => scope.seq,
            _ => lane.work_below(lane.depth()),
        };
        let record = Record {
            start: start.ticks,
            end: end.ticks.max(start.ticks),
            seq,
            parent,
            kind: kind::TILE,
            flags: work.given,
            backend: level as u16,
            m: work.m,
            ..Record::default()
        };
        lane.push(TableNumber::Tiles, record);
        Some(())
    });
}
