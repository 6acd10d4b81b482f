//! Reads SQL just far enough to know names from strings and comments.

use std::ops::Range;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or a plain name.
    Word,
    /// A name in quotes.
    Quoted,
    /// One character of punctuation.
    Mark(char),
    /// A string or a number.
    Literal,
}

/// One token, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    /// Number of parentheses open around it.
    pub(super) depth: usize,
}

impl Token {
    pub(super) fn text<'a>(&self, sql: &'a str) -> &'a str {
        &sql[self.range.clone()]
    }

    /// Tells whether it is this keyword.
    pub(super) fn is(&self, sql: &str, keyword: &str) -> bool {
        self.kind == Kind::Word && self.text(sql).eq_ignore_ascii_case(keyword)
    }

    /// The name it stands for, without its quotes.
    pub(super) fn name(&self, sql: &str) -> Option<String> {
        let text = self.text(sql);
        match self.kind {
            Kind::Word => Some(text.to_owned()),
            Kind::Quoted => {
                let quote = text.chars().next()?;
                let inner = text.get(1..text.len().checked_sub(1)?)?;
                Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
            }
            Kind::Mark(_) | Kind::Literal => None,
        }
    }
}

/// The tokens of a query; white space and comments are left out.
pub(super) fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut depth: usize = 0;
    let mut at = 0;
    while let Some(c) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let (kind, bytes) = if c.is_whitespace() {
            (None, c.len_utf8())
        } else if rest.starts_with("--") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, comment_bytes(rest))
        } else if c == '\'' {
            (Some(Kind::Literal), quoted_bytes(rest, c))
        } else if c == '"' || c == '`' {
            (Some(Kind::Quoted), quoted_bytes(rest, c))
        } else if c.is_ascii_digit() {
            (Some(Kind::Literal), number_bytes(rest))
        } else if c.is_alphabetic() || c == '_' {
            (
                Some(Kind::Word),
                run_bytes(rest, |c| c.is_alphanumeric() || c == '_' || c == '$'),
            )
        } else {
            (Some(Kind::Mark(c)), c.len_utf8())
        };
        if kind == Some(Kind::Mark(')')) {
            depth = depth.saturating_sub(1);
        }
        if let Some(kind) = kind {
            tokens.push(Token {
                kind,
                range: at..at + bytes,
                depth,
            });
        }
        if kind == Some(Kind::Mark('(')) {
            depth += 1;
        }
        at += bytes;
    }
    tokens
}

/// Up to the end of a number, with the sign of its exponent.
fn number_bytes(text: &str) -> usize {
    let of = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let bytes = run_bytes(text, of);
    let after = &text[bytes..];
    let in_exponent = text[..bytes].ends_with(['e', 'E'])
        && !text.starts_with("0x")
        && after.starts_with(['+', '-'])
        && after[1..].starts_with(|c: char| c.is_ascii_digit());
    if in_exponent {
        bytes + 1 + run_bytes(&after[1..], of)
    } else {
        bytes
    }
}

fn run_bytes(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

/// Up to and with the closing quote; a doubled quote does not close.
fn quoted_bytes(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Comments nest.
fn comment_bytes(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tokens_of_any_text_follow_one_another(text in any::<String>()) {
            let mut end = 0;
            for token in tokens(&text) {
                prop_assert!(token.range.start >= end && token.range.end > token.range.start);
                prop_assert!(text.get(token.range.clone()).is_some());
                let _ = token.name(&text);
                end = token.range.end;
            }
        }
    }

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).iter().map(|t| t.text(sql)).collect()
    }

    #[test]
    fn strings_names_and_comments_are_told_apart() {
        assert_eq!(
            texts(
                "SELECT a.\"b \"\"c\" -- FROM x\n, 'it''s /* no */', 1.5e3 /* /* in */ out */ FROM t;"
            ),
            [
                "SELECT",
                "a",
                ".",
                "\"b \"\"c\"",
                ",",
                "'it''s /* no */'",
                ",",
                "1.5e3",
                "FROM",
                "t",
                ";"
            ]
        );
    }

    #[test]
    fn a_number_ends_with_its_exponent() {
        assert_eq!(
            texts("1e6+1E-6 -2.5e+3-1e - 0x1e-3"),
            [
                "1e6", "+", "1E-6", "-", "2.5e+3", "-", "1e", "-", "0x1e", "-", "3"
            ]
        );
    }

    #[test]
    fn what_is_never_closed_ends_with_the_text() {
        for sql in ["'abc", "\"abc", "/* abc", "-- abc", "`ä", "'"] {
            assert!(
                tokens(sql).iter().all(|t| t.range.end == sql.len()),
                "{sql}"
            );
        }
    }
}
