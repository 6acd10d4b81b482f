//! Tiles of blocked algorithms.

use crate::lane::Class;
use crate::recorder::Recorder;
use crate::row_details::Work;
use crate::span::Span;
use crate::span_id::SpanId;
use trueno_format::TileLevel;
use trueno_format::record::{Record, kind, pair};
use trueno_format::schema::TableId;
use trueno_format::tile::pack;

/// An open row of `tiles`. Recorded when dropped, under the tile, kernel or brick that encloses it.
#[must_use = "the interval lasts until the guard is dropped"]
pub struct TileGuard<'r> {
    span: Span<'r>,
    level: TileLevel,
    /// Sampling period N: one in N is recorded; 0: nobody asked.
    every: u16,
    depth: u32,
    work: Work,
}

impl TileGuard<'_> {
    /// Index along the reduction.
    #[inline(always)]
    pub fn depth(&mut self, depth: u32) -> &mut Self {
        self.depth = depth;
        self.work.given |= 8;
        self
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

    /// Bytes moved, both ways together.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.work.set(2, bytes);
        self
    }

    /// Names the row; [`SpanId::NONE`] when nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.span.id()
    }
}

impl Drop for TileGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.span.is_on() {
            close(
                self.span,
                pack(self.level, self.every),
                self.depth,
                self.work,
            );
        }
    }
}

/// Takes copies, so that a guard lives in registers and one that is off costs nothing.
#[inline(never)]
fn close(mut span: Span<'_>, level: u16, depth: u32, work: Work) {
    let (recorder, seq, start) = (span.recorder, span.seq, span.start);
    let Some(lane) = span.lane() else { return };
    let end = lane.now();
    let below = lane.close(seq);
    let record = Record {
        start,
        end,
        seq,
        parent: lane.work_below(below),
        name: depth,
        kind: kind::TILE,
        flags: work.given,
        backend: level,
        m: work.m,
    };
    if recorder.records(TableId::Tiles) {
        lane.push(TableId::Tiles, record);
    } else {
        recorder.too_late();
    }
}

impl Recorder {
    /// Opens the tile at (`row`, `col`).
    #[inline]
    pub fn tile(&self, level: TileLevel, row: u32, col: u32) -> TileGuard<'_> {
        let mut every = 0;
        let span = if !self.records(TableId::Tiles) {
            Span::off(self)
        } else if let Some(sampled) = self.shared().tiles_every.get() {
            every = sampled[level as usize];
            Span::begin_sampled(self, level)
        } else {
            Span::begin(self, Class::Tile, TableId::Tiles)
        };
        let work = Work {
            m: [0, 0, 0, pair(row, col)],
            given: 0,
        };
        TileGuard {
            span,
            level,
            every,
            depth: 0,
            work,
        }
    }
}
