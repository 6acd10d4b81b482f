//! Counts for people.

use std::fmt::Display;

/// A count with its noun: `1 row lies`, `3 rows lie`, `45,452 rows lie`. `one` is the form for a count of 1.
///
/// ```
/// use trueno_plugin::counted;
/// assert_eq!(counted(1, "row", "rows"), "1 row");
/// assert_eq!(counted(0_u64, "row", "rows"), "0 rows");
/// assert_eq!(counted(45_452, "row", "rows"), "45,452 rows");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, more: &str) -> String {
    let word = if count == N::from(1) { one } else { more };
    format!("{} {word}", grouped(count))
}

/// A count in groups of three digits: `45,452`.
pub fn grouped(count: impl Display) -> String {
    let number = count.to_string();
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number;
    }
    let mut text = String::with_capacity(number.len() + number.len() / 3);
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && (number.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The word that agrees with a count elsewhere in the sentence: `1 of 3 points has`.
pub fn agreeing<'a, N: PartialEq + From<u8>>(count: N, one: &'a str, more: &'a str) -> &'a str {
    if count == N::from(1) { one } else { more }
}
