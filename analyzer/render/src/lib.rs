//! Reports as pages for terminals and browsers, Markdown, JSON and CSV; charts.
//!
//! Everything is written from the data of `trueno-model`: no run is open here, and no query is asked.
//! A form of reports is a file that implements [`ReportForm`] and a line of [`FORMS`], from which `--format` is made.

pub mod annotations;
mod card;
pub mod chart;
pub mod commands;
pub mod csv;
mod digest;
mod editor;
mod form;
mod glossary;
pub mod header_text;
pub mod html;
pub mod inspect;
pub mod json;
pub mod markdown;
mod opening;
mod sarif;
mod share;
mod source_places;
pub mod style;
pub mod terminal;
#[cfg(test)]
mod testing;
pub mod top;
mod view;

pub use form::{DEFAULT_ROWS, Detail, Layout, ReportForm};

/// All forms of a report. The first is the default.
pub static FORMS: [&dyn ReportForm; 8] = [
    &terminal::Terminal,
    &markdown::Markdown,
    &json::Json,
    &digest::Digest,
    &html::Html,
    &card::Card,
    &sarif::Sarif,
    &editor::Editor,
];

pub fn form(name: &str) -> Option<&'static dyn ReportForm> {
    let is_named = |form: &&dyn ReportForm| form.name() == name || form.old_names().contains(&name);
    FORMS.into_iter().find(is_named)
}
