//! Shared parts of analyses, each idea once: plugins of this repository use it, and so may yours.
//!
//! | module | for |
//! | --- | --- |
//! | [`lanes`] | a run as host threads and device streams with their intervals, labels and categories |
//! | [`pools`] | many short-lived threads of one role as one |
//! | [`sweep`] | which interval is the innermost at each instant: self times, enclosing intervals |
//! | [`start_order`] | the order of a lane, restored from the order of ends in one pass |
//! | [`intervals`] | sets of times or addresses: union, intersection, difference, length |
//! | [`evidence`] | whether rows are enough to predict from |
//! | [`exact_sum`] | sums of doubles that do not depend on their order |
//! | [`quantiles`] | medians and percentiles, each by a named definition |
//! | [`source`] | tables by name: of a plugin's run, or of a program |
//! | [`window`] | the part of a run that a report is about |
//! | [`collectives`] | operations of several ranks: names, bandwidths, which parts are of one instance |
//! | [`clock_offsets`] | clocks of ranks against each other, from collectives |
//! | [`id_index`] | a value for each of many ids |
//! | [`interner`] | numbers for texts and labels |
//! | [`hash`] | a fast hash for ids and numbers |
//! | [`roofline`] | ceilings of a machine, the instruction set of a backend, the roofline model |
//! | [`name_groups`] | names that hold ids, as the groups that the host formed of them |
//! | [`name_pattern`] | names by `*` and `?` |
//! | [`vendors`] | how makers of accelerators name devices, calls, communication, idle time and waits |
//! | [`wording`] | times, counts and shares as people say them |
//! | [`testing`] | runs written by hand, as inputs of [`lanes::load`] |
//!
//! It knows tables ([`trueno_plugin`]) and nothing of files, Arrow or the query engine. Two readers of
//! one table would come to differ, and so would two definitions of a median: what more than one
//! analysis needs belongs here.

pub mod clock_offsets;
pub mod collectives;
pub mod evidence;
pub mod exact_sum;
pub mod hash;
pub mod id_index;
#[cfg(test)]
mod id_index_tests;
pub mod interner;
pub mod intervals;
pub mod lanes;
pub mod name_groups;
pub mod name_pattern;
pub mod pools;
pub mod producer;
pub mod quantiles;
pub mod roofline;
pub mod source;
pub mod start_order;
#[cfg(test)]
mod start_order_tests;
pub mod steps;
pub mod sweep;
pub mod testing;
pub mod unions;
pub mod value_counts;
pub mod vendors;
pub mod waits;
pub mod window;
pub mod wording;

/// `part / whole`, or nothing where there is no whole: what was not measured is no share of 0 %.
pub fn share(part_ns: i64, whole_ns: i64) -> Option<f64> {
    (whole_ns > 0).then(|| part_ns as f64 / whole_ns as f64)
}
