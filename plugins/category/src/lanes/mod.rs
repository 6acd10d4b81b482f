//! A run as lanes: host threads and device streams, each with the intervals
//! that ran on it, in the order of their starts.
//!
//! [`load`] reads the published tables into [`Lanes`]; [`by_start`] sorts a lane;
//! [`sweep`] tells, for every instant of a lane, which interval was running.
//!
//! ```text
//! lane    ├────── layer ──────┤   ├─ layer ─┤
//!           ├ brick ┤ ├brick┤
//! sweep   l b bbbbb l bbbbbbb l   l l l l l l
//! ```

mod by_id;
#[cfg(test)]
mod by_id_tests;
mod hash;
mod inherit;
mod inputs;
mod load;
mod order;
#[cfg(test)]
mod order_tests;
mod rows;
mod rules;
mod span;
mod sweep;
mod text;

pub use hash::{FastMap, FastSet};
pub use inputs::INPUTS;
pub use load::{Lanes, LeftOut, load};
pub use order::{by_start, key};
pub use span::{Class, Label, Labels, Lane, LaneKey, LaneKind, NO_ELEMENTS, Span};
pub use sweep::{Visit, sweep};
pub use text::{INHERITED, OUTSIDE, Texts, UNCATEGORISED, WAITING};
