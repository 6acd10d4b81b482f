//! Equalities between tables, put the way round that the engine reads rightly.
//!
//! Of `a JOIN b ON … JOIN c ON c.id = b.id` it knows `a` and `c` by name, takes `b.id` for a column of `c`, and joins
//! `a.id` with `c.id`: other rows, without a word. `b.id = c.id` it reads rightly. So it is with `FROM a, b, c WHERE …`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::tokens::{Kind, Token, tokens};

/// Words that no table is called by, behind its name.
const NO_ALIASES: [&str; 24] = [
    "on",
    "using",
    "join",
    "left",
    "right",
    "inner",
    "full",
    "cross",
    "natural",
    "semi",
    "anti",
    "asof",
    "where",
    "group",
    "having",
    "qualify",
    "window",
    "order",
    "limit",
    "offset",
    "fetch",
    "union",
    "except",
    "intersect",
];
/// Words between the sides of two equalities.
const BETWEEN: [&str; 30] = [
    "and",
    "or",
    "not",
    "on",
    "where",
    "having",
    "qualify",
    "select",
    "from",
    "join",
    "left",
    "right",
    "inner",
    "full",
    "cross",
    "natural",
    "semi",
    "anti",
    "group",
    "order",
    "limit",
    "offset",
    "union",
    "except",
    "intersect",
    "when",
    "then",
    "else",
    "end",
    "case",
];

/// Puts the side of each equality whose table is named later behind the other. The sides mean the same either way.
pub(super) fn with_later_last(sql: &str) -> Cow<'_, str> {
    let tokens = tokens(sql);
    let mut tables = Tables::default();
    let mut out = String::new();
    let mut copied = 0;
    for at in 0..tokens.len() {
        tables.pass(&tokens, at);
        let is_equality = tokens[at].kind == Kind::Mark('=') && tokens[at].range.len() == 1;
        let Some((left, right)) = is_equality.then(|| sides(&tokens, at)) else {
            continue;
        };
        let (Some(first), Some(second)) = (tables.range(left), tables.range(right)) else {
            continue;
        };
        let (left, right) = (text_of(left), text_of(right));
        // What lies in what was swapped already stays.
        if first.start > second.end && left.start >= copied {
            out.push_str(&sql[copied..left.start]);
            out.push_str(&sql[right.clone()]);
            out.push_str(&sql[left.end..right.start]);
            out.push_str(&sql[left]);
            copied = right.end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(sql);
    }
    out.push_str(&sql[copied..]);
    Cow::Owned(out)
}

/// Tables of a query by the names it gives them.
#[derive(Default)]
struct Tables {
    /// Place of each in the text; the newest of one name.
    places: HashMap<String, usize>,
    /// Depths of lists of tables that are open.
    lists: Vec<usize>,
}

impl Tables {
    /// Takes in what the token at a place tells.
    fn pass(&mut self, tokens: &[Token], at: usize) {
        let token = &tokens[at];
        self.lists.retain(|depth| *depth <= token.depth);
        let is_in_list = self.lists.last() == Some(&token.depth);
        match token.kind {
            _ if token.is("from") => self.lists.push(token.depth),
            _ if token.is("join") => {}
            Kind::Mark(',') if is_in_list => {}
            _ => {
                if is_in_list && ends_list(token) {
                    self.lists.pop();
                }
                return;
            }
        }
        if let Some(name) = name_of_table(&tokens[at + 1..]) {
            self.places.insert(name.to_ascii_lowercase(), at);
        }
    }

    /// Places of the first and the last table that a side names; `None`: it names none, or one that is not known.
    fn range(&self, side: &[Token]) -> Option<Range<usize>> {
        let named = side
            .windows(2)
            .filter(|pair| pair[1].kind == Kind::Mark('.'));
        let names = named.filter_map(|pair| pair[0].name.as_deref());
        let mut all = names.map(|name| self.places.get(&name.to_ascii_lowercase()).copied());
        let first = all.next()??;
        all.try_fold(first..first, |range, place| {
            let place = place?;
            Some(range.start.min(place)..range.end.max(place))
        })
    }
}

fn ends_list(token: &Token) -> bool {
    [
        "where",
        "group",
        "having",
        "qualify",
        "window",
        "order",
        "limit",
        "union",
        "except",
        "intersect",
        "select",
    ]
    .iter()
    .any(|word| token.is(word))
}

/// The name by which the rest of the query knows the table that begins here.
fn name_of_table(tokens: &[Token]) -> Option<&str> {
    let first = tokens.first()?;
    let mut at = 1;
    if first.kind == Kind::Mark('(') {
        let closes = |token: &Token| token.depth == first.depth && token.kind == Kind::Mark(')');
        at += tokens[1..].iter().position(closes)? + 1;
    }
    at += usize::from(tokens.get(at).is_some_and(|token| token.is("as")));
    let is_name = |token: &&Token| !NO_ALIASES.iter().any(|word| token.is(word));
    let alias = tokens.get(at).filter(is_name);
    alias
        .and_then(|token| token.name.as_deref())
        .or(first.name.as_deref())
}

/// Both sides of the equality at a place.
fn sides(tokens: &[Token], at: usize) -> (&[Token], &[Token]) {
    let depth = tokens[at].depth;
    let is_outside = |token: &Token| {
        token.depth < depth
            || (token.depth == depth
                && (matches!(token.kind, Kind::Mark(',' | ';' | '=' | '<' | '>' | '!'))
                    || BETWEEN.iter().any(|word| token.is(word))))
    };
    let before = tokens[..at]
        .iter()
        .rposition(is_outside)
        .map_or(0, |place| place + 1);
    let after = tokens[at + 1..].iter().position(is_outside);
    let after = after.map_or(tokens.len(), |count| at + 1 + count);
    (&tokens[before..at], &tokens[at + 1..after])
}

/// Place of tokens in the text.
fn text_of(tokens: &[Token]) -> Range<usize> {
    let start = tokens.first().map_or(0, |token| token.range.start);
    start..tokens.last().map_or(start, |token| token.range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_table_comes_last() {
        for (sql, expected) in [
            (
                "SELECT 1 FROM a JOIN b ON b.i = a.x LEFT JOIN c AS d ON d.id = b.parent AND d.n = a.n WHERE a.k = 1",
                "SELECT 1 FROM a JOIN b ON a.x = b.i LEFT JOIN c AS d ON b.parent = d.id AND a.n = d.n WHERE a.k = 1",
            ),
            (
                "SELECT 1 FROM a JOIN \"p.t\" AS p ON (CAST(p.id AS BIGINT) = a.id AND p.n<2)",
                "SELECT 1 FROM a JOIN \"p.t\" AS p ON (a.id = CAST(p.id AS BIGINT) AND p.n<2)",
            ),
            (
                "SELECT (SELECT 1 FROM a JOIN b ON b.i=a.x) AS c FROM d",
                "SELECT (SELECT 1 FROM a JOIN b ON a.x=b.i) AS c FROM d",
            ),
            (
                "SELECT 1 FROM k, b AS c, b d WHERE c.id = k.b AND d.id = C.parent",
                "SELECT 1 FROM k, b AS c, b d WHERE k.b = c.id AND C.parent = d.id",
            ),
            (
                "SELECT 1 FROM a JOIN (SELECT id AS i, n FROM b) AS s ON s.i = a.x",
                "SELECT 1 FROM a JOIN (SELECT id AS i, n FROM b) AS s ON a.x = s.i",
            ),
        ] {
            assert_eq!(with_later_last(sql), expected);
            assert_eq!(with_later_last(expected), expected);
        }
        for same in [
            "SELECT 1 FROM a JOIN b ON a.x = b.i",
            "SELECT 1 FROM a JOIN b ON b.i >= a.x AND b.i = b.k AND b.i = 5",
            "SELECT 1 FROM a JOIN b ON b.i = a.x + b.y",
            "SELECT 1 FROM a JOIN b USING (i)",
            "SELECT b.i = a.x FROM a, b",
            "SELECT 1 FROM a JOIN b ON",
            "SELECT 1 FROM",
            "SELECT 1 FROM a JOIN b ON b.i = unknown.x",
        ] {
            assert_eq!(with_later_last(same), same);
        }
    }
}
