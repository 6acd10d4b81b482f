use proptest::prelude::*;

use super::*;

#[test]
fn units_follow_from_the_end_of_the_name() {
    for (name, unit) in [
        ("self_ns", Unit::Nanoseconds),
        ("bytes", Unit::Bytes),
        ("read_bytes", Unit::Bytes),
        ("bytes_per_s", Unit::BytesPerSecond),
        ("elements_per_s", Unit::PerSecond),
        ("wall_share", Unit::Share),
        ("id", Unit::Label),
        ("seq", Unit::Label),
        ("calls", Unit::None),
        ("columns", Unit::None),
    ] {
        assert_eq!(Unit::from_column(name), unit, "{name}");
    }
}

#[test]
fn values_are_shown_in_the_unit_a_person_would_choose() {
    for (cell, unit, text) in [
        (Cell::I64(0), Unit::Nanoseconds, "0 ns"),
        (Cell::I64(999), Unit::Nanoseconds, "999 ns"),
        (Cell::I64(1_234), Unit::Nanoseconds, "1.23 µs"),
        (Cell::I64(1_234_567), Unit::Nanoseconds, "1.23 ms"),
        (Cell::I64(999_960), Unit::Nanoseconds, "1.00 ms"),
        (Cell::I64(-45_600_000), Unit::Nanoseconds, "-45.6 ms"),
        (Cell::I64(3_725_000_000_000), Unit::Nanoseconds, "3725 s"),
        (Cell::F64(4.51e9), Unit::BytesPerSecond, "4.51 GB/s"),
        (Cell::U64(512), Unit::Bytes, "512 B"),
        (Cell::F64(2_500_000.0), Unit::PerSecond, "2.50 M/s"),
        (Cell::F64(0.123), Unit::Share, "12.3 %"),
        (Cell::F64(0.0), Unit::Share, "0.0 %"),
        (Cell::F64(0.0001), Unit::Share, "<0.1 %"),
        (Cell::F64(-0.0001), Unit::Share, ">-0.1 %"),
        (Cell::F64(1.0), Unit::Share, "100.0 %"),
        (Cell::F64(0.999_999_8), Unit::Share, ">99.9 %"),
        (Cell::Null, Unit::Share, "–"),
        (Cell::U64(u64::MAX), Unit::Label, "18446744073709551615"),
        (Cell::U64(1_234_567), Unit::None, "1,234,567"),
        (Cell::I64(-1_000), Unit::None, "-1,000"),
        (Cell::I64(12), Unit::None, "12"),
        (Cell::F64(0.5), Unit::None, "0.50"),
        (Cell::F64(0.0123), Unit::None, "0.012"),
        (Cell::F64(0.0012), Unit::None, "0.0012"),
        (Cell::F64(-0.0043), Unit::None, "-0.0043"),
        (Cell::F64(0.00012), Unit::None, "1.20e-4"),
        (Cell::F64(0.0004), Unit::PerSecond, "4.00e-4 /s"),
        (Cell::F64(0.004), Unit::Nanoseconds, "0.0040 ns"),
        (Cell::F64(253_952.0), Unit::None, "253,952"),
        (Cell::F64(-1234.5), Unit::None, "-1,235"),
        (Cell::F64(999_999.5), Unit::None, "1.00 M"),
        (Cell::F64(23_200_000.0), Unit::None, "23.2 M"),
        (Cell::F64(3.0e20), Unit::None, "3.00e20"),
        (Cell::F64(f64::NAN), Unit::None, "not a number"),
        (Cell::F64(f64::INFINITY), Unit::PerSecond, "∞"),
        (Cell::Bool(true), Unit::None, "yes"),
        (Cell::Text("a\x1b[31mb\n"), Unit::None, "a\\x1b[31mb\\n"),
    ] {
        assert_eq!(show(cell, unit), text, "{cell:?} {unit:?}");
    }
}

proptest! {
    /// A shown duration that is parsed again is exact to within its last digit.
    #[test]
    fn a_shown_duration_is_off_by_less_than_a_percent(ns in 1..10_000_000_000_000_i64) {
        let text = show(Cell::I64(ns), Unit::Nanoseconds);
        let (number, unit) = text.split_once(' ').unwrap();
        let factor = match unit { "ns" => 1.0, "µs" => 1e3, "ms" => 1e6, "s" => 1e9, other => panic!("{other}") };
        let back = number.parse::<f64>().unwrap() * factor;
        prop_assert!((back - ns as f64).abs() <= 0.0051 * ns as f64, "{ns} became {text}");
        prop_assert!(number.len() <= 5 && number.parse::<f64>().unwrap() >= 1.0);
    }

    /// At any magnitude, a nonzero value does not look like 0.
    #[test]
    fn what_is_not_zero_is_not_shown_as_zero(digits in 1.0..10.0_f64, exponent in -12..17_i32, unit in 0..3_usize) {
        let unit = [Unit::None, Unit::PerSecond, Unit::Nanoseconds][unit];
        let text = show(Cell::F64(digits * 10_f64.powi(exponent)), unit);
        prop_assert!(text.contains(|c: char| ('1'..='9').contains(&c)), "{digits}e{exponent} became {text}");
    }
}
