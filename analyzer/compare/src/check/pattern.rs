//! Names by a pattern: `*` for any text, `?` for one character; case does not matter.

/// Whether all of `name` fits.
pub fn fits(pattern: &str, name: &str) -> bool {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (pattern, name) = (lower(pattern), lower(name));
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::fits;
    use proptest::prelude::*;

    fn slow(pattern: &[char], name: &[char]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some('*'), _) => {
                slow(&pattern[1..], name) || (!name.is_empty() && slow(pattern, &name[1..]))
            }
            (Some(p), Some(n)) => (*p == '?' || p == n) && slow(&pattern[1..], &name[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn as_the_definition_says(pattern in "[ab*?]{0,7}", name in "[ab]{0,9}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(fits(&pattern, &name), slow(&chars(&pattern), &chars(&name)));
        }
    }

    #[test]
    fn case_does_not_matter() {
        assert!(fits("qkv*", "QkvProjection") && !fits("qkv", "QkvProjection"));
    }
}
