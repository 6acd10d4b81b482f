//! Tiles that took far longer than others of the same level and the same declared work.

use std::cmp::Reverse;

use trueno_analysis::value_counts::ValueCounts;

use crate::levels::clamped;
use crate::load::LevelName;
use crate::sums::Sums;

/// Minimum distance of an outlier above the median, in median absolute deviations.
pub const MIN_DEVIATIONS: f64 = 5.0;
/// Lower bound of the deviation as a share of the median. Without it, if most durations are equal, all others would
/// be outliers.
pub const MIN_SPREAD: f64 = 0.05;
/// With fewer tiles, there is no usual duration.
pub const MIN_TILES: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongTile {
    /// Unique in the run.
    pub id: u64,
    pub row: u32,
    pub col: u32,
    pub thread: i64,
    pub start_ns: i64,
    pub dur_ns: i64,
}

/// The longest tiles of one work. Longer tiles are further outliers, so these include every outlier that is listed,
/// whatever the median of all tiles is.
#[derive(Clone, Debug)]
pub struct Longest {
    tiles: Vec<LongTile>,
    /// Shorter tiles cannot be among the longest.
    min_ns: i64,
}

impl Default for Longest {
    fn default() -> Self {
        Self {
            tiles: Vec::new(),
            min_ns: i64::MIN,
        }
    }
}

impl Longest {
    /// Adds a tile, keeping the `limit` longest.
    pub fn add(&mut self, tile: LongTile, limit: usize) {
        if limit == 0 || tile.dur_ns < self.min_ns {
            return;
        }
        self.tiles.push(tile);
        if self.tiles.len() >= limit.saturating_mul(2).max(64) {
            self.shorten(limit);
        }
    }

    /// Keeps the `limit` longest, sorted; among equal ones the first by id.
    pub fn shorten(&mut self, limit: usize) {
        self.tiles
            .sort_by_key(|tile| (Reverse(tile.dur_ns), tile.id));
        self.tiles.truncate(limit);
        if let Some(last) = self.tiles.last().filter(|_| self.tiles.len() == limit) {
            self.min_ns = last.dur_ns;
        }
    }

    pub fn tiles(&self) -> &[LongTile] {
        &self.tiles
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    pub level: LevelName,
    pub tile: LongTile,
    /// Median of the tiles it is compared with. Of an even number, the lower of the middle two.
    pub median_ns: i64,
    pub deviations: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outliers {
    /// The furthest ones, sorted. May be fewer than `count`.
    pub listed: Vec<Outlier>,
    pub count: u64,
    /// Total time beyond the medians.
    pub excess_ns: i64,
}

struct Usual {
    median_ns: i64,
    spread_ns: f64,
}

impl Usual {
    fn new(durations: &ValueCounts) -> Option<Self> {
        let lower_median = |of: &ValueCounts| of.of_rank(of.len().div_ceil(2));
        let median_ns = lower_median(durations).filter(|_| durations.len() >= MIN_TILES)?;
        let mut distances = ValueCounts::default();
        for (ns, count) in durations.iter() {
            distances.add(ns.saturating_sub(median_ns).saturating_abs(), count);
        }
        let deviation_ns = lower_median(&distances).unwrap_or(0);
        let spread_ns = (deviation_ns as f64).max(median_ns as f64 * MIN_SPREAD);
        (spread_ns > 0.0).then_some(Self {
            median_ns,
            spread_ns,
        })
    }

    /// For an outlier, the time beyond the median, also in deviations.
    fn excess(&self, dur_ns: i64) -> Option<(i64, f64)> {
        let excess_ns = dur_ns.saturating_sub(self.median_ns);
        let deviations = excess_ns as f64 / self.spread_ns;
        (deviations > MIN_DEVIATIONS).then_some((excess_ns, deviations))
    }
}

/// Finds outliers, and lists at most `limit`.
pub fn outliers(sums: &Sums, limit: usize) -> Outliers {
    let mut out = Outliers::default();
    let mut all_ns = 0_i128;
    for (work, group) in &sums.work {
        let durations = group.all_durations();
        let Some(usual) = Usual::new(&durations) else {
            continue;
        };
        for (ns, count) in durations.iter() {
            if let Some((excess_ns, _)) = usual.excess(ns) {
                out.count = out.count.saturating_add(count);
                let excess_ns = i128::from(excess_ns).saturating_mul(i128::from(count));
                all_ns = all_ns.saturating_add(excess_ns);
            }
        }
        let found = group.longest.tiles().iter().filter_map(|tile| {
            Some(Outlier {
                level: work.level.clone(),
                tile: *tile,
                median_ns: usual.median_ns,
                deviations: usual.excess(tile.dur_ns)?.1,
            })
        });
        out.listed.extend(found);
    }
    out.excess_ns = clamped(all_ns);
    out.listed.sort_by(|a, b| {
        let by_distance = b.deviations.total_cmp(&a.deviations);
        by_distance.then(a.tile.id.cmp(&b.tile.id))
    });
    out.listed.truncate(limit);
    out
}
