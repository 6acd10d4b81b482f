//! Statistics of durations: which names differ between two sides, by how much, and how surely.
//!
//! [`verdicts`] takes, for each name, the [`bootstrap`] interval of the ratio of medians; [`yuen_welch()`] on
//! logarithms, with [`benjamini_hochberg`] over all names; and [`mann_whitney()`] to confirm it. Samples of a run
//! follow each other, so all three are told by [`autocorrelation`] how many independent ones they are worth.
//!
//! A name is slower or faster by these three agreements. Ranks alone saturate: 32 dependent samples could not tell a
//! factor of three among 40 names. *Same* needs the interval within the threshold. A change that all names have in
//! common stands apart ([`Common`]), and names are judged beside it. With several runs a side, means are compared too:
//! a call that does its work twice now and then moves no median.
//!
//! The crate reads no run and links no query engine, so that a line of it is built and tested in seconds.

pub mod autocorrelation;
pub mod benjamini_hochberg;
pub mod bootstrap;
mod common;
mod levels;
mod mann_whitney;
mod order_statistics;
mod random;
mod samples;
mod t_distribution;
mod verdict;
mod yuen_welch;

pub use bootstrap::Ratio;
pub use common::{Common, Place};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use order_statistics::{median, midranks};
pub use random::Random;
pub use samples::{Kind, Name, Sampled};
pub use t_distribution::{half_interval, pooled_interval, pooled_t, two_sided};
pub use verdict::{Compared, MIN_SAMPLES, Pair, Verdict, Verdicts, verdicts};
pub use yuen_welch::yuen_welch;

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Options {
    /// Smaller changes, as a share of the base, do not count.
    pub threshold: f64,
    /// False discovery rate among the names that are reported as different.
    pub alpha: f64,
    pub cap: usize,
    pub resamples: usize,
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold: 0.02,
            alpha: 0.05,
            cap: 1000,
            resamples: 1000,
            seed: 1,
        }
    }
}
