//! Truth of conditions, batch by batch.

use super::rows::Batch;
use super::{Comparison, Condition, TextTest};
use crate::columns::{FALSE, Kind, TRUE, Truths, UNKNOWN};

impl Condition {
    pub(super) fn truths(&self, batch: &Batch<'_>) -> Truths {
        match self {
            Self::Constant(true) => Truths::Same(TRUE),
            // What is still to be resolved holds for no row.
            Self::Constant(false) | Self::Texts(..) | Self::Among(..) => Truths::Same(FALSE),
            Self::Column(column) => batch.column(*column).test(|value| value != 0),
            Self::Text(column, number) => {
                let number = *number;
                batch.column(*column).test(|value| value == number)
            }
            Self::Numbers(column, set) => batch
                .column(*column)
                .test(|value| set.get(value as usize).is_some_and(|is_in| *is_in)),
            Self::Integers(column, sorted) => batch
                .column(*column)
                .test(|value| sorted.binary_search(&value).is_ok()),
            Self::Integer(column, kind, by, than) => {
                let packed = batch.column(*column);
                let than = *than;
                if *kind == Kind::U64 {
                    return match by {
                        Comparison::Equal => packed.test(|value| value == than),
                        Comparison::Less => packed.test(|value| value < than),
                        Comparison::LessOrEqual => packed.test(|value| value <= than),
                        Comparison::Greater => packed.test(|value| value > than),
                        Comparison::GreaterOrEqual => packed.test(|value| value >= than),
                    };
                }
                let than = than.cast_signed();
                match by {
                    Comparison::Equal => packed.test(|value| value.cast_signed() == than),
                    Comparison::Less => packed.test(|value| value.cast_signed() < than),
                    Comparison::LessOrEqual => packed.test(|value| value.cast_signed() <= than),
                    Comparison::Greater => packed.test(|value| value.cast_signed() > than),
                    Comparison::GreaterOrEqual => packed.test(|value| value.cast_signed() >= than),
                }
            }
            Self::Same(a, b) => {
                let (a, b) = (batch.column(*a), batch.column(*b));
                let truth = |row| match (a.get(row), b.get(row)) {
                    (Some(a), Some(b)) if a == b => TRUE,
                    (Some(_), Some(_)) => FALSE,
                    _ => UNKNOWN,
                };
                Truths::Each((0..batch.rows).map(truth).collect())
            }
            Self::Present(column) => batch.column(*column).presence(),
            Self::Not(inner) => inner.truths(batch).not(),
            Self::And(a, b) => match a.truths(batch) {
                Truths::Same(FALSE) => Truths::Same(FALSE),
                truths => truths.and(b.truths(batch)),
            },
            Self::Or(a, b) => match a.truths(batch) {
                Truths::Same(TRUE) => Truths::Same(TRUE),
                truths => truths.or(b.truths(batch)),
            },
        }
    }
}

impl TextTest {
    pub(super) fn holds(&self, text: &str) -> bool {
        match self {
            Self::Among(texts) => texts.contains(text),
            Self::Like { is_lower, pattern } => {
                let text: Vec<char> = if *is_lower {
                    text.to_lowercase().chars().collect()
                } else {
                    text.chars().collect()
                };
                is_like(&text, pattern)
            }
        }
    }
}

/// `LIKE`: `%` matches any characters, `_` exactly one.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    let (mut at, mut next) = (0, 0);
    // The last `%`, and where in the text what follows it is being looked for.
    let mut any: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(next) {
            Some('%') => {
                any = Some((next, at));
                next += 1;
            }
            Some(one) if *one == '_' || *one == text[at] => {
                at += 1;
                next += 1;
            }
            _ => {
                let Some((percent, from)) = any else {
                    return false;
                };
                any = Some((percent, from + 1));
                (next, at) = (percent + 1, from + 1);
            }
        }
    }
    pattern[next..].iter().all(|one| *one == '%')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::is_like;

    fn slowly(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|from| slowly(&text[from..], rest)),
            Some((one, rest)) => text
                .split_first()
                .is_some_and(|(first, text)| (*one == '_' || one == first) && slowly(text, rest)),
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_their_definition_says(
            text in "[ab_%]{0,8}",
            pattern in "[ab_%]{0,6}",
        ) {
            let text: Vec<char> = text.chars().collect();
            let pattern: Vec<char> = pattern.chars().collect();
            prop_assert_eq!(is_like(&text, &pattern), slowly(&text, &pattern));
        }
    }
}
