//! Sums against adding up call by call.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::fixture::{Call, Fixture};

const NAMES: [&str; 4] = ["read", "write", "openat", "futex"];

pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (
        prop::sample::select(NAMES.to_vec()),
        0..3_i64,
        (0..500_i64, prop::option::weighted(0.8, -1..40_i64)),
        prop::option::of(-5_000..5_000_i64),
        prop::option::of(prop::sample::select(vec!["/a", "/b", "pipe", "eventfd"])),
        prop::option::of(prop_oneof![8 => 0..2_000_u64, 1 => Just(u64::MAX)]),
        prop::option::weighted(0.2, prop::sample::select(vec!["EAGAIN", "ENOENT"])),
        any::<bool>(),
    );
    let call = call.prop_map(
        |(name, thread, (start_ns, dur_ns), status, target, bytes, errno, waits)| Call {
            name,
            thread,
            start_ns,
            dur_ns,
            status,
            target,
            bytes,
            errno,
            waits,
        },
    );
    prop::collection::vec(call, 0..60)
}

fn bytes_of(calls: &[Call]) -> Option<u64> {
    let known = calls.iter().filter_map(|call| call.bytes);
    known.reduce(u64::saturating_add)
}

proptest! {
    #[test]
    fn tables_are_as_added_up_call_by_call(calls in calls()) {
        let fixture = Fixture { calls: calls.clone(), wall_ns: Some(1_000), window: None };
        let output = fixture.analyse();
        let calls: Vec<Call> = calls.into_iter().filter(|call| call.dur_ns.is_none_or(|ns| ns >= 0)).collect();
        prop_assert_eq!(output.tables.is_empty(), calls.is_empty());
        if calls.is_empty() {
            return Ok(());
        }
        let is_wait = |call: &Call| {
            let times = |of: &Call| (of.thread, of.start_ns, of.dur_ns);
            call.dur_ns.is_some() && fixture.calls.iter().any(|of| of.waits && times(of) == times(call))
        };
        let is_error = |call: &&Call| call.errno.is_some() || call.status.is_some_and(|of| of < 0 && of > -4_096);
        let all_ns: i64 = calls.iter().filter_map(|call| call.dur_ns).sum();
        let table = output.table("calls");
        let names: BTreeSet<&str> = calls.iter().map(|call| call.name).collect();
        prop_assert_eq!(table.rows(), names.len());
        for row in 0..table.rows() {
            let name = table.text("name").unwrap().value(row);
            let own: Vec<Call> = calls.iter().filter(|call| call.name == name).copied().collect();
            let mut ns: Vec<i64> = own.iter().filter_map(|call| call.dur_ns).collect();
            ns.sort_unstable();
            let count = |column: &str| table.u64(column).unwrap().get(row);
            let time = |column: &str| table.i64(column).unwrap().get(row);
            let waits: Vec<i64> = own.iter().filter(|call| is_wait(call)).filter_map(|call| call.dur_ns).collect();
            let sum: i64 = ns.iter().sum();
            prop_assert_eq!(count("calls"), Some(own.len() as u64));
            prop_assert_eq!(count("untimed_calls"), Some((own.len() - ns.len()) as u64));
            prop_assert_eq!(count("errors"), Some(own.iter().filter(is_error).count() as u64));
            prop_assert_eq!(count("bytes"), bytes_of(&own));
            prop_assert_eq!(time("time_ns"), (!ns.is_empty()).then_some(sum));
            prop_assert_eq!(time("wait_ns"), (!waits.is_empty()).then(|| waits.iter().sum()));
            prop_assert_eq!(time("median_ns"), ns.get(ns.len().div_ceil(2).max(1) - 1).copied());
            prop_assert_eq!(time("p99_ns"), ns.get((99 * ns.len()).div_ceil(100).max(1) - 1).copied());
            prop_assert_eq!(time("max_ns"), ns.last().copied());
            let expected = (!ns.is_empty() && all_ns > 0).then(|| sum as f64 / all_ns as f64);
            prop_assert_eq!(table.f64("time_share").unwrap().get(row), expected);
        }
        let mut failed: BTreeMap<(&str, Option<&str>), u64> = BTreeMap::new();
        for call in calls.iter().filter(is_error) {
            *failed.entry((call.name, call.errno)).or_default() += 1;
        }
        let table = output.tables.iter().find(|table| table.name() == "errors");
        prop_assert_eq!(table.map_or(0, |table| table.rows()), failed.len());
        for row in 0..table.map_or(0, |table| table.rows()) {
            let table = table.unwrap();
            let key = (table.text("name").unwrap().value(row), table.text("errno").unwrap().get(row));
            prop_assert_eq!(table.u64("calls").unwrap().value(row), failed[&key]);
        }
        let targets: BTreeSet<&str> = calls.iter().filter_map(|call| call.target).collect();
        let table = output.tables.iter().find(|table| table.name() == "files");
        prop_assert_eq!(table.map_or(0, |table| table.rows()), targets.len());
        for row in 0..table.map_or(0, |table| table.rows()) {
            let table = table.unwrap();
            let target = table.text("target").unwrap().value(row);
            let own: Vec<Call> = calls.iter().filter(|call| call.target == Some(target)).copied().collect();
            let sum = own.iter().filter_map(|call| call.dur_ns).reduce(|a, b| a + b);
            prop_assert_eq!(table.u64("calls").unwrap().value(row), own.len() as u64);
            prop_assert_eq!(table.i64("time_ns").unwrap().get(row), sum);
            prop_assert_eq!(table.u64("bytes").unwrap().get(row), bytes_of(&own));
        }
    }
}
