//! The plugin through its door: known counts, odd ones, and parts against all rows at once.

mod fixture;
mod known_counts;
mod odd_values;
mod parts;
