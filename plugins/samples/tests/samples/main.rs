//! The plugin through its door, and its sums against a slow oracle.

mod bricks;
mod extremes;
mod findings;
mod fixture;
mod functions;
mod oracle;
mod parts;
mod sampled_waits;
mod waits;
