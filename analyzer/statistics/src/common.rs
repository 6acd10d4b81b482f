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

/// Fewer names have nothing in common: each may be the change that is looked for.
const MIN_NAMES: usize = 5;
/// Standard deviation of a normal distribution by its median absolute deviation.
const SIGMA_PER_MAD: f64 = 1.4826;
/// Efficiency of that estimate: so many values of a hundred would tell as much of it by their squares.
const MAD_EFFICIENCY: f64 = 0.37;

/// Place where names run: what slows the processors of a host need not slow a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Threads of the host.
    Host,
    Device,
}

impl Place {
    pub const ALL: [Self; 2] = [Self::Host, Self::Device];

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

impl Kind {
    /// Place where its things run.
    pub fn place(self) -> Place {
        match self {
            Kind::DeviceCategory | Kind::DeviceKernel | Kind::Transfer => Place::Device,
            _ => Place::Host,
        }
    }

    /// Tells kinds that are sums of others: one slow brick would count in each that it is in.
    fn is_sum(self) -> bool {
        matches!(
            self,
            Kind::Iteration | Kind::Layer | Kind::Category | Kind::DeviceCategory
        )
    }
}

/// The change that the names of a place have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// Place where they run.
    pub place: Place,
    /// Names it was estimated from.
    pub names: usize,
    /// Median over names of the ratio of their levels, run over base; the interval has runs as its unit, and is
    /// not known without two runs a side.
    pub ratio: f64,
    pub interval: Option<Ratio>,
    /// Standard deviation of the logarithms of names' ratios beside it, by their median absolute deviation.
    pub scatter: f64,
    pub verdict: Verdict,
    /// The reason why it cannot be told.
    pub why: Option<String>,
    /// Logarithm of the level of each run of the base, from the middle of both sides.
    #[serde(skip)]
    medians: Levels,
    /// The same of mean durations, which a machine that is busy at times changes more.
    #[serde(skip)]
    means: Levels,
}

impl Common {
    /// Estimates it; `None`: too few names have samples in every run.
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

    /// Tells a name that lies further beside it than names of equal programs do, from one run to another: by a t test
    /// against their scatter, corrected for their number (Bonferroni).
    pub(crate) fn is_outlier(&self, own_ratio: f64, options: &Options) -> bool {
        let names = self.names as f64;
        let p = two_sided(own_ratio.ln() / self.scatter, MAD_EFFICIENCY * names);
        p <= options.alpha / names
    }

    /// The samples of each run of a side without what the names of that run have in common.
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

    /// Mean durations in each run.
    pub(crate) fn means(&self) -> &Levels {
        &self.means
    }
}
