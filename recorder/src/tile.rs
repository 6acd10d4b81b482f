//! Tiles of blocked algorithms.

use crate::attributes::AttributeValue;
use crate::lane::{Class, Lane};
use crate::names::Name;
use crate::open_stack::Parent;
use crate::recorder::Recorder;
use crate::span::{OpenRow, Span};
use crate::span_id::SpanId;
use trueno_format::TileLevel;
use trueno_format::record::{Record, Subject, kind, pair};
use trueno_format::schema::TableId;
use trueno_format::tile::pack;

/// An open row of `tiles`. Recorded when dropped, under the tile, kernel or brick that encloses it.
#[must_use = "the interval lasts until the guard is dropped"]
pub struct TileGuard<'r> {
    row: OpenRow<'r>,
}

impl TileGuard<'_> {
    /// Index along the reduction.
    #[inline(always)]
    pub fn depth(&mut self, depth: u32) -> &mut Self {
        self.row.subject.name = depth;
        self.row.subject.flags |= 8;
        self
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

    /// Bytes moved, both ways together.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.row.set(2, bytes);
        self
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

impl Drop for TileGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.row.span.is_on() && !self.row.end_quickly(TableId::Tiles, Parent::Work) {
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
    let (mut span, subject, m) = OpenRow::parts((of, at, subject, m, more));
    let (recorder, seq, start) = (span.recorder, span.seq(), span.start);
    let Some(lane) = span.lane() else { return };
    let end = lane.now_unless(recorder.tables().has_just(TableId::Tiles));
    let below = lane.close(seq);
    let seqs = (seq, lane.work_below(below));
    let record = Record::new((start, end), seqs, subject, m);
    if recorder.tables_at_end().has(TableId::Tiles) {
        lane.push(TableId::Tiles, record);
    } else {
        recorder.too_late();
    }
}

impl Recorder {
    /// Opens the tile at (`row`, `col`).
    #[inline]
    pub fn tile(&self, level: TileLevel, row: u32, col: u32) -> TileGuard<'_> {
        let tables = self.tables();
        let mut every = 0;
        let span = if tables.has_just(TableId::Tiles) {
            Span::begin_quickly(self, Class::Tile, TableId::Tiles)
        } else if !tables.has(TableId::Tiles) {
            Span::off(self)
        } else if let Some(sampled) = self.shared().tiles_every.get() {
            every = sampled[level as usize];
            Span::begin_sampled(self, level)
        } else {
            Span::begin(self, Class::Tile, TableId::Tiles)
        };
        let m = [0, 0, 0, pair(row, col)];
        let mut row = OpenRow::new(span, kind::TILE, 0, m);
        row.subject.backend = pack(level, every);
        TileGuard { row }
    }
}
