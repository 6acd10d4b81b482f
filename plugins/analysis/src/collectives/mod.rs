//! Collective operations: what they are called, what they move, and which parts of several ranks are one.

mod inference;
mod matching;
mod operation;
mod rounds;

pub use matching::{Instance, Matched, Part, Recorded, Unmatched, match_parts};
pub use operation::{Operation, element_bytes};
