//! Runs against runs: durations by name, totals, and what else differs.
//!
//! `side` reads runs: `samples` by name, `totals` with one value a run. `comparability` says first what else
//! differs. The verdicts are those of [`trueno_statistics`].

mod categories;
mod comparability;
mod comparison;
mod counts;
mod devices;
pub mod functions;
pub mod jobs;
pub mod operators;
mod parts;
mod path;
mod plugin_section;
pub mod render;
mod samples;
mod side;
pub mod signatures;
mod totals;
mod vendors;

pub use comparability::{Aspect, Standing};
pub use comparison::{Comparison, PathRow, compare};
pub use counts::{Change, CountRow};
pub use samples::Naming;
pub use side::{Member, ReadError, read, vendor};
pub use totals::{Total, TotalRow};
pub use trueno_statistics::{Compared, Kind, MIN_SAMPLES, Name, Options, Sampled, Verdict};
pub use vendors::differ as vendors_differ;
