//! The plugin through its door, and its graph against slow oracles.

mod at_roof;
mod bounds;
mod device;
mod edges;
mod ends;
mod gpu;
mod linked;
// Runs by hand, as the other reader of lanes writes them.
#[path = "../../../category/tests/category/made.rs"]
mod made;
mod nested;
mod predecessor;
mod random;
mod serial;
mod tables;
mod threads;
mod what_if;
