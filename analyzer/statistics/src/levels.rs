//! Levels of a name in each run: logarithms of its median or mean duration.

use crate::Options;
use crate::Ratio;
use crate::order_statistics::median;
use crate::samples::Sampled;
use crate::t_distribution::{pooled_interval, pooled_t};
use crate::verdict::{MIN_SAMPLES, Pair, Verdict};

/// Durations are capped at this multiple of the median in a mean. A thread that lost its processor says nothing
/// about its program, but a call that did its work several times does.
const LONGEST: f64 = 8.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Median,
    /// Mean of durations capped at [`LONGEST`] times the median of all runs.
    Mean,
}

/// Logarithmic levels in each run, relative to the middle of both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Levels {
    pub(crate) base: Vec<f64>,
    pub(crate) run: Vec<f64>,
}

impl Levels {
    /// Levels of one name; `None` if a run has no samples of it, or a level is not positive.
    pub(crate) fn of(pair: &Pair<'_>, by: Level) -> Option<Self> {
        let all = pair.base.iter().chain(&pair.run).flatten();
        let mut all: Vec<f64> = all.flat_map(|run| run.durations.iter().copied()).collect();
        let longest = LONGEST * median(&mut all)?;
        let level = |run: &Option<&Sampled>| {
            let durations = &run.as_ref()?.durations;
            let ns = match by {
                Level::Median => median(&mut durations.clone())?,
                Level::Mean => {
                    let kept = durations.iter().map(|ns| ns.min(longest));
                    kept.sum::<f64>() / durations.len() as f64
                }
            };
            (ns > 0.0).then(|| ns.ln())
        };
        let side = |runs: &[Option<&Sampled>]| runs.iter().map(level).collect::<Option<_>>();
        Some(
            Self {
                base: side(&pair.base)?,
                run: side(&pair.run)?,
            }
            .centred(),
        )
    }

    pub(crate) fn common(names: &[Self]) -> Self {
        let side = |of: fn(&Self) -> &[f64]| -> Vec<f64> {
            let of_run = |run: usize| {
                let mut all: Vec<f64> = names.iter().map(|name| of(name)[run]).collect();
                median(&mut all)
            };
            let runs = names.first().map_or(0, |name| of(name).len());
            (0..runs).filter_map(of_run).collect()
        };
        Self {
            base: side(|name| &name.base),
            run: side(|name| &name.run),
        }
        .centred()
    }

    pub(crate) fn beside(&self, common: &Self) -> Self {
        let less = |own: &[f64], common: &[f64]| -> Vec<f64> {
            own.iter().zip(common).map(|(own, all)| own - all).collect()
        };
        Self {
            base: less(&self.base, &common.base),
            run: less(&self.run, &common.run),
        }
    }

    /// Logarithm of the ratio, run over base.
    pub(crate) fn change(&self) -> f64 {
        mean(&self.run) - mean(&self.base)
    }

    /// p-value of no change, with runs as the unit.
    pub(crate) fn p(&self) -> Option<f64> {
        pooled_t(&self.base, &self.run)
    }

    pub(crate) fn interval(&self) -> Option<Ratio> {
        let (low, high) = pooled_interval(&self.base, &self.run)?;
        Some(Ratio {
            value: self.change().exp(),
            low: low.exp(),
            high: high.exp(),
        })
    }

    pub(crate) fn judge(
        &self,
        interval: Option<Ratio>,
        options: &Options,
    ) -> (Verdict, Option<String>) {
        let cannot = |why: &str| (Verdict::CannotTell, Some(why.to_owned()));
        let (Some(p), Some(interval)) = (self.p(), interval) else {
            return cannot("one run per side, so it may be the machine");
        };
        if self.base.len().min(self.run.len()) < 2 {
            return cannot("one run on one side, so it may be the machine");
        }
        let (log, limit) = (self.change(), (1.0 + options.threshold).ln());
        match () {
            () if p <= options.alpha && log >= limit => (Verdict::Slower, None),
            () if p <= options.alpha && log <= -limit => (Verdict::Faster, None),
            () if interval.low.ln() >= -limit && interval.high.ln() <= limit => {
                (Verdict::Same, None)
            }
            () => cannot("runs of the same side differ by as much"),
        }
    }

    fn centred(mut self) -> Self {
        let middle = (mean(&self.run) + mean(&self.base)) / 2.0;
        let all = self.base.iter_mut().chain(&mut self.run);
        all.for_each(|level| *level -= middle);
        self
    }
}

impl Pair<'_> {
    /// Whether a name has enough samples on both sides, and durations that the clock can resolve.
    pub(crate) fn is_fine(&self, options: &Options) -> bool {
        let mut all: Vec<f64> = self
            .base
            .iter()
            .chain(&self.run)
            .flatten()
            .flat_map(|run| run.durations.iter().copied())
            .collect();
        let steps = self.step_ns().unwrap_or(0.0);
        self.samples().iter().all(|samples| *samples >= MIN_SAMPLES)
            && median(&mut all).is_some_and(|ns| steps <= options.threshold * ns)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
