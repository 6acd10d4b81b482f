//! The plugin through its door, and its passes against slow oracles.

mod fixture;
mod levels;
mod outliers;
mod sampled;
mod sweep;
