//! The plugin as a whole: two made runs in, verdicts out.

mod random;
mod reference;
mod sums;
mod verdicts;
