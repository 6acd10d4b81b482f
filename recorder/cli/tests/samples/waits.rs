//! Stretches in which a thread did not run, and the time that it ran: measured, not sampled.

use std::collections::BTreeMap;
use std::fs;

use trueno_testing::{Cell, Table, table};

use crate::{Place, can_sample, program, text};

/// By thread, in ns: its life in the run, and the part of it that rows account for.
fn times(place: &Place) -> BTreeMap<i128, (i128, i128)> {
    let [threads, syncs, counters] =
        ["threads", "syncs", "counters"].map(|name| table(&place.run(), name));
    let mut times = BTreeMap::new();
    for row in 0..threads.rows {
        let start_ns = threads.number("start_ns", row).unwrap();
        times.insert(threads.number("thread", row).unwrap(), (-start_ns, 0));
    }
    let names = counters.texts("name");
    for row in (0..counters.rows).filter(|row| names[*row] == Some("cpu_time")) {
        let of = times
            .get_mut(&counters.number("thread", row).unwrap())
            .unwrap();
        of.0 += counters.number("time_ns", row).unwrap();
        of.1 += cpu_ns(&counters, row);
    }
    for row in 0..syncs.rows {
        let of = times
            .get_mut(&syncs.number("thread", row).unwrap())
            .unwrap();
        of.1 += syncs.number("dur_ns", row).unwrap();
    }
    times
}

pub fn cpu_ns(counters: &Table, row: usize) -> i128 {
    match counters.cell("value", row) {
        Cell::F(ns) => *ns as i128,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thread_runs_or_waits_at_any_time_of_its_life() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place.record("waits");
    assert_eq!(
        done.status.code(),
        Some(program::CODE),
        "{}",
        text(&done.stderr)
    );
    let times = times(&place);
    assert!(times.len() >= 2);
    for (thread, (life_ns, told_ns)) in times {
        assert_eq!(life_ns, told_ns, "thread {thread}");
    }
    // Of the test's own thread, and of the one that reads.
    let threads = table(&place.run(), "threads");
    let counters = table(&place.run(), "counters");
    let used = fs::read_to_string(place.path("used")).unwrap();
    let used: Vec<i128> = used.split(' ').map(|ns| ns.parse().unwrap()).collect();
    let names = threads.texts("name");
    let reader = names
        .iter()
        .position(|name| *name == Some("reader"))
        .unwrap();
    let reader = threads.number("thread", reader);
    let row = (0..counters.rows).find(|row| counters.number("thread", *row) == reader);
    let ran_ns = cpu_ns(&counters, row.unwrap());
    assert!(ran_ns > used[1] * 9 / 10, "{ran_ns} of {}", used[1]);
}

#[test]
fn a_wait_has_its_call_and_all_callers() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place.record("waits");
    assert_eq!(
        done.status.code(),
        Some(program::CODE),
        "{}",
        text(&done.stderr)
    );
    if text(&done.stderr).contains("and where it waited") {
        eprintln!("left out: this user may not see where a program waits");
        return;
    }
    let [syncs, stacks] = ["syncs", "stacks"].map(|name| table(&place.run(), name));
    let (kinds, calls) = (syncs.texts("kind"), syncs.texts("name"));
    let functions = stacks.texts("function");
    let rows: BTreeMap<i128, usize> = (0..stacks.rows)
        .map(|row| (stacks.number("id", row).unwrap(), row))
        .collect();
    // Waits in a call of a function, with their durations.
    let waits = |call: &str, function: &str| -> Vec<i128> {
        let is_below = |row: &usize| {
            let mut id = syncs.number("stack", *row);
            while let Some(at) = id {
                if functions[rows[&at]].is_some_and(|name| name.ends_with(function)) {
                    return true;
                }
                id = stacks.number("caller", rows[&at]);
            }
            false
        };
        (0..syncs.rows)
            .filter(|row| kinds[*row] == Some("off_cpu") && calls[*row] == Some(call))
            .filter(is_below)
            .map(|row| syncs.number("dur_ns", row).unwrap())
            .collect()
    };
    let naps = waits("clock_nanosleep", "program::naps");
    // One that another program takes the processor from before it has given it up is runnable instead.
    assert!((1..=program::NAPS).contains(&naps.len()), "{naps:?}");
    let nap_ns = program::NAP.as_nanos() as i128;
    assert!(naps.iter().any(|ns| *ns > nap_ns * 9 / 10), "{naps:?}");
    assert!(waits("read", "program::reads").len() <= 1);
    let runnable = (0..syncs.rows).filter(|row| kinds[*row] == Some("runnable"));
    assert!(
        runnable
            .into_iter()
            .all(|row| syncs.number("stack", row).is_none())
    );
}
