//! Tiles that took far longer than others of the same level and the same declared work.

use std::cmp::Reverse;

use trueno_analysis::value_counts::ValueCounts;

use crate::levels::clamped;
use crate::load::LevelName;
use crate::sums::Sums;

/// Least distance of an outlier above the median, in median absolute deviations.
pub const MIN_DEVIATIONS: f64 = 5.0;
/// The deviation counts as at least this share of the median: equal durations would make all others outliers.
pub const MIN_SPREAD: f64 = 0.05;
/// Fewer tiles have no usual duration.
pub const MIN_TILES: u64 = 8;

/// A tile that may be an outlier.
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

/// The longest tiles of one work. As an outlier is the further the longer it is, all that are listed are among them,
/// wherever the median of all tiles lies.
#[derive(Clone, Debug)]
pub struct Longest {
    tiles: Vec<LongTile>,
    /// Shorter ones are none of them.
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
    /// Adds a tile, of which `limit` are wanted.
    pub fn add(&mut self, tile: LongTile, limit: usize) {
        if limit == 0 || tile.dur_ns < self.min_ns {
            return;
        }
        self.tiles.push(tile);
        if self.tiles.len() >= limit.saturating_mul(2).max(64) {
            self.shorten(limit);
        }
    }

    /// Leaves the `limit` longest, of equal ones the first by id, in that order.
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
    /// Of the tiles it is compared with; the lower of the two in the middle.
    pub median_ns: i64,
    /// Distance from the median / deviation.
    pub deviations: f64,
}

/// All that were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outliers {
    /// The furthest first; not all.
    pub listed: Vec<Outlier>,
    pub count: u64,
    /// Their time beyond the medians.
    pub excess_ns: i64,
}

/// Usual duration of one work.
struct Usual {
    median_ns: i64,
    spread_ns: f64,
}

impl Usual {
    /// `None` of too few.
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

    /// Time beyond the median, and how far that is, of an outlier.
    fn excess(&self, dur_ns: i64) -> Option<(i64, f64)> {
        let excess_ns = dur_ns.saturating_sub(self.median_ns);
        let deviations = excess_ns as f64 / self.spread_ns;
        (deviations > MIN_DEVIATIONS).then_some((excess_ns, deviations))
    }
}

/// Finds them; lists at most `limit`.
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
