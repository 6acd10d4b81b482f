//! Exit codes of `trueno-analyze`: stable, and all there are.
//!
//! 3 also when a run holds no event; 0 for a damaged run that could be analysed in part: the report, its problems
//! and the failed checks of `sanity` say so. `--fail-on` turns that into 1 where `sanity` found it, else into 3.

pub const FINE: u8 = 0;
/// A check failed: a finding at or above `--fail-on` was reported, or a plugin (ours or the user's) could not
/// finish its section. Also if a recovered run has lost rows.
pub const CHECK_FAILED: u8 = 1;
/// Nothing could be analysed: bad arguments, no run, no plugin, or no section finished. Also if an import could use
/// nothing of its file.
pub const CANNOT_ANALYSE: u8 = 2;
/// Not recorded or not measurable: a run without events, a baseline with nothing in common, or a gate over a run
/// whose missing rows could change the result.
pub const NOT_MEASURABLE: u8 = 3;
