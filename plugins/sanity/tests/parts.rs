//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::collection::vec;
use proptest::prelude::*;
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_sanity::Sanity;

const MINUTE_NS: i64 = 60_000_000_000;

/// A row of any table with intervals. All its numbers are local to the rank.
#[derive(Clone, Debug)]
struct Row {
    table: usize,
    id: u64,
    parent: Option<u64>,
    thread: Option<i64>,
    device: Option<i64>,
    start_ns: i64,
    dur_ns: i64,
    is_bound: bool,
    is_scope: bool,
    valid: Option<bool>,
}

#[derive(Clone, Debug, Default)]
struct Rank {
    rows: Vec<Row>,
    edges: Vec<(Option<u64>, u64)>,
    launches: Vec<(i64, i64)>,
    invalid: Vec<(Option<&'static str>, i64)>,
    graph: (i64, i64),
    clock: Vec<(Option<u64>, i64)>,
    checksums: (i64, i64),
    decode: Vec<(usize, u64, Option<i64>, i64)>,
    segments: Vec<(u64, Option<u64>, bool)>,
}

/// What the job records about itself.
#[derive(Clone, Debug)]
struct Job {
    ranks: Vec<Rank>,
    wall_ns: Option<i64>,
    is_recorded: bool,
    dropped: Option<u64>,
    problems: usize,
}

fn row() -> impl Strategy<Value = Row> {
    let time_ns = prop_oneof![
        6 => 0..40_i64,
        2 => (0..90_i64).prop_map(|minutes| minutes * MINUTE_NS),
        1 => Just(-3_i64),
        1 => Just(i64::MAX - 5),
    ];
    let dur_ns = prop_oneof![
        6 => 0..30_i64,
        2 => (0..12_i64).prop_map(|minutes| minutes * MINUTE_NS),
        1 => Just(-1_i64),
        1 => Just(i64::MAX / 2 + 9),
    ];
    let parent = proptest::option::of(0..14_u64);
    let place = || proptest::option::weighted(0.7, 0..2_i64);
    let flags = (
        any::<bool>(),
        any::<bool>(),
        proptest::option::of(any::<bool>()),
    );
    let device = proptest::option::weighted(0.2, 0..2_i64);
    (
        (0..6_usize, 0..12_u64, parent),
        (place(), device),
        (time_ns, dur_ns),
        flags,
    )
        .prop_map(|(key, place, time, flags)| Row {
            table: key.0,
            id: key.1,
            parent: key.2,
            thread: place.0,
            device: place.1,
            start_ns: time.0,
            dur_ns: time.1,
            is_bound: flags.0 && flags.1,
            is_scope: flags.1,
            valid: flags.2,
        })
}

fn rank() -> impl Strategy<Value = Rank> {
    let reason = prop_oneof![Just(None), Just(Some("late")), Just(Some("early"))];
    let reading = (
        proptest::option::weighted(0.9, 0..400_000_000_u64),
        0..200_000_000_i64,
    );
    let lost = proptest::option::weighted(0.9, 0..2_u64);
    (
        vec(row(), 0..10),
        vec(
            (proptest::option::weighted(0.9, 0..14_u64), 0..14_u64),
            0..3,
        ),
        vec((0..9_i64, 0..9_i64), 0..3),
        vec((reason, 1..5_i64), 0..3),
        (0..4_i64, 0..4_i64),
        vec(reading, 0..7),
        (
            (0..4_i64, 0..2_i64),
            vec(
                (
                    0..4_usize,
                    0..6_u64,
                    proptest::option::of(0..2_i64),
                    1..3_i64,
                ),
                0..40,
            ),
        ),
        vec((0..9_u64, lost, any::<bool>()), 0..2),
    )
        .prop_map(
            |(rows, edges, launches, invalid, graph, clock, (checksums, decode), segments)| Rank {
                rows,
                edges,
                launches,
                invalid,
                graph,
                clock,
                checksums,
                decode,
                segments,
            },
        )
}

fn job() -> impl Strategy<Value = Job> {
    let wall_ns = prop_oneof![
        Just(None),
        Just(Some(0)),
        Just(Some(60)),
        Just(Some(100 * MINUTE_NS))
    ];
    let rank = prop_oneof![1 => Just(Rank::default()), 5 => rank()];
    (
        vec(rank, 1..5),
        wall_ns,
        any::<bool>(),
        proptest::option::weighted(0.8, 0..2_u64),
        0..2_usize,
    )
        .prop_map(|(ranks, wall_ns, is_recorded, dropped, problems)| Job {
            ranks,
            wall_ns,
            is_recorded,
            dropped,
            problems,
        })
}

fn intervals(name: &'static str, table: usize, ranks: &[(u64, &Rank)]) -> TableBuilder {
    let rows: Vec<(u64, &Row)> = ranks
        .iter()
        .flat_map(|(rank, of)| of.rows.iter().map(move |row| (*rank, row)))
        .filter(|(_, row)| row.table == table)
        .collect();
    let all = || rows.iter().copied();
    let place = |rank: u64, place: Option<i64>| place.map(|place| (rank as i64) << 16 | place);
    let mut built = Table::build(name)
        .u64("id", all().map(|(rank, row)| rank << 48 | row.id))
        .i64("thread", all().map(|(rank, row)| place(rank, row.thread)))
        .i64("start_ns", all().map(|(_, row)| row.start_ns))
        .i64("dur_ns", all().map(|(_, row)| row.dur_ns));
    if name != "syncs" {
        let parents = all().map(|(rank, row)| row.parent.map(|id| rank << 48 | id));
        built = built.u64("parent", parents);
    }
    if ["kernels", "syncs", "transfers"].contains(&name) {
        built = built.i64("device", all().map(|(rank, row)| place(rank, row.device)));
    }
    if ["bricks", "kernels", "transfers"].contains(&name) {
        built = built.bool("is_bound", all().map(|(_, row)| row.is_bound));
    }
    match name {
        "bricks" => built.bool("is_scope", all().map(|(_, row)| row.is_scope)),
        "kernels" => built.bool("valid", all().map(|(_, row)| row.valid)),
        _ => built,
    }
}

/// The job's tables about itself, with the segments of these ranks.
fn facts(job: &Job, ranks: &[(u64, &Rank)], problems: usize) -> Vec<TableBuilder> {
    let segments = || ranks.iter().flat_map(|(_, rank)| &rank.segments);
    vec![
        Table::build("run")
            .text("state", ["finished"])
            .bool("clean_end", [true])
            .u64("dropped", [job.dropped])
            .i64("wall_ns", [job.wall_ns])
            .text(
                "wall_source",
                [if job.is_recorded {
                    "recorded"
                } else {
                    "events"
                }],
            )
            .f64("cost_ns_per_span", [0.3])
            .u64("recorder_ns", [Some(5_u64)])
            .u64("recorder_cpu_ns", [Some(7_u64)]),
        Table::build("segments")
            .text("state", segments().map(|_| "sealed"))
            .u64("rows_expected", segments().map(|segment| segment.0))
            .u64("rows_read", segments().map(|segment| segment.0))
            .u64("rows_lost", segments().map(|segment| segment.1))
            .bool("verified", segments().map(|segment| segment.2)),
        Table::build("ranks").u64("rank", 0..job.ranks.len() as u64),
        Table::build("rank_problems").text("code", vec!["rank_missing"; problems]),
    ]
}

fn inputs(job: &Job, ranks: &[(u64, &Rank)], problems: usize) -> Vec<TableBuilder> {
    let mut inputs = facts(job, ranks, problems);
    let names = ["bricks", "kernels", "tiles", "syncs", "calls", "transfers"];
    inputs.extend(
        names
            .iter()
            .enumerate()
            .map(|(at, name)| intervals(name, at, ranks)),
    );
    let edges = || {
        ranks.iter().flat_map(|(rank, of)| {
            let key = move |id: u64| rank << 48 | id;
            of.edges
                .iter()
                .map(move |(from, to)| (from.map(key), key(*to)))
        })
    };
    let launches = || ranks.iter().flat_map(|(_, rank)| &rank.launches);
    let decoders = ["AttentionScore", "LmHead", "RmsNorm", "step"];
    let decode = || {
        ranks.iter().flat_map(|(rank, of)| {
            let thread = (*rank as i64) << 16 | 1;
            of.decode.iter().map(move |calls| (thread, calls))
        })
    };
    // As the query groups them, in the order of reasons, those without one last.
    let reasons = [Some("early"), Some("late"), None].map(|reason| {
        let all = ranks.iter().flat_map(|(_, rank)| &rank.invalid);
        let kernels: i64 = all.filter(|row| row.0 == reason).map(|row| row.1).sum();
        (reason, kernels)
    });
    let invalid = || reasons.iter().filter(|(_, kernels)| *kernels > 0);
    let sum = |of: fn(&Rank) -> i64| ranks.iter().map(|(_, rank)| of(rank)).sum::<i64>();
    let mut clocks: Vec<(u64, i64, Option<u64>)> = ranks
        .iter()
        .flat_map(|(rank, of)| of.clock.iter().map(move |(ticks, ns)| (*rank, *ns, *ticks)))
        .collect();
    clocks.sort_unstable();
    inputs.extend([
        Table::build("edges")
            .u64("from_id", edges().map(|edge| edge.0))
            .u64("to_id", edges().map(|edge| edge.1)),
        Table::build("launches")
            .u64("id", launches().map(|_| 3_u64))
            .i64("call_start_ns", launches().map(|launch| launch.0))
            .i64("start_ns", launches().map(|launch| launch.1)),
        Table::build("decode_calls")
            .text(
                "kind",
                decode().map(|row| if row.1.0 == 3 { "iteration" } else { "brick" }),
            )
            .text("name", decode().map(|row| decoders[row.1.0]))
            .i64("thread", decode().map(|row| row.0))
            .u64("iteration", decode().map(|row| row.1.1))
            .i64("layer", decode().map(|row| row.1.2))
            .i64("calls", decode().map(|row| row.1.3)),
        Table::build("invalid_kernels")
            .text("reason", invalid().map(|row| row.0))
            .i64("kernels", invalid().map(|row| row.1)),
        Table::build("graph_kernels")
            .i64("kernels", [sum(|rank| rank.graph.0 + rank.graph.1)])
            .i64("with_brick", [sum(|rank| rank.graph.1)]),
        Table::build("graph_launches")
            .i64("launches", [sum(|rank| rank.graph.0)])
            .i64("with_work", [sum(|rank| rank.graph.0 / 2)]),
        Table::build("clock_pairs")
            .u64("ticks", clocks.iter().map(|reading| reading.2))
            .i64("host_ns", clocks.iter().map(|reading| reading.1)),
        Table::build("rank_clocks")
            .u64("rank", clocks.iter().map(|reading| reading.0))
            .u64("ticks", clocks.iter().map(|reading| reading.2))
            .i64("host_ns", clocks.iter().map(|reading| reading.1)),
        Table::build("checksums")
            .i64("checksums", [sum(|rank| rank.checksums.0)])
            .i64("counted", [sum(|rank| rank.checksums.0)]),
        Table::build("nan_checksums").i64("checksums", [sum(|rank| rank.checksums.1)]),
    ]);
    inputs
}

fn whole(job: &Job) -> Output {
    let ranks: Vec<(u64, &Rank)> = (0..).zip(&job.ranks).collect();
    testing::run::<Sanity>(inputs(job, &ranks, job.problems), "{}").expect("all rows at once")
}

fn parts(job: &Job) -> Vec<Output> {
    // A problem of no rank is in no part.
    let part = |of: (u64, &Rank)| testing::part::<Sanity>(inputs(job, &[of], 0), "{}");
    let parts = (0..).zip(&job.ranks).map(part);
    parts
        .collect::<Result<_, _>>()
        .expect("a part of each rank")
}

fn merge(job: &Job, parts: &[Output], is_final: bool) -> Output {
    let ranks: Vec<(u64, &Rank)> = (0..).zip(&job.ranks).collect();
    let others = facts(job, &ranks, job.problems);
    testing::merge::<Sanity>(parts, others, "{}", is_final).expect("parts that fit")
}

proptest! {
    #[test]
    fn merged_parts_are_as_all_rows_at_once(job in job(), cut in (0..5_usize, 0..5_usize)) {
        let parts = parts(&job);
        let all = whole(&job);
        prop_assert_eq!(&merge(&job, &parts, true), &all);
        // Some of them merged before, in the order of ranks.
        let end = cut.1.clamp(1, parts.len());
        let start = cut.0.min(end - 1);
        let mut grouped = parts[..start].to_vec();
        grouped.push(merge(&job, &parts[start..end], false));
        grouped.extend_from_slice(&parts[end..]);
        prop_assert_eq!(&merge(&job, &grouped, true), &all);
        let again = merge(&job, &grouped, false);
        prop_assert_eq!(&merge(&job, &[again], true), &all);
    }
}

fn brick(start_ns: i64, end_ns: i64) -> Row {
    Row {
        table: 0,
        id: 1,
        parent: None,
        thread: Some(0),
        device: None,
        start_ns,
        dur_ns: end_ns - start_ns,
        is_bound: false,
        is_scope: false,
        valid: None,
    }
}

fn job_of(bricks: &[Option<(i64, i64)>], wall_ns: i64) -> Job {
    let rank = |times: &Option<(i64, i64)>| Rank {
        rows: times.iter().map(|(from, to)| brick(*from, *to)).collect(),
        ..Rank::default()
    };
    Job {
        ranks: bricks.iter().map(rank).collect(),
        wall_ns: Some(wall_ns),
        is_recorded: true,
        dropped: Some(0),
        problems: 0,
    }
}

fn found(output: &Output, check: &str) -> String {
    let table = output.table("checks");
    let names = table.text("check").expect("a column");
    let row = names.iter().position(|name| name == Some(check));
    let found = table.text("found").expect("a column");
    found.value(row.expect("a row of the check")).to_owned()
}

#[test]
fn coverage_is_the_mean_of_the_ranks() {
    let job = job_of(&[Some((0, 100)), Some((0, 40)), None], 100);
    let output = merge(&job, &parts(&job), true);
    assert_eq!(found(&output, "coverage"), "0.4667");
    assert_eq!(output, whole(&job));
}

#[test]
fn a_hole_is_where_no_rank_works() {
    let wall_ns = 3000 * MINUTE_NS;
    let of = |bricks: &[Option<(i64, i64)>]| {
        let job = job_of(bricks, wall_ns);
        let output = merge(&job, &parts(&job), true);
        assert_eq!(output, whole(&job));
        found(&output, "one_timeline")
    };
    let first = Some((0, MINUTE_NS));
    let second = Some((5 * MINUTE_NS, wall_ns - 5 * MINUTE_NS));
    assert_eq!(of(&[first, second]), "0");
    assert_eq!(of(&[first, None]), "1 hole, 99.97 % of wall");
    assert_eq!(
        of(&[first, Some((wall_ns / 2, wall_ns / 2 + 1))]),
        "2 holes, 99.97 % of wall"
    );
}

#[test]
fn a_kernel_in_a_kernel_says_nothing_whatever_other_rows_miss() {
    let kernel = |id: u64, parent: Option<u64>| Row {
        table: 1,
        id,
        parent,
        valid: Some(true),
        ..brick(10 * id as i64, 100)
    };
    let mut job = job_of(&[Some((0, 100)), None], 100);
    // Of the first rank a parent is missing, so that kernels are looked up at the end.
    job.ranks[0].rows[0].parent = Some(9);
    job.ranks[1].rows = vec![kernel(3, None), kernel(2, Some(3))];
    let output = whole(&job);
    assert_eq!(output, merge(&job, &parts(&job), true));
    let table = output.table("checks").to_string();
    assert!(
        table.contains("no row is nested in another on a host thread"),
        "{table}"
    );
}
