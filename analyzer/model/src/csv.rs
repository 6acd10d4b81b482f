//! Fields of CSV as RFC 4180 has it, and texts that a spreadsheet would take for a formula.
//!
//! Names come from recorded programs and imported files. A spreadsheet computes a cell that begins with `=`, `+`, `-` or
//! `@`: at best the name is lost in an error, at worst the formula fetches a page or starts a program. So such a text is
//! written with an apostrophe in front, which spreadsheets take as "this is text". Numbers stay numbers, also where they
//! are texts.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvTexts {
    /// Texts that a spreadsheet would evaluate are escaped.
    #[default]
    Guarded,
    /// Unchanged, for programs.
    Exact,
}

/// Formats a text as a field. An empty text is `""`, because an empty field is null.
pub fn field(text: &str, texts: CsvTexts) -> Cow<'_, str> {
    let guarded: Cow<'_, str> = match texts {
        CsvTexts::Guarded if is_formula(text) => format!("'{text}").into(),
        CsvTexts::Guarded | CsvTexts::Exact => text.into(),
    };
    let is_plain = !guarded.is_empty()
        && !guarded.contains(['"', ',', ';', '\r', '\n'])
        && guarded.trim() == guarded;
    if is_plain {
        guarded
    } else {
        format!("\"{}\"", guarded.replace('"', "\"\"")).into()
    }
}

/// Whether a spreadsheet would evaluate a text. Leading apostrophes are skipped, so that removing one always
/// restores the original.
fn is_formula(text: &str) -> bool {
    let behind = text.trim_start_matches('\'');
    // The wide forms are the same to those who write with them.
    let begins = behind.starts_with([
        '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    begins && !is_number(text)
}

fn is_number(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_compute_is_written_as_text() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            (
                "=HYPERLINK(\"http://x\",\"y\")",
                "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"",
            ),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-[Foo bar]", "'-[Foo bar]"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("'=1", "''=1"),
            ("-inf", "'-inf"),
            ("-5", "-5"),
            ("+3.5e7", "+3.5e7"),
            ("-5+cmd", "'-5+cmd"),
            ("a=b", "a=b"),
            ("'quoted'", "'quoted'"),
            ("", "\"\""),
            ("a;b", "\"a;b\""),
        ] {
            assert_eq!(field(text, CsvTexts::Guarded), expected, "{text:?}");
        }
        assert_eq!(field("=1+1", CsvTexts::Exact), "=1+1");
        assert_eq!(field("\t=1", CsvTexts::Exact), "\"\t=1\"");
    }
}
