//! The plugin through its door, and its graph against slow oracles.

mod at_roof;
mod blocking;
mod bounds;
mod device;
mod edges;
mod ends;
mod fusing;
mod gpu;
mod inferred;
mod linked;
mod nested;
mod predecessor;
mod random;
mod sampled;
mod serial;
mod simulated;
mod tables;
mod threads;
mod what_if;
