//! Parallel time is not saved twice: of a job of two ranks that do the same, at one time or shifted, no finding gains more
//! than of one of them alone.

use std::collections::BTreeMap;

use crate::inputs::{US, Work, facts, gains, kernels, texts, transfers};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Rank number and by how many microseconds it is late.
type Ranks<'a> = &'a [(i64, i64)];

/// Rows of all ranks; `row` gets the rank's number, its delay and the row's number.
fn all<T>(ranks: Ranks<'_>, n: i64, row: impl Fn(i64, i64, i64) -> T) -> Vec<T> {
    let of = ranks
        .iter()
        .flat_map(|(rank, late)| (0..n).map(move |at| (*rank, *late, at)));
    of.map(|(rank, late, at)| row(rank, late, at)).collect()
}

fn id(rank: i64, at: i64) -> u64 {
    (rank as u64) << 48 | (at as u64 + 1)
}

/// Kernels with late launches, each followed by a wait if `waits`.
fn launches(ranks: Ranks<'_>, waits: bool) -> Vec<TableBuilder> {
    let mut rows = all(ranks, 100, |rank, late, n| Work {
        device: Some((rank << 16) + rank),
        called_us: Some(late + n * 50 - 10),
        ..Work::at("step", late + n * 50, 30)
    });
    rows.sort_by_key(|row| row.start_us);
    let mut tables = vec![kernels(&rows)];
    if waits {
        let of = |value: fn(i64, i64, i64) -> i64| all(ranks, 100, value);
        tables.push(
            Table::build("waits")
                .u64("id", all(ranks, 100, |rank, _, n| id(rank, 1_000 + n)))
                .text("kind", all(ranks, 100, |_, _, _| "device"))
                .i64("thread", of(|rank, _, _| (rank << 16) + rank))
                .i64("start_ns", of(|_, late, n| (late + n * 50) * US))
                .i64("dur_ns", of(|_, _, _| 35 * US)),
        );
    }
    tables
}

/// Twenty rounds of two tasks on two threads, 2 and `long_us` µs, with a wait of `wait_us` for them.
fn rounds(ranks: Ranks<'_>, long_us: i64, wait_us: i64) -> Vec<TableBuilder> {
    let of = |value: &dyn Fn(i64, i64, i64) -> i64| all(ranks, 40, value);
    let start = |_, late: i64, n: i64| (late + n / 2 * 50) * US;
    let task = |rank, n| id(rank, 100 + n);
    let wait = |rank, n| id(rank, n / 2);
    vec![
        Table::build("tasks")
            .u64("id", all(ranks, 40, |rank, _, n| task(rank, n)))
            .u64("parent", all(ranks, 40, |_, _, _| None::<u64>))
            .text("name", all(ranks, 40, |_, _, _| "part"))
            .i64("thread", of(&|rank, _, n| (rank << 16) + n % 2))
            .i64("start_ns", of(&start))
            .i64("dur_ns", of(&|_, _, n| [2, long_us][n as usize % 2] * US)),
        Table::build("joins")
            .u64("task", all(ranks, 40, |rank, _, n| task(rank, n)))
            .u64("wait", all(ranks, 40, |rank, _, n| wait(rank, n)))
            .i64("start_ns", of(&start))
            .i64("dur_ns", of(&|_, _, _| wait_us * US)),
    ]
}

fn copies(ranks: Ranks<'_>) -> Vec<TableBuilder> {
    let mut rows = all(ranks, 40, |rank, late, n| Work {
        device: Some(rank << 16),
        ..Work::at(["h2d", "d2h"][n as usize % 2], late + n * 50, 20)
    });
    rows.sort_by_key(|row| row.start_us);
    vec![transfers(&rows)]
}

fn loading(ranks: Ranks<'_>) -> Vec<TableBuilder> {
    let of = |value: fn(i64, i64, i64) -> i64| all(ranks, 40, value);
    let names = Table::build("brick_names")
        .i64("name_id", [1_i64])
        .text("name", ["load batch"])
        .text("category", [None::<&str>])
        .text("kind", ["brick"])
        .i64("dur_ns", [1_i64])
        .i64("end_ns", [1_i64]);
    let rows = Table::build("loader_rows")
        .i64("name_id", of(|_, _, _| 1))
        .i64("thread", of(|rank, _, _| rank << 16))
        .i64("start_ns", of(|_, late, n| (late + n * 50) * US))
        .i64("dur_ns", of(|_, _, _| 25 * US));
    vec![names, rows]
}

fn opportunity(name: &str) -> TableBuilder {
    Table::build("opportunity")
        .text("name", [name])
        .i64("path_ns", [1_000 * US])
        .i64("gain_50pct_ns", [500 * US])
        .i64("gain_100pct_ns", [1_000 * US])
}

/// A brick of which every `repeats`-th result equals the first.
fn results(ranks: Ranks<'_>, repeats: i64) -> Vec<TableBuilder> {
    let of = |value: &dyn Fn(i64, i64, i64) -> i64| all(ranks, 40, value);
    let result = |_, _, n| if n % repeats == 0 { 7 } else { 100 + n as u64 };
    let table = Table::build("checksums")
        .text("tensor", all(ranks, 40, |_, _, _| "out"))
        .u64("hash", all(ranks, 40, result))
        .u64("elements", all(ranks, 40, |_, _, _| 64_u64))
        .u64("zeros", all(ranks, 40, |_, _, _| 0_u64))
        .i64("time_ns", of(&|_, late, n| (late + n * 50 + 20) * US))
        .u64("span", all(ranks, 40, |rank, _, n| id(rank, n)))
        .text("brick", all(ranks, 40, |_, _, _| "mask"))
        .i64("dur_ns", of(&|_, _, _| 25 * US))
        .i64("start_ns", of(&|_, late, n| (late + n * 50) * US));
    vec![table, opportunity("mask")]
}

fn calls(ranks: Ranks<'_>, each: u64) -> Vec<TableBuilder> {
    let table = Table::build("by_brick")
        .text("lane_kind", ["host"])
        .text("kind", ["brick"])
        .text("name", ["axpy"])
        .text("category", [None::<&str>])
        .u64("calls", [each * ranks.len() as u64])
        .i64("inclusive_ns", [1_i64])
        .i64("min_ns", [50_i64])
        .i64("median_ns", [150_i64])
        .i64("max_ns", [250_i64]);
    vec![table, opportunity("axpy")]
}

fn alone(ranks: Ranks<'_>) -> Vec<TableBuilder> {
    let lane = |rank: i64, _, n: i64| match rank {
        0 => format!("thread {n}"),
        rank => format!("rank {rank} thread {n}"),
    };
    let lanes = Table::build("by_lane")
        .text("lane", all(ranks, 2, lane))
        .text("lane_kind", all(ranks, 2, |_, _, _| "host"))
        .i64("busy_ns", all(ranks, 2, |_, _, _| 900 * US));
    let alone = Table::build("path_alone")
        .text("name", ["reduce"])
        .text("category", [""])
        .i64("alone_ns", [1_200 * US])
        .i64("shared_ns", [600 * US])
        .i64("longest_ns", [60 * US]);
    let bricks = Table::build("by_brick")
        .text("lane_kind", ["host"])
        .text("kind", ["brick"])
        .text("name", ["reduce"])
        .text("category", [""])
        .u64("calls", [20_u64])
        .i64("inclusive_ns", [1_200 * US])
        .i64("min_ns", [60 * US])
        .i64("median_ns", [60 * US])
        .i64("max_ns", [60 * US]);
    vec![lanes, alone, bricks]
}

fn found(mut inputs: Vec<TableBuilder>, ranks: Ranks<'_>) -> BTreeMap<String, i64> {
    inputs.push(facts(5_200));
    if ranks.len() > 1 {
        let numbers = ranks.iter().map(|(rank, _)| *rank as u64);
        inputs.push(Table::build("ranks").u64("rank", numbers));
    }
    let options = r#"{"least_share": 0.0001, "alone_share": 0.1}"#;
    let output = run::<Bottleneck>(inputs, options).expect("it ends well");
    let codes = texts(&output, "bottlenecks", "code");
    let mut out = BTreeMap::new();
    for (code, gain) in codes.into_iter().zip(gains(&output)) {
        let most = out.entry(code).or_insert(0);
        *most = gain.unwrap_or(0).max(*most);
    }
    out
}

#[test]
fn a_second_rank_beside_the_first_gains_nothing() {
    type Make = fn(Ranks<'_>) -> Vec<TableBuilder>;
    let programs: &[(&str, Option<&str>, Make)] = &[
        ("late launches", Some("launch_bound"), |of| {
            launches(of, false)
        }),
        ("waits", Some("device_waits"), |of| launches(of, true)),
        ("uneven rounds", Some("threads"), |of| rounds(of, 20, 20)),
        ("empty rounds", Some("joins"), |of| rounds(of, 2, 20)),
        ("round trips", Some("round_trips"), copies),
        ("loading", Some("data_load_bound"), loading),
        ("equal results", Some("recomputation"), |of| results(of, 2)),
        ("new results", None, |of| results(of, 50)),
        ("many calls", Some("tight_loop"), |of| calls(of, 12_000)),
        ("not so many calls", None, |of| calls(of, 6_000)),
        ("one thread alone", Some("one_lane"), alone),
    ];
    for (name, code, make) in programs {
        let one = found(make(&[(0, 0)]), &[(0, 0)]);
        match code {
            Some(code) => assert!(one.contains_key(*code), "{name}: {one:?}"),
            None => assert_eq!(one, BTreeMap::new(), "{name}"),
        }
        for late_us in [0, 3, 20, 25, 31] {
            let ranks = [(0, 0), (1, late_us)];
            let both = found(make(&ranks), &ranks);
            for (code, gain) in &both {
                let alone = one.get(code).copied().unwrap_or(0);
                // Means of whole numbers.
                let words =
                    format!("{name}, {late_us} µs late, {code}: {gain} of both, {alone} of one");
                assert!(*gain <= alone + alone / 1_000, "{words}");
            }
            for code in one.keys() {
                assert!(
                    both.contains_key(code),
                    "{name}, {late_us} µs late: no {code}"
                );
            }
        }
    }
}

/// Rounds of 2 and 20 ms, five of each, dispatched by two threads at the same time.
#[test]
fn groups_at_the_same_time_are_evened_out_at_the_same_time() {
    for late_us in [0, 7_000] {
        let of = || (0..20_i64).map(|n| (n % 2, n / 2 % 2, n / 4));
        let start = |(who, _, round): (i64, i64, i64)| (who * late_us + round * 21_000) * US;
        let wait = |(who, _, round): (i64, i64, i64)| (who * 5 + round + 1) as u64;
        let tasks = Table::build("tasks")
            .u64("id", 101..=120_u64)
            .u64("parent", of().map(|_| None::<u64>))
            .text("name", of().map(|_| "part"))
            .i64("thread", of().map(|(who, part, _)| who * 2 + part))
            .i64("start_ns", of().map(start))
            .i64(
                "dur_ns",
                of().map(|(_, part, _)| [2_000, 20_000][part as usize] * US),
            );
        let joins = Table::build("joins")
            .u64("task", 101..=120_u64)
            .u64("wait", of().map(wait))
            .i64("start_ns", of().map(start))
            .i64("dur_ns", of().map(|_| 20_000 * US));
        let output = run::<Bottleneck>([facts(193_000), tasks, joins], "{}").expect("it ends well");
        assert_eq!(texts(&output, "bottlenecks", "code"), ["threads"]);
        assert_eq!(gains(&output), [Some(5 * 9_000 * US)], "{late_us}");
    }
}

fn late_everywhere(late_us: i64) -> Output {
    let ranks = [(0, 0), (1, late_us)];
    run::<Bottleneck>(
        {
            let mut inputs = launches(&ranks, false);
            inputs.push(facts(5_200));
            inputs.push(Table::build("ranks").u64("rank", [0_u64, 1]));
            inputs
        },
        "{}",
    )
    .expect("it ends well")
}

#[test]
fn what_all_ranks_have_takes_one_line() {
    let output = late_everywhere(10);
    assert_eq!(
        texts(&output, "bottlenecks", "scope"),
        ["gpu0", "rank 1 gpu1"]
    );
    assert_eq!(texts(&output, "top", "scope"), ["gpu0"]);
    let sentence = &texts(&output, "top", "sentence")[0];
    assert!(
        sentence.starts_with("on both ranks: gpu0 waits for kernel launches "),
        "{sentence}"
    );
    let considered = &texts(&output, "bottlenecks", "considered")[0];
    assert!(
        considered.ends_with("; the figures are those of rank 0"),
        "{considered}"
    );
}

#[test]
fn no_more_threads_help_than_there_are_processors() {
    let one_rank: Ranks<'_> = &[(0, 0)];
    let gain = |processors: u64| {
        let mut inputs = alone(one_rank);
        inputs.push(facts(5_200).u64("logical_cpus", [processors]));
        let options = r#"{"least_share": 0.0001, "alone_share": 0.1}"#;
        let output = run::<Bottleneck>(inputs, options).expect("it ends well");
        gains(&output)
    };
    assert_eq!(gain(64), [Some(600 * US)], "two threads");
    assert_eq!(gain(1), [], "one processor");
}

#[test]
fn lanes_of_a_timeline_share_no_work() {
    let mut inputs = alone(&[(0, 0)]);
    inputs.push(facts(5_200).text("clock_source", ["imported: tensorflow timeline"]));
    let options = r#"{"least_share": 0.0001, "alone_share": 0.1}"#;
    let output = run::<Bottleneck>(inputs, options).expect("it ends well");
    assert!(gains(&output).is_empty());
    let missing = texts(&output, "not_measurable", "missing");
    let is_said = |text: &String| text.contains("lanes of this timeline are no threads");
    assert!(missing.iter().any(is_said), "{missing:?}");
}

#[test]
fn threads_that_never_work_at_once_share_no_work() {
    let codes = |work_us: i64| {
        let mut inputs = alone(&[(0, 0)]);
        inputs.push(
            Table::build("path_kinds")
                .text("kind", ["work"])
                .i64("dur_ns", [work_us * US]),
        );
        found(inputs, &[(0, 0)])
    };
    assert!(codes(1_400).contains_key("one_lane"));
    assert!(!codes(1_200).contains_key("one_lane"));
}

/// The finding about 1,200 µs of one thread alone, if `shared_us` is left where all threads share it and one call takes `longest_us`.
fn one_lane(name: &str, shared_us: i64, longest_us: i64) -> Option<(Option<i64>, String)> {
    let mut inputs = alone(&[(0, 0)]);
    inputs[1] = Table::build("path_alone")
        .text("name", [name])
        .text("category", [""])
        .i64("alone_ns", [1_200 * US])
        .i64("shared_ns", [shared_us * US])
        .i64("longest_ns", [longest_us * US]);
    inputs.push(facts(5_200));
    let options = r#"{"alone_share": 0.1}"#;
    let output = run::<Bottleneck>(inputs, options).expect("it ends well");
    let found = gains(&output).into_iter();
    found.zip(texts(&output, "bottlenecks", "sentence")).next()
}

#[test]
fn threads_take_a_share_of_what_follows_their_first_row() {
    let (gain, sentence) = one_lane("reduce", 900, 60).expect("a finding");
    assert_eq!(gain, Some(300 * US));
    assert!(
        sentence.contains("over the threads that have begun by then saves"),
        "{sentence}"
    );
    let (gain, sentence) = one_lane("reduce", 1_200, 60).expect("a finding");
    assert_eq!(gain, None);
    assert!(
        sentence.ends_with("hardly any other thread had begun by then"),
        "{sentence}"
    );
}

#[test]
fn a_call_is_not_divided() {
    // Another thread can take the rest.
    assert_eq!(
        one_lane("reduce", 100, 400).and_then(|found| found.0),
        Some(600 * US)
    );
    let (gain, sentence) = one_lane("reduce", 600, 500).expect("a finding");
    assert_eq!(gain, None);
    assert!(
        sentence.ends_with(
            "one call takes 500 µs of it, and no other thread can take a part of a call"
        ),
        "{sentence}"
    );
}

#[test]
fn waiting_for_another_process_is_no_work_to_share() {
    assert_eq!(one_lane("subprocess.run", 600, 60), None);
    assert_eq!(one_lane("posix.fork", 600, 60), None);
}

#[test]
fn that_a_thread_ran_alone_is_no_work_to_split() {
    let ran = Table::build("path_alone")
        .text("name", ["running"])
        .text("category", ["outside bricks"])
        .i64("alone_ns", [1_200 * US])
        .i64("shared_ns", [600 * US])
        .i64("longest_ns", [60 * US]);
    let mut inputs = alone(&[(0, 0)]);
    inputs.truncate(1);
    inputs.extend([ran, facts(5_200)]);
    let options = r#"{"least_share": 0.0001, "alone_share": 0.1}"#;
    let output = run::<Bottleneck>(inputs, options).expect("it ends well");
    assert!(gains(&output).is_empty());
    let missing = texts(&output, "not_measurable", "missing");
    assert!(
        missing
            .iter()
            .any(|text| text.starts_with("what one thread did alone")),
        "{missing:?}"
    );
}
