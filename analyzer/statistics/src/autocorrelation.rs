//! Autocorrelation of durations and the variance inflation it causes.
//!
//! A program's durations drift and come in phases: 50 of them may say no more than 15 independent ones would. A test
//! that takes them for independent finds differences where there are none.
//!
//! It is estimated on ranks, averaged over both sides; the bootstrap draws blocks, and tests count fewer degrees of
//! freedom. With several runs a side the run is the unit as well. 50 samples say little about it, so the estimate
//! of each name is drawn towards that of the others, as far as they agree: that found more of what is there and
//! less of what is not.

use crate::order_statistics::midranks;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Autocorrelation {
    /// Rank autocorrelation at lag one, corrected for its bias in short series; from 0 to 0.95.
    pub lag_one: f64,
    /// Variance inflation: how many samples are worth one independent sample; at least 1.
    pub inflation: f64,
    pub samples: usize,
}

/// Prior for the inflation of one name, derived from all names.
///
/// 50 samples say little about it. Underestimating it invents differences, and overestimating it hides them.
/// Logarithms of inflations are shrunk towards their mean, the more the less they scatter beyond their own error
/// and the fewer samples a name has (empirical Bayes: Efron and Morris 1975; the scatter by DerSimonian and Laird
/// 1986).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    mean: f64,
    /// Variance between names; infinite if nothing is known about other names.
    between: f64,
}

impl Prior {
    /// For names whose autocorrelation is unknown.
    pub const NONE: Self = Self {
        mean: 0.0,
        between: f64::INFINITY,
    };

    /// Estimates the prior from the autocorrelation of each name. Fewer than three names are not enough.
    pub fn estimate(names: &[Autocorrelation]) -> Self {
        if names.len() < 3 {
            return Self::NONE;
        }
        let weights = || names.iter().map(|name| 1.0 / error(name));
        let logs = || names.iter().map(|name| name.inflation.ln());
        let total: f64 = weights().sum();
        let squares: f64 = weights().map(|weight| weight * weight).sum();
        let mean = weights().zip(logs()).map(|(w, log)| w * log).sum::<f64>() / total;
        let scatter: f64 = weights()
            .zip(logs())
            .map(|(w, log)| w * (log - mean).powi(2))
            .sum();
        let beyond = scatter - (names.len() - 1) as f64;
        Self {
            mean,
            between: (beyond / (total - squares / total)).max(0.0),
        }
    }

    pub fn inflation(&self, of: &Autocorrelation) -> f64 {
        if self.between.is_infinite() {
            return of.inflation;
        }
        let own = self.between / (self.between + error(of));
        // One standard deviation of what is left in doubt is added: too little costs more than too much.
        let doubt = (own * error(of)).sqrt();
        let log = self.mean + own * (of.inflation.ln() - self.mean) + doubt;
        log.exp().max(1.0)
    }
}

/// Variance of the logarithm of an inflation, from that of ρ: (1 − ρ²) / n (Bartlett 1946).
fn error(of: &Autocorrelation) -> f64 {
    4.0 / ((1.0 - of.lag_one * of.lag_one) * of.samples.max(1) as f64)
}

/// Estimates the autocorrelation of samples of runs of one program, each in order of time. It uses ranks, so that
/// rare long samples do not hide it. Autocorrelations are averaged over the runs, because one short run says
/// little.
///
/// The inflation is the larger of two estimates of 1 + 2 Σ ρ(k): Geyer's initial monotone sequence (1992), and that
/// of a first-order autoregression. A quarter of its standard error is added.
pub fn estimate(runs: &[&[f64]]) -> Autocorrelation {
    let series: Vec<Vec<f64>> = runs.iter().filter_map(|run| centred_ranks(run)).collect();
    let n: usize = series.iter().map(Vec::len).sum();
    let variance: f64 = series.iter().flatten().map(|rank| rank * rank).sum();
    if n == 0 || variance == 0.0 {
        return Autocorrelation {
            lag_one: 0.0,
            inflation: 1.0,
            samples: n,
        };
    }
    let at_lag = |lag: usize| -> f64 {
        let of_one = |ranks: &Vec<f64>| -> f64 {
            let later = ranks.get(lag..).unwrap_or(&[]);
            ranks.iter().zip(later).map(|(a, b)| a * b).sum()
        };
        series.iter().map(of_one).sum::<f64>() / variance
    };
    let length = n as f64 / series.len() as f64;
    let raw = at_lag(1);
    // Of a first-order autoregression the estimate is too small by (1 + 3ρ) / n (Marriott and Pope 1954).
    let lag_one = (raw + (1.0 + 3.0 * raw.max(0.0)) / length).clamp(0.0, 0.95);
    let autoregressive = (1.0 + lag_one) / (1.0 - lag_one);
    let (mut geyer, mut last, mut lag) = (-1.0, f64::INFINITY, 0);
    while lag < (length / 3.0) as usize {
        let pair = (at_lag(lag) + at_lag(lag + 1)).min(last);
        if pair <= 0.0 {
            break;
        }
        geyer += 2.0 * pair;
        last = pair;
        lag += 2;
    }
    // A quarter of a standard error of the estimate, by that of ρ, is added: too little costs more than too much.
    let doubt = 0.5 / ((1.0 - lag_one * lag_one) * n as f64).sqrt();
    let inflation = f64::max(geyer, autoregressive) * (1.0 + doubt);
    // No series is worth less than two samples.
    let inflation = inflation.clamp(1.0, (length / 2.0).max(1.0));
    Autocorrelation {
        lag_one,
        inflation,
        samples: n,
    }
}

/// `None` if too short.
fn centred_ranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < 4 {
        return None;
    }
    let (mut ranks, _) = midranks(values);
    // Runs of different lengths count by their samples, not by the size of their ranks.
    let n = values.len() as f64;
    ranks
        .iter_mut()
        .for_each(|rank| *rank = (*rank - (n + 1.0) / 2.0) / n);
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn series(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, "series");
        let mut state = 0.0;
        let mut step = || {
            state = phi * state + (0..6).map(|_| random.unit() - 0.5).sum::<f64>();
            state
        };
        (0..100).for_each(|_| {
            step();
        });
        (0..n).map(|_| step()).collect()
    }

    #[test]
    fn an_autoregression_is_worth_what_theory_says() {
        let mean = |phi: f64| {
            let all = (0..50).map(|seed| estimate(&[&series(phi, 2000, seed)]).inflation);
            all.sum::<f64>() / 50.0
        };
        for (phi, least, most) in [(0.0, 1.0, 1.15), (0.5, 2.7, 3.5), (0.8, 7.5, 10.5)] {
            let got = mean(phi);
            assert!((least..most).contains(&got), "{phi}: {got}");
        }
    }

    #[test]
    fn names_that_are_alike_tell_of_each_other_and_others_do_not() {
        let names = |phis: &dyn Fn(u64) -> f64| -> Vec<Autocorrelation> {
            let one = |seed| estimate(&[&series(phis(seed), 100, seed)]);
            (0..40).map(one).collect()
        };
        let spread = |names: &[Autocorrelation]| {
            let prior = Prior::estimate(names);
            let logs = |of: &dyn Fn(&Autocorrelation) -> f64| -> f64 {
                let logs: Vec<f64> = names.iter().map(|name| of(name).ln()).collect();
                let mean = logs.iter().sum::<f64>() / logs.len() as f64;
                logs.iter().map(|log| (log - mean).powi(2)).sum()
            };
            logs(&|name| prior.inflation(name)) / logs(&|name| name.inflation)
        };
        // Their estimates scatter by chance alone, and lose nearly all of that.
        let alike = spread(&names(&|_| 0.3));
        assert!(alike < 0.3, "{alike}");
        // These are what they are.
        let different = spread(&names(&|seed| if seed % 2 == 0 { 0.0 } else { 0.8 }));
        assert!(different > 0.8, "{different}");
        let two = &names(&|_| 0.3)[..2];
        assert_eq!(Prior::estimate(two).inflation(&two[0]), two[0].inflation);
    }

    #[test]
    fn one_value_again_and_again_is_no_evidence_of_dependence() {
        assert_eq!(estimate(&[&[3.0; 20]]).inflation, 1.0);
        assert_eq!(estimate(&[]).inflation, 1.0);
    }

    #[test]
    fn a_drift_leaves_little() {
        let drift: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(estimate(&[&drift]).inflation > 10.0);
    }
}
