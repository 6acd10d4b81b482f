//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, part};
use trueno_plugin_counters::Counters;
use trueno_plugin_counters::sums::COUNTED;

use crate::fixture::{Call, Fixture, Reading};

fn counted() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        2 => Just(None),
        8 => (0..1_000_u32).prop_map(|count| Some(f64::from(count))),
        1 => prop_oneof![Just(1e300), Just(-1.0), Just(f64::NAN), Just(0.5)].prop_map(Some),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let name = prop_oneof![Just("gemv"), Just("norm"), Just("")];
    let counts = prop::collection::vec(counted(), COUNTED);
    let times = (0..900_i64, -1..90_i64);
    let elements = prop::option::of(0..50_u64);
    (name, times, elements, any::<bool>(), counts).prop_map(
        |(name, times, elements, is_estimated, of)| Call {
            name,
            start_ns: times.0,
            dur_ns: times.1,
            elements,
            is_estimated,
            counted: of.try_into().unwrap(),
        },
    )
}

fn reading() -> impl Strategy<Value = Reading> {
    let value = prop_oneof![
        any::<f64>(),
        -1e3..1e3_f64,
        Just(f64::INFINITY),
        Just(0.1),
        Just(-0.0)
    ];
    let name = prop_oneof![Just("rss"), Just("tokens")];
    let unit = prop_oneof![Just(None), Just(Some("")), Just(Some("byte"))];
    let source = prop_oneof![Just("measured"), Just("declared")];
    (0..900_i64, name, unit, source, value).prop_map(|(time_ns, name, unit, source, value)| {
        Reading {
            time_ns,
            name,
            unit,
            source,
            value,
        }
    })
}

type Rank = (Vec<Call>, Vec<Reading>);

fn job(ranks: &[Rank], window: Option<(i64, i64)>) -> Fixture {
    Fixture {
        calls: ranks.iter().flat_map(|rank| rank.0.clone()).collect(),
        readings: ranks.iter().flat_map(|rank| rank.1.clone()).collect(),
        window,
    }
}

proptest! {
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in prop::collection::vec(
            (prop::collection::vec(call(), 0..12), prop::collection::vec(reading(), 0..12)),
            1..5,
        ),
        cut in 0..5_usize,
        window in prop::option::weighted(0.3, (0..200_i64, 200..900_i64)),
    ) {
        let whole = job(&ranks, window).analyse();
        let parts: Vec<Output> = ranks
            .iter()
            .map(|rank| {
                let inputs = job(std::slice::from_ref(rank), window).inputs();
                part::<Counters>(inputs, "{}").unwrap()
            })
            .collect();
        let agreed = check_parts::<Counters>(&parts, cut, Vec::new, "{}", &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
