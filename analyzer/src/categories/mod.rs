//! Categories for rows whose program gave them none, by rules on their names.

mod rules;
mod table;

pub use rules::{CategoriesError, CategoryRules, DEFAULT};
pub use table::{TABLE, publish};
