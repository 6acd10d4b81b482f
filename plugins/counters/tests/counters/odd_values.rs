//! Values that no counter has.

use crate::fixture::{Call, Fixture, lines, reading};

#[test]
fn counts_that_are_none_have_no_sum_and_large_ones_no_rate() {
    let of = |cycles: f64, instructions: f64| {
        let mut counted = Call::default().counted;
        counted[0] = Some(cycles);
        counted[1] = Some(instructions);
        Call {
            name: "brick",
            dur_ns: -1,
            elements: Some(0),
            counted,
            ..Call::default()
        }
    };
    let columns = [
        "calls",
        "cycles",
        "instructions",
        "ipc",
        "cycles_per_element",
        "off_cpu_share",
    ];
    let shown = |calls: &[Call]| {
        let output = Fixture {
            calls: calls.to_vec(),
            ..Fixture::default()
        }
        .analyse();
        lines(output.table("bricks"), &columns)
    };
    assert_eq!(shown(&[of(f64::NAN, -5.0)]), ["1 | - | - | - | - | -"]);
    assert_eq!(shown(&[of(0.0, 5.0)]), ["1 | 0 | 5 | - | - | -"]);
    let most = u64::MAX;
    let expected = format!("2 | {most} | 2 | - | - | -");
    assert_eq!(shown(&[of(1e300, 1.0), of(1e300, 1.0)]), [expected]);
}

#[test]
fn a_mean_is_exact_and_absent_where_the_sum_is_too_large() {
    let output = Fixture {
        readings: vec![
            reading("a", 0, 1e100),
            reading("a", 1, 3.0),
            reading("a", 2, -1e100),
            reading("b", 0, f64::MAX),
            reading("b", 1, f64::MAX),
            reading("c", 0, -0.0),
            reading("c", 0, 0.0),
            reading("d", i64::MIN, f64::INFINITY),
            reading("d", i64::MAX, 4.0),
        ],
        ..Fixture::default()
    }
    .analyse();
    let values = output.table("values");
    assert_eq!(lines(values, &["name", "mean"])[..1], ["a | 1.0000"]);
    assert_eq!(lines(values, &["name", "mean"])[1], "b | -");
    assert_eq!(lines(values, &["min", "last"])[2], "0.0000 | 0.0000");
    assert_eq!(lines(values, &["not_finite", "mean"])[3], "1 | 4.0000");
}
