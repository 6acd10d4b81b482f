//! Counts for people.

use std::fmt::Display;

/// A count with its noun: `1 row lies`, `3 rows lie`. `one` is the form for a count of 1.
///
/// ```
/// use trueno_plugin::counted;
/// assert_eq!(counted(1, "row", "rows"), "1 row");
/// assert_eq!(counted(0_u64, "row", "rows"), "0 rows");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, more: &str) -> String {
    let word = if count == N::from(1) { one } else { more };
    format!("{count} {word}")
}

/// The word that agrees with a count elsewhere in the sentence: `1 of 3 points has`.
pub fn agreeing<'a, N: PartialEq + From<u8>>(count: N, one: &'a str, more: &'a str) -> &'a str {
    if count == N::from(1) { one } else { more }
}
