//! From samples to a verdict.
//!
//! A name is slower by three agreements: Yuen's test of trimmed means of logarithms, corrected for the number of
//! names, which sees by how much (ranks saturate: 32 dependent samples could not tell a factor of three among 40
//! names); Mann-Whitney U; and an interval of the ratio of medians without 1, with the median beyond the threshold.
//! *Same* needs the interval within it.

use serde::Serialize;

use crate::autocorrelation::{self, Autocorrelation, Prior};
use crate::bootstrap::{Ratio, ratio_of_medians};
use crate::mann_whitney::mann_whitney;
use crate::order_statistics::median;
use crate::random::Random;
use crate::samples::{Name, Sampled};
use crate::yuen_welch::yuen_welch;
use crate::{Options, benjamini_hochberg};

/// Fewer samples a side say nothing.
pub const MIN_SAMPLES: usize = 8;

/// Outcome for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Longer by more than the threshold, and not by chance.
    Slower,
    /// Shorter by more than the threshold, and not by chance.
    Faster,
    /// The samples do not decide it.
    CannotTell,
    /// Any difference is within the threshold.
    Same,
}

impl Verdict {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::CannotTell => "cannot tell",
            Verdict::Same => "same",
        }
    }
}

/// One name on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The name.
    #[serde(flatten)]
    pub name: Name,
    /// The verdict; see [`Verdict`].
    pub verdict: Verdict,
    /// The reason why it cannot be told.
    pub why: Option<String>,
    /// Median of the base, nanoseconds.
    pub base_median_ns: Option<f64>,
    /// Median of the run.
    pub run_median_ns: Option<f64>,
    /// Ratio of the medians, run over base, with its interval.
    pub ratio: Option<Ratio>,
    /// Cliff's delta.
    pub delta: Option<f64>,
    /// Probability of the test of levels.
    pub p: Option<f64>,
    /// p-value adjusted for the number of names.
    pub q: Option<f64>,
    /// Probability of the rank test.
    pub rank_p: Option<f64>,
    /// Samples of the base that were looked at.
    pub base_samples: usize,
    /// Samples of the run.
    pub run_samples: usize,
    /// Rows with a duration in the base, all runs.
    pub base_count: u64,
    /// Rows in the run.
    pub run_count: u64,
    /// Mean over runs of the sum of durations, base, nanoseconds.
    pub base_total_ns: f64,
    /// Total time in the run.
    pub run_total_ns: f64,
}

impl Compared {
    /// Tells a name that was tested, whatever came of it.
    pub fn is_tested(&self) -> bool {
        self.p.is_some()
    }
}

/// One name: its rows in each run of either side, and the largest step of the clocks.
pub struct Pair<'a> {
    /// The name.
    pub name: &'a Name,
    /// Its rows in each run of the base.
    pub base: Vec<&'a Sampled>,
    /// Its rows in each run of the other side.
    pub run: Vec<&'a Sampled>,
    /// Largest step of the clocks, where one is stated.
    pub step_ns: Option<f64>,
}

/// Verdicts on all names at once: those that differ are found among all of them.
pub fn verdicts(pairs: &[Pair<'_>], options: &Options) -> Vec<Compared> {
    let estimates: Vec<_> = pairs.iter().filter_map(Pair::autocorrelation).collect();
    let prior = Prior::estimate(&estimates);
    let mut all: Vec<Compared> = pairs
        .iter()
        .map(|pair| measure(pair, &prior, options))
        .collect();
    let tested: Vec<usize> = (0..all.len()).filter(|i| all[*i].is_tested()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|i| all[*i].p).collect();
    for (i, q) in tested.iter().zip(benjamini_hochberg::adjust(&p)) {
        all[*i].q = Some(q);
        let step_ns = pairs[*i].step_ns();
        let (verdict, why) = judge(&all[*i], q, step_ns, options);
        all[*i].verdict = verdict;
        all[*i].why = why;
    }
    all
}

impl Pair<'_> {
    /// Step of the clocks as they state it, or as durations show it where that is more: the
    /// smallest difference between any two of a side that differ. Recorders that round (Kineto to
    /// microseconds) and counters that advance in larger steps than they are read in do not say so.
    fn step_ns(&self) -> Option<f64> {
        let seen = [&self.base, &self.run].into_iter().filter_map(|side| {
            let mut all: Vec<f64> = side
                .iter()
                .flat_map(|run| run.durations.iter().copied())
                .collect();
            all.sort_by(f64::total_cmp);
            let steps = all.windows(2).map(|two| two[1] - two[0]);
            steps.filter(|step| *step > 0.0).min_by(f64::total_cmp)
        });
        let seen = seen.min_by(f64::total_cmp);
        self.step_ns.into_iter().chain(seen).max_by(f64::total_cmp)
    }

    /// Autocorrelation over all its runs; `None`: too few samples to be tested.
    fn autocorrelation(&self) -> Option<Autocorrelation> {
        let length = |side: &[&Sampled]| side.iter().map(|run| run.durations.len()).sum::<usize>();
        let runs = self.base.iter().chain(&self.run);
        let runs: Vec<&[f64]> = runs.map(|run| run.durations.as_slice()).collect();
        let is_enough = length(&self.base).min(length(&self.run)) >= MIN_SAMPLES;
        is_enough.then(|| autocorrelation::estimate(&runs))
    }
}

fn measure(pair: &Pair<'_>, prior: &Prior, options: &Options) -> Compared {
    let side = |runs: &[&Sampled]| -> Vec<Vec<f64>> {
        runs.iter().map(|run| run.durations.clone()).collect()
    };
    let (base, run) = (side(&pair.base), side(&pair.run));
    let flat_median = |side: &[Vec<f64>]| median(&mut side.concat());
    let samples = |side: &[Vec<f64>]| side.iter().map(Vec::len).sum();
    let count = |side: &[&Sampled]| side.iter().map(|run| run.timed()).sum::<u64>();
    let total = |side: &[&Sampled]| {
        side.iter().map(|run| run.total_ns).sum::<f64>() / side.len().max(1) as f64
    };
    let mut compared = Compared {
        name: pair.name.clone(),
        verdict: Verdict::CannotTell,
        why: None,
        base_median_ns: flat_median(&base),
        run_median_ns: flat_median(&run),
        ratio: None,
        delta: None,
        p: None,
        q: None,
        rank_p: None,
        base_samples: samples(&base),
        run_samples: samples(&run),
        base_count: count(&pair.base),
        run_count: count(&pair.run),
        base_total_ns: total(&pair.base),
        run_total_ns: total(&pair.run),
    };
    compared.why = untestable(pair, &compared);
    if compared.why.is_some() {
        return compared;
    }
    let purpose = format!("bootstrap {} {}", pair.name.kind.word(), pair.name.name);
    let mut random = Random::new(options.seed, &purpose);
    let ratio = ratio_of_medians(&base, &run, options.resamples, &mut random);
    match (ratio, mann_whitney(&base, &run, prior)) {
        (Some(ratio), Some(test)) => {
            compared.ratio = Some(ratio);
            compared.delta = Some(test.delta);
            // Where nothing scatters, ranks are all there is.
            compared.p = Some(yuen_welch(&base, &run, prior).unwrap_or(test.p));
            compared.rank_p = Some(test.p);
        }
        _ => compared.why = Some("a median of 0 has no ratio".to_owned()),
    }
    compared
}

fn untestable(pair: &Pair<'_>, compared: &Compared) -> Option<String> {
    let untimed = |side: &[&Sampled]| {
        side.iter().any(|run| run.count > 0) && side.iter().all(|run| run.timed() == 0)
    };
    if untimed(&pair.base) || untimed(&pair.run) {
        return Some("bound to a wait or not valid".to_owned());
    }
    let (base, run) = (compared.base_samples, compared.run_samples);
    if base.min(run) < MIN_SAMPLES {
        return Some(format!("too few samples: {base} and {run}"));
    }
    None
}

fn judge(
    compared: &Compared,
    q: f64,
    step_ns: Option<f64>,
    options: &Options,
) -> (Verdict, Option<String>) {
    let cannot = |why: String| (Verdict::CannotTell, Some(why));
    let (Some(ratio), Some(base), Some(run)) = (
        compared.ratio,
        compared.base_median_ns,
        compared.run_median_ns,
    ) else {
        return cannot("not measured".to_owned());
    };
    let most = 1.0 + options.threshold;
    // A median that lies within one step of the clock of the other may be the same.
    if let Some(step) = step_ns.filter(|step| *step > options.threshold * base)
        && (run - base).abs() <= step
    {
        return cannot(format!("the clock steps by {step:.0} ns"));
    }
    let is_confirmed = compared.rank_p.is_some_and(|p| p <= options.alpha);
    let sure = q <= options.alpha && is_confirmed && ratio.excludes_one();
    if sure && ratio.value >= most {
        (Verdict::Slower, None)
    } else if sure && ratio.value <= 1.0 / most {
        (Verdict::Faster, None)
    } else if ratio.high <= most && ratio.low >= 1.0 / most {
        (Verdict::Same, None)
    } else if sure {
        cannot("about the threshold".to_owned())
    } else if ratio.excludes_one() {
        cannot("too little evidence".to_owned())
    } else {
        cannot("too much noise".to_owned())
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
