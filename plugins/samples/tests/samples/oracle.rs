//! Sums against walking up from each sample, one by one.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use trueno_plugin_samples::tables::NOT_KNOWN;

use crate::fixture::{Fixture, Frame, Row, Sample};

const FUNCTIONS: [Option<&str>; 5] = [Some("a"), Some("b"), Some("c"), Some("d"), None];
const MODULES: [Option<&str>; 3] = [Some("app"), Some("lib"), None];
const EVENTS: [&str; 3] = ["cpu-clock", "cycles", "task-clock:u"];
const NAMES: [&str; 3] = ["outer", "inner", "other"];

/// Stacks that form a tree: the caller of each is an earlier one, or none.
pub fn stacks() -> impl Strategy<Value = Vec<Frame>> {
    let frame = (
        prop::option::weighted(0.8, any::<prop::sample::Index>()),
        prop::sample::select(FUNCTIONS.to_vec()),
        prop::sample::select(MODULES.to_vec()),
        prop::option::of((prop::sample::select(vec!["x.rs", "y.rs"]), 1..4_i64)),
        prop::option::of(any::<bool>()),
    );
    prop::collection::vec(frame, 0..12).prop_map(|frames| {
        let numbered = (1_u64..).zip(frames);
        let frames = numbered.map(|(id, (caller, function, module, line, inlined))| Frame {
            id: id * 10,
            caller: caller
                .filter(|_| id > 1)
                .map(|of| (of.index(id as usize - 1) as u64 + 1) * 10),
            function,
            module,
            line,
            inlined,
        });
        frames.collect()
    })
}

pub fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let sample = (
        0..60_i64,
        0..3_i64,
        prop::option::weighted(0.9, 1..14_u64),
        prop::sample::select(EVENTS.to_vec()),
        prop::option::weighted(0.95, prop_oneof![8 => 1..9_u64, 1 => Just(u64::MAX / 2)]),
    );
    let sample = sample.prop_map(|(time_ns, thread, stack, event, period)| Sample {
        time_ns,
        thread,
        stack: stack.map(|stack| stack * 10),
        event,
        period,
    });
    prop::collection::vec(sample, 0..80)
}

pub fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        0..3_i64,
        prop::sample::select(vec![Some("brick"), Some("layer"), None]),
        prop::sample::select(NAMES.to_vec()),
        (0..50_i64, -1..30_i64),
    );
    let row = row.prop_map(|(thread, kind, name, (start_ns, dur_ns))| Row {
        thread,
        kind,
        name,
        start_ns,
        dur_ns,
    });
    prop::collection::vec(row, 0..10)
}

/// Name and module as shown.
type Function = (String, Option<String>);

fn function_of(frame: Option<&Frame>) -> Function {
    let name = frame.and_then(|frame| frame.function).unwrap_or(NOT_KNOWN);
    let module = frame.and_then(|frame| frame.module);
    (name.to_owned(), module.map(str::to_owned))
}

#[derive(Debug, Default, PartialEq)]
struct Sum {
    innermost: u64,
    inclusive: u64,
    period: Option<u128>,
    lines: BTreeMap<(String, i64), u64>,
}

/// The function whose code contains the frame, after inlining.
fn compiled<'f>(fixture: &'f Fixture, mut frame: Option<&'f Frame>) -> Option<&'f Frame> {
    while let Some(inlined) = frame.filter(|frame| frame.inlined == Some(true)) {
        let find = |id: u64| fixture.stacks.iter().find(|frame| frame.id == id);
        match inlined.caller.and_then(find) {
            Some(caller) => frame = Some(caller),
            None => break,
        }
    }
    frame
}

fn by_walking(fixture: &Fixture, event: &str) -> BTreeMap<Function, Sum> {
    let find = |id: Option<u64>| fixture.stacks.iter().find(|frame| Some(frame.id) == id);
    let mut sums: BTreeMap<Function, Sum> = BTreeMap::new();
    for sample in fixture.samples.iter().filter(|of| of.event == event) {
        let innermost = find(sample.stack);
        let mut open = BTreeSet::from([function_of(innermost)]);
        let mut at = innermost;
        while let Some(frame) = at {
            open.insert(function_of(Some(frame)));
            at = find(frame.caller);
        }
        for function in open {
            sums.entry(function).or_default().inclusive += 1;
        }
        let innermost = compiled(fixture, innermost);
        let sum = sums.entry(function_of(innermost)).or_default();
        let so_far = if sum.innermost == 0 {
            Some(0)
        } else {
            sum.period
        };
        sum.period = so_far
            .zip(sample.period)
            .map(|(sum, period)| sum + u128::from(period));
        sum.innermost += 1;
        if let Some((file, line)) = innermost.and_then(|frame| frame.line) {
            *sum.lines.entry((file.to_owned(), line)).or_default() += 1;
        }
    }
    sums
}

/// Samples of an event by kind, name and function, found by scanning all rows.
fn by_looking(fixture: &Fixture, event: &str) -> BTreeMap<(String, String, Function), u64> {
    let mut sums = BTreeMap::new();
    let find = |id: Option<u64>| fixture.stacks.iter().find(|frame| Some(frame.id) == id);
    for sample in fixture.samples.iter().filter(|of| of.event == event) {
        let rows = fixture.rows.iter().enumerate();
        let around = rows.filter(|(_, row)| {
            row.thread == sample.thread
                && row.start_ns <= sample.time_ns
                && sample.time_ns < row.start_ns + row.dur_ns
        });
        let innermost = around.max_by_key(|(id, row)| {
            let end_ns = row.start_ns + row.dur_ns;
            (row.start_ns, std::cmp::Reverse(end_ns), *id)
        });
        if let Some((_, row)) = innermost {
            let kind = row.kind.unwrap_or("kernel").to_owned();
            let key = (
                kind,
                row.name.to_owned(),
                function_of(compiled(fixture, find(sample.stack))),
            );
            *sums.entry(key).or_default() += 1;
        }
    }
    sums
}

proptest! {
    #[test]
    fn functions_and_bricks_are_as_counted_sample_by_sample(
        stacks in stacks(),
        samples in samples(),
        rows in rows(),
    ) {
        let fixture = Fixture { stacks, samples, rows, ..Fixture::default() };
        let output = fixture.analyse_with(r#"{"functions_per_brick": 1000}"#);
        prop_assert_eq!(output.tables.is_empty(), fixture.samples.is_empty());
        if fixture.samples.is_empty() {
            return Ok(());
        }
        let table = output.table("functions");
        let text = |column: &str, row| table.text(column).unwrap().get(row).map(str::to_owned);
        let count = |column: &str, row| table.u64(column).unwrap().get(row);
        let mut all = 0;
        for event in EVENTS {
            let expected = by_walking(&fixture, event);
            let samples: u64 = expected.values().map(|sum| sum.innermost).sum();
            let of_event: Vec<usize> =
                (0..table.rows()).filter(|row| text("event", *row).as_deref() == Some(event)).collect();
            prop_assert_eq!(of_event.len(), expected.len());
            all += of_event.len();
            for row in &of_event {
                let sum = &expected[&(text("function", *row).unwrap(), text("module", *row))];
                prop_assert_eq!(count("self_samples", *row), Some(sum.innermost));
                prop_assert_eq!(count("total_samples", *row), Some(sum.inclusive));
                let share = table.f64("self_share").unwrap().value(*row);
                prop_assert!((share - sum.innermost as f64 / samples as f64).abs() < 1e-12);
                let ns = sum.period.filter(|_| event != "cycles").and_then(|ns| i64::try_from(ns).ok());
                prop_assert_eq!(table.i64("self_estimated_ns").unwrap().get(*row), ns);
                let most = sum.lines.values().max().copied();
                prop_assert_eq!(count("line_samples", *row), most);
                let first = sum.lines.iter().find(|line| Some(*line.1) == most);
                prop_assert_eq!(text("line", *row), first.map(|((file, line), _)| format!("{file}:{line}")));
            }
            let order: Vec<_> = of_event.iter().map(|row| std::cmp::Reverse(count("self_samples", *row))).collect();
            prop_assert!(order.is_sorted());
        }
        prop_assert_eq!(all, table.rows());
        let expected: Vec<_> = EVENTS.iter().map(|event| by_looking(&fixture, event)).collect();
        let Some(table) = output.tables.iter().find(|table| table.name() == "bricks") else {
            prop_assert!(expected.iter().all(BTreeMap::is_empty));
            return Ok(());
        };
        let mut found = vec![BTreeMap::new(); EVENTS.len()];
        for row in 0..table.rows() {
            let text = |column: &str| table.text(column).unwrap().value(row).to_owned();
            let module = table.text("module").unwrap().get(row).map(str::to_owned);
            let event = EVENTS.iter().position(|event| *event == text("event")).unwrap();
            let key = (text("kind"), text("name"), (text("function"), module));
            let count = table.u64("samples").unwrap().value(row);
            prop_assert_eq!(found[event].insert(key, count), None);
        }
        prop_assert_eq!(found, expected);
    }
}
