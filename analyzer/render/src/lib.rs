//! Reports as pages for terminals and browsers, Markdown, JSON and CSV; charts.
//!
//! Everything is written from the data of `trueno-model`: no run is open here, and no query is asked.

pub mod chart;
pub mod csv;
pub mod header_text;
pub mod html;
pub mod inspect;
pub mod json;
pub mod markdown;
mod share;
pub mod style;
pub mod terminal;
mod terminal_choice;
mod terminal_findings;
mod terminal_section;
mod terminal_table;
#[cfg(test)]
mod testing;
pub mod top;
mod view;
