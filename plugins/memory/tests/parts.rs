//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, merge, part, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_memory::Memory;

const TAGS: [&str; 3] = ["weights", "cache", "buffer"];
const NAMES: [&str; 2] = ["Attention", "Mlp"];

/// A row of `allocations` with random nulls.
#[derive(Clone, Debug)]
struct Row {
    time_ns: Option<i64>,
    thread: Option<i64>,
    span: Option<u64>,
    device: Option<i64>,
    bytes: Option<i64>,
    tag: Option<usize>,
    address: Option<u64>,
    weight: Option<f64>,
    sample_bytes: Option<u64>,
}

fn row() -> impl Strategy<Value = Row> {
    let place = (
        prop::option::weighted(0.8, 0..2_i64),
        prop::option::weighted(0.7, 0..4_u64),
        prop::option::weighted(0.4, 0..2_i64),
    );
    let what = (
        prop::option::weighted(0.95, -5..200_i64),
        prop::option::weighted(0.95, -3..6_i64),
        prop::option::weighted(0.9, 0..TAGS.len()),
        prop::option::weighted(0.7, 0..5_u64),
    );
    let sample = (
        prop::option::weighted(0.2, prop::sample::select(vec![1.0, 2.5, 0.5])),
        prop::option::of(Just(512_u64)),
    );
    (place, what, sample).prop_map(|(place, what, sample)| Row {
        thread: place.0,
        span: place.1,
        device: place.2,
        time_ns: what.0,
        bytes: what.1.map(|bytes| 8 * bytes),
        tag: what.2,
        address: what.3.map(|slot| 16 * slot),
        weight: sample.0,
        sample_bytes: sample.1,
    })
}

#[derive(Clone, Debug)]
struct Rank {
    rows: Vec<Row>,
    iterations: i64,
    calls: i64,
}

fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let rows = prop_oneof![
        5 => prop::collection::vec(row(), 0..30),
        1 => Just(Vec::new()),
    ];
    let rank = (rows, 0..14_i64, 0..12_i64);
    let rank = rank.prop_map(|(rows, iterations, calls)| Rank {
        rows,
        iterations,
        calls,
    });
    prop::collection::vec(rank, 1..5)
}

fn thread(rank: u64, thread: i64) -> i64 {
    ((rank as i64) << 16) + thread
}

fn key(rank: u64, key: u64) -> u64 {
    (rank << 48) + key
}

fn allocations(input: &str, rows: &[(u64, &Row)]) -> TableBuilder {
    Table::build(input)
        .i64("time_ns", rows.iter().map(|row| row.1.time_ns))
        .i64(
            "thread",
            rows.iter()
                .map(|row| row.1.thread.map(|of| thread(row.0, of))),
        )
        .u64(
            "span",
            rows.iter().map(|row| row.1.span.map(|of| key(row.0, of))),
        )
        .i64(
            "device",
            rows.iter()
                .map(|row| row.1.device.map(|of| thread(row.0, of))),
        )
        .i64("bytes", rows.iter().map(|row| row.1.bytes))
        .text("tag", rows.iter().map(|row| row.1.tag.map(|at| TAGS[at])))
        .u64("address", rows.iter().map(|row| row.1.address))
        .f64("weight", rows.iter().map(|row| row.1.weight))
        .u64("sample_bytes", rows.iter().map(|row| row.1.sample_bytes))
}

fn inputs(ranks: &[(u64, &Rank)], job: usize, window: Option<(i64, i64)>) -> Vec<TableBuilder> {
    let rows: Vec<(u64, &Row)> = ranks
        .iter()
        .flat_map(|(rank, of)| of.rows.iter().map(|row| (*rank, row)))
        .collect();
    let of_no_thread =
        |row: &&(u64, &Row)| (row.1.thread, row.1.span, row.1.device) == (None, None, None);
    let no_thread: Vec<(u64, &Row)> = rows.iter().filter(of_no_thread).copied().collect();
    let owners: Vec<(u64, u64)> = ranks
        .iter()
        .flat_map(|(rank, _)| (0..3).map(|id| (*rank, id)))
        .collect();
    let iterations: Vec<(i64, i64)> = ranks
        .iter()
        .flat_map(|(rank, of)| (0..of.iterations).map(|at| (thread(*rank, 0), 15 * at)))
        .collect();
    let calls = |input: &str| {
        let names = || {
            ranks
                .iter()
                .flat_map(|(rank, of)| NAMES.map(|name| (*rank, name, of.calls)))
        };
        Table::build(input)
            .text("kind", names().map(|_| "brick"))
            .text("name", names().map(|row| row.1))
            .i64("thread", names().map(|row| thread(row.0, 0)))
            .i64("calls", names().map(|row| row.2))
    };
    let mut tables = vec![
        allocations("allocations", &rows),
        allocations("no_thread", &no_thread).u64("rank", no_thread.iter().map(|row| row.0)),
        Table::build("owners")
            .u64("id", owners.iter().map(|row| key(row.0, row.1)))
            .text("kind", owners.iter().map(|_| "brick"))
            .text("name", owners.iter().map(|row| NAMES[row.1 as usize % 2]))
            .u64("iteration", owners.iter().map(|row| row.1))
            .i64("layer", owners.iter().map(|_| None::<i64>)),
        calls("calls"),
        Table::build("iterations")
            .i64("thread", iterations.iter().map(|row| row.0))
            .i64("start_ns", iterations.iter().map(|row| row.1))
            .i64("end_ns", iterations.iter().map(|row| row.1 + 15)),
        of_run().i64("wall_ns", [150]),
        Table::build("ranks").u64("rank", 0..job as u64),
    ];
    if let Some((from_ns, until_ns)) = window {
        tables.push(calls("calls_of_window"));
        tables.push(
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns]),
        );
    }
    tables
}

fn of_run() -> TableBuilder {
    Table::build("run").u64("dropped", [3_u64])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        window in prop::option::weighted(0.2, (0..60_i64, 60..200_i64)),
        limits in prop::option::of((1..9_u64, 0..3_u64, 0..5_u64)),
    ) {
        let options = limits.map_or("{}".to_owned(), |(points, tags, rows)| {
            format!(r#"{{"points": {points}, "tags": {tags}, "rows": {rows}, "p": 0.2}}"#)
        });
        let all: Vec<(u64, &Rank)> = (0..).zip(&ranks).collect();
        let whole = run::<Memory>(inputs(&all, ranks.len(), window), &options).unwrap();
        let parts: Vec<Output> = all
            .iter()
            .map(|one| part::<Memory>(inputs(&[*one], ranks.len(), window), &options).unwrap())
            .collect();
        prop_assert!(parts.iter().all(|part| part.findings.is_empty() && part.charts.is_empty()));
        let agreed = check_parts::<Memory>(&parts, cut, || vec![of_run()], &options, &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}

#[test]
fn host_rows_of_no_thread_stay_with_their_rank() {
    let row = |bytes: i64| Row {
        time_ns: Some(10),
        thread: None,
        span: None,
        device: None,
        bytes: Some(bytes),
        tag: Some(0),
        address: Some(64),
        weight: None,
        sample_bytes: None,
    };
    let rank = |rows: Vec<Row>| Rank {
        rows,
        iterations: 0,
        calls: 0,
    };
    // The same address in two processes: two blocks.
    let ranks = [rank(vec![row(8)]), rank(vec![row(16)])];
    let all: Vec<(u64, &Rank)> = (0..).zip(&ranks).collect();
    let output = run::<Memory>(inputs(&all, 2, None), "{}").unwrap();
    let places = output.table("places");
    let names: Vec<_> = places.text("place").unwrap().iter().flatten().collect();
    assert_eq!(names, ["rank 0 host", "rank 1 host"]);
    assert_eq!(places.i64("end_bytes").unwrap().values(), [8, 16]);
    assert!(output.table("problems").is_empty());
}

#[test]
fn a_part_without_a_column_is_an_error() {
    let mut part = part::<Memory>(inputs(&[], 1, None), "{}").unwrap();
    for table in &mut part.tables {
        if table.name() == "live" {
            *table = Table::build("live").i64("time_ns", [0]).finish().unwrap();
        }
    }
    let error = merge::<Memory>(&[part], [of_run()], "{}", true).unwrap_err();
    assert!(error.to_string().contains("place"), "{error}");
}
