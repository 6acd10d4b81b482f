//! The plugin as a whole: made operations and calls in, tables and findings out.

mod launches;

use proptest::prelude::*;
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_device::Device;
use trueno_plugin_device::exposure::Kind;
use trueno_plugin_device::idle::places;
use trueno_plugin_device::operations::{Loaded, Name, Operation};

/// Name, device, stream, start, end, correlation.
type Row = (&'static str, i64, i64, i64, i64, Option<u64>);

const NO_STREAM: i64 = -1;

#[derive(Default)]
struct Made {
    kernels: Vec<Row>,
    transfers: Vec<Row>,
    calls: Vec<(u64, i64, i64)>,
    /// Work by id, and start and end of the call that an edge leads from.
    launches: Vec<(u64, i64, i64)>,
    bound: Vec<usize>,
    window: Option<(i64, i64)>,
}

fn rows(input: &str, rows: &[Row], first_id: u64, bound: &[usize]) -> TableBuilder {
    Table::build(input)
        .u64("id", (0..rows.len()).map(|at| first_id + at as u64))
        .text("name", rows.iter().map(|row| row.0))
        .i64("device", rows.iter().map(|row| row.1))
        .i64(
            "stream",
            rows.iter()
                .map(|row| Some(row.2).filter(|of| *of != NO_STREAM)),
        )
        .i64("start_ns", rows.iter().map(|row| row.3))
        .i64("dur_ns", rows.iter().map(|row| row.4 - row.3))
        .u64("correlation", rows.iter().map(|row| row.5))
        .bool("is_bound", (0..rows.len()).map(|at| bound.contains(&at)))
}

impl Made {
    fn output(&self) -> Output {
        let mut inputs = vec![
            launches::add(
                rows("kernels", &self.kernels, 100, &self.bound)
                    .bool("valid", self.kernels.iter().map(|_| true)),
                &vec![launches::NOT_RECORDED; self.kernels.len()],
            ),
            rows("transfers", &self.transfers, 500, &[])
                .u64("bytes", self.transfers.iter().map(|_| None)),
            Table::build("calls")
                .u64("correlation", self.calls.iter().map(|call| call.0))
                .i64("start_ns", self.calls.iter().map(|call| call.1))
                .i64("dur_ns", self.calls.iter().map(|call| call.2 - call.1)),
        ];
        if !self.launches.is_empty() {
            inputs.push(
                Table::build("launches")
                    .u64("work", self.launches.iter().map(|of| of.0))
                    .i64("start_ns", self.launches.iter().map(|of| of.1))
                    .i64("dur_ns", self.launches.iter().map(|of| of.2 - of.1)),
            );
        }
        inputs.extend(self.window.map(|(from_ns, until_ns)| {
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns])
        }));
        testing::run::<Device>(inputs, "{}").unwrap()
    }
}

fn ints(output: &Output, table: &str, column: &str) -> Vec<Option<i64>> {
    let table = output.table(table);
    match table.i64(column) {
        Ok(found) => found.iter().collect(),
        Err(_) => {
            let found = table.u64(column).unwrap();
            found
                .iter()
                .map(|value| value.map(|value| value as i64))
                .collect()
        }
    }
}

fn texts(output: &Output, table: &str, column: &str) -> Vec<String> {
    let column = output.table(table).text(column).unwrap();
    column
        .iter()
        .map(|text| text.unwrap_or("–").to_owned())
        .collect()
}

/// A stream with a gap of each cause:
///
/// ```text
/// calls    a0──10     c20─┐       d90─95          (e: no call)
/// work           a 10────30 b 30───60   c 70──80     d 100──110   e 150──160
/// ```
fn of_each_cause() -> Made {
    Made {
        kernels: vec![
            ("a", 0, 7, 10, 30, Some(1)),
            ("b", 0, 7, 30, 60, Some(2)),
            ("c", 0, 7, 70, 80, Some(3)),
            ("d", 0, 7, 100, 110, Some(4)),
            ("e", 0, 7, 150, 160, None),
        ],
        calls: vec![(1, 0, 10), (2, 12, 15), (3, 20, 24), (4, 90, 95)],
        ..Made::default()
    }
}

#[test]
fn a_launch_without_a_correlation_is_known_by_its_edge() {
    let by_correlation = of_each_cause();
    let mut by_edge = of_each_cause();
    for (at, kernel) in by_edge.kernels.iter_mut().enumerate() {
        let call = kernel.5.take().map(|of| by_edge.calls[of as usize - 1]);
        let launch = call.map(|(_, start, end)| (100 + at as u64, start, end));
        by_edge.launches.extend(launch);
    }
    by_edge.calls.clear();
    let [expected, found] = [by_correlation, by_edge].map(|made| made.output());
    for column in [
        "not_queued_ns",
        "launching_ns",
        "not_started_ns",
        "not_known_ns",
    ] {
        assert_eq!(
            ints(&found, "idle", column),
            ints(&expected, "idle", column),
            "{column}"
        );
    }
    for column in ["linked", "queued_ns"] {
        assert_eq!(
            ints(&found, "launches", column),
            ints(&expected, "launches", column),
            "{column}"
        );
    }
}

#[test]
fn a_gap_is_cut_where_somebody_asked_for_what_ended_it() {
    let output = of_each_cause().output();
    let one = |column: &str| ints(&output, "idle", column);
    assert_eq!(texts(&output, "idle", "place"), ["gpu0"]);
    assert_eq!(one("stream"), [None]);
    assert_eq!(
        (one("span_ns"), one("busy_ns")),
        (vec![Some(150)], vec![Some(80)])
    );
    assert_eq!(
        (one("idle_ns"), one("gaps"), one("longest_ns")),
        (vec![Some(70)], vec![Some(3)], vec![Some(40)])
    );
    // 60–70 before c, asked for at 20; 80–100 before d, asked for at 90; 110–150 before e.
    let parts = [
        "not_queued_ns",
        "launching_ns",
        "not_started_ns",
        "not_known_ns",
    ];
    assert_eq!(parts.map(|part| one(part)[0].unwrap()), [10, 10, 10, 40]);
    let share = output.table("idle").f64("idle_share").unwrap().get(0);
    assert_eq!(share, Some(70.0 / 150.0));
    assert_eq!(
        ints(&output, "gaps", "dur_ns"),
        [Some(40), Some(20), Some(10)]
    );
    assert_eq!(
        texts(&output, "gaps", "cause"),
        ["not known", "no work queued", "queued but not started"]
    );
    assert_eq!(texts(&output, "gaps", "after"), ["d", "c", "b"]);
    assert_eq!(texts(&output, "gaps", "next"), ["e", "d", "c"]);
    assert_eq!(
        ints(&output, "gaps", "id"),
        [Some(104), Some(103), Some(102)]
    );
    let finding = output.finding("idle").unwrap();
    assert_eq!(
        finding.title,
        "gpu0 was idle for 46.7 % of the time between its first and its last operation"
    );
    assert!(
        output
            .finding("not_linked")
            .unwrap()
            .title
            .starts_with("for 1 of 5 operations")
    );
}

#[test]
fn the_way_of_a_launch_is_queue_and_latency() {
    let output = of_each_cause().output();
    let of = |column: &str| {
        let names = texts(&output, "launches", "name");
        let values = ints(&output, "launches", column);
        let mut out: Vec<_> = names.into_iter().zip(values).collect();
        out.sort();
        out.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
    };
    // b was called at 12 and its stream was busy until 30; c at 20 and until 60.
    assert_eq!(
        of("queued_ns"),
        [Some(0), Some(18), Some(40), Some(0), None]
    );
    assert_eq!(
        of("latency_ns"),
        [Some(10), Some(0), Some(10), Some(10), None]
    );
    assert_eq!(of("call_ns"), [Some(10), Some(3), Some(4), Some(5), None]);
    assert_eq!(
        of("dur_ns"),
        [Some(20), Some(30), Some(10), Some(10), Some(10)]
    );
    assert_eq!(of("shorter"), [Some(0), Some(0), Some(0), Some(0), None]);
    // Of three equal latencies the one that ran longest comes first; what is not known comes last.
    assert_eq!(
        texts(&output, "launches", "name"),
        ["a", "c", "d", "b", "e"]
    );
}

#[test]
fn what_was_asked_for_and_had_not_begun_is_the_queue() {
    // Waiting: a 0–10, b 12–30, c 20–70, d 90–100; two of them from 20 to 30.
    let output = of_each_cause().output();
    assert_eq!(ints(&output, "idle", "queue_max"), [Some(2)]);
    let mean = output.table("idle").f64("queue_mean").unwrap().get(0);
    assert_eq!(mean, Some((10.0 + 18.0 + 50.0 + 10.0) / 100.0));
}

#[test]
fn a_device_is_busy_while_any_of_its_streams_is() {
    let made = Made {
        kernels: vec![
            ("a", 0, 1, 0, 40, None),
            ("b", 0, 2, 30, 60, None),
            ("a", 0, 1, 90, 100, None),
            ("a", 1, 1, 5, 10, None),
        ],
        transfers: vec![("h2d", 0, 3, 50, 70, None)],
        ..Made::default()
    };
    let output = made.output();
    assert_eq!(
        texts(&output, "idle", "place"),
        ["gpu0", "gpu0", "gpu0", "gpu0", "gpu1"]
    );
    assert_eq!(
        ints(&output, "idle", "stream"),
        [None, Some(1), Some(2), Some(3), None]
    );
    assert_eq!(
        ints(&output, "idle", "busy_ns"),
        [Some(80), Some(50), Some(30), Some(20), Some(5)]
    );
    assert_eq!(
        ints(&output, "idle", "idle_ns"),
        [Some(20), Some(50), Some(0), Some(0), Some(0)]
    );
    assert_eq!(
        ints(&output, "idle", "dur_ns"),
        [Some(100), Some(50), Some(30), Some(20), Some(5)],
        "work that runs at the same time counts each time"
    );
    assert_eq!(
        ints(&output, "idle", "queue_max"),
        [None; 5],
        "no call, no queue"
    );
    assert_eq!(texts(&output, "gaps", "after"), ["h2d"]);
}

#[test]
fn nodes_of_a_graph_share_one_call() {
    let made = Made {
        kernels: vec![
            ("n", 0, 1, 20, 30, Some(1)),
            ("n", 0, 1, 34, 44, Some(1)),
            ("n", 0, 2, 20, 26, Some(1)),
        ],
        // The call the program made, and the driver's within it.
        calls: vec![(1, 12, 14), (1, 10, 16)],
        ..Made::default()
    };
    let output = made.output();
    assert_eq!(ints(&output, "launches", "linked"), [Some(3)]);
    assert_eq!(
        ints(&output, "launches", "call_ns"),
        [Some(6)],
        "once, and of the outer call"
    );
    assert_eq!(ints(&output, "launches", "latency_ns"), [Some(10 + 4 + 10)]);
    assert_eq!(ints(&output, "launches", "queued_ns"), [Some(20)]);
}

#[test]
fn what_cannot_be_or_only_bounds_is_counted_and_in_no_figure() {
    let made = Made {
        kernels: vec![
            ("a", 0, 1, 0, 10, Some(1)),
            ("b", 0, 1, 20, 15, None),
            ("c", 0, 1, 30, 40, None),
        ],
        calls: vec![(1, 5, 6)],
        bound: vec![2],
        ..Made::default()
    };
    let output = made.output();
    assert_eq!(ints(&output, "idle", "operations"), [Some(1)]);
    assert_eq!(ints(&output, "launches", "linked"), [Some(0)]);
    assert!(
        output
            .finding("before_call")
            .unwrap()
            .title
            .starts_with("1 operation began before its launch call")
    );
    assert!(
        output
            .finding("left_out")
            .unwrap()
            .title
            .starts_with("2 rows")
    );
    assert!(output.finding("not_linked").is_none());
}

#[test]
fn a_window_holds_the_operations_that_begin_in_it() {
    let mut made = of_each_cause();
    made.window = Some((60, 110));
    let output = made.output();
    assert_eq!(ints(&output, "idle", "operations"), [Some(2)]);
    assert_eq!(ints(&output, "idle", "span_ns"), [Some(40)]);
    assert_eq!(ints(&output, "gaps", "id"), [Some(103)]);
}

#[test]
fn a_run_of_the_host_alone_has_nothing_to_say() {
    for output in [
        Made::default().output(),
        testing::run::<Device>(vec![], "{}").unwrap(),
    ] {
        assert!(output.tables.is_empty() && output.findings.is_empty());
    }
}

#[test]
fn what_no_call_tells_is_not_zero() {
    let made = Made {
        kernels: vec![("a", 0, 1, 0, 10, None), ("b", 0, 1, 20, 30, None)],
        ..Made::default()
    };
    let output = made.output();
    for (table, columns) in [
        (
            "idle",
            &["not_queued_ns", "launching_ns", "not_started_ns"][..],
        ),
        ("gaps", &["not_queued_ns", "launching_ns"]),
    ] {
        for column in columns {
            assert_eq!(ints(&output, table, column), [None], "{table}.{column}");
        }
    }
    assert_eq!(ints(&output, "idle", "not_known_ns"), [Some(10)]);
    let detail = output.finding("idle").unwrap().detail.clone();
    assert_eq!(
        detail.as_deref(),
        Some("the cause is not known: no launch calls are recorded")
    );
    // Without a gap there is nothing that could not be told.
    let made = Made {
        kernels: vec![("a", 0, 1, 0, 10, None)],
        ..Made::default()
    };
    assert_eq!(ints(&made.output(), "idle", "not_queued_ns"), [Some(0)]);
}

#[test]
fn work_of_an_unknown_stream_has_no_queue_and_is_no_stream() {
    let made = Made {
        kernels: vec![
            ("a", 0, NO_STREAM, 5, 10, Some(1)),
            ("a", 0, NO_STREAM, 20, 30, Some(2)),
            ("b", 0, 4, 40, 50, Some(3)),
        ],
        calls: vec![(1, 0, 1), (2, 2, 3), (3, 35, 36)],
        ..Made::default()
    };
    let output = made.output();
    assert_eq!(ints(&output, "idle", "stream"), [None, Some(4)]);
    assert_eq!(texts(&output, "launches", "name"), ["b", "a"]);
    assert_eq!(ints(&output, "launches", "linked"), [Some(1), Some(0)]);
    assert_eq!(ints(&output, "launches", "latency_ns"), [Some(5), None]);
}

#[test]
fn work_that_overlaps_on_its_stream_was_queued_until_it_began() {
    let made = Made {
        kernels: vec![("a", 0, 1, 0, 50, None), ("b", 0, 1, 30, 60, Some(1))],
        calls: vec![(1, 10, 12)],
        ..Made::default()
    };
    let output = made.output();
    assert_eq!(texts(&output, "launches", "name"), ["a", "b"]);
    assert_eq!(ints(&output, "launches", "queued_ns"), [None, Some(20)]);
    assert_eq!(ints(&output, "launches", "latency_ns"), [None, Some(0)]);
}

#[test]
fn at_one_instant_the_outer_call_is_the_longer_and_asking_comes_before_the_gap() {
    let made = Made {
        kernels: vec![("a", 0, 1, 0, 10, None), ("b", 0, 1, 20, 30, Some(1))],
        calls: vec![(1, 10, 12), (1, 10, 16)],
        ..Made::default()
    };
    let output = made.output();
    assert_eq!(ints(&output, "launches", "call_ns"), [Some(6), None]);
    assert_eq!(ints(&output, "idle", "not_started_ns"), [Some(10)]);
    assert_eq!(ints(&output, "idle", "launching_ns"), [Some(0)]);
}

/// Stream, start, duration, and how long before the start it was called, if it was.
type Drawn = (i64, i64, i64, Option<i64>);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let one = (0..3_i64, 0..60_i64, 0..12_i64, prop::option::of(0..30_i64));
    prop::collection::vec(one, 1..12)
}

fn loaded(rows: &[Drawn]) -> Loaded {
    let mut operations: Vec<Operation> = (0..)
        .zip(rows)
        .map(|(id, &(stream, start_ns, dur_ns, before))| Operation {
            id,
            name: 0,
            device: 0,
            stream: Some(stream),
            start_ns,
            end_ns: start_ns + dur_ns,
            call: before.map(|before| (start_ns - before, start_ns)),
            correlation: before.map(|_| id),
            bytes: None,
            shape: None,
            shares_call: false,
        })
        .collect();
    operations.sort_by_key(|o| (o.device, o.stream, o.start_ns, o.end_ns, o.id));
    Loaded {
        operations,
        names: vec![Name {
            text: "k".to_owned(),
            is_transfer: false,
            kind: Kind::Computation,
        }],
        ..Loaded::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Checks each nanosecond separately.
    #[test]
    fn idle_time_is_that_of_a_painted_timeline(rows in drawn()) {
        for place in places(&loaded(&rows)) {
            let own: Vec<&Drawn> = rows.iter().filter(|row| place.times.stream.is_none_or(|stream| row.0 == stream)).collect();
            let first = own.iter().map(|row| row.1).min().unwrap();
            let last = own.iter().map(|row| row.1 + row.2).max().unwrap();
            let is_busy = |ns: i64| own.iter().any(|row| (row.1..row.1 + row.2).contains(&ns));
            let busy = (first..last).filter(|ns| is_busy(*ns)).count() as i64;
            prop_assert_eq!((place.times.first_ns, place.times.last_ns, place.times.busy_ns), (first, last, busy));
            prop_assert_eq!(place.times.idle_ns(), place.gaps.iter().map(|gap| gap.dur_ns()).sum::<i64>());
            let parts = place.times.parts;
            prop_assert_eq!(place.times.idle_ns(), parts.not_queued_ns + parts.launching_ns + parts.not_started_ns + parts.not_known_ns);
            // A nanosecond of idle time is one in which nobody had asked if what ended its gap was called later.
            let not_queued = (first..last).filter(|ns| !is_busy(*ns)).filter(|ns| {
                place.gaps.iter().any(|gap| gap.start_ns <= *ns && *ns < gap.end_ns && gap.next.call.is_some_and(|call| call.0 > *ns))
            });
            prop_assert_eq!(parts.not_queued_ns, not_queued.count() as i64);
            let waiting = |ns: i64| own.iter().filter(|row| row.3.is_some_and(|before| (row.1 - before..row.1).contains(&ns))).count();
            let called: Vec<i64> = own.iter().filter_map(|row| Some(row.1 - row.3?)).collect();
            let begun: Vec<i64> = own.iter().filter_map(|row| row.3.map(|_| row.1)).collect();
            match (place.times.queue, called.iter().min().copied(), begun.iter().max().copied()) {
                (Some(queue), Some(from), Some(to)) => {
                    let counts: Vec<usize> = (from..to).map(waiting).collect();
                    prop_assert_eq!(queue.most, counts.iter().max().copied().unwrap_or(0) as u64);
                    let mean = (to > from).then(|| counts.iter().sum::<usize>() as f64 / (to - from) as f64);
                    prop_assert_eq!(queue.mean, mean);
                }
                (found, ..) => prop_assert_eq!(found, None),
            }
        }
    }
}
