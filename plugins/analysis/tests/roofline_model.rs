//! The model against its other definition: time at the roof is the longer of two times.

use proptest::prelude::*;
use trueno_analysis::roofline::model::{Bound, Reason, Roof, Work, achieved, place};

proptest! {
    #[test]
    fn efficiency_is_time_at_the_roof_by_time(
        flops in 1.0_f64..1e15, bytes in 1.0_f64..1e15, dur_ns in 1.0_f64..1e12,
        compute in 1e6_f64..1e15, bandwidth in 1e6_f64..1e13,
    ) {
        let work = Work { flops, bytes, dur_ns };
        let found = place(&work, &Roof { compute, bandwidth }).unwrap();
        let (by_compute, by_memory) = (flops / compute, bytes / bandwidth);
        let at_roof_s = by_compute.max(by_memory);
        let expected = at_roof_s / (dur_ns / 1e9);
        prop_assert!((found.efficiency / expected - 1.0).abs() < 1e-9);
        prop_assert!((found.distance() - (1.0 - found.efficiency)).abs() < 1e-12);
        if (by_memory / by_compute - 1.0).abs() > 1e-9 {
            let bound = if by_memory > by_compute { Bound::Memory } else { Bound::Compute };
            prop_assert_eq!(found.bound, bound);
        }
        // Twice as fast is twice as efficient, also above the roof.
        let faster = place(&Work { dur_ns: dur_ns / 2.0, ..work }, &Roof { compute, bandwidth }).unwrap();
        prop_assert!((faster.efficiency / found.efficiency - 2.0).abs() < 1e-9);
    }

    /// Whatever comes in, a figure is positive and finite, or there is none.
    #[test]
    fn no_input_gives_a_perfect_or_an_empty_figure(
        flops in any::<f64>(), bytes in any::<f64>(), dur_ns in any::<f64>(),
        compute in any::<f64>(), bandwidth in any::<f64>(),
    ) {
        if let Ok(found) = place(&Work { flops, bytes, dur_ns }, &Roof { compute, bandwidth }) {
            for value in [found.attainable, found.efficiency, found.ridge] {
                prop_assert!(value.is_finite() && value > 0.0, "{found:?}");
            }
            for value in [flops, bytes, dur_ns, compute, bandwidth] {
                prop_assert!(value.is_finite() && value > 0.0);
            }
        }
    }
}

#[test]
fn bad_work_and_bad_ceilings_are_reasons() {
    let good = [4e9, 1e9, 1e9];
    let roof = Roof {
        compute: 100e9,
        bandwidth: 10e9,
    };
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0];
    let reasons = [Reason::BadFlops, Reason::BadBytes, Reason::NoTime];
    let zeros = [Reason::ZeroFlops, Reason::ZeroBytes, Reason::NoTime];
    for (at, reason) in reasons.into_iter().enumerate() {
        for (value, reason) in bad.iter().map(|v| (*v, reason)).chain([(0.0, zeros[at])]) {
            let mut inputs = good;
            inputs[at] = value;
            let [flops, bytes, dur_ns] = inputs;
            let work = Work {
                flops,
                bytes,
                dur_ns,
            };
            assert_eq!(achieved(&work), Err(reason), "{work:?}");
            assert_eq!(place(&work, &roof), Err(reason), "{work:?}");
        }
    }
    let work = Work {
        flops: 4e9,
        bytes: 1e9,
        dur_ns: 1e9,
    };
    for value in bad.into_iter().chain([0.0]) {
        for roof in [
            Roof {
                compute: value,
                ..roof
            },
            Roof {
                bandwidth: value,
                ..roof
            },
        ] {
            assert_eq!(place(&work, &roof), Err(Reason::BadCeiling), "{roof:?}");
        }
    }
    let huge = Work {
        flops: f64::MAX,
        bytes: f64::MIN_POSITIVE,
        dur_ns: 1.0,
    };
    assert_eq!(achieved(&huge), Err(Reason::OutOfRange));
}
