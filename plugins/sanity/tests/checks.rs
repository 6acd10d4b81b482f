//! The plugin as a whole: made runs in, verdicts out.

use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Severity, Table, TableBuilder};
use trueno_plugin_sanity::Sanity;

/// A row with an interval: id, parent, thread, start, duration.
type Row = (u64, Option<u64>, i64, i64, i64);

/// A sane run of 1000 ns: a layer, a brick in it and a kernel in that, an edge, a checksum, and steady clocks.
#[derive(Clone)]
struct Made {
    clean_end: bool,
    dropped: Option<u64>,
    wall_ns: Option<i64>,
    cost_ns: Option<f64>,
    own_ns: Option<u64>,
    verified: bool,
    rows_lost: Option<u64>,
    bricks: Vec<Row>,
    kernels: Vec<Row>,
    edges: Vec<(u64, u64)>,
    launches: Vec<(i64, i64)>,
    invalid: i64,
    nan: i64,
    clock: Vec<(u64, i64)>,
}

fn sane() -> Made {
    Made {
        clean_end: true,
        dropped: Some(0),
        wall_ns: Some(1000),
        cost_ns: Some(10.0),
        own_ns: Some(0),
        verified: true,
        rows_lost: Some(0),
        bricks: vec![(1, None, 0, 0, 900), (2, Some(1), 0, 100, 500)],
        kernels: vec![(3, Some(2), 0, 200, 300)],
        edges: vec![(2, 3)],
        launches: vec![],
        invalid: 0,
        nan: 0,
        clock: (0..4)
            .map(|n| (n * 30_000_000, n as i64 * 10_000_000))
            .collect(),
    }
}

fn intervals(name: &'static str, rows: &[Row], parents: bool, device: bool) -> TableBuilder {
    let mut table = Table::build(name)
        .u64("id", rows.iter().map(|row| row.0))
        .i64("thread", rows.iter().map(|row| row.2))
        .i64("start_ns", rows.iter().map(|row| row.3))
        .i64("dur_ns", rows.iter().map(|row| row.4));
    if parents {
        table = table.u64("parent", rows.iter().map(|row| row.1));
    }
    if device {
        table = table.i64("device", rows.iter().map(|_| None::<i64>));
    }
    table
}

fn flag(rows: &[Row], value: bool) -> impl Iterator<Item = bool> + '_ {
    rows.iter().map(move |_| value)
}

impl Made {
    fn output(&self) -> Output {
        self.output_with(Vec::new())
    }

    fn output_of(&self, bricks: TableBuilder) -> Output {
        self.output_from(bricks, Vec::new())
    }

    fn output_with(&self, more: Vec<TableBuilder>) -> Output {
        let bricks = intervals("bricks", &self.bricks, true, false)
            .bool("is_bound", flag(&self.bricks, false))
            .bool("is_scope", self.bricks.iter().map(|row| row.0 == 1));
        self.output_from(bricks, more)
    }

    fn output_from(&self, bricks: TableBuilder, more: Vec<TableBuilder>) -> Output {
        let counts = |name: &'static str, a: (&'static str, i64), b: (&'static str, i64)| {
            Table::build(name).i64(a.0, [a.1]).i64(b.0, [b.1])
        };
        let tables = [
            Table::build("run")
                .text(
                    "state",
                    [if self.clean_end {
                        "finished"
                    } else {
                        "recording"
                    }],
                )
                .bool("clean_end", [self.clean_end])
                .u64("dropped", [self.dropped])
                .i64("wall_ns", [self.wall_ns])
                .text("wall_source", ["recorded"])
                .f64("cost_ns_per_span", [self.cost_ns])
                .u64("recorder_ns", [self.own_ns])
                .u64("recorder_cpu_ns", [Some(7_u64)]),
            Table::build("segments")
                .text("state", ["sealed"])
                .u64("rows_expected", [3_u64])
                .u64("rows_read", [3_u64])
                .u64("rows_lost", [self.rows_lost])
                .bool("verified", [self.verified]),
            bricks,
            intervals("kernels", &self.kernels, true, true)
                .bool("is_bound", flag(&self.kernels, false))
                .bool("valid", flag(&self.kernels, true)),
            intervals("tiles", &[], true, false),
            intervals("syncs", &[], false, true),
            intervals("calls", &[], true, false),
            intervals("transfers", &[], true, true).bool("is_bound", flag(&[], false)),
            Table::build("edges")
                .u64("from_id", self.edges.iter().map(|edge| edge.0))
                .u64("to_id", self.edges.iter().map(|edge| edge.1)),
            Table::build("launches")
                .u64("id", self.launches.iter().map(|_| 3_u64))
                .i64("call_start_ns", self.launches.iter().map(|launch| launch.0))
                .i64("start_ns", self.launches.iter().map(|launch| launch.1)),
            Table::build("invalid_kernels")
                .text("reason", (self.invalid > 0).then_some("no timestamp"))
                .i64("kernels", (self.invalid > 0).then_some(self.invalid)),
            counts("graph_kernels", ("kernels", 0), ("with_brick", 0)),
            counts("graph_launches", ("launches", 0), ("with_work", 0)),
            Table::build("clock_pairs")
                .u64("ticks", self.clock.iter().map(|pair| pair.0))
                .i64("host_ns", self.clock.iter().map(|pair| pair.1)),
            counts("checksums", ("checksums", 1), ("counted", 1)),
            Table::build("nan_checksums").i64("checksums", [self.nan]),
        ];
        testing::run::<Sanity>(tables.into_iter().chain(more), "{}").unwrap()
    }
}

fn verdict(output: &Output, check: &str) -> (String, Option<u64>) {
    let table = output.table("checks");
    let names = table.text("check").unwrap();
    let row = (0..table.rows()).find(|&row| names.get(row) == Some(check));
    let row = row.unwrap_or_else(|| panic!("no check {check}"));
    let verdict = table.text("verdict").unwrap().value(row).to_owned();
    (verdict, table.u64("count").unwrap().get(row))
}

#[track_caller]
fn fails(made: &Made, check: &str, count: u64) {
    let output = made.output();
    assert_eq!(verdict(&output, check), ("fail".to_owned(), Some(count)));
    let finding = output.finding(check).expect("a failed check is a finding");
    assert!(finding.suggestion.is_some());
}

#[track_caller]
fn not_measurable(made: &Made, check: &str) {
    let output = made.output();
    assert_eq!(verdict(&output, check), ("not measurable".to_owned(), None));
    assert!(output.finding(check).is_none());
}

#[test]
fn a_sane_run_fails_nothing_and_says_what_it_could_not_tell() {
    let output = sane().output();
    assert!(output.findings.is_empty(), "{:?}", output.findings);
    for check in [
        "ended_cleanly",
        "nothing_dropped",
        "all_rows_read",
        "coverage",
        "one_timeline",
        "durations",
        "inside_the_run",
        "unique_ids",
        "parents_exist",
        "nesting",
        "edges_exist",
        "valid_kernels",
        "bound_rows",
        "clock_rate",
        "tensors_without_nan",
        "recorder_cost",
    ] {
        assert_eq!(
            verdict(&output, check),
            ("pass".to_owned(), Some(0)),
            "{check}"
        );
    }
    not_measurable(&sane(), "kernels_after_launch");
    not_measurable(&sane(), "graph_replay");
}

#[test]
fn losses_fail_and_unknown_losses_are_not_measurable() {
    fails(
        &Made {
            clean_end: false,
            ..sane()
        },
        "ended_cleanly",
        1,
    );
    fails(
        &Made {
            dropped: Some(7),
            ..sane()
        },
        "nothing_dropped",
        7,
    );
    not_measurable(
        &Made {
            dropped: None,
            ..sane()
        },
        "nothing_dropped",
    );
    fails(
        &Made {
            rows_lost: Some(5),
            verified: false,
            ..sane()
        },
        "all_rows_read",
        5,
    );
    not_measurable(
        &Made {
            verified: false,
            ..sane()
        },
        "all_rows_read",
    );
    not_measurable(
        &Made {
            rows_lost: None,
            ..sane()
        },
        "all_rows_read",
    );
}

#[test]
fn impossible_times_fail() {
    let mut made = sane();
    made.kernels.push((4, None, 0, 300, -1));
    fails(&made, "durations", 1);
    let mut made = sane();
    made.bricks.push((4, None, 0, -5, 10));
    made.bricks.push((5, None, 0, 950, 51));
    fails(&made, "inside_the_run", 2);
    let output = made.output();
    let evidence = output.finding("inside_the_run").unwrap().evidence.clone();
    assert!(format!("{evidence:?}").contains("dur_ns > 1000 - start_ns"));
}

#[test]
fn sums_that_64_bits_do_not_hold_are_said() {
    let mut made = sane();
    made.wall_ns = None;
    made.bricks.push((4, None, 0, 1, i64::MAX - 100));
    fails(&made, "durations", 1);
    let detail = made.output().finding("durations").unwrap().detail.clone();
    assert!(format!("{detail:?}").contains("durations of bricks add up to more"));
    let mut made = sane();
    made.wall_ns = None;
    made.kernels.push((4, None, 0, 2, i64::MAX - 1));
    fails(&made, "inside_the_run", 1);
}

#[test]
fn links_are_checked() {
    let mut made = sane();
    made.kernels.push((2, Some(2), 0, 210, 10));
    fails(&made, "unique_ids", 1);
    let mut made = sane();
    made.kernels.push((4, Some(99), 0, 210, 10));
    fails(&made, "parents_exist", 1);
    made.dropped = Some(1);
    not_measurable(&made, "parents_exist");
    let mut made = sane();
    made.edges.push((2, 77));
    fails(&made, "edges_exist", 1);
}

#[test]
fn a_kernel_ends_with_its_brick_and_a_detached_brick_may_end_later() {
    let mut made = sane();
    made.kernels.push((4, Some(2), 0, 500, 101));
    fails(&made, "nesting", 1);
    let mut made = sane();
    made.bricks.push((4, Some(2), 0, 500, 400));
    assert_eq!(verdict(&made.output(), "nesting").0, "pass");
    made.bricks.push((5, Some(2), 1, 99, 10));
    fails(&made, "nesting", 1);
}

#[test]
fn devices_clocks_and_tensors_are_checked() {
    fails(
        &Made {
            launches: vec![(10, 20), (30, 29)],
            ..sane()
        },
        "kernels_after_launch",
        1,
    );
    fails(
        &Made {
            invalid: 1,
            ..sane()
        },
        "valid_kernels",
        1,
    );
    fails(&Made { nan: 1, ..sane() }, "tensors_without_nan", 1);
    let mut made = sane();
    made.clock[3].0 += 100_000;
    fails(&made, "clock_rate", 1);
    made.clock.truncate(2);
    not_measurable(&made, "clock_rate");
}

#[test]
fn clocks_that_differ_matter_by_how_much_of_the_run_that_is() {
    let severity = |early_ns: i64| {
        let made = Made {
            wall_ns: Some(100_000_000),
            launches: vec![(10, 20), (early_ns, 0)],
            ..sane()
        };
        let output = made.output();
        output.finding("kernels_after_launch").unwrap().severity
    };
    assert_eq!(severity(11_000), Severity::Info);
    assert_eq!(severity(500_000), Severity::Warning);
    assert_eq!(severity(5_000_000), Severity::Error);
}

#[test]
fn coverage_and_cost_need_what_they_divide_by() {
    let nothing = Made {
        wall_ns: None,
        cost_ns: None,
        ..sane()
    };
    not_measurable(&nothing, "coverage");
    not_measurable(&nothing, "recorder_cost");
    fails(
        &Made {
            wall_ns: Some(400),
            ..sane()
        },
        "coverage",
        1,
    );
    fails(
        &Made {
            cost_ns: Some(20.0),
            ..sane()
        },
        "recorder_cost",
        1,
    );
    // What threads cost, of a wall of two seconds; a short run may be preempted for as long.
    let with = |own_ns: u64, wall_ns: i64| Made {
        own_ns: Some(own_ns),
        wall_ns: Some(wall_ns),
        ..sane()
    };
    fails(&with(150_000_000, 2_000_000_000), "recorder_cost", 1);
    for made in [
        with(90_000_000, 2_000_000_000),
        with(90_000_000, 100_000_000),
    ] {
        let verdict = verdict(&made.output(), "recorder_cost");
        assert_eq!(verdict, ("pass".to_owned(), Some(0)));
    }
    let scopes = Made {
        bricks: vec![(1, None, 0, 0, 900)],
        kernels: vec![],
        ..sane()
    };
    not_measurable(&scopes, "coverage");
}

/// Names and values that someone drew as a trace, with a duration that means nothing.
#[test]
fn rows_of_one_duration_fail() {
    let list = |rows: u64, step_ns: i64, last_ns: i64| Made {
        wall_ns: Some(1_000_000),
        bricks: (0..rows)
            .map(|id| {
                let dur_ns = if id + 1 == rows { last_ns } else { 100 };
                (id + 10, None, id as i64, id as i64 * step_ns, dur_ns)
            })
            .collect(),
        kernels: vec![],
        edges: vec![],
        ..sane()
    };
    fails(&list(25, 0, 100), "durations_differ", 25);
    fails(&list(100, 200, 100), "durations_differ", 100);
    let finding = list(25, 0, 100).output();
    let finding = finding.finding("durations_differ").unwrap();
    assert_eq!(
        finding.title,
        "all rows have one duration: 25 rows of 100 ns (expected: durations that differ)"
    );
    // A clock that ticks slowly makes a few durations equal.
    for few in [list(9, 0, 100), list(99, 200, 100)] {
        not_measurable(&few, "durations_differ");
    }
    for other in [list(25, 0, 101), list(100, 200, 99)] {
        let verdict = verdict(&other.output(), "durations_differ");
        assert_eq!(verdict, ("pass".to_owned(), Some(0)));
    }
}

#[test]
fn tasks_that_were_only_open_are_no_fault() {
    let open = |is_open: bool| {
        let bricks = intervals("bricks", &[(1, None, 0, 0, 900)], true, false);
        let bricks = bricks.bool("is_bound", [true]).bool("is_scope", [false]);
        sane().output_of(bricks.bool("is_open", [is_open]))
    };
    assert_eq!(verdict(&open(true), "bound_rows").0, "pass");
    assert_eq!(verdict(&open(false), "bound_rows").0, "fail");
}

#[test]
fn times_that_are_days_apart_are_said() {
    let days = 13 * 86_400_000_000_000_i64;
    let apart = Made {
        wall_ns: Some(days + 900),
        bricks: vec![(1, None, 0, 0, 900), (2, None, 0, days, 900)],
        kernels: vec![(3, Some(2), 0, days + 200, 300)],
        edges: vec![],
        ..sane()
    };
    fails(&apart, "one_timeline", 1);
    // Little of it is covered, but some: only the times are in doubt.
    let output = apart.output();
    assert_eq!(verdict(&output, "coverage").0, "pass");
    let checks = output.table("checks");
    let found: Vec<&str> = checks.text("found").unwrap().iter().flatten().collect();
    assert!(found.contains(&"0.00000000000080"), "{found:?}");
    // Three groups of which no hole is most of the run.
    let three = Made {
        bricks: vec![
            (1, None, 0, 0, 900),
            (2, None, 0, days, 900),
            (4, None, 0, days / 2, 9_000_000_000_000),
        ],
        ..apart.clone()
    };
    fails(&three, "one_timeline", 2);
    // A program that slept for a while is sane.
    let slept = Made {
        wall_ns: Some(500_000_000_900),
        bricks: vec![(1, None, 0, 0, 900), (2, None, 0, 500_000_000_000, 900)],
        kernels: vec![(3, Some(2), 0, 500_000_000_200, 300)],
        ..apart
    };
    let output = slept.output();
    assert_eq!(verdict(&output, "one_timeline").0, "pass");
}

#[test]
fn clocks_of_ranks_are_compared_with_themselves_only() {
    // Two steady clocks of different rates and origins: as one they would jump.
    let reading = |rank: u64, n: u64| (rank, rank * 900 + n * (30 + 60 * rank) * 1_000_000);
    let readings: Vec<(u64, u64)> = (0..2)
        .flat_map(|rank| (0..4).map(move |n| reading(rank, n)))
        .collect();
    let ranks = |problems: usize, ticks: Vec<(u64, u64)>| {
        vec![
            Table::build("ranks").u64("rank", [0_u64, 1]),
            Table::build("rank_problems").text("code", vec!["rank_missing"; problems]),
            Table::build("rank_clocks")
                .u64("rank", ticks.iter().map(|reading| reading.0))
                .u64("ticks", ticks.iter().map(|reading| reading.1))
                .i64(
                    "host_ns",
                    (0..ticks.len() as i64).map(|n| n % 4 * 10_000_000),
                ),
        ]
    };
    let output = sane().output_with(ranks(0, readings.clone()));
    assert_eq!(verdict(&output, "clock_rate"), ("pass".to_owned(), Some(0)));
    assert_eq!(verdict(&output, "all_ranks"), ("pass".to_owned(), Some(0)));
    let mut stepped = readings;
    stepped[6].1 += 10_000_000;
    let output = sane().output_with(ranks(1, stepped));
    assert_eq!(verdict(&output, "clock_rate"), ("fail".to_owned(), Some(1)));
    assert_eq!(verdict(&output, "all_ranks"), ("fail".to_owned(), Some(1)));
    assert!(output.finding("all_ranks").is_some());
}

#[test]
fn readings_of_the_clock_as_far_apart_as_numbers_go_are_judged() {
    let mut made = sane();
    made.clock = vec![(0, i64::MIN), (30_000_000, i64::MAX), (60_000_000, 0)];
    let verdict = verdict(&made.output(), "clock_rate");
    assert_eq!(verdict, ("not measurable".to_owned(), None));
}

/// Calls by brick, iteration and layer, on two threads, together with the iterations.
fn decoded(calls: impl Fn(&str, u64, i64) -> i64) -> TableBuilder {
    let mut rows = Vec::new();
    for (name, layers) in [("AttentionScore", 2), ("LmHead", 0), ("RmsNorm", 2)] {
        for iteration in 0..6 {
            for layer in 0..layers.max(1) {
                let all = calls(name, iteration, layer);
                let layer = (layers > 0).then_some(layer);
                let threads = [(0, all - all / 2), (1, all / 2)];
                let threads = threads.iter().filter(|(_, calls)| *calls > 0);
                rows.extend(
                    threads.map(|(thread, calls)| (name, *thread, iteration, layer, *calls)),
                );
            }
        }
    }
    rows.extend((0..6).map(|iteration| ("step", 0, iteration, None, 1)));
    let rows = || rows.iter();
    Table::build("decode_calls")
        .text(
            "kind",
            rows().map(|row| {
                if row.0 == "step" {
                    "iteration"
                } else {
                    "brick"
                }
            }),
        )
        .text("name", rows().map(|row| row.0))
        .i64("thread", rows().map(|row| row.1))
        .u64("iteration", rows().map(|row| row.2))
        .i64("layer", rows().map(|row| row.3))
        .i64("calls", rows().map(|row| row.4))
}

#[test]
fn a_decoder_calls_its_bricks_as_often_for_each_token() {
    let found = |made: &Made, calls: &dyn Fn(&str, u64, i64) -> i64| {
        verdict(&made.output_with(vec![decoded(calls)]), "decode_calls")
    };
    let usual = |name: &str| match name {
        "AttentionScore" => 4,
        "RmsNorm" => 2,
        _ => 1,
    };
    let pass = ("pass".to_owned(), Some(0));
    assert_eq!(found(&sane(), &|name, _, _| usual(name)), pass);
    // A prompt in pieces, and a context that grows.
    let prompt = |name: &str, iteration: u64, _: i64| match (name, iteration) {
        (_, 0) => 7 * usual(name),
        ("AttentionScore", iteration) => 4 + iteration as i64,
        _ => usual(name),
    };
    assert_eq!(found(&sane(), &prompt), pass);
    // All of one iteration is hidden: norms of two layers and the head; the scores are missing alike.
    let hidden = |name: &str, iteration: u64, _: i64| match iteration {
        3 => 0,
        _ => usual(name),
    };
    assert_eq!(found(&sane(), &hidden), ("fail".to_owned(), Some(3)));
    let hidden = |name: &str, iteration: u64, _: i64| match (name, iteration) {
        ("LmHead", _) => 1,
        (_, 3) => 0,
        _ => usual(name),
    };
    assert_eq!(found(&sane(), &hidden), ("fail".to_owned(), Some(2)));
    let one_layer = |name: &str, iteration: u64, layer: i64| match (name, iteration, layer) {
        ("AttentionScore", 4, 1) => 3,
        _ => usual(name),
    };
    assert_eq!(found(&sane(), &one_layer), ("fail".to_owned(), Some(1)));
    let lossy = Made {
        dropped: Some(1),
        ..sane()
    };
    assert_eq!(found(&lossy, &one_layer).0, "not measurable");
    not_measurable(&sane(), "decode_calls");
}
