//! The execution graph of a run: what ran inside what, where, for how long.
//!
//! Lanes (host threads, device streams) hold bricks, bricks hold kernels, and
//! so on. A row hangs below the row it names (`parent`, `brick`); device work
//! that names none hangs below what launched it; host rows that name none lie
//! in the innermost interval around them on their thread.
//!
//! Host and device time are kept apart. The self time of a row is the time in
//! which it was the innermost interval open on its lane (the latest started; of
//! equals the shorter, then the higher id), so self times add up to the busy
//! time of the lane exactly. Rows whose times are not those of their work
//! (`bound`, not valid, impossible) are kept, and part of no sum.

mod columns;
mod critical;
mod detail;
mod detail_columns;
mod durations;
mod filter;
mod group;
mod links;
mod load;
mod node;
mod order;
mod pick;
mod pools;
mod sums;
mod sweep;
#[cfg(test)]
mod tests;

pub use critical::{Critical, Path, mark, path};
pub use detail::{Detail, Launch};
pub use filter::Filter;
pub use group::{Group, Totals};
pub use load::{Content, GraphError, load};
pub use node::{Class, Graph, LaneInfo, NONE, Node, OnPath, Timing};
pub use pick::{Limits, Picked, Rest, pick};
