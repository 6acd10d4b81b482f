//! Golden runs: what a run was like, reduced to a text that people review and git keeps.
//!
//! `file` is the format, `lines` how it is laid out, `reduce` makes one of a run. `distribution` keeps quantiles of
//! durations in place of the durations, and makes samples of them again; `restore` makes a run again, for all that
//! compares tensors. `opened` takes a golden file wherever a run to compare with may stand; `show` is for people.

mod distribution;
mod file;
mod lines;
mod opened;
mod reduce;
mod restore;
mod show;

pub use distribution::{Distribution, LEVELS};
pub use file::{Golden, GoldenError, Memory, NameRow, Source, TensorRow};
pub use opened::{Opened, is_golden};
pub use reduce::ReduceError;
pub use show::{Listed, listed};

pub const SUFFIX: &str = ".golden.json";
