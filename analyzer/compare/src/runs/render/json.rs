//! The comparison as JSON: `format`, the `headline`, and the fields of [`Comparison`].

use serde::Serialize;

use crate::runs::Comparison;

#[derive(Serialize)]
struct Format {
    name: &'static str,
    major: u32,
    minor: u32,
}

#[derive(Serialize)]
struct File<'a> {
    format: Format,
    headline: String,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Times are in nanoseconds, ratios are run over base, and null was not measured.
pub fn json(comparison: &Comparison) -> String {
    let file = File {
        format: Format {
            name: "trueno-compare",
            major: 1,
            minor: 6,
        },
        headline: super::headline(comparison),
        comparison,
    };
    // Maps have text keys: this cannot fail.
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}
