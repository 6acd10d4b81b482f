//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, part};
use trueno_plugin_syscalls::Syscalls;

use crate::fixture::{Call, Fixture};
use crate::oracle::calls;

/// Inputs of some ranks of a job. Thread numbers are unique in the job.
fn job(ranks: &[(i64, &Vec<Call>)], like: &Fixture) -> Fixture {
    let calls = ranks.iter().flat_map(|(rank, calls)| {
        calls.iter().map(move |call| Call {
            thread: rank << 16 | call.thread,
            ..*call
        })
    });
    Fixture {
        calls: calls.collect(),
        ..like.clone()
    }
}

fn ranks() -> impl Strategy<Value = Vec<Vec<Call>>> {
    let many = Just(
        (0..1_200)
            .map(|nth| Call {
                name: "write",
                start_ns: nth,
                dur_ns: Some(1),
                bytes: Some(8),
                ..Call::default()
            })
            .collect::<Vec<Call>>(),
    );
    let rank = prop_oneof![1 => Just(Vec::new()), 8 => calls(), 1 => many];
    prop::collection::vec(rank, 1..5)
}

proptest! {
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        window in prop::option::weighted(0.3, (0..200_i64, 200..900_i64)),
        wall_ns in prop::option::weighted(0.8, Just(10_000_i64)),
        options in prop_oneof![Just("{}"), Just(r#"{"file_rows": 2}"#)],
    ) {
        let like = Fixture { wall_ns, window, ..Fixture::default() };
        let numbered: Vec<(i64, &Vec<Call>)> = (0..).zip(&ranks).collect();
        let whole = job(&numbered, &like).analyse_with(options);
        let parts: Vec<Output> = numbered
            .iter()
            .map(|rank| part::<Syscalls>(job(&[*rank], &like).inputs(), options).unwrap())
            .collect();
        let agreed = check_parts::<Syscalls>(&parts, cut, Vec::new, options, &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
