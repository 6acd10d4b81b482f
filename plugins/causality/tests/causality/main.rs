//! The plugin through its door, and its clocks against a slow oracle.

mod contradictions;
mod extremes;
mod fixture;
mod known_orders;
mod oracle;
mod random;
mod ranks;
