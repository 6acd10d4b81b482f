//! Yuen–Welch test: the levels of two sides differ by more than their samples scatter.
//!
//! Ranks saturate: where all samples of one side are longer, it makes no difference to them whether by 5 % or by three
//! times, and few dependent samples can never be sure. This test sees by how much.

use crate::autocorrelation::{self, Prior};
use crate::t_distribution::{pooled_t, two_sided};

/// Share trimmed at each end.
const CUT: f64 = 0.15;
/// Shorter durations count as this, because the logarithm of 0 is undefined.
const MIN_NS: f64 = 0.5;

/// Yuen's test (1974) on logarithms of durations: trimmed means, winsorised variances, Welch's degrees of freedom,
/// two-sided. Samples of each side are by run, in order of time.
///
/// Variances are raised by the dependence of samples within a run. With three or more runs in total, runs are also
/// treated as the unit: a t test on their trimmed means, and the larger p-value counts. `None` if all samples are
/// equal, or there are too few.
pub fn yuen_welch(base: &[Vec<f64>], run: &[Vec<f64>], prior: &Prior) -> Option<f64> {
    let together: Vec<&[f64]> = base.iter().chain(run).map(Vec::as_slice).collect();
    let common = prior.inflation(&autocorrelation::estimate(&together));
    // Both sides are taken to be alike in this, unless one plainly is not.
    let inflation = |side: &[Vec<f64>]| {
        let own: Vec<&[f64]> = side.iter().map(Vec::as_slice).collect();
        let own = prior.inflation(&autocorrelation::estimate(&own));
        if own > 2.0 * common { own } else { common }
    };
    let level = |samples: &[Vec<f64>], inflation: f64| {
        let logs = samples.iter().flatten().map(|ns| ns.max(MIN_NS).ln());
        Level::estimate(logs.collect(), inflation)
    };
    let (a, b) = (level(base, inflation(base))?, level(run, inflation(run))?);
    let variance = a.variance + b.variance;
    // Rounding of logarithms is no scatter.
    if variance <= 1e-24 {
        return None;
    }
    let freedom =
        variance * variance / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
    let within = two_sided((b.mean - a.mean) / variance.sqrt(), freedom);
    let means = |side: &[Vec<f64>]| -> Vec<f64> {
        let runs = side.iter().filter(|run| !run.is_empty());
        runs.filter_map(|run| Some(level(std::slice::from_ref(run), 1.0)?.mean))
            .collect()
    };
    let between = pooled_t(&means(base), &means(run)).unwrap_or(0.0);
    Some(within.max(between))
}

struct Level {
    mean: f64,
    variance: f64,
    freedom: f64,
}

impl Level {
    fn estimate(mut logs: Vec<f64>, inflation: f64) -> Option<Self> {
        let n = logs.len();
        let cut = (n as f64 * CUT).floor() as usize;
        if n < 2 * cut + 2 {
            return None;
        }
        logs.sort_by(f64::total_cmp);
        let kept = &logs[cut..n - cut];
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let winsorised = logs.iter().map(|log| log.clamp(low, high));
        let middle = winsorised.clone().sum::<f64>() / n as f64;
        let squares: f64 = winsorised.map(|log| (log - middle).powi(2)).sum();
        let h = kept.len() as f64;
        Some(Self {
            mean,
            variance: squares * inflation / (h * (h - 1.0)),
            freedom: (h / inflation - 1.0).max(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(level: f64, n: i32) -> Vec<f64> {
        (0..n)
            .map(|i| level * (1.0 + f64::from(i * 37 % n) / f64::from(n) / 10.0))
            .collect()
    }

    #[test]
    fn a_large_difference_is_sure_in_few_dependent_samples() {
        // A slow start, as programs have it, that makes samples depend on each other.
        let start = |level: f64| -> Vec<f64> {
            let mut all = vec![level * 20.0, level * 10.0, level * 2.0, level * 1.5];
            all.extend(run(level, 28));
            all
        };
        let large = yuen_welch(&[start(1700.0)], &[start(5200.0)], &Prior::NONE).unwrap();
        assert!(large < 1e-4, "{large}");
        let none = yuen_welch(&[start(1700.0)], &[start(1705.0)], &Prior::NONE).unwrap();
        assert!(none > 0.3, "{none}");
    }

    #[test]
    fn runs_that_scatter_as_much_as_they_differ_prove_nothing() {
        let p = yuen_welch(
            &[run(10.0, 50), run(11.0, 50)],
            &[run(11.0, 50), run(10.5, 50)],
            &Prior::NONE,
        );
        assert!(p.unwrap() > 0.3);
        assert_eq!(
            yuen_welch(&[vec![7.0; 20]], &[vec![7.0; 20]], &Prior::NONE),
            None
        );
        assert_eq!(
            yuen_welch(&[vec![7.0]], &[run(8.0, 20)], &Prior::NONE),
            None
        );
    }
}
