//! Numbers and units as ncu prints them.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Is(f64),
    /// `n/a`, `nan`, a text, or nothing.
    None,
    /// A decimal comma: in such a file thousands cannot be distinguished from fractions.
    Comma,
}

/// Parses a cell. Commas between groups of three digits are thousands separators.
pub fn number(text: &str) -> Number {
    let text = text.trim();
    let plain = |text: &str| match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Number::Is(value),
        _ => Number::None,
    };
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit())
        && unsigned
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b',' || b == b'.');
    if !numeric || !text.contains(',') {
        return plain(text);
    }
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut groups = whole.split(',');
    let first = groups.next().map_or(0, str::len);
    if (1..=3).contains(&first)
        && !fraction.contains([',', '.'])
        && groups.all(|group| group.len() == 3)
    {
        return plain(&text.replace(',', ""));
    }
    Number::Comma
}

/// Factor to the base unit, and the base unit's name. ncu scales units without `--print-units base`.
pub fn unit(unit: &str) -> (f64, &str) {
    match unit {
        "nsecond" | "ns" => return (1.0, "ns"),
        "usecond" | "us" => return (1e3, "ns"),
        "msecond" | "ms" => return (1e6, "ns"),
        "second" | "s" => return (1e9, "ns"),
        _ => {}
    }
    for (prefix, factor) in [("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)] {
        if let Some(base @ ("byte" | "inst" | "sector")) = unit.strip_prefix(prefix) {
            return (factor, base);
        }
    }
    (1.0, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_read_and_decimal_commas_are_not_guessed() {
        for (text, expected) in [
            ("42", Number::Is(42.0)),
            ("1,234,567", Number::Is(1_234_567.0)),
            ("1,234.5", Number::Is(1_234.5)),
            ("-1,234", Number::Is(-1_234.0)),
            ("1e3", Number::Is(1_000.0)),
            ("12,5", Number::Comma),
            ("1.234,5", Number::Comma),
            ("1234,567", Number::Comma),
            ("n/a", Number::None),
            ("nan", Number::None),
            ("inf", Number::None),
            ("", Number::None),
            ("(1, 1, 1)", Number::None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        assert_eq!(unit("Kbyte"), (1e3, "byte"));
        assert_eq!(unit("msecond"), (1e6, "ns"));
        assert_eq!(unit("%"), (1.0, "%"));
    }
}
