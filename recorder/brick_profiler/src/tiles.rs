//! Tiles.

use trueno_recorder::TileLevel;
use trueno_recorder::finished::{Moment, Tile};

use crate::clock;
use crate::profiler::BrickProfiler;
use crate::stats::ratio;

/// Sums over the tiles of one level. Tiles lie in one another: levels are not to be added up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TileStats {
    /// The level.
    pub level: TileLevel,
    /// Tiles.
    pub count: u64,
    /// Sum of durations.
    pub total_ns: u64,
    /// Shortest duration; `u64::MAX` where there is none.
    pub min_ns: u64,
    /// Longest duration.
    pub max_ns: u64,
    /// Elements of all tiles.
    pub total_elements: u64,
    /// Operations of all tiles.
    pub total_flops: u64,
}

impl TileStats {
    /// No tiles yet.
    pub fn new(level: TileLevel) -> Self {
        Self {
            level,
            count: 0,
            total_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            total_elements: 0,
            total_flops: 0,
        }
    }

    /// Adds a tile.
    pub fn add_sample(&mut self, elapsed_ns: u64, elements: u64, flops: u64) {
        self.count += 1;
        self.total_ns += elapsed_ns;
        self.min_ns = self.min_ns.min(elapsed_ns);
        self.max_ns = self.max_ns.max(elapsed_ns);
        self.total_elements += elements;
        self.total_flops += flops;
    }

    /// Mean duration in microseconds; 0: no tiles.
    pub fn avg_us(&self) -> f64 {
        ratio(self.total_ns as f64 / 1e3, self.count as f64)
    }

    /// Elements a second; 0: no tiles.
    pub fn throughput(&self) -> f64 {
        ratio(self.total_elements as f64, self.total_ns as f64 / 1e9)
    }

    /// 10^9 operations a second; 0: no tiles.
    pub fn gflops(&self) -> f64 {
        ratio(self.total_flops as f64, self.total_ns as f64)
    }

    /// FLOPs by the bytes of the elements, if each were an `f32` that is moved once: FLOPs and elements are the caller's,
    /// the 4 bytes are assumed, and traffic is not measured. NaN: no elements were given.
    pub fn arithmetic_intensity(&self) -> f64 {
        if self.total_elements == 0 {
            return f64::NAN;
        }
        self.total_flops as f64 / (4.0 * self.total_elements as f64)
    }

    /// FLOPs a second by a peak that the caller gives, in 10^9 a second; no cache is looked at. Above 1 the peak is too
    /// low or the FLOPs are too many. NaN: nothing was timed, or the peak is not above 0.
    pub fn cache_efficiency(&self, peak_gflops: f64) -> f64 {
        if self.total_ns == 0 || !peak_gflops.is_finite() || peak_gflops <= 0.0 {
            return f64::NAN;
        }
        self.gflops() / peak_gflops
    }
}

/// A tile that has begun. Dropping it leaves nothing behind.
#[derive(Debug)]
#[must_use = "a tile is recorded when it is stopped"]
pub struct TileTimer {
    level: TileLevel,
    row: u32,
    col: u32,
    start: Moment,
}

#[derive(Debug)]
pub(super) struct Tiles {
    enabled: bool,
    stats: [TileStats; TileLevel::ALL.len()],
}

impl Default for Tiles {
    fn default() -> Self {
        Self {
            enabled: false,
            stats: TileLevel::ALL.map(TileStats::new),
        }
    }
}

impl BrickProfiler {
    /// From now on tiles are timed, whether bricks are or not.
    pub fn enable_tile_profiling(&mut self) {
        self.tiles.enabled = true;
    }

    /// Disables the timing of tiles.
    pub fn disable_tile_profiling(&mut self) {
        self.tiles.enabled = false;
    }

    /// Returns whether tiles are timed.
    pub fn is_tile_profiling_enabled(&self) -> bool {
        self.tiles.enabled
    }

    /// Begins the tile at (`row`, `col`).
    #[inline]
    pub fn start_tile(&self, level: TileLevel, row: u32, col: u32) -> TileTimer {
        let start = if self.tiles.enabled {
            clock::now(&self.rec)
        } else {
            Moment::default()
        };
        TileTimer {
            level,
            row,
            col,
            start,
        }
    }

    /// Ends a tile. One that began or ends while tiles are not timed is not recorded.
    pub fn stop_tile(&mut self, timer: TileTimer, elements: u64, flops: u64) {
        if !self.tiles.enabled || !timer.start.is_read() {
            return;
        }
        let end = clock::now(&self.rec);
        self.graph.note_work();
        self.rec.finished_tile(&Tile {
            level: timer.level,
            start: timer.start,
            end,
            brick: self.graph.scope_place(),
            row: timer.row,
            column: timer.col,
            elements,
            flops,
        });
        let stats = self.tile_stats_mut(timer.level);
        stats.add_sample(end.ns_since(timer.start), elements, flops);
    }

    /// Sums of a level.
    pub fn tile_stats(&self, level: TileLevel) -> &TileStats {
        &self.tiles.stats[level as usize]
    }

    /// Sums of a level, to change them.
    pub fn tile_stats_mut(&mut self, level: TileLevel) -> &mut TileStats {
        &mut self.tiles.stats[level as usize]
    }

    /// Sums of all levels, by number.
    pub fn all_tile_stats(&self) -> &[TileStats] {
        &self.tiles.stats
    }

    /// Forgets the sums; the run keeps its rows.
    pub fn reset_tile_stats(&mut self) {
        self.tiles.stats = TileLevel::ALL.map(TileStats::new);
    }
}
