//! Parts of ranks, merged in any grouping, against all rows at once.

mod launches;

use launches::Launch;
use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, merge, part, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_device::Device;

const KERNELS: [&str; 4] = ["gemm", "norm", "ncclKernel_AllReduce", "h2d"];
const DIRECTIONS: [&str; 3] = ["h2d", "d2h", "memset"];

/// An operation of a device. Some are randomly null, bound or invalid.
#[derive(Clone, Debug)]
struct Work {
    name: Option<usize>,
    device: i64,
    stream: Option<i64>,
    correlation: Option<u64>,
    start_ns: i64,
    dur_ns: Option<i64>,
    bytes: Option<u64>,
    is_bound: bool,
    valid: Option<bool>,
    launch: Launch,
}

fn work(names: usize) -> impl Strategy<Value = Work> {
    let place = (
        prop::option::weighted(0.95, 0..names),
        0..2_i64,
        prop::option::weighted(0.9, 0..3_i64),
        prop::option::weighted(0.8, 0..9_u64),
    );
    let time = (0..80_i64, prop::option::weighted(0.95, -1..20_i64));
    let rest = (
        prop::option::of(0..1_000_u64),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.5, prop::bool::weighted(0.9)),
        prop::array::uniform10(prop::option::weighted(0.95, 1..3_i64)),
    );
    (place, time, rest).prop_map(|(place, time, rest)| Work {
        name: place.0,
        device: place.1,
        stream: place.2,
        correlation: place.3,
        start_ns: time.0,
        dur_ns: time.1,
        bytes: rest.0,
        is_bound: rest.1,
        valid: rest.2,
        launch: rest.3,
    })
}

/// Name, iteration, start, duration.
type Step = (u8, Option<u64>, i64, Option<i64>);

#[derive(Clone, Debug)]
struct Rank {
    kernels: Vec<Work>,
    transfers: Vec<Work>,
    calls: Vec<(u64, i64, i64)>,
    steps: Vec<Step>,
}

fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let step = (
        0..2_u8,
        prop::option::of(0..3_u64),
        0..4_i64,
        prop::option::weighted(0.9, -1..30_i64),
    );
    let rank = (
        prop::collection::vec(work(KERNELS.len()), 0..10),
        prop::collection::vec(work(DIRECTIONS.len()), 0..4),
        prop::collection::vec((0..9_u64, 0..60_i64, -1..5_i64), 0..9),
        prop::collection::vec(step, 0..4),
    );
    let rank = rank.prop_map(|(kernels, transfers, calls, steps)| Rank {
        kernels,
        transfers,
        calls,
        steps,
    });
    let empty = Rank {
        kernels: Vec::new(),
        transfers: Vec::new(),
        calls: Vec::new(),
        steps: vec![(0, None, 0, Some(9))],
    };
    prop::collection::vec(prop_oneof![5 => rank, 1 => Just(empty)], 1..5)
}

fn key(rank: u64, key: u64) -> u64 {
    (rank << 48) + key
}

fn inputs(ranks: &[(u64, &Rank)], window: Option<(i64, i64)>) -> Vec<TableBuilder> {
    let operations = |input: &str, names: &[&'static str], first_id: u64| {
        let rows: Vec<(u64, u64, &Work)> = ranks
            .iter()
            .flat_map(|(rank, of)| {
                let own = if input == "kernels" {
                    &of.kernels
                } else {
                    &of.transfers
                };
                (first_id..).zip(own).map(|(id, work)| (*rank, id, work))
            })
            .collect();
        let table = Table::build(input)
            .u64("id", rows.iter().map(|row| key(row.0, row.1)))
            .text(
                "name",
                rows.iter().map(|row| row.2.name.map(|at| names[at])),
            )
            .i64(
                "device",
                rows.iter().map(|row| ((row.0 as i64) << 16) + row.2.device),
            )
            .i64("stream", rows.iter().map(|row| row.2.stream))
            .u64(
                "correlation",
                rows.iter()
                    .map(|row| row.2.correlation.map(|of| key(row.0, of))),
            )
            .i64("start_ns", rows.iter().map(|row| row.2.start_ns))
            .i64("dur_ns", rows.iter().map(|row| row.2.dur_ns))
            .bool("is_bound", rows.iter().map(|row| row.2.is_bound));
        match input {
            "kernels" => {
                let table = table.bool("valid", rows.iter().map(|row| row.2.valid));
                let launches = rows.iter().map(|row| row.2.launch);
                launches::add(table, &launches.collect::<Vec<_>>())
            }
            _ => table.u64("bytes", rows.iter().map(|row| row.2.bytes)),
        }
    };
    let calls: Vec<_> = ranks
        .iter()
        .flat_map(|(rank, of)| {
            of.calls
                .iter()
                .map(|call| (key(*rank, call.0), call.1, call.2))
        })
        .collect();
    let steps: Vec<_> = ranks
        .iter()
        .flat_map(|(rank, of)| {
            (5_000..)
                .zip(&of.steps)
                .map(|(id, step)| (key(*rank, id), step))
        })
        .collect();
    let devices: Vec<i64> = ranks
        .iter()
        .flat_map(|(rank, _)| [0, 1].map(|device| ((*rank as i64) << 16) + device))
        .collect();
    let mut tables = vec![
        operations("kernels", &KERNELS, 100),
        operations("transfers", &DIRECTIONS, 1_000),
        Table::build("calls")
            .u64("correlation", calls.iter().map(|call| call.0))
            .i64("start_ns", calls.iter().map(|call| call.1))
            .i64("dur_ns", calls.iter().map(|call| call.2)),
        Table::build("steps")
            .u64("id", steps.iter().map(|step| step.0))
            .text(
                "name",
                steps.iter().map(|step| format!("step {}", step.1.0)),
            )
            .u64("iteration", steps.iter().map(|step| step.1.1))
            .i64("start_ns", steps.iter().map(|step| step.1.2))
            .i64("dur_ns", steps.iter().map(|step| step.1.3)),
        Table::build("devices")
            .text(
                "device",
                devices.iter().map(|device| format!("gpu:{device}")),
            )
            .i64(
                "multiprocessors",
                devices.iter().map(|device| 1 + device % 2),
            )
            .text("compute_capability", devices.iter().map(|_| "8.0")),
        Table::build("category_rules")
            .text("name", [KERNELS[2]])
            .text("category", ["communication"]),
    ];
    tables.extend(window.map(|(from_ns, until_ns)| {
        Table::build("report_window")
            .i64("from_ns", [from_ns])
            .i64("until_ns", [until_ns])
    }));
    tables
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        window in prop::option::weighted(0.2, (0..30_i64, 30..80_i64)),
        limits in prop::option::of((0..4_usize, 0..4_usize)),
    ) {
        let options = limits.map_or("{}".to_owned(), |(gaps, steps)| {
            format!(r#"{{"gap_rows": {gaps}, "steps": {steps}}}"#)
        });
        let all: Vec<(u64, &Rank)> = (0..).zip(&ranks).collect();
        let whole = run::<Device>(inputs(&all, window), &options).unwrap();
        let parts: Vec<Output> = all
            .iter()
            .map(|one| part::<Device>(inputs(&[*one], window), &options).unwrap())
            .collect();
        prop_assert!(parts.iter().all(|part| part.findings.is_empty() && part.charts.is_empty()));
        let agreed = check_parts::<Device>(&parts, cut, Vec::new, &options, &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}

#[test]
fn devices_of_a_rank_are_looked_at_together_and_ranks_are_added_up() {
    let kernel = |name: usize, device: i64, start_ns: i64, dur_ns: i64| Work {
        name: Some(name),
        device,
        stream: Some(0),
        correlation: None,
        start_ns,
        dur_ns: Some(dur_ns),
        bytes: None,
        is_bound: false,
        valid: None,
        launch: launches::NOT_RECORDED,
    };
    let rank = |kernels: Vec<Work>| Rank {
        kernels,
        transfers: Vec::new(),
        calls: Vec::new(),
        steps: vec![(0, Some(0), 0, Some(10))],
    };
    // Communication that computation of another device of its rank hides; that of another rank does not.
    let ranks = [
        rank(vec![kernel(0, 0, 0, 10), kernel(2, 1, 5, 10)]),
        rank(vec![kernel(2, 0, 0, 20)]),
    ];
    let all: Vec<(u64, &Rank)> = (0..).zip(&ranks).collect();
    let output = run::<Device>(inputs(&all, None), "{}").unwrap();
    let rows = |table: &str, wanted: &str| -> Vec<i64> {
        let table = output.table(table);
        let (scope, kind) = (table.text("scope").unwrap(), table.text("kind").unwrap());
        let split = table.i64("split_ns").unwrap();
        let is_row = |row: &usize| scope.get(*row) == Some("all") && kind.get(*row) == Some(wanted);
        (0..table.rows())
            .filter(is_row)
            .map(|row| split.value(row))
            .collect()
    };
    assert_eq!(rows("exposure", "computation"), [10]);
    assert_eq!(rows("exposure", "communication"), [5 + 20]);
    assert_eq!(rows("exposure", "idle"), [0]);
    assert_eq!(rows("exposure_by_step", "computation"), [10, 0]);
    assert_eq!(rows("exposure_by_step", "communication"), [0, 10]);
}

#[test]
fn a_part_without_a_column_is_an_error() {
    let mut part = part::<Device>(Vec::new(), "{}").unwrap();
    for table in &mut part.tables {
        if table.name() == "scopes" {
            *table = Table::build("scopes").i64("device", [0]).finish().unwrap();
        }
    }
    let error = merge::<Device>(&[part], Vec::new(), "{}", true).unwrap_err();
    assert!(error.to_string().contains("span_ns"), "{error}");
}
