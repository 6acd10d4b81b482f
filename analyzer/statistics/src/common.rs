//! The change that all names have in common: a slower machine, or a slower build.
//!
//! Clocks, neighbours and heat change all names of a run at once. With one run a side such a change cannot be told
//! from one of the program, so it stands apart, and names are judged beside it.

use serde::Serialize;

use crate::levels::{Level, Levels};
use crate::order_statistics::median;
use crate::samples::Kind;
use crate::t_distribution::two_sided;
use crate::verdict::{Pair, Verdict};
use crate::{Options, Ratio};

/// With fewer names there is no common change: each may be the change in question.
const MIN_NAMES: usize = 5;
/// Standard deviation of a normal distribution divided by its median absolute deviation.
const SIGMA_PER_MAD: f64 = 1.4826;
/// Efficiency of that estimate relative to the sample standard deviation.
const MAD_EFFICIENCY: f64 = 0.37;

/// Where names run. What slows host processors need not slow a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Host,
    Device,
}

impl Place {
    pub const ALL: [Self; 2] = [Self::Host, Self::Device];

    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

impl Kind {
    pub fn place(self) -> Place {
        match self {
            Kind::DeviceCategory | Kind::DeviceKernel | Kind::Transfer => Place::Device,
            _ => Place::Host,
        }
    }

    /// Kinds that are sums of others. One slow brick would count in each that contains it.
    fn is_sum(self) -> bool {
        matches!(
            self,
            Kind::Iteration | Kind::Layer | Kind::Category | Kind::DeviceCategory
        )
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Common {
    pub place: Place,
    pub names: usize,
    /// Median over names of the ratio of their levels, run over base. The interval treats runs as the unit, and
    /// needs two runs on each side.
    pub ratio: f64,
    pub interval: Option<Ratio>,
    /// Standard deviation of the logarithms of names' ratios relative to it, from their median absolute
    /// deviation.
    pub scatter: f64,
    pub verdict: Verdict,
    pub why: Option<String>,
    /// Logarithm of the level in each run, relative to the middle of both sides.
    #[serde(skip)]
    medians: Levels,
    /// The same for mean durations, which a temporarily busy machine changes more.
    #[serde(skip)]
    means: Levels,
}

impl Common {
    /// `None` if too few names have samples in every run.
    pub(crate) fn estimate(pairs: &[Pair<'_>], place: Place, options: &Options) -> Option<Self> {
        let pairs = pairs.iter().filter(|pair| {
            pair.name.kind.place() == place && !pair.name.kind.is_sum() && pair.is_fine(options)
        });
        let pairs: Vec<&Pair<'_>> = pairs.collect();
        let of = |by: Level| -> Vec<Levels> {
            let levels = pairs.iter().filter_map(|pair| Levels::of(pair, by));
            levels.collect()
        };
        let names = of(Level::Median);
        if names.len() < MIN_NAMES {
            return None;
        }
        let (medians, means) = (Levels::common(&names), Levels::common(&of(Level::Mean)));
        let log = medians.change();
        let beside = names.iter().map(|name| (name.change() - log).abs());
        let scatter = SIGMA_PER_MAD * median(&mut beside.collect::<Vec<f64>>())?;
        let interval = medians.interval();
        let (verdict, why) = medians.judge(interval, options);
        Some(Self {
            place,
            names: names.len(),
            ratio: log.exp(),
            interval,
            scatter,
            verdict,
            why,
            medians,
            means,
        })
    }

    /// Whether a name's ratio relative to the common change is larger than for equal programs: a t test against
    /// the scatter, with Bonferroni correction for the number of names.
    pub(crate) fn is_outlier(&self, own_ratio: f64, options: &Options) -> bool {
        let names = self.names as f64;
        let p = two_sided(own_ratio.ln() / self.scatter, MAD_EFFICIENCY * names);
        p <= options.alpha / names
    }

    /// The samples of each run, divided by the common level of that run.
    pub(crate) fn taken_out(&self, base: &[Vec<f64>], run: &[Vec<f64>]) -> [Vec<Vec<f64>>; 2] {
        let scaled = |runs: &[Vec<f64>], levels: &[f64]| -> Vec<Vec<f64>> {
            let each = runs.iter().zip(levels);
            each.map(|(run, level)| run.iter().map(|ns| ns * (-level).exp()).collect())
                .collect()
        };
        [
            scaled(base, &self.medians.base),
            scaled(run, &self.medians.run),
        ]
    }

    pub(crate) fn means(&self) -> &Levels {
        &self.means
    }
}
