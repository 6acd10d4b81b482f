//! A report, or a comparison, as one HTML file: nothing is fetched, everything is escaped, the same bytes each time.
//!
//! What a reader sees without scripts is written here: text, charts and the first rows of tables. A
//! script adds the rest (sorting, filtering, the timeline), from one block of JSON.
//!
//! A table comes twice: its first rows as HTML, for readers without scripts and for print, and its exact values as
//! JSON. The page's self-test (`#selftest`, which a test opens in Chromium) checks that both show the same.

pub mod data;
mod page;
mod path;
mod questions;
pub mod section;
pub mod shell;
mod summary;
pub mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod varint;

pub(crate) use page::Html;

/// Data that the page shows beside the report.
pub(crate) struct Extra<'a> {
    /// Timeline of the run; `None` when it could not be read, which is then a problem of the report.
    pub timeline: Option<&'a trueno_model::timeline::Timeline>,
    /// Stacks of functions, where they were sampled.
    pub stacks: &'a [trueno_model::timeline::StackPicture],
    /// Rows and places of findings.
    pub evidence: &'a trueno_model::evidence::Evidence,
    /// Only the summary and the timeline.
    pub is_summary: bool,
    /// Rows of each table that are written before a script shows more.
    pub top: usize,
}

/// Text for HTML; control characters show as what they are.
pub fn text(plain: &str) -> String {
    crate::chart::escaped(&trueno_model::width::printable(plain))
}

/// Name of an element: letters, digits and `-`.
pub fn id(parts: &[&str]) -> String {
    let clean = |part: &&str| -> String {
        let keep = |c: char| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        };
        part.chars().map(keep).collect()
    };
    parts.iter().map(clean).collect::<Vec<_>>().join("-")
}
