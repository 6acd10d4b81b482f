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

pub(crate) struct Extra<'a> {
    /// `None` if it could not be read; the report then has a problem about it.
    pub timeline: Option<&'a trueno_model::timeline::Timeline>,
    pub stacks: &'a [trueno_model::timeline::StackPicture],
    pub evidence: &'a trueno_model::evidence::Evidence,
    /// Show only the summary and the timeline.
    pub is_summary: bool,
    /// Rows of each table in the HTML itself; scripts show more.
    pub top: usize,
}

/// Escapes text for HTML, and makes control characters visible.
pub fn text(plain: &str) -> String {
    crate::chart::escaped(&trueno_model::width::printable(plain))
}

/// As [`text`], with what stands between backticks as code.
pub fn prose(plain: &str) -> String {
    let shown = text(plain);
    let parts: Vec<&str> = shown.split('`').collect();
    // One backtick too many quotes nothing.
    if parts.len().is_multiple_of(2) {
        return shown;
    }
    let parts = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    parts.collect()
}

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
