//! Confidence interval of the ratio of two medians.

use crate::autocorrelation;
use crate::order_statistics::median;
use crate::random::Random;

/// Confidence level of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The ratio of two medians, run over base.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Ratio {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    pub fn excludes_one(self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// The ratio relative to another one that is known exactly.
    pub(crate) fn divided_by(self, other: f64) -> Self {
        Self {
            value: self.value / other,
            low: self.low / other,
            high: self.high / other,
        }
    }
}

/// Percentile bootstrap of the ratio of medians; `None` if a median is not positive.
///
/// If a side has several runs, runs are resampled. Within each run, circular blocks of consecutive samples are
/// resampled, as long as their dependence requires (Künsch 1989): 1 if they are independent.
pub fn ratio_of_medians(
    base: &[Vec<f64>],
    run: &[Vec<f64>],
    resamples: usize,
    random: &mut Random,
) -> Option<Ratio> {
    let mut base = Resampled::new(base);
    let mut run = Resampled::new(run);
    let value = positive(run.median()?)? / positive(base.median()?)?;
    let mut ratios: Vec<f64> = (0..resamples)
        .filter_map(|_| {
            let below = positive(base.draw(random)?)?;
            Some(run.draw(random)? / below)
        })
        .collect();
    if ratios.len() < resamples / 2 || ratios.is_empty() {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    Some(Ratio {
        value,
        low: at(tail).min(value),
        high: at(1.0 - tail).max(value),
    })
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

struct Resampled<'a> {
    runs: Vec<(&'a [f64], usize)>,
    drawn: Vec<f64>,
}

impl<'a> Resampled<'a> {
    fn new(runs: &'a [Vec<f64>]) -> Self {
        let runs = runs.iter().filter(|samples| !samples.is_empty());
        Self {
            runs: runs
                .map(|samples| (samples.as_slice(), block(samples)))
                .collect(),
            drawn: Vec::new(),
        }
    }

    fn median(&mut self) -> Option<f64> {
        self.drawn.clear();
        for (samples, _) in &self.runs {
            self.drawn.extend_from_slice(samples);
        }
        median(&mut self.drawn)
    }

    fn draw(&mut self, random: &mut Random) -> Option<f64> {
        self.drawn.clear();
        for i in 0..self.runs.len() {
            let chosen = if self.runs.len() > 1 {
                random.below(self.runs.len())
            } else {
                i
            };
            let (samples, block) = self.runs[chosen];
            let n = samples.len();
            let mut left = n;
            while left > 0 {
                let start = random.below(n);
                let take = block.min(left);
                let straight = take.min(n - start);
                self.drawn
                    .extend_from_slice(&samples[start..start + straight]);
                self.drawn.extend_from_slice(&samples[..take - straight]);
                left -= take;
            }
        }
        median(&mut self.drawn)
    }
}

/// Block length: (6ρ² / (1 − ρ²)²)^⅓ n^⅓, the optimum for the variance of a mean of a first-order autoregression
/// (Carlstein 1986 and Künsch 1989), at most a fifth of the run.
fn block(samples: &[f64]) -> usize {
    let n = samples.len();
    let rho = autocorrelation::estimate(&[samples]).lag_one;
    let best = (6.0 * rho * rho / (1.0 - rho * rho).powi(2)).cbrt() * (n as f64).cbrt();
    (best.ceil() as usize).clamp(1, (n / 5).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, level: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, "noise");
        (0..n)
            .map(|_| level * (1.0 + 0.1 * (random.unit() - 0.5)))
            .collect()
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let held = (0..300_u64).filter(|seed| {
            let (base, run) = (noise(60, 100.0, *seed), noise(60, 110.0, seed + 10_000));
            let ratio =
                ratio_of_medians(&[base], &[run], 400, &mut Random::new(*seed, "test")).unwrap();
            ratio.low <= 1.1 && 1.1 <= ratio.high
        });
        let held = held.count() as f64 / 300.0;
        assert!((0.91..0.995).contains(&held), "{held}");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_a_zero_median_none() {
        let (base, run) = (vec![noise(30, 10.0, 1)], vec![noise(30, 20.0, 2)]);
        let once = |seed| ratio_of_medians(&base, &run, 200, &mut Random::new(seed, "x"));
        assert_eq!(once(1), once(1));
        assert_ne!(once(1), once(2));
        assert_eq!(
            ratio_of_medians(&[vec![0.0; 9]], &run, 200, &mut Random::new(1, "x")),
            None
        );
    }
}
