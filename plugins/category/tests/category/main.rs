//! The plugin through its door: input tables in, output tables out.

mod over_ranks;
mod paint;
mod ranks;
mod rules;
mod tables;
