//! One row for each level.

use std::collections::BTreeSet;

use trueno_analysis::roofline::model::{Achieved, Place};
use trueno_analysis::share;

use crate::load::LevelName;
use crate::sums::Sums;
use crate::sweep::Sum;

#[derive(Clone, Debug, Default)]
pub struct Level {
    pub name: String,
    pub sum: Sum,
    /// Exclusive time of all levels.
    pub all_ns: i64,
    /// Sum of declared FLOPs; `None` if none are declared.
    pub flops: Option<f64>,
    /// Sum of declared bytes; `None` if none are declared.
    pub bytes: Option<f64>,
    /// Time of the tiles that declare both.
    pub work_ns: i64,
    /// FLOPs and bytes of the tiles that declare both.
    pub work: (f64, f64),
    /// Time of the tiles that declare FLOPs, and of those that declare bytes.
    pub declared_ns: (i64, i64),
    pub with_both: u64,
    /// Longest inclusive time of a thread over the mean of the threads with tiles; `None` for a single thread.
    pub imbalance: Option<f64>,
    /// Sampling period: one in this many tiles is recorded.
    pub sampled_every: u32,
    /// Cost of recording over the inclusive time.
    pub recorder_share: Option<f64>,
    /// The memory whose bandwidth limits the level.
    pub memory: Option<String>,
    /// Assumptions behind the choice of the roof.
    pub assumed: Option<String>,
    pub achieved: Option<Achieved>,
    pub place: Option<Place>,
    /// Why the level has no place under the roof, or an impossible one.
    pub reason: Option<String>,
    /// Why the measured ceiling that limits the level is doubtful.
    pub doubt: Option<String>,
}

impl Level {
    /// The level's name as used in table names.
    pub fn plain_name(&self) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        };
        self.name.chars().map(plain).collect()
    }

    /// FLOP/s and bytes/s of the tiles that declare both. If no tile does, each rate is of the tiles that
    /// declare it.
    pub fn rates(&self) -> (Option<f64>, Option<f64>) {
        let rate = |sum: Option<f64>, dur_ns: i64| {
            let sum = sum.filter(|sum| *sum > 0.0 && dur_ns > 0)?;
            Some(sum / (dur_ns as f64 / 1e9))
        };
        if self.with_both > 0 {
            let (flops, bytes) = self.work;
            (
                rate(Some(flops), self.work_ns),
                rate(Some(bytes), self.work_ns),
            )
        } else {
            (
                rate(self.flops, self.declared_ns.0),
                rate(self.bytes, self.declared_ns.1),
            )
        }
    }

    pub fn pack_share(&self) -> Option<f64> {
        share(self.sum.pack_ns, self.sum.inclusive_ns)
    }
}

/// Sums over threads. `cost_ns` is the recorder's cost of a recorded tile.
pub fn levels(sums: &Sums, cost_ns: Option<f64>) -> Vec<Level> {
    let rows = || sums.threads.values().flatten();
    let add = |all: i64, ns: i64| all.saturating_add(ns);
    let all_ns = rows().map(|(_, sum)| sum.exclusive_ns).fold(0, add);
    let names: BTreeSet<&LevelName> = rows().map(|(level, _)| level).collect();
    let level = |level: &LevelName| {
        let of_threads = || rows().filter(|row| row.0 == level).map(|row| row.1);
        let ns = |of: fn(&Sum) -> i64| of_threads().map(of).fold(0, add);
        let count = |of: fn(&Sum) -> u64| of_threads().map(of).fold(0, u64::saturating_add);
        let longest_ns = of_threads().map(|sum| sum.inclusive_ns).max();
        let (inclusive_ns, threads) = (ns(|sum| sum.inclusive_ns), sums.threads.len());
        let recorded = count(|sum| sum.recorded);
        Level {
            name: level.as_str().to_owned(),
            sum: Sum {
                tiles: count(|sum| sum.tiles),
                recorded,
                exclusive_ns: ns(|sum| sum.exclusive_ns),
                inclusive_ns,
                pack_ns: ns(|sum| sum.pack_ns),
            },
            all_ns,
            imbalance: (threads > 1 && inclusive_ns > 0)
                .then(|| longest_ns.unwrap_or(0) as f64 * threads as f64 / inclusive_ns as f64),
            recorder_share: cost_ns
                .map(|cost_ns| cost_ns * recorded as f64 / inclusive_ns as f64)
                .filter(|share| share.is_finite()),
            ..declared(sums, level)
        }
    };
    names.into_iter().map(level).collect()
}

/// Sums what the tiles of a level declare. The sums are integers, so they do not depend on the order of tiles.
fn declared(sums: &Sums, level: &LevelName) -> Level {
    let (mut flops, mut bytes) = (None, None);
    let (mut flops_ns, mut bytes_ns, mut both_ns) = (0_i128, 0_i128, 0_i128);
    let mut both = (0_u128, 0_u128);
    let mut out = Level {
        sampled_every: 1,
        ..Level::default()
    };
    let groups = sums.work.iter().filter(|(work, _)| work.level == *level);
    for (work, group) in groups {
        for (weight, durations) in &group.durations {
            let each = durations.iter();
            let each = each.map(|(ns, count)| i128::from(ns).saturating_mul(i128::from(count)));
            let dur_ns = each.fold(0, i128::saturating_add);
            let dur_ns = dur_ns.saturating_mul(i128::from(*weight));
            let tiles = u128::from(*weight) * u128::from(durations.len());
            let all = |of: u64| u128::from(of).saturating_mul(tiles);
            let add = |to: &mut i128| *to = to.saturating_add(dur_ns);
            if let Some(of) = work.flops {
                add(&mut flops_ns);
                flops = Some(flops.unwrap_or(0_u128).saturating_add(all(of)));
            }
            if let Some(of) = work.bytes {
                add(&mut bytes_ns);
                bytes = Some(bytes.unwrap_or(0_u128).saturating_add(all(of)));
            }
            if let (Some(of_flops), Some(of_bytes)) = (work.flops, work.bytes) {
                add(&mut both_ns);
                out.with_both = out.with_both.saturating_add(durations.len());
                both.0 = both.0.saturating_add(all(of_flops));
                both.1 = both.1.saturating_add(all(of_bytes));
            }
            out.sampled_every = out.sampled_every.max(*weight);
        }
    }
    Level {
        flops: flops.map(|sum| sum as f64),
        bytes: bytes.map(|sum| sum as f64),
        work: (both.0 as f64, both.1 as f64),
        work_ns: clamped(both_ns),
        declared_ns: (clamped(flops_ns), clamped(bytes_ns)),
        ..out
    }
}

/// Clamped to the range of `i64`.
pub(crate) fn clamped(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
