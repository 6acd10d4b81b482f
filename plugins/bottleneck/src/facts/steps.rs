//! Results of `throughput` about iterations: where the steady state begins, which are slow, and through what. And what
//! `divergence` says of bricks.

use std::collections::BTreeMap;

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_plugin::{Result, Run};

use super::Window;
use super::bricks::count;

#[derive(Clone, Debug, PartialEq)]
pub struct SlowIteration {
    pub range: (i64, i64),
    /// The name that caused it, and its excess in nanoseconds; `None`: no single name did.
    pub by: Option<(String, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// `None`: there is no steady state, or it is unknown.
    pub steady_ns: Option<i64>,
    pub warm_up: IntervalSet<i64>,
    pub warming: u64,
    pub steady: u64,
    steady_times: IntervalSet<i64>,
    pub slow: Vec<SlowIteration>,
    slow_times: IntervalSet<i64>,
    /// Iterations of the longest series, clipped to the window.
    ranges: Vec<(i64, i64)>,
}

const MIN_RECURRING: usize = 3;
/// If one iteration has at least this share of the time, it does not recur.
const MOSTLY_IN_ONE: f64 = 0.75;

impl Steps {
    /// Reads input `iterations`.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn load(run: &mut Run, window: &Window) -> Result<Self> {
        let mut out = Self::default();
        let (mut warm_up, mut steady) =
            <(IntervalSetBuilder<i64>, IntervalSetBuilder<i64>)>::default();
        let table = run.table("iterations")?;
        let (wall, start) = (table.i64("wall_ns")?, table.i64("start_ns")?);
        let (phase, outlier) = (table.text("phase")?, table.text("outlier")?);
        let (name, excess) = (table.text("slow_name")?, table.f64("slow_excess_ns")?);
        let series = table.text("series")?;
        let mut by_series: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
        for row in 0..table.rows() {
            let (Some(wall_ns), Some(start_ns)) = (wall.get(row), start.get(row)) else {
                continue;
            };
            let range = (start_ns, start_ns.saturating_add(wall_ns.max(0)));
            if let Some(range) = window.cut(range.0, range.1) {
                let of_series = by_series.entry(series.get(row).unwrap_or("")).or_default();
                of_series.push(range);
            }
            match phase.get(row) {
                Some("warm-up") => {
                    warm_up.add(range.0, range.1);
                    out.warming += 1;
                }
                Some("steady") => {
                    let first_ns = out.steady_ns.get_or_insert(start_ns);
                    *first_ns = start_ns.min(*first_ns);
                    steady.add(range.0, range.1);
                    out.steady += 1;
                }
                _ => {}
            }
            if outlier.get(row) == Some("slow") {
                let by = name.get(row).map(str::to_owned).zip(excess.get(row));
                out.slow.push(SlowIteration { range, by });
            }
        }
        (out.warm_up, out.steady_times) = (warm_up.finish(), steady.finish());
        let longest = by_series.into_values().reduce(|most, other| {
            if other.len() > most.len() {
                other
            } else {
                most
            }
        });
        out.ranges = longest.unwrap_or_default();
        out.slow_times = out.slow.iter().map(|slow| slow.range).collect();
        Ok(out)
    }

    /// Returns whether nearly all of `times` inside iterations is in a single one.
    pub fn is_in_one(&self, times: &IntervalSet<i64>) -> bool {
        let each = self.ranges.iter();
        let each: Vec<i64> = each
            .map(|range| times.within_ns(range.0, range.1))
            .collect();
        let all_ns = each.iter().copied().fold(0, i64::saturating_add);
        let most_ns = each.iter().copied().max().unwrap_or(0);
        each.len() >= MIN_RECURRING && most_ns as f64 >= MOSTLY_IN_ONE * all_ns.max(1) as f64
    }

    /// Share of `times` before the steady state; `None`: unknown, or `times` is empty.
    pub fn before_steady(&self, times: &IntervalSet<i64>) -> Option<f64> {
        let (steady_ns, all_ns) = (self.steady_ns?, times.total_ns());
        let before_ns = times.within_ns(i64::MIN, steady_ns);
        (all_ns > 0).then(|| before_ns as f64 / all_ns as f64)
    }

    /// Two shares: of `times` in steady iterations, the part in slow ones; and of all steady time, the part in
    /// slow ones.
    pub fn in_slow(&self, times: &IntervalSet<i64>) -> Option<(f64, f64)> {
        let of_steady = times.common_ns(&self.steady_times);
        let (slow_ns, all_ns) = (self.slow_times.total_ns(), self.steady_times.total_ns());
        let of_slow = times.common_ns(&self.slow_times);
        (of_steady > 0 && slow_ns > 0).then(|| {
            (
                of_slow as f64 / of_steady as f64,
                slow_ns as f64 / all_ns as f64,
            )
        })
    }

    pub fn caused_by(&self, name: &str) -> Option<(u64, f64)> {
        let of = self.slow.iter().filter_map(|slow| slow.by.as_ref());
        let of = of.filter(|by| by.0 == name);
        let (n, ns) = of.fold((0, 0.0), |(n, ns), by| (n + 1, ns + by.1));
        (n > 0).then_some((n, ns))
    }
}

/// Reads input `diverged`.
///
/// # Errors
/// It lacks a column or has it in another type.
pub fn diverged(run: &mut Run) -> Result<BTreeMap<String, u64>> {
    let table = run.table("diverged")?;
    let brick = table.text("brick")?;
    let mut out = BTreeMap::new();
    for row in 0..table.rows() {
        if let Some(brick) = brick.get(row) {
            out.insert(brick.to_owned(), count(&table, "tensors", row)?);
        }
    }
    Ok(out)
}
