//! Shares for people.

/// Rounding error allowed in a sum of shares that should be 1.
const ROUNDING: f64 = 1e-12;

/// A share in per cent with one decimal, as reports show it: `12.3 %`. What is more than nothing and would be
/// rounded to it is `<0.1 %`; what is less than all and would be rounded to it, `>99.9 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        "<0.1 %".to_owned()
    } else if percent >= 99.95 && share < 1.0 - ROUNDING {
        ">99.9 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn only_nothing_is_nothing_and_only_all_is_all() {
        for (share, expected) in [
            (0.0, "0.0 %"),
            (1e-9, "<0.1 %"),
            (0.0004, "<0.1 %"),
            (0.0005, "0.1 %"),
            (0.123, "12.3 %"),
            (0.9994, "99.9 %"),
            (0.99974, ">99.9 %"),
            (0.999_999_998_4, ">99.9 %"),
            (0.1 + 0.2 + 0.3 + 0.4 - 1e-15, "100.0 %"),
            (1.0, "100.0 %"),
            (1.449, "144.9 %"),
            (-0.25, "-25.0 %"),
        ] {
            assert_eq!(percent(share), expected, "{share}");
        }
    }
}
