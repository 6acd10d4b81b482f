//! Tokens of a query with their places in its text, as the engine's own parser sees them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use sqlparser::ast::ObjectName;
use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Location, Token as Parsed, TokenWithSpan, Tokenizer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Quoted,
    Mark(char),
    Literal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    pub(super) depth: usize,
    pub(super) name: Option<String>,
}

impl Token {
    pub(super) fn text<'a>(&self, sql: &'a str) -> &'a str {
        &sql[self.range.clone()]
    }

    pub(super) fn is(&self, keyword: &str) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        self.kind == Kind::Word && name.eq_ignore_ascii_case(keyword)
    }
}

/// The tokens of a query, without white space and comments. What follows an unclosed string, name or comment is
/// dropped, because the engine reports the error for the whole query.
///
/// Recent results are cached: a query is tokenized ten times before it runs.
pub(super) fn tokens(sql: &str) -> Rc<[Token]> {
    recent(sql, |tokenized| Rc::clone(&tokenized.tokens))
}

/// The tokens of the parser. They are handed out once, because few texts are parsed twice. `None` for a text that they
/// do not cover.
pub(super) fn for_parser(sql: &str) -> Option<Vec<TokenWithSpan>> {
    recent(sql, |tokenized| tokenized.for_parser.take())
}

struct Tokenized {
    sql: String,
    tokens: Rc<[Token]>,
    for_parser: Option<Vec<TokenWithSpan>>,
}

fn recent<T>(sql: &str, then: impl FnOnce(&mut Tokenized) -> T) -> T {
    const KEPT: usize = 8;
    thread_local! {
        static RECENT: RefCell<VecDeque<Tokenized>> = const { RefCell::new(VecDeque::new()) };
    }
    RECENT.with_borrow_mut(|recent| {
        let at = recent.iter().position(|known| known.sql == sql);
        let at = at.unwrap_or_else(|| {
            recent.truncate(KEPT - 1);
            recent.push_front(Tokenized::new(sql));
            0
        });
        then(&mut recent[at])
    })
}

/// The name of a table, with that of its plugin before a dot.
pub(super) fn dotted(name: &ObjectName) -> Option<String> {
    let parts = name
        .0
        .iter()
        .map(|part| Some(part.as_ident()?.value.as_str()));
    Some(parts.collect::<Option<Vec<_>>>()?.join("."))
}

impl Tokenized {
    fn new(sql: &str) -> Self {
        let mut parsed = Vec::new();
        let read =
            Tokenizer::new(&GenericDialect, sql).tokenize_with_location_into_buf(&mut parsed);
        Self {
            sql: sql.to_owned(),
            tokens: own(sql, &parsed).into(),
            for_parser: read.is_ok().then_some(parsed),
        }
    }
}

fn own(sql: &str, parsed: &[TokenWithSpan]) -> Vec<Token> {
    let mut place = Place::new(sql);
    let mut depth: usize = 0;
    let mut tokens = Vec::new();
    for found in parsed {
        let range = place.reach(found.span.start)..place.reach(found.span.end);
        let Some(first) = sql[range.clone()].chars().next() else {
            continue;
        };
        let (kind, name) = match &found.token {
            Parsed::Whitespace(_) | Parsed::EOF => continue,
            Parsed::Word(word) => match word.quote_style {
                None => (Kind::Word, Some(word.value.clone())),
                Some(_) => (Kind::Quoted, Some(word.value.clone())),
            },
            Parsed::LParen => (Kind::Mark('('), None),
            Parsed::Number(..) | Parsed::DollarQuotedString(_) => (Kind::Literal, None),
            // Strings, some with a letter that says which kind they are.
            _ if first.is_alphanumeric() || first == '\'' => (Kind::Literal, None),
            _ => (Kind::Mark(first), None),
        };
        if kind == Kind::Mark(')') {
            depth = depth.saturating_sub(1);
        }
        tokens.push(Token {
            kind,
            range,
            depth,
            name,
        });
        if kind == Kind::Mark('(') {
            depth += 1;
        }
    }
    tokens
}

/// A position that advances through a text, in bytes and, like the parser, in lines and characters.
struct Place<'a> {
    rest: &'a str,
    bytes: usize,
    location: Location,
}

impl<'a> Place<'a> {
    fn new(sql: &'a str) -> Self {
        Self {
            rest: sql,
            bytes: 0,
            location: Location::new(1, 1),
        }
    }

    /// Advances to a location that is not before the current one. Returns its byte offset.
    fn reach(&mut self, location: Location) -> usize {
        let mut chars = self.rest.chars();
        while self.location < location
            && let Some(c) = chars.next()
        {
            self.bytes += c.len_utf8();
            match c {
                '\n' => self.location = Location::new(self.location.line + 1, 1),
                _ => self.location.column += 1,
            }
        }
        self.rest = chars.as_str();
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tokens_of_any_text_follow_one_another(text in any::<String>()) {
            let mut end = 0;
            for token in tokens(&text).iter() {
                prop_assert!(token.range.start >= end && token.range.end > token.range.start);
                prop_assert!(text.get(token.range.clone()).is_some());
                end = token.range.end;
            }
        }
    }

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).iter().map(|t| t.text(sql)).collect()
    }

    #[test]
    fn strings_names_and_comments_are_told_apart() {
        let sql =
            "SELECT ä.\"b \"\"c\" -- FROM x\n, 'it''s /* no */', 1.5e3 /* /* in */ out */ FROM t;";
        let expected = [
            "SELECT",
            "ä",
            ".",
            "\"b \"\"c\"",
            ",",
            "'it''s /* no */'",
            ",",
            "1.5e3",
            "FROM",
            "t",
            ";",
        ];
        assert_eq!(texts(sql), expected);
        assert_eq!(tokens(sql)[3].name.as_deref(), Some("b \"c"));
    }

    #[test]
    fn a_number_ends_with_its_exponent() {
        assert_eq!(
            texts("1e6+1E-6 -2.5e+3 - .5"),
            ["1e6", "+", "1E-6", "-", "2.5e+3", "-", ".5"]
        );
    }
}
