//! Tiles of blocked algorithms.

use crate::lane::Class;
use crate::record::{Record, TableNumber, kind, pair};
use crate::recorder::Recorder;
use crate::span::{Span, Work};
use crate::span_id::SpanId;
use crate::tile_sampling::packed;

/// What a tile is held in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TileLevel {
    /// Blocks for the last-level cache, or a device's global memory.
    Macro = 0,
    /// Blocks for L2, or a device's shared memory.
    Midi = 1,
    /// Blocks for registers.
    Micro = 2,
    /// Copying into the layout that the kernel wants.
    Pack = 3,
}

impl TileLevel {
    /// Every level, by number.
    pub const ALL: [Self; 4] = [Self::Macro, Self::Midi, Self::Micro, Self::Pack];

    /// As it stands in column `tiles.level`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Macro => "macro",
            Self::Midi => "midi",
            Self::Micro => "micro",
            Self::Pack => "pack",
        }
    }
}

/// An open row of `tiles`. Recorded when dropped, under the tile, kernel or brick that encloses it.
#[must_use = "the interval lasts until the guard is dropped"]
pub struct TileGuard<'r> {
    span: Span<'r>,
    level: TileLevel,
    /// One of so many is recorded; 0: nobody asked.
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
                packed(self.level, self.every),
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
    if recorder.records(TableNumber::Tiles) {
        lane.push(TableNumber::Tiles, record);
    } else {
        recorder.too_late();
    }
}

impl Recorder {
    /// Opens the tile at (`row`, `col`).
    #[inline]
    pub fn tile(&self, level: TileLevel, row: u32, col: u32) -> TileGuard<'_> {
        let mut every = 0;
        let span = if !self.records(TableNumber::Tiles) {
            Span::off(self)
        } else if let Some(sampled) = self.shared().tiles_every.get() {
            every = sampled[level as usize];
            Span::begin_sampled(self, level)
        } else {
            Span::begin(self, Class::Tile, TableNumber::Tiles)
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
