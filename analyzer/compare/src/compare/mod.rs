//! Runs against runs: what got slower, by how much, and how sure that is.
//!
//! `side` reads runs: `samples` by name, `totals` with one value a run. `comparability` says first what else
//! differs. `verdict` takes the `bootstrap` interval of the ratio of medians, the `level_test` with
//! `discovery` control over all names, and the `rank_test` to confirm it.

mod bootstrap;
mod categories;
mod comparability;
mod comparison;
mod counts;
mod dependence;
mod discovery;
mod level_test;
mod path;
mod random;
mod rank_test;
mod ranks;
pub mod render;
mod samples;
mod side;
mod student;
mod totals;
mod verdict;

pub use bootstrap::Ratio;
pub use comparability::{Aspect, Standing};
pub use comparison::{Comparison, PathRow, compare};
pub use counts::{Change, CountRow};
pub(crate) use random::Random;
pub use samples::{Kind, Name, Sampled};
pub use side::{Member, ReadError, read};
pub use totals::TotalRow;
pub use verdict::{Compared, LEAST_SAMPLES, Verdict};

/// So many samples of a series in the order of time are worth one independent one.
pub(crate) fn inflation(samples: &[f64]) -> f64 {
    dependence::of(&[samples]).inflation
}

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Options {
    /// Smaller changes are none, as a share of the base.
    pub threshold: f64,
    /// Rate of false discoveries among the names that are said to differ.
    pub alpha: f64,
    /// Samples looked at of each name of a run.
    pub cap: usize,
    /// Draws of the bootstrap.
    pub resamples: usize,
    /// Of all that is drawn.
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
