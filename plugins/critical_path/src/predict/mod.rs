//! The graph re-timed: gains, slack, and what a user assumes.

pub mod at_roof;
pub mod fusing;
pub mod opportunity;
pub(crate) mod predictions;
pub mod repeats;
pub mod schedule;
pub mod shortcuts;
pub mod slack;
pub(crate) mod suggestions;
pub mod what_if;
pub mod what_if_rule;
pub mod without;
