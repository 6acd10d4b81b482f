//! Numbers from their decimal digits, without rounding on the way.

use std::fmt;

/// Times lie within 146 years of 0, so that differences never overflow.
pub(super) const MAX_NS: i64 = 1 << 62;

/// Times in this range (2001 to 2096) are taken to be Unix time.
pub(super) const EPOCH_NS: std::ops::Range<i64> =
    1_000_000_000_000_000_000..4_000_000_000_000_000_000;

/// What a file may count its times in where they are no microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Ticks,
}

impl Unit {
    /// The unit of a time that is out of range as microseconds. Times of day are known by their size; nanoseconds may
    /// also be those since a machine started.
    pub fn of(time: f64) -> Option<Self> {
        /// From 1601, where Windows counts from, to 1970.
        const TO_1970_NS: f64 = 11_644_473_600e9;
        let (first_ns, last_ns) = (EPOCH_NS.start as f64, EPOCH_NS.end as f64);
        let is_now = |ns: f64| (first_ns..last_ns).contains(&ns);
        let ticks_ns = time * 100.0;
        if !is_now(time) && (is_now(ticks_ns) || is_now(ticks_ns - TO_1970_NS)) {
            return Some(Self::Ticks);
        }
        (time.abs() < MAX_NS as f64).then_some(Self::Nanoseconds)
    }

    pub fn hint(self) -> &'static str {
        match self {
            Self::Nanoseconds => "divide ts and dur by 1000",
            // A machine that has been up for 116 days or more has as many nanoseconds.
            Self::Ticks => {
                "divide ts and dur by 10, or by 1000 if they are nanoseconds since the machine started"
            }
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Ticks => "ticks of 100 ns, as clocks of Windows count them",
        })
    }
}

/// Converts a decimal number of microseconds to nanoseconds, rounded. `None` if it is not a number or out of range.
pub(super) fn nanoseconds(text: &[u8]) -> Option<i64> {
    let (whole, thousandths) = scaled(text, 3)?;
    let value = whole.saturating_add(i128::from(thousandths));
    let value = if text.first() == Some(&b'-') {
        -value
    } else {
        value
    };
    let value = i64::try_from(value).ok()?;
    is_in_range(value).then_some(value)
}

/// 64 bits hold the difference to any other time in range.
pub(super) fn is_in_range(time_ns: i64) -> bool {
    (-MAX_NS..MAX_NS).contains(&time_ns)
}

/// A whole number, also with an exponent or with only zeros after the point.
pub(super) fn integer(text: &[u8]) -> Option<i128> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let value = if !digits.is_empty() && digits.len() <= 36 && digits.iter().all(u8::is_ascii_digit)
    {
        digits
            .iter()
            .fold(0, |value, digit| value * 10 + i128::from(digit - b'0'))
    } else {
        let (tenths, _) = scaled(text, 1)?;
        if tenths % 10 != 0 {
            return None;
        }
        tenths / 10
    };
    Some(if digits.len() < text.len() {
        -value
    } else {
        value
    })
}

/// A number used as an identifier: decimal, or hexadecimal after `0x`.
pub(super) fn identity(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if let Some(digits) = text
        .strip_prefix(b"0x")
        .or_else(|| text.strip_prefix(b"0X"))
    {
        return u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    }
    u64::try_from(integer(text)?).ok()
}

pub(super) fn float(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The absolute value times 10^`places`, truncated, and whether the truncated part is at least a half.
fn scaled(text: &[u8], places: i32) -> Option<(i128, bool)> {
    let text = text
        .strip_prefix(b"-")
        .or(text.strip_prefix(b"+"))
        .unwrap_or(text);
    let mark = text.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = match mark {
        Some(at) => (
            &text[..at],
            std::str::from_utf8(&text[at + 1..]).ok()?.parse().ok()?,
        ),
        None => (text, 0_i32),
    };
    let point = mantissa.iter().position(|b| *b == b'.');
    let whole = point.unwrap_or(mantissa.len());
    // Digits before this one count.
    let take = i32::try_from(whole)
        .ok()?
        .checked_add(exponent)?
        .checked_add(places)?;
    let (mut value, mut seen, mut half) = (0_i128, 0, false);
    for byte in mantissa
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != point)
        .map(|(_, b)| b)
    {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = i128::from(byte - b'0');
        if seen < take {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if seen == take {
            half = digit >= 5;
        }
        seen += 1;
    }
    if seen == 0 {
        return None;
    }
    while seen < take && value != 0 {
        value = value.checked_mul(10)?;
        seen += 1;
    }
    Some((value, half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_say_what_they_are_counted_in() {
        for (time, unit) in [
            (1_712_195_495_519_000_064.0, Some(Unit::Nanoseconds)),
            // Of a machine that started two months ago.
            (5_184_000_000_000_000.0, Some(Unit::Nanoseconds)),
            // April 2014, since 1970 and since 1601.
            (13_984_392_629_999_074.0, Some(Unit::Ticks)),
            (130_429_128_629_999_074.0, Some(Unit::Ticks)),
            (1e30, None),
        ] {
            assert_eq!(Unit::of(time), unit, "{time}");
        }
    }

    #[test]
    fn microseconds_become_nanoseconds_exactly() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1.1", Some(1_100)),
            ("1712195495519689.813", Some(1_712_195_495_519_689_813)),
            ("-3.5", Some(-3_500)),
            ("63.812999999999995", Some(63_813)),
            ("0.0004", Some(0)),
            ("0.0005", Some(1)),
            ("1.5e3", Some(1_500_000)),
            ("12E-3", Some(12)),
            ("1e-40", Some(0)),
            ("1e40", None),
            ("1e999999999999", None),
            ("", None),
            ("-", None),
            ("1.2.3", None),
            ("4611686018427387.903", Some((1 << 62) - 1)),
            ("4611686018427387.904", None),
            ("-4611686018427387.904", Some(-1 << 62)),
            // 2^127 - 1, and a half that would make it one more.
            ("170141183460469231731687303715884105.7279", None),
        ] {
            assert_eq!(nanoseconds(text.as_bytes()), ns, "{text}");
        }
    }

    #[test]
    fn integers_keep_64_bits() {
        assert_eq!(integer(b"18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!(integer(b"-7"), Some(-7));
        assert_eq!(integer(b"7.0"), Some(7));
        assert_eq!(integer(b"1e3"), Some(1_000));
        assert_eq!(integer(b"7.5"), None);
        assert_eq!(integer(b"x"), None);
        assert_eq!(identity(b"0xaf5adc4cfdcd427c"), Some(0xaf5a_dc4c_fdcd_427c));
        assert_eq!(identity(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(identity(b"8780d402"), None);
    }
}
