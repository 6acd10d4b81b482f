//! An interval from the call to the drop, on one thread: what guards of all kinds are made of.
//!
//! All that most intervals need is inline, small, and asks one word whether more is to be done
//! ([`Tables::has_just`](crate::recorder::Tables::has_just)); all else is out of line, and gets copies: so a guard
//! lives in registers, and one that is off costs nothing. `benches/instructions` counts what it comes to.

use std::panic::Location;

use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::open_stack::Parent;
use crate::recorder::Recorder;
use crate::row_details::RowDetails;
use crate::span_id::SpanId;
use crate::threads;
use trueno_format::TileLevel;
use trueno_format::record::{Record, Subject};
use trueno_format::schema::TableId;

/// An open interval; `lane` is null when nothing is recorded.
///
/// The pointer makes guards neither `Send` nor `Sync`, so they stay on their thread.
#[derive(Clone, Copy)]
pub(crate) struct Span<'r> {
    lane: *mut Lane,
    pub recorder: &'r Recorder,
    pub start: u64,
    /// The sequence number. With [`HAS_DETAILS`] it never equals one on the thread's stack, so the row's end
    /// takes the slow path without a separate check.
    place: u64,
}

/// An [`OpenRow`] as it is passed to functions that are not inlined: each part fits in registers. A struct of more
/// than two words would be passed in memory, and force the guard to live in memory from its beginning.
pub(crate) type Words<'r> = (
    (*mut Lane, &'r Recorder),
    (u64, u64),
    Subject,
    (u64, u64),
    (u64, u64),
);

pub(crate) type NamePlace = (Name, &'static Location<'static>);

/// Bit next to a sequence number: the lane has details of the row.
const HAS_DETAILS: u64 = 1 << 32;

pub(crate) struct OpenRow<'r> {
    pub span: Span<'r>,
    pub subject: Subject,
    pub m: [u64; 4],
}

impl<'r> OpenRow<'r> {
    #[inline(always)]
    pub fn new(span: Span<'r>, kind: u8, name: u32, m: [u64; 4]) -> Self {
        Self {
            span,
            subject: Subject {
                name,
                kind,
                ..Subject::default()
            },
            m,
        }
    }

    /// Opens a row with the place that begins it, as [`Span::begin_quickly`] does. Each way makes the whole row: what
    /// was done for both after they meet would keep the compiler from knowing of the quick one that it is recorded.
    #[inline(always)]
    pub fn begin_at(
        recorder: &'r Recorder,
        (class, table): (Class, TableId),
        (name, place): NamePlace,
        kind: u8,
    ) -> Self {
        match Span::begin_if(recorder, class, |lane| lane.met_sites.find(name, place)) {
            Some((span, name)) => Self::new(span, kind, name.number(), [0; 4]),
            None => {
                let (lane, name) = open_at(recorder, (class, table), (name, place));
                Self::new(
                    Span::opened_last(recorder, lane),
                    kind,
                    name.number(),
                    [0; 4],
                )
            }
        }
    }

    /// A row that is not recorded.
    #[inline(always)]
    pub fn off(recorder: &'r Recorder, kind: u8) -> Self {
        Self {
            span: Span::off(recorder),
            subject: Subject {
                kind,
                ..Subject::default()
            },
            m: [0; 4],
        }
    }

    /// Its words, for a function out of line.
    #[inline(always)]
    pub fn words(&self) -> Words<'r> {
        let Span {
            lane,
            recorder,
            start,
            place,
        } = self.span;
        let [m0, m1, m2, m3] = self.m;
        (
            (lane, recorder),
            (start, place),
            self.subject,
            (m0, m1),
            (m2, m3),
        )
    }

    /// The reverse of [`OpenRow::words`].
    pub fn parts((of, at, subject, m, more): Words<'r>) -> (Span<'r>, Subject, [u64; 4]) {
        let ((lane, recorder), (start, place)) = (of, at);
        let span = Span {
            lane,
            recorder,
            start,
            place,
        };
        (span, subject, [m.0, m.1, more.0, more.1])
    }

    /// Gives one of its numbers.
    #[inline(always)]
    pub fn set(&mut self, at: usize, value: u64) {
        self.m[at] = value;
        self.subject.flags |= 1 << at;
    }

    #[inline(always)]
    pub fn set_backend(&mut self, backend: impl Into<Name>) {
        if self.span.is_on() {
            let backend = backend.into();
            match u16::try_from(backend.number()) {
                Ok(number) => self.subject.backend = number,
                Err(_) => {
                    if let Some(details) = self.details() {
                        details.backend = Some(backend);
                    }
                }
            }
        }
    }

    /// Details that do not fit into the row's one record; `None`: nothing is recorded.
    #[inline(always)]
    pub fn details(&mut self) -> Option<&mut RowDetails> {
        if !self.span.is_on() {
            return None;
        }
        self.span.place |= HAS_DETAILS;
        Some(details(self.span.lane, self.span.seq()))
    }

    /// Ends a row that is recorded and of which one record is all that has to be made. False: nothing was done,
    /// but that the clock was read if the recorder has just the table.
    #[inline(always)]
    pub fn end_quickly(&self, table: TableId, parent: Parent) -> bool {
        if !self.span.recorder.tables().has_just(table) {
            return false;
        }
        // SAFETY: as in `Span::lane`, of an interval that is recorded.
        let lane = unsafe { &mut *self.span.lane };
        let end = lane.now_inline();
        let Some(parent) = lane.close_quickly(self.span.place, parent) else {
            return false;
        };
        let (times, seqs) = ((self.span.start, end), (self.span.seq(), parent));
        let record = Record::new(times, seqs, self.subject, self.m);
        // SAFETY: `close_quickly` found room just now.
        unsafe { lane.push_quickly(record) };
        true
    }
}

/// Details of a row that is open on a lane of the calling thread. Does not take the guard, because its address
/// would force it into memory.
#[inline(never)]
fn details<'l>(lane: *mut Lane, seq: u32) -> &'l mut RowDetails {
    // SAFETY: as in `Span::lane`, of an interval that is recorded.
    unsafe { (*lane).details(seq) }
}

impl<'r> Span<'r> {
    /// An interval that is not recorded.
    #[inline(always)]
    pub fn off(recorder: &'r Recorder) -> Self {
        Self {
            lane: std::ptr::null_mut(),
            recorder,
            start: 0,
            place: 0,
        }
    }

    /// Opens an interval on the calling thread, where the recorder has just the table; the clock is read last.
    #[inline(always)]
    pub fn begin_quickly(recorder: &'r Recorder, class: Class, table: TableId) -> Self {
        match Self::begin_if(recorder, class, |_| Some(())) {
            Some((span, ())) => span,
            None => Self::begin(recorder, class, table),
        }
    }

    /// Opens an interval if the thread's lane is the one it used last, and `first` finds what it needs there.
    #[inline(always)]
    fn begin_if<T>(
        recorder: &'r Recorder,
        class: Class,
        first: impl FnOnce(&Lane) -> Option<T>,
    ) -> Option<(Self, T)> {
        let mut lane = threads::latest(recorder.number())?;
        // SAFETY: the calling thread's own lane, valid while the recorder is borrowed (a lane is not
        // freed while an interval is open on it); no other reference to it exists now.
        let opened = unsafe { lane.as_mut() };
        let found = first(opened)?;
        let seq = opened.open_quickly(class)?;
        let span = Self {
            lane: lane.as_ptr(),
            recorder,
            start: opened.now_inline(),
            place: seq.into(),
        };
        Some((span, found))
    }

    /// Opens an interval on the calling thread; the clock is read last.
    #[inline]
    pub fn begin(recorder: &'r Recorder, class: Class, table: TableId) -> Self {
        Self::opened_last(recorder, open(recorder, class, table))
    }

    /// The interval that was opened last on the calling thread's lane, which is null where it was not.
    #[inline(always)]
    pub fn opened_last(recorder: &'r Recorder, lane: *mut Lane) -> Self {
        // SAFETY: null, or as in `begin_if`.
        let (start, seq) = match unsafe { lane.as_ref() } {
            Some(lane) => (lane.last_ticks(), lane.last_seq()),
            None => (0, 0),
        };
        Self {
            lane,
            recorder,
            start,
            place: seq.into(),
        }
    }

    /// As [`Span::begin`], if the tile is one of those that are recorded.
    pub fn begin_sampled(recorder: &'r Recorder, level: TileLevel) -> Self {
        let lane = threads::lane(recorder.shared());
        // SAFETY: null, or as in `begin_if`; the reference ends before the lane is used again.
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
        // SAFETY: null, or valid until this interval is closed (see `begin_if`); guards stay on
        // their thread, and the reference ends before any other code of the thread runs.
        unsafe { self.lane.as_mut() }
    }

    /// The sequence number of its row.
    #[inline(always)]
    pub fn seq(&self) -> u32 {
        self.place as u32
    }

    /// Takes the row's details from its lane.
    pub fn take_details(&mut self) -> RowDetails {
        let (seq, has_details) = (self.seq(), self.place & HAS_DETAILS != 0);
        let lane = self.lane().filter(|_| has_details);
        lane.map_or_else(RowDetails::default, |lane| lane.take_details(seq))
    }

    /// Forgets the lane: the drop that follows does nothing.
    pub fn disarm(&mut self) {
        self.lane = std::ptr::null_mut();
    }

    pub fn id(&self) -> SpanId {
        // SAFETY: as in `lane`.
        match unsafe { self.lane.as_ref() } {
            Some(lane) => SpanId::new(lane.thread().index, self.seq(), lane.context_of(self.seq())),
            None => SpanId::NONE,
        }
    }
}

/// Opens a row on the calling thread's lane and reads the clock. Null if the row is not recorded.
#[cold]
#[inline(never)]
pub(crate) fn open(recorder: &Recorder, class: Class, table: TableId) -> *mut Lane {
    let lane = threads::lane(recorder.shared());
    // SAFETY: null, or as in `Span::begin_if`.
    let Some(opened) = (unsafe { lane.as_mut() }) else {
        recorder.no_ring(table);
        return lane;
    };
    if opened.open(class, table).is_none() {
        return std::ptr::null_mut();
    }
    opened.now();
    lane
}

/// Like [`open`], for a row with a source location. Also returns the name at that location.
#[cold]
#[inline(never)]
pub(crate) fn open_at(
    recorder: &Recorder,
    (class, table): (Class, TableId),
    (name, place): NamePlace,
) -> (*mut Lane, Name) {
    let lane = threads::lane(recorder.shared());
    // SAFETY: null, or as in `Span::begin_if`; the reference ends before the lane is used again.
    let sites = unsafe { lane.as_mut() }.map(|lane| &mut lane.met_sites);
    let name = sites.map_or(name, |sites| sites.find_or_add(name, place));
    (open(recorder, class, table), name)
}
