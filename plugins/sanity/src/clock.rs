//! Rates of the clocks: each rank has a clock of its own, which is compared with itself only.

use trueno_analysis::quantiles::middle_pair;
use trueno_plugin::{Result, Run};

/// Shorter intervals are skipped: in them the error of the readings outweighs that of the clocks.
const MIN_INTERVAL_NS: i64 = 10_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    pub readings: u64,
    /// Largest deviation of a rate from its rank's median rate; `None` if there are too few readings.
    pub deviation: Option<f64>,
}

impl Clock {
    /// Reads inputs `clock_pairs` and `rank_clocks`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let ranked = run.table("rank_clocks")?;
        let table = run.table("clock_pairs")?;
        let table = if ranked.is_missing() { &table } else { &ranked };
        let ranks = if ranked.is_missing() {
            vec![None; table.rows()]
        } else {
            ranked.u64("rank")?.iter().collect()
        };
        let readings = table.u64("ticks")?.iter().zip(table.i64("host_ns")?.iter());
        let pairs: Vec<(Option<u64>, (u64, i64))> = ranks
            .into_iter()
            .zip(readings)
            .filter_map(|(rank, (ticks, ns))| Some((rank, (ticks?, ns?))))
            .collect();
        let mut clock = Self::default();
        for of_rank in pairs.chunk_by(|a, b| a.0 == b.0) {
            let pairs: Vec<(u64, i64)> = of_rank.iter().map(|(_, pair)| *pair).collect();
            clock.merge(&Self {
                readings: pairs.len() as u64,
                deviation: deviation(&pairs),
            });
        }
        Ok(clock)
    }

    /// Adds other ranks and keeps the worst deviation.
    pub fn merge(&mut self, other: &Self) {
        self.readings = self.readings.saturating_add(other.readings);
        let both = [self.deviation, other.deviation];
        self.deviation = both.into_iter().flatten().max_by(f64::total_cmp);
    }
}

/// Largest relative distance of a rate (ticks by ns between two readings) from the median
/// rate (the upper one of two). Readings less than [`MIN_INTERVAL_NS`] after the last are skipped.
fn deviation(pairs: &[(u64, i64)]) -> Option<f64> {
    let mut rates = Vec::new();
    let mut last = *pairs.first()?;
    for &pair in &pairs[1..] {
        let ns = pair.1.saturating_sub(last.1);
        if ns >= MIN_INTERVAL_NS {
            rates.push((pair.0 as f64 - last.0 as f64) / ns as f64);
            last = pair;
        }
    }
    if rates.len() < 2 {
        return None;
    }
    let (_, median) = middle_pair(&mut rates, f64::total_cmp)?;
    Some(
        rates
            .iter()
            .map(|rate| (rate / median - 1.0).abs())
            .fold(0.0, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_steady_clock_does_not_deviate_and_a_step_does() {
        let steady: Vec<(u64, i64)> = (0..5).map(|n| (3 * n as u64 * S as u64, n * S)).collect();
        assert_eq!(deviation(&steady), Some(0.0));
        let mut stepped = steady.clone();
        stepped[3].0 += 6_000_000;
        let found = deviation(&stepped).unwrap();
        assert!((found - 2e-3).abs() < 1e-6, "{found}");
    }

    #[test]
    fn too_few_or_too_close_readings_tell_nothing() {
        assert_eq!(deviation(&[]), None);
        assert_eq!(deviation(&[(0, 0), (3, 20_000_000)]), None);
        assert_eq!(deviation(&[(0, 0), (3, 20_000_000), (9, 20_000_900)]), None);
    }
}
