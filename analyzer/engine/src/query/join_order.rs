//! Conditions of joins, put the way round that the engine reads rightly.
//!
//! Of `a JOIN b ON … JOIN c ON c.id = b.id` it knows `a` and `c` by name, takes `b.id` for a column of `c`, and joins
//! `a.id` with `c.id`: other rows, without a word. `b.id = c.id` it reads rightly.

use std::borrow::Cow;
use std::ops::Range;

use super::tokens::{Kind, Token, tokens};

/// Words that end the condition of a join.
const ENDS: [&str; 20] = [
    "join",
    "left",
    "right",
    "inner",
    "full",
    "cross",
    "natural",
    "semi",
    "anti",
    "where",
    "group",
    "having",
    "qualify",
    "window",
    "order",
    "limit",
    "offset",
    "union",
    "except",
    "intersect",
];

/// Puts the side of each equality that is of the joined table behind the other.
pub(super) fn with_joined_last(sql: &str) -> Cow<'_, str> {
    let tokens = tokens(sql);
    let mut swaps: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (at, on) in tokens.iter().enumerate() {
        let joined = at.checked_sub(1).and_then(|at| tokens[at].name.as_deref());
        let Some(joined) = joined.filter(|_| on.is("on")) else {
            continue;
        };
        for condition in conjuncts(&tokens[at + 1..], on.depth) {
            swaps.extend(to_swap(condition, joined));
        }
    }
    if swaps.is_empty() {
        return Cow::Borrowed(sql);
    }
    let mut out = String::with_capacity(sql.len());
    let mut copied = 0;
    for (left, right) in swaps {
        out.push_str(&sql[copied..left.start]);
        out.push_str(&sql[right.clone()]);
        out.push_str(&sql[left.end..right.start]);
        out.push_str(&sql[left]);
        copied = right.end;
    }
    out.push_str(&sql[copied..]);
    Cow::Owned(out)
}

/// The parts between `AND`s of the condition that begins here, at a depth.
fn conjuncts(tokens: &[Token], depth: usize) -> impl Iterator<Item = &[Token]> {
    let is_end = |token: &Token| {
        token.depth < depth
            || token.kind == Kind::Mark(';')
            || (token.depth == depth && ENDS.iter().any(|word| token.is(word)))
    };
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    tokens[..end].split(move |token| token.depth == depth && token.is("and"))
}

/// Places of both sides of an equality whose left side, and no other, is of the joined table.
fn to_swap(condition: &[Token], joined: &str) -> Option<(Range<usize>, Range<usize>)> {
    let depth = condition.first()?.depth;
    let mut equals = (0..condition.len()).filter(|at| {
        let token = &condition[*at];
        token.depth == depth && token.kind == Kind::Mark('=') && token.range.len() == 1
    });
    let (Some(at), None) = (equals.next(), equals.next()) else {
        return None;
    };
    let (left, right) = (&condition[..at], &condition[at + 1..]);
    let place = |side: &[Token]| Some(side.first()?.range.start..side.last()?.range.end);
    let has = |side: &[Token], is: &dyn Fn(&str) -> bool| {
        side.windows(2).any(|pair| {
            let name = pair[0].name.as_deref();
            pair[1].kind == Kind::Mark('.') && name.is_some_and(is)
        })
    };
    let is_joined = |name: &str| name.eq_ignore_ascii_case(joined);
    let is_other = |name: &str| !is_joined(name);
    let is_of_joined = has(left, &is_joined) && !has(left, &is_other);
    (is_of_joined && has(right, &is_other) && !has(right, &is_joined))
        .then(|| Some((place(left)?, place(right)?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_joined_table_comes_last() {
        for (sql, expected) in [
            (
                "SELECT 1 FROM a JOIN b ON b.i = a.x JOIN c AS d ON d.id = b.parent AND d.n = a.n WHERE d.id = b.k",
                "SELECT 1 FROM a JOIN b ON a.x = b.i JOIN c AS d ON b.parent = d.id AND a.n = d.n WHERE d.id = b.k",
            ),
            (
                "SELECT 1 FROM a JOIN \"p.t\" AS p ON CAST(p.id AS BIGINT) = a.id",
                "SELECT 1 FROM a JOIN \"p.t\" AS p ON a.id = CAST(p.id AS BIGINT)",
            ),
            (
                "SELECT (SELECT 1 FROM a JOIN b ON b.i=a.x) AS on_b FROM c",
                "SELECT (SELECT 1 FROM a JOIN b ON a.x=b.i) AS on_b FROM c",
            ),
        ] {
            assert_eq!(with_joined_last(sql), expected);
        }
        for same in [
            "SELECT 1 FROM a JOIN b ON a.x = b.i",
            "SELECT 1 FROM a JOIN b ON b.i >= a.x AND b.i = b.k AND b.i = 5",
            "SELECT 1 FROM a JOIN b ON b.i = a.x + b.y",
            "SELECT 1 FROM a JOIN b USING (i)",
            "SELECT a.on FROM a WHERE b.i = a.x",
            "SELECT 1 FROM a JOIN b ON",
        ] {
            assert_eq!(with_joined_last(same), same);
        }
    }
}
