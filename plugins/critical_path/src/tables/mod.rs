//! The output tables, and what their columns hold.

mod breakdown;
mod gain;
mod path;
mod slack;

pub use breakdown::{beside_waits, by_iteration, off_path, serial_work};
pub use gain::{Prediction, at_roof, opportunity, sequences, what_if, without};
pub use path::{PathById, PathByRow, by_category, by_kind, by_name, path};
pub use slack::slack;
