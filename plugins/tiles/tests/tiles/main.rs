//! The plugin through its door, and its passes against slow oracles.

mod levels;
mod made;
mod outliers;
mod sampled;
mod sweep;
