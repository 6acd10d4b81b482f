//! The output tables, and what their columns hold.

mod gain;
mod more;
mod path;
mod slack;

pub use gain::{Prediction, at_roof, opportunity, what_if};
pub use more::{alone, by_iteration};
pub use path::{by_category, by_kind, by_name, path};
pub use slack::slack;
