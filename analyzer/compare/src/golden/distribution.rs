//! Quantiles in place of durations.

use trueno_analysis::quantiles::interpolated;
use trueno_statistics::{Random, Sampled, autocorrelation};

pub const LEVELS: [f64; 23] = [
    0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75,
    0.8, 0.85, 0.9, 0.95, 0.99, 1.0,
];

#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// At [`LEVELS`], in nanoseconds with four significant digits. Empty if nothing had a duration.
    pub quantiles_ns: Vec<f64>,
    /// Variance inflation: how many samples, in order of time, are worth one independent sample.
    pub inflation: f64,
}

impl Distribution {
    /// `samples` are in order of time.
    pub fn from_samples(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantiles_ns = match sorted.as_slice() {
            [] => Vec::new(),
            sorted => LEVELS
                .map(|level| digits(interpolated(sorted, level), 4))
                .to_vec(),
        };
        Self {
            quantiles_ns,
            inflation: digits(autocorrelation::estimate(&[samples]).inflation, 3),
        }
    }

    pub fn quantile(&self, share: f64) -> Option<f64> {
        let upper = LEVELS.iter().position(|level| *level >= share)?;
        let (high, lower) = (*self.quantiles_ns.get(upper)?, upper.saturating_sub(1));
        let (low, from, to) = (self.quantiles_ns[lower], LEVELS[lower], LEVELS[upper]);
        if to <= from {
            return Some(high);
        }
        Some(low + (high - low) * (share - from) / (to - from))
    }

    /// `count` samples with this distribution and the same autocorrelation as the original samples. They are
    /// quantiles in the order of ranks of a first-order autoregression with coefficient (i − 1) / (i + 1),
    /// where i is the inflation.
    pub fn samples(&self, count: usize, random: &mut Random) -> Vec<f64> {
        let phi = (self.inflation - 1.0) / (self.inflation + 1.0);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut state = normal();
        let mut series: Vec<(f64, usize)> = Vec::with_capacity(count);
        for nth in 0..count {
            series.push((state, nth));
            state = phi * state + (1.0 - phi * phi).sqrt() * normal();
        }
        series.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let last = count.saturating_sub(1).max(1) as f64;
        let mut samples = vec![0.0; count];
        for (rank, (_, nth)) in series.into_iter().enumerate() {
            samples[nth] = self.quantile(rank as f64 / last).unwrap_or(0.0);
        }
        samples
    }
}

pub(super) fn sampled(count: u64, untimed: u64, samples: Vec<f64>) -> Sampled {
    let timed = count - untimed;
    let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    let mut sampled = Sampled::from_durations(samples);
    (sampled.count, sampled.untimed) = (count, untimed);
    sampled.total_ns = mean * timed as f64;
    sampled
}

fn digits(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, "golden");
        let mut state = 0.0;
        (0..n + 50)
            .map(|_| {
                state = phi * state + (0..6).map(|_| random.unit() - 0.5).sum::<f64>();
                (1000.0 * (state * 0.05).exp()).round()
            })
            .skip(50)
            .collect()
    }

    #[test]
    fn samples_made_again_have_its_quantiles_and_its_dependence() {
        for (phi, n) in [(0.0, 50), (0.3, 200), (0.7, 1000)] {
            let own = Distribution::from_samples(&series(phi, n, 7));
            let again = own.samples(n, &mut Random::new(1, "again"));
            let back = Distribution::from_samples(&again);
            for (a, b) in own.quantiles_ns.iter().zip(&back.quantiles_ns) {
                assert!((a / b - 1.0).abs() < 0.01, "{phi}: {a} {b}");
            }
            let ratio = back.inflation / own.inflation;
            assert!((0.6..1.7).contains(&ratio), "{phi}: {own:?} {back:?}");
        }
    }

    #[test]
    fn few_samples_and_none() {
        assert!(Distribution::from_samples(&[]).quantiles_ns.is_empty());
        assert_eq!(Distribution::from_samples(&[]).quantile(0.5), None);
        let one = Distribution::from_samples(&[7.0]);
        assert_eq!(one.samples(1, &mut Random::new(1, "x")), [7.0]);
        let mut two = Distribution::from_samples(&[7.0, 9.0]).samples(2, &mut Random::new(1, "x"));
        two.sort_by(f64::total_cmp);
        assert_eq!(two, [7.0, 9.0]);
    }

    #[test]
    fn digits_are_kept_from_the_left() {
        for (value, four) in [
            (0.0, 0.0),
            (7.0, 7.0),
            (12_345.0, 12_340.0),
            (123_456_789.0, 123_500_000.0),
            (1.234_56, 1.235),
        ] {
            assert_eq!(digits(value, 4), four);
        }
    }
}
