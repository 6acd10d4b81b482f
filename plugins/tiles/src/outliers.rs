//! Tiles that took far longer than others of the same level and the same declared work.

use std::collections::BTreeMap;

use trueno_analysis::quantiles::lower_median;

use crate::load::{Loaded, Tile};

/// Least distance of an outlier above the median, in median absolute deviations.
pub const MIN_DEVIATIONS: f64 = 5.0;
/// The deviation counts as at least this share of the median: equal durations would make all others outliers.
pub const MIN_SPREAD: f64 = 0.05;
/// Fewer tiles have no usual duration.
pub const MIN_TILES: usize = 8;

/// One outlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The tile.
    pub tile: Tile,
    /// Its thread.
    pub thread: i64,
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
    /// Number of outliers.
    pub count: u64,
    /// Their time beyond the medians.
    pub excess_ns: i64,
}

/// Finds them; lists at most `limit`.
pub fn outliers(loaded: &Loaded, limit: usize) -> Outliers {
    type Work = (u32, Option<u64>, Option<u64>);
    let work = |tile: &Tile| -> Work { (tile.level, tile.flops, tile.bytes) };
    let mut groups: BTreeMap<Work, Vec<i64>> = BTreeMap::new();
    for tile in loaded.threads.values().flatten() {
        groups.entry(work(tile)).or_default().push(tile.dur_ns());
    }
    // Median and deviation of each group that has them.
    let mut usual: BTreeMap<Work, (i64, f64)> = BTreeMap::new();
    for (work, mut durations) in groups {
        if durations.len() < MIN_TILES {
            continue;
        }
        let Some(median_ns) = lower_median(&mut durations) else {
            continue;
        };
        for dur_ns in &mut durations {
            *dur_ns = (*dur_ns - median_ns).abs();
        }
        let deviation_ns = lower_median(&mut durations).unwrap_or(0);
        let spread = (deviation_ns as f64).max(median_ns as f64 * MIN_SPREAD);
        if spread > 0.0 {
            usual.insert(work, (median_ns, spread));
        }
    }
    let mut out = Outliers::default();
    for (thread, tiles) in &loaded.threads {
        for tile in tiles {
            let Some(&(median_ns, spread)) = usual.get(&work(tile)) else {
                continue;
            };
            let deviations = (tile.dur_ns() - median_ns) as f64 / spread;
            if deviations > MIN_DEVIATIONS {
                out.count += 1;
                out.excess_ns += tile.dur_ns() - median_ns;
                out.listed.push(Outlier {
                    tile: *tile,
                    thread: *thread,
                    median_ns,
                    deviations,
                });
            }
        }
    }
    out.listed.sort_by(|a, b| {
        let by_distance = b.deviations.total_cmp(&a.deviations);
        by_distance.then(a.tile.id.cmp(&b.tile.id))
    });
    out.listed.truncate(limit);
    out
}
