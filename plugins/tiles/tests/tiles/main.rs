//! The plugin through its door, and its passes against slow oracles.

mod fixture;
mod levels;
mod outliers;
mod parts;
mod sampled;
mod sweep;
