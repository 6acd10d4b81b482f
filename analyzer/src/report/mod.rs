//! What a report says, and the forms it can take.

mod build;
mod cell;
mod coverage;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
mod model;
mod share;
pub mod style;
pub mod terminal;
mod terminal_choice;
mod terminal_findings;
mod terminal_section;
mod terminal_table;
#[cfg(test)]
pub(crate) mod testing;
pub mod top;
pub mod units;
mod view;
pub mod width;
pub(crate) mod words;

pub use build::{BuildError, REFERENCE, Request, build};
pub use cell::Cell;
pub(crate) use coverage::RUNNING;
pub use coverage::coverage;
pub use model::{
    Finding, Header, HeaderWindow, Level, NOT_COMPARABLE, Problem, Report, Section, SectionStatus,
};
