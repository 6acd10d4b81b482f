//! The plugin through its door, and its passes against slow oracles.

mod backends;
mod bad_inputs;
mod ceilings;
mod fixture;
mod nesting;
mod operators;
mod parts;
mod points;
mod pure;
mod wider_sets;
