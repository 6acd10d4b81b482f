//! The plugin through its door, and its sums against a slow oracle.

mod extremes;
mod fixture;
mod known_calls;
mod oracle;
mod parts;
mod small_transfers;
