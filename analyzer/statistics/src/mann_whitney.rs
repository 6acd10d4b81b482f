//! Mann-Whitney U: samples of one side tend to be longer than those of the other.

use crate::autocorrelation::{self, Prior};
use crate::order_statistics::midranks;
use crate::t_distribution::{pooled_t, two_sided};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Cliff's delta: how much more often a sample of the run is longer than one of the base than shorter; from
    /// -1 to 1.
    pub delta: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// Two-sided Mann-Whitney U test with correction for ties. Samples of each side are by run, in order of time.
///
/// The variance is raised by the dependence of samples within a run. The tail is that of Student's t with as many
/// degrees of freedom as there would be independent samples, minus two. With three or more runs in total, runs are
/// also treated as the unit: a t test on their mean ranks, and the larger p-value counts.
pub fn mann_whitney(base: &[Vec<f64>], run: &[Vec<f64>], prior: &Prior) -> Option<MannWhitney> {
    let flat = |side: &[Vec<f64>]| side.iter().flatten().copied().collect::<Vec<f64>>();
    let (mut all, runs) = (flat(base), flat(run));
    let (n, m) = (all.len() as f64, runs.len() as f64);
    if n == 0.0 || m == 0.0 {
        return None;
    }
    all.extend(runs);
    let (ranks, ties) = midranks(&all);
    let rank_sum: f64 = ranks[n as usize..].iter().sum();
    let u = rank_sum - m * (m + 1.0) / 2.0;
    let delta = 2.0 * u / (n * m) - 1.0;
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)).max(1.0));
    let length = |side: &[Vec<f64>]| -> usize { side.iter().map(Vec::len).sum() };
    let together: Vec<&[f64]> = base.iter().chain(run).map(Vec::as_slice).collect();
    let common = prior.inflation(&autocorrelation::estimate(&together));
    // Samples that dependent ones are worth. Both sides are taken to be alike in this, unless one plainly is not.
    let worth = |side: &[Vec<f64>]| -> f64 {
        let own: Vec<&[f64]> = side.iter().map(Vec::as_slice).collect();
        let own = prior.inflation(&autocorrelation::estimate(&own));
        let inflation = if own > 2.0 * common { own } else { common };
        length(side) as f64 / inflation
    };
    let (worth_n, worth_m) = (worth(base), worth(run));
    let inflation = (1.0 / worth_n + 1.0 / worth_m) / (1.0 / n + 1.0 / m);
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    let within = if variance > 0.0 {
        two_sided(
            distance / (variance * inflation).sqrt(),
            worth_n + worth_m - 2.0,
        )
    } else {
        1.0
    };
    let between = between_runs(&ranks, base, run).unwrap_or(0.0);
    Some(MannWhitney {
        delta,
        p: within.max(between),
    })
}

/// Pooled-variance t test on the mean ranks of runs; `None` with fewer than three.
fn between_runs(ranks: &[f64], base: &[Vec<f64>], run: &[Vec<f64>]) -> Option<f64> {
    let mut at = 0;
    let mut means = |side: &[Vec<f64>]| -> Vec<f64> {
        let mut means = Vec::new();
        for samples in side.iter().filter(|samples| !samples.is_empty()) {
            let of_run = &ranks[at..at + samples.len()];
            at += samples.len();
            means.push(of_run.iter().sum::<f64>() / samples.len() as f64);
        }
        means
    };
    let (base, run) = (means(base), means(run));
    pooled_t(&base, &run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn delta_is_a_count_of_pairs(
            a in proptest::collection::vec(0..9_i32, 1..20),
            b in proptest::collection::vec(0..9_i32, 1..20),
        ) {
            let side = |values: &[i32]| vec![values.iter().copied().map(f64::from).collect::<Vec<_>>()];
            let got = mann_whitney(&side(&a), &side(&b), &Prior::NONE).unwrap();
            let pairs: i32 = b.iter().flat_map(|b| a.iter().map(move |a| (b - a).signum())).sum();
            let slow = f64::from(pairs) / (a.len() * b.len()) as f64;
            prop_assert!((got.delta - slow).abs() < 1e-12, "{} for {slow}", got.delta);
            prop_assert!((0.0..=1.0).contains(&got.p));
            // The sides change places, and the difference its sign.
            let back = mann_whitney(&side(&b), &side(&a), &Prior::NONE).unwrap();
            prop_assert!((back.delta + got.delta).abs() < 1e-12 && (back.p - got.p).abs() < 1e-9);
        }
    }

    #[test]
    fn two_runs_a_side_that_scatter_as_much_as_they_differ_prove_nothing() {
        // Many samples, all that differs is the level of a run.
        let run = |level: f64| {
            (0..50)
                .map(|i| level + f64::from(i * 37 % 50) / 100.0)
                .collect::<Vec<_>>()
        };
        let one = mann_whitney(&[run(10.0)], &[run(11.0)], &Prior::NONE).unwrap();
        assert!(one.p < 1e-6, "{one:?}");
        let two = mann_whitney(
            &[run(10.0), run(11.0)],
            &[run(11.0), run(10.5)],
            &Prior::NONE,
        )
        .unwrap();
        assert!(two.p > 0.3, "{two:?}");
        let clear = mann_whitney(
            &[run(10.0), run(10.1), run(10.05)],
            &[run(12.0), run(12.1), run(12.05)],
            &Prior::NONE,
        )
        .unwrap();
        assert!(clear.p < 1e-3 && clear.delta == 1.0, "{clear:?}");
    }
}
