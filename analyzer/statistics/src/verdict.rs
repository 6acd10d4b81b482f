//! From samples to a verdict.
//!
//! A name is slower by three agreements: Yuen's test of trimmed means of logarithms, corrected for the number of
//! names, which sees by how much (ranks saturate: 32 dependent samples could not tell a factor of three among 40
//! names); Mann-Whitney U; and an interval of the ratio of medians without 1, with the median beyond the threshold.
//! *Same* needs the interval within it.

use serde::Serialize;

use crate::autocorrelation::{self, Autocorrelation, Prior};
use crate::bootstrap::{Ratio, ratio_of_medians};
use crate::common::{Common, Place};
use crate::levels::{Level, Levels};
use crate::mann_whitney::mann_whitney;
use crate::order_statistics::median;
use crate::random::Random;
use crate::samples::{Name, Sampled};
use crate::yuen_welch::yuen_welch;
use crate::{Options, benjamini_hochberg};

/// Fewer samples on a side are not tested.
pub const MIN_SAMPLES: usize = 8;
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
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::CannotTell => "cannot tell",
            Verdict::Same => "same",
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    #[serde(flatten)]
    pub name: Name,
    pub verdict: Verdict,
    pub why: Option<String>,
    pub base_median_ns: Option<f64>,
    pub run_median_ns: Option<f64>,
    /// Ratio of the medians, run over base, with its interval.
    pub ratio: Option<Ratio>,
    /// The ratio relative to the change common to all names of the place ([`Common`]), on which the verdict is
    /// based. `None` if no common change is known.
    pub own_ratio: Option<Ratio>,
    /// Ratio of mean durations relative to the common change, with runs as the unit. `None` with fewer than
    /// three runs on a side. Durations are capped at eight medians.
    pub mean_ratio: Option<Ratio>,
    pub delta: Option<f64>,
    /// p-value of the test of levels.
    pub p: Option<f64>,
    /// p-value adjusted for the number of names.
    pub q: Option<f64>,
    pub rank_p: Option<f64>,
    /// Samples of the base that were used.
    pub base_samples: usize,
    pub run_samples: usize,
    /// Rows with a duration in all runs of the base.
    pub base_count: u64,
    pub run_count: u64,
    /// Mean over the runs of the base of the sum of durations, in nanoseconds.
    pub base_total_ns: f64,
    pub run_total_ns: f64,
}

impl Compared {
    /// Whether the name was tested, whatever the result.
    pub fn is_tested(&self) -> bool {
        self.p.is_some()
    }
}

/// One name: its rows in each run of both sides, and the resolution of the clocks.
pub struct Pair<'a> {
    pub name: &'a Name,
    /// Its rows in each run of the base; `None` for a run without any.
    pub base: Vec<Option<&'a Sampled>>,
    pub run: Vec<Option<&'a Sampled>>,
    /// Coarsest resolution of the clocks, if stated.
    pub step_ns: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct Verdicts {
    /// In the order of the pairs.
    pub names: Vec<Compared>,
    /// One for each place with enough names.
    pub common: Vec<Common>,
}

/// Verdicts on all names together, because the false discovery rate is controlled over all of them. Every pair must
/// have the same runs.
pub fn verdicts(pairs: &[Pair<'_>], options: &Options) -> Verdicts {
    let estimates: Vec<_> = pairs.iter().filter_map(Pair::autocorrelation).collect();
    let prior = Prior::estimate(&estimates);
    let common = Place::ALL.map(|place| Common::estimate(pairs, place, options));
    let of_pair = |pair: &Pair<'_>| common[pair.name.kind.place() as usize].as_ref();
    let mut all: Vec<Compared> = pairs
        .iter()
        .map(|pair| measure(pair, &prior, of_pair(pair), options))
        .collect();
    // Tests of medians and of means are one family.
    let means: Vec<Option<Levels>> = pairs
        .iter()
        .map(|pair| mean_levels(pair, of_pair(pair), options))
        .collect();
    let tests = all.iter().map(|name| name.p);
    let tests = tests.chain(means.iter().map(|levels| levels.as_ref()?.p()));
    let tests: Vec<(usize, f64)> = (0..)
        .zip(tests)
        .filter_map(|(i, p)| Some((i, p?)))
        .collect();
    let p: Vec<f64> = tests.iter().map(|(_, p)| *p).collect();
    let mut q = vec![None; 2 * all.len()];
    for ((i, _), adjusted) in tests.iter().zip(benjamini_hochberg::adjust(&p)) {
        q[*i] = Some(adjusted);
    }
    let (of_medians, of_means) = q.split_at(all.len());
    for (i, name) in all.iter_mut().enumerate() {
        name.mean_ratio = means[i].as_ref().and_then(Levels::interval);
        name.q = of_medians[i];
        let Some(q) = name.q else { continue };
        let (verdict, why) = judge(name, q, &pairs[i], of_pair(&pairs[i]), options);
        (name.verdict, name.why) = match by_mean(name, of_means[i], options) {
            Some(by_mean) if verdict != by_mean => (by_mean, Some("by its mean".to_owned())),
            _ => (verdict, why),
        };
    }
    Verdicts {
        names: all,
        common: common.into_iter().flatten().collect(),
    }
}

impl Pair<'_> {
    /// Resolution of the clocks: as stated, or the smallest difference between distinct durations of a side if
    /// that is coarser. Recorders that round (Kineto to microseconds) and counters that advance in larger steps
    /// than they are read do not state it.
    pub(crate) fn step_ns(&self) -> Option<f64> {
        let seen = [&self.base, &self.run].into_iter().filter_map(|side| {
            let mut all: Vec<f64> = side
                .iter()
                .flatten()
                .flat_map(|run| run.durations.iter().copied())
                .collect();
            all.sort_by(f64::total_cmp);
            let steps = all.windows(2).map(|two| two[1] - two[0]);
            steps.filter(|step| *step > 0.0).min_by(f64::total_cmp)
        });
        let seen = seen.min_by(f64::total_cmp);
        self.step_ns.into_iter().chain(seen).max_by(f64::total_cmp)
    }

    /// Autocorrelation over all its runs; `None` if there are too few samples to test.
    fn autocorrelation(&self) -> Option<Autocorrelation> {
        let runs = self.base.iter().chain(&self.run).flatten();
        let runs: Vec<&[f64]> = runs.map(|run| run.durations.as_slice()).collect();
        let is_enough = self.samples().iter().all(|samples| *samples >= MIN_SAMPLES);
        is_enough.then(|| autocorrelation::estimate(&runs))
    }

    pub(crate) fn samples(&self) -> [usize; 2] {
        let of_side = |side: &[Option<&Sampled>]| -> usize {
            let runs = side.iter().flatten();
            runs.map(|run| run.durations.len()).sum()
        };
        [of_side(&self.base), of_side(&self.run)]
    }

    fn is_single(&self) -> bool {
        self.base.len().min(self.run.len()) < 2
    }
}

fn measure(pair: &Pair<'_>, prior: &Prior, common: Option<&Common>, options: &Options) -> Compared {
    let side = |runs: &[Option<&Sampled>]| -> Vec<Vec<f64>> {
        let durations = |run: &Option<&Sampled>| run.map(|run| run.durations.clone());
        runs.iter()
            .map(|run| durations(run).unwrap_or_default())
            .collect()
    };
    let (base, run) = (side(&pair.base), side(&pair.run));
    let flat_median = |side: &[Vec<f64>]| median(&mut side.concat());
    let [base_samples, run_samples] = pair.samples();
    let count =
        |side: &[Option<&Sampled>]| side.iter().flatten().map(|run| run.timed()).sum::<u64>();
    let total = |side: &[Option<&Sampled>]| {
        let runs = side.iter().flatten();
        runs.map(|run| run.total_ns).sum::<f64>() / side.iter().flatten().count().max(1) as f64
    };
    let mut compared = Compared {
        name: pair.name.clone(),
        verdict: Verdict::CannotTell,
        why: None,
        base_median_ns: flat_median(&base),
        run_median_ns: flat_median(&run),
        ratio: None,
        own_ratio: None,
        mean_ratio: None,
        delta: None,
        p: None,
        q: None,
        rank_p: None,
        base_samples,
        run_samples,
        base_count: count(&pair.base),
        run_count: count(&pair.run),
        base_total_ns: total(&pair.base),
        run_total_ns: total(&pair.run),
    };
    compared.why = untestable(pair, &compared);
    if compared.why.is_some() {
        return compared;
    }
    let ratio = |base: &[Vec<f64>], run: &[Vec<f64>]| {
        let purpose = format!("bootstrap {} {}", pair.name.kind.word(), pair.name.name);
        let mut random = Random::new(options.seed, &purpose);
        ratio_of_medians(base, run, options.resamples, &mut random)
    };
    let [own_base, own_run] = match common {
        Some(common) => common.taken_out(&base, &run),
        None => [base.clone(), run.clone()],
    };
    match (ratio(&base, &run), mann_whitney(&own_base, &own_run, prior)) {
        (Some(whole), Some(test)) => {
            compared.ratio = Some(whole);
            compared.own_ratio = common.and_then(|common| match pair.is_single() {
                // One factor for all samples of a side.
                true => Some(whole.divided_by(common.ratio)),
                false => ratio(&own_base, &own_run),
            });
            compared.delta = Some(test.delta);
            // Where nothing scatters, ranks are all there is.
            compared.p = Some(yuen_welch(&own_base, &own_run, prior).unwrap_or(test.p));
            compared.rank_p = Some(test.p);
        }
        _ => compared.why = Some("a median of 0 has no ratio".to_owned()),
    }
    compared
}

/// Means are not compared with fewer runs on a side, because a mean is one number per run.
const MEAN_RUNS: usize = 3;

/// Mean durations of a name in each run, relative to the common change.
fn mean_levels(pair: &Pair<'_>, common: Option<&Common>, options: &Options) -> Option<Levels> {
    if pair.base.len().min(pair.run.len()) < MEAN_RUNS || !pair.is_fine(options) {
        return None;
    }
    let levels = Levels::of(pair, Level::Mean)?;
    Some(match common {
        Some(common) => levels.beside(common.means()),
        None => levels,
    })
}

fn by_mean(name: &Compared, q: Option<f64>, options: &Options) -> Option<Verdict> {
    let ratio = name.mean_ratio?;
    let most = 1.0 + options.threshold;
    match q? <= options.alpha {
        true if ratio.value >= most => Some(Verdict::Slower),
        true if ratio.value <= 1.0 / most => Some(Verdict::Faster),
        _ => None,
    }
}

fn untestable(pair: &Pair<'_>, compared: &Compared) -> Option<String> {
    let untimed = |side: &[Option<&Sampled>]| {
        let runs = || side.iter().flatten();
        runs().any(|run| run.count > 0) && runs().all(|run| run.timed() == 0)
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
    pair: &Pair<'_>,
    common: Option<&Common>,
    options: &Options,
) -> (Verdict, Option<String>) {
    let cannot = |why: String| (Verdict::CannotTell, Some(why));
    let (Some(ratio), Some(base), Some(run)) = (
        compared.own_ratio.or(compared.ratio),
        compared.base_median_ns,
        compared.run_median_ns,
    ) else {
        return cannot("not measured".to_owned());
    };
    let most = 1.0 + options.threshold;
    // A duration has two readings of the clock, each up to a step from the truth; so has the one that it is
    // compared with.
    if let Some(step) = pair
        .step_ns()
        .filter(|step| *step > options.threshold * base)
        && (run - base).abs() <= 2.0 * step
    {
        return cannot(format!("the clock steps by {step:.0} ns"));
    }
    let is_confirmed = compared.rank_p.is_some_and(|p| p <= options.alpha);
    let sure = q <= options.alpha && is_confirmed && ratio.excludes_one();
    let differs = sure && !(1.0 / most..most).contains(&ratio.value);
    if differs
        && pair.is_single()
        && common.is_some_and(|common| !common.is_outlier(ratio.value, options))
    {
        return cannot("one run per side, and other names differ by as much".to_owned());
    }
    if differs && ratio.value >= most {
        (Verdict::Slower, None)
    } else if differs {
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
