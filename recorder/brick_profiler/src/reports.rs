//! Reports on what was recorded since the last reset: the sums of [`BrickProfiler`], as text and as JSON.

use std::fmt::Write;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use trueno_recorder::BrickCategory;

use crate::profiler::BrickProfiler;
use crate::stats::{BrickStats, CategoryStats};
use crate::tiles::TileStats;
use crate::wording::or_dash;

fn if_known(is_known: bool, figure: f64) -> Option<f64> {
    (is_known && figure.is_finite()).then_some(figure)
}

impl BrickProfiler {
    /// Prints the sums of the categories: mean durations, and their share of the sum of all bricks.
    pub fn print_category_stats(&self) {
        println!("Category breakdown, of the summed durations of all bricks");
        print!("{}", self.category_lines());
    }

    /// Sums of all bricks and categories in words, the longest first. Shares are of the summed durations of all bricks:
    /// where bricks lie in one another their time is in it twice. Elements are whatever the program counted.
    pub fn summary(&self) -> String {
        let mut text = "=== Brick Profiler Summary ===\n".to_owned();
        let total_ns = self.total_ns();
        let total_us = total_ns as f64 / 1e3;
        let rate = if_known(total_ns > 0, self.total_throughput());
        let _ = writeln!(
            text,
            "Total: {} elements, {total_us:.2}µs of bricks, {} elements/s",
            self.total_tokens(),
            or_dash(rate, 1)
        );
        text.push_str("\nPer-Brick Breakdown:\n");
        for stats in self.longest_first() {
            let mean = or_dash(if_known(stats.timed() > 0, stats.avg_us()), 2);
            let share = or_dash(share(stats.total_ns, total_ns), 1);
            let name = &stats.name;
            let _ = write!(
                text,
                "  {name:20} {mean:>8}µs avg ({share:>5}%) [{} samples",
                stats.count
            );
            if stats.bound > 0 {
                let _ = write!(text, ", {} of unknown duration", stats.bound);
            }
            text.push_str("]\n");
        }
        text.push_str("\nCategory Breakdown:\n");
        text.push_str(&self.category_lines());
        text
    }

    /// Everything that was recorded so far, in words: bricks, tiles, the critical path of the graph, checksums. What ran
    /// a brick (its backend) this profiler is not told.
    pub fn report(&self) -> String {
        let mut text = self.summary();
        if self.all_tile_stats().iter().any(|tiles| tiles.count > 0) {
            let _ = write!(text, "\n{}", self.tile_summary());
        }
        if self.execution_graph().num_nodes() > 0 {
            let path = self.execution_graph().critical_path_summary();
            let _ = write!(text, "\n{path}");
        }
        let checksums = self.get_checksums().len();
        if checksums > 0 {
            let _ = writeln!(text, "\n{checksums} checksums");
        }
        text
    }

    /// The sums as JSON. What was not measured is null: times of bricks that have none, rates, ratios. Durations are in
    /// nanoseconds and microseconds, `throughput` in elements a second, `pct` of the summed durations of all bricks.
    pub fn to_json(&self) -> String {
        let total_ns = self.total_ns();
        let bricks = self.longest_first().into_iter().map(|stats| {
            let is_timed = stats.timed() > 0;
            let has_bytes = stats.total_bytes > 0;
            let is_packed = has_bytes && stats.total_compressed_bytes > 0;
            json!({
                "name": stats.name,
                "count": stats.count,
                "bound": stats.bound,
                "total_ns": is_timed.then_some(stats.total_ns),
                "avg_us": if_known(is_timed, stats.avg_us()),
                "min_us": if_known(is_timed, stats.min_us()),
                "max_us": if_known(is_timed, stats.max_us()),
                "throughput": if_known(stats.total_ns > 0, stats.throughput()),
                "pct": share(stats.total_ns, total_ns).filter(|_| is_timed),
                "total_bytes": has_bytes.then_some(stats.total_bytes),
                "compression_ratio": if_known(is_packed, stats.compression_ratio()),
                "throughput_gbps": if_known(has_bytes && stats.total_ns > 0, stats.throughput_gbps()),
                "bottleneck": stats.bottleneck.to_string(),
            })
        });
        let bricks: Vec<Value> = bricks.collect();
        json!({
            "total_tokens": self.total_tokens(),
            "total_ns": total_ns,
            "total_throughput": if_known(total_ns > 0, self.total_throughput()),
            "bricks": bricks,
        })
        .to_string()
    }

    /// Writes [`BrickProfiler::to_json`] to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.to_json())
    }

    /// Sums of the tiles by level, in words. Levels lie in one another: their times are not to be added up. For the
    /// intensity see [`TileStats::arithmetic_intensity`].
    pub fn tile_summary(&self) -> String {
        let mut text = "=== Tile Profiling Summary ===\n".to_owned();
        text.push_str("Level       Samples    Avg µs   GFLOP/s  FLOP/B*    Elements\n");
        for stats in self.timed_tiles() {
            let _ = writeln!(
                text,
                "{:8}  {:9}  {:>8}  {:>8}  {:>7}  {:10}",
                stats.level.name(),
                stats.count,
                or_dash(if_known(true, stats.avg_us()), 1),
                or_dash(if_known(has_rate(stats), stats.gflops()), 2),
                or_dash(if_known(has_rate(stats), stats.arithmetic_intensity()), 2),
                stats.total_elements / stats.count
            );
        }
        text.push_str("* if each element is an f32 moved once; bytes are not measured\n");
        text
    }

    /// The sums of the tiles as JSON; what was not measured is null.
    pub fn tile_stats_to_json(&self) -> String {
        let tiles = self.timed_tiles().map(|stats| {
            json!({
                "level": stats.level.name(),
                "count": stats.count,
                "total_ns": stats.total_ns,
                "avg_us": stats.avg_us(),
                "min_us": stats.min_ns as f64 / 1e3,
                "max_us": stats.max_ns as f64 / 1e3,
                "gflops": if_known(has_rate(stats), stats.gflops()),
                "arithmetic_intensity": if_known(has_rate(stats), stats.arithmetic_intensity()),
                "assumed_bytes_per_element": 4,
                "total_elements": stats.total_elements,
                "total_flops": stats.total_flops,
            })
        });
        let tiles: Vec<Value> = tiles.collect();
        json!({
            "tile_profiling_enabled": self.is_tile_profiling_enabled(),
            "tiles": tiles,
        })
        .to_string()
    }

    fn timed_tiles(&self) -> impl Iterator<Item = &TileStats> {
        self.all_tile_stats().iter().filter(|stats| stats.count > 0)
    }

    fn longest_first(&self) -> Vec<&BrickStats> {
        let mut bricks: Vec<&BrickStats> = self.all_brick_stats().collect();
        bricks.sort_by_key(|stats| std::cmp::Reverse(stats.total_ns));
        bricks
    }

    fn category_lines(&self) -> String {
        let (sums, total_ns) = (self.category_stats(), self.total_ns());
        let mut lines = String::new();
        for category in BrickCategory::ALL {
            let sums: &CategoryStats = &sums[category as usize];
            if sums.count == 0 {
                continue;
            }
            let mean = or_dash(if_known(sums.count > sums.bound, sums.avg_us()), 2);
            let share = or_dash(share(sums.total_ns, total_ns), 1);
            let count = sums.count;
            let _ = writeln!(
                lines,
                "  {category:12} {mean:>8}µs avg ({share:>5}%) [{count} samples]"
            );
        }
        lines
    }
}

fn has_rate(stats: &TileStats) -> bool {
    stats.total_ns > 0 && stats.total_flops > 0
}

/// Per cent; `None` if the whole is 0.
fn share(part_ns: u64, whole_ns: u64) -> Option<f64> {
    (whole_ns > 0).then(|| 100.0 * part_ns as f64 / whole_ns as f64)
}
