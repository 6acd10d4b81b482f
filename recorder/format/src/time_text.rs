//! Times as people type them: a number with its unit.

use std::time::Duration;

/// Longest names first, because `ms` ends with `s`.
const UNITS: [(&str, i64); 9] = [
    ("min", 60_000_000_000),
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a time with its unit into nanoseconds, such as `250us`, `1.5ms`, `2s` or `10m`. A bare `0` needs no unit.
///
/// # Errors
/// The expected form. A bare number could be anything, so it is refused with its likely readings.
pub fn parse_time(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let unit = UNITS
        .iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?.trim_end(), *ns)));
    let Some((number, unit_ns)) = unit else {
        return match text.parse::<f64>() {
            Ok(0.0) => Ok(0),
            Ok(number) if number > 0.0 && number.is_finite() => Err(no_unit(text)),
            _ => Err(expected()),
        };
    };
    if let Ok(whole) = number.parse::<i64>() {
        // Exact also where a double is not.
        let ns = whole.checked_mul(unit_ns).filter(|ns| *ns >= 0);
        return ns.ok_or_else(expected);
    }
    let number: f64 = number.parse().map_err(|_| expected())?;
    let ns = (number * unit_ns as f64).round();
    if ns.is_finite() && (0.0..9e18).contains(&ns) {
        Ok(ns as i64)
    } else {
        Err(expected())
    }
}

/// Parses a positive duration, such as `30s` or `500ms`.
///
/// # Errors
/// As of [`parse_time`].
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let ns = parse_time(text)?;
    match u64::try_from(ns) {
        Ok(ns) if ns > 0 => Ok(Duration::from_nanos(ns)),
        _ => Err("expected a time above zero, such as 30s or 500ms".to_owned()),
    }
}

fn expected() -> String {
    "expected a time with its unit, such as 250us, 1.5ms, 2s or 10m".to_owned()
}

fn no_unit(number: &str) -> String {
    format!("a time needs a unit: {number}s, {number}ms, {number}us or {number}ns?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let texts = [
            "250us", "1.5ms", "2s", "3 µs", "3 μs", "40ns", "10m", "10min", "2h", "0", "0.0",
        ];
        let parsed = texts.map(|text| parse_time(text).unwrap());
        let minutes = 600_000_000_000;
        let expected = [
            250_000,
            1_500_000,
            2_000_000_000,
            3_000,
            3_000,
            40,
            minutes,
            minutes,
            12 * minutes,
            0,
            0,
        ];
        assert_eq!(parsed, expected);
        assert_eq!(parse_time("9007199254740993ns"), Ok(9_007_199_254_740_993));
        for wrong in [
            "",
            "ms",
            "1d",
            "-1us",
            "-1",
            "NaN",
            "nans",
            "inf",
            "infs",
            "1 2s",
            "99999999999h",
        ] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_its_readings() {
        for bare in ["10", "1.5", "1000000", "1e3"] {
            let why = parse_time(bare).unwrap_err();
            for reading in ["s", "ms", "us", "ns"] {
                assert!(why.contains(&format!("{bare}{reading}")), "{why}");
            }
        }
    }

    #[test]
    fn a_length_is_above_zero() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        for wrong in ["", "0", "0s", "-1s", "30", "x"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
