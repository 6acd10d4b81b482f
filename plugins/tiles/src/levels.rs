//! One row for each level.

use trueno_analysis::roofline::model::{Achieved, Place};
use trueno_analysis::share;

use crate::load::Loaded;
use crate::sweep::Sum;

/// A level.
#[derive(Clone, Debug)]
pub struct Level {
    /// Index into [`Loaded::levels`].
    pub number: u32,
    /// Name as recorded.
    pub name: String,
    /// Over all threads.
    pub sum: Sum,
    /// Exclusive time of all levels.
    pub all_ns: i64,
    /// Sum of declared FLOPs; `None`: none is declared.
    pub flops: Option<f64>,
    /// Sum of declared bytes; `None`: none is declared.
    pub bytes: Option<f64>,
    /// Time of the tiles that declare both.
    pub work_ns: i64,
    /// FLOPs and bytes of those.
    pub work: (f64, f64),
    /// Time of the tiles that declare FLOPs, and of those that declare bytes.
    pub declared_ns: (i64, i64),
    /// Tiles that declare both.
    pub with_both: u64,
    /// Longest inclusive time of a thread / mean over threads with tiles; `None`: one thread.
    pub imbalance: Option<f64>,
    /// Sampling period N: one in N is recorded.
    pub sampled_every: u32,
    /// Cost of recording over the inclusive time.
    pub recorder_share: Option<f64>,
    /// The memory whose bandwidth is its roof.
    pub memory: Option<String>,
    /// Assumptions made to find its roof.
    pub assumed: Option<String>,
    /// Rates.
    pub achieved: Option<Achieved>,
    /// Below its roof.
    pub place: Option<Place>,
    /// The reason for no place, or one that cannot be.
    pub reason: Option<String>,
    /// Doubt about the ceiling that binds, as it was measured.
    pub doubt: Option<String>,
}

impl Level {
    /// The name of the level in names of tables.
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

    /// FLOP/s and bytes/s of the tiles that declare both; where none does, what each figure gives alone.
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

    /// Share of its time that went into packing.
    pub fn pack_share(&self) -> Option<f64> {
        share(self.sum.pack_ns, self.sum.inclusive_ns)
    }
}

/// Adds threads up.
pub fn levels(loaded: &Loaded, sums: &[Vec<Sum>]) -> Vec<Level> {
    let all_ns = sums
        .iter()
        .flatten()
        .map(|sum| sum.exclusive_ns)
        .fold(0, i64::saturating_add);
    let mut out: Vec<Level> = loaded
        .levels
        .iter()
        .zip(0..)
        .map(|(name, number)| {
            let of_threads = || sums.iter().map(|levels| levels[number as usize]);
            let add = |of: fn(Sum) -> i64| of_threads().map(of).fold(0, i64::saturating_add);
            let longest_ns = of_threads().map(|sum| sum.inclusive_ns).max().unwrap_or(0);
            let inclusive_ns = add(|sum| sum.inclusive_ns);
            Level {
                number,
                name: name.clone(),
                sum: Sum {
                    tiles: of_threads()
                        .map(|sum| sum.tiles)
                        .fold(0, u64::saturating_add),
                    recorded: of_threads()
                        .map(|sum| sum.recorded)
                        .fold(0, u64::saturating_add),
                    exclusive_ns: add(|sum| sum.exclusive_ns),
                    inclusive_ns,
                    pack_ns: add(|sum| sum.pack_ns),
                },
                all_ns,
                flops: None,
                bytes: None,
                work_ns: 0,
                work: (0.0, 0.0),
                declared_ns: (0, 0),
                with_both: 0,
                imbalance: (sums.len() > 1 && inclusive_ns > 0)
                    .then(|| longest_ns as f64 * sums.len() as f64 / inclusive_ns as f64),
                sampled_every: 1,
                recorder_share: None,
                memory: None,
                assumed: None,
                achieved: None,
                place: None,
                reason: None,
                doubt: None,
            }
        })
        .collect();
    for tile in loaded.threads.values().flatten() {
        let level = &mut out[tile.level as usize];
        let weight = f64::from(tile.weight);
        let dur_ns = i64::from(tile.weight) * tile.dur_ns();
        if let Some(flops) = tile.flops {
            level.declared_ns.0 += dur_ns;
            *level.flops.get_or_insert(0.0) += weight * flops as f64;
        }
        if let Some(bytes) = tile.bytes {
            level.declared_ns.1 += dur_ns;
            *level.bytes.get_or_insert(0.0) += weight * bytes as f64;
        }
        if let (Some(flops), Some(bytes)) = (tile.flops, tile.bytes) {
            level.with_both += 1;
            level.work_ns += dur_ns;
            level.work.0 += weight * flops as f64;
            level.work.1 += weight * bytes as f64;
        }
        level.sampled_every = level.sampled_every.max(tile.weight);
    }
    out.retain(|level| level.sum.tiles > 0);
    for level in &mut out {
        let inclusive_ns = level.sum.inclusive_ns as f64;
        level.recorder_share = loaded
            .cost_ns
            .map(|cost_ns| cost_ns * level.sum.recorded as f64 / inclusive_ns)
            .filter(|share| share.is_finite());
    }
    out
}
