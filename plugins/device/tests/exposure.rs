//! Time of devices by kind, against every nanosecond looked at by itself.

mod launches;

use std::collections::BTreeMap;

use proptest::prelude::*;
use trueno_plugin::Table;
use trueno_plugin::testing::{self, Output};
use trueno_plugin_device::Device;

/// Kind, device, start, duration.
type Work = (usize, i64, i64, i64);

const NAMES: [&str; 5] = [
    "gemm",
    "ncclKernel_AllReduce",
    "h2d",
    "memset",
    "__amd_rocclr_copyBuffer",
];
const KINDS: [&str; 5] = [
    "computation",
    "communication",
    "copy",
    "computation",
    "copy",
];

fn is_transfer(kind: usize) -> bool {
    kind == 2 || kind == 3
}

fn output(work: &[Work], steps: &[(i64, i64)], bytes: Option<u64>) -> Output {
    let table = |input: &str, transfers: bool| {
        let rows: Vec<&Work> = work
            .iter()
            .filter(|w| is_transfer(w.0) == transfers)
            .collect();
        let first = if transfers { 1_000 } else { 0 };
        let table = Table::build(input)
            .u64("id", (0..rows.len()).map(|at| first + at as u64))
            .text("name", rows.iter().map(|row| NAMES[row.0]))
            .i64("device", rows.iter().map(|row| row.1))
            .i64("stream", rows.iter().map(|row| row.0 as i64))
            .i64("start_ns", rows.iter().map(|row| row.2))
            .i64("dur_ns", rows.iter().map(|row| row.3))
            .u64("correlation", rows.iter().map(|_| None))
            .bool("is_bound", rows.iter().map(|_| false));
        if transfers {
            table.u64("bytes", rows.iter().map(|_| bytes))
        } else {
            let table = table.bool("valid", rows.iter().map(|_| true));
            launches::add(table, &vec![launches::NOT_RECORDED; rows.len()])
        }
    };
    let inputs = vec![
        table("kernels", false),
        table("transfers", true),
        Table::build("steps")
            .u64("id", (0..steps.len()).map(|at| 5_000 + at as u64))
            .text("name", (0..steps.len()).map(|at| format!("step {at}")))
            .u64("iteration", (0..steps.len()).map(|at| at as u64))
            .i64("start_ns", steps.iter().map(|step| step.0))
            .i64("dur_ns", steps.iter().map(|step| step.1)),
        Table::build("category_rules")
            .text("name", [NAMES[1]])
            .text("category", ["communication"]),
    ];
    testing::run::<Device>(inputs, "{}").unwrap()
}

/// Busy, exposed, overlapped and split time of a kind; −1 for null.
type Times = [i64; 4];

fn found(table: &Table, key: &[&str]) -> BTreeMap<Vec<String>, Times> {
    let cell = |column: &str, row: usize| table.i64(column).unwrap().get(row).unwrap_or(-1);
    let text = |column: &str, row: usize| table.text(column).unwrap().get(row).unwrap().to_owned();
    let row = |row: usize| {
        let key = key.iter().map(|column| text(column, row)).collect();
        let times =
            ["busy_ns", "exposed_ns", "overlapped_ns", "split_ns"].map(|column| cell(column, row));
        (key, times)
    };
    (0..table.rows()).map(row).collect()
}

/// The same for some work between two instants, computed nanosecond by nanosecond.
fn painted(work: &[&Work], from: i64, to: i64) -> BTreeMap<&'static str, Times> {
    let mut out =
        BTreeMap::from(["computation", "communication", "copy"].map(|kind| (kind, [0; 4])));
    out.insert("idle", [-1, 0, -1, 0]);
    for now in from..to {
        let runs = |kind: &str| {
            let is_at = |w: &&&Work| KINDS[w.0] == kind && w.2 <= now && now < w.2 + w.3;
            work.iter().any(|w| is_at(&w))
        };
        let running: Vec<&str> = ["computation", "communication", "copy"]
            .into_iter()
            .filter(|kind| runs(kind))
            .collect();
        for kind in &running {
            let times = out.get_mut(kind).unwrap();
            times[0] += 1;
            times[if running.len() == 1 { 1 } else { 2 }] += 1;
        }
        let first = running.first().unwrap_or(&"idle");
        out.get_mut(first).unwrap()[3] += 1;
        if running.is_empty() {
            out.get_mut("idle").unwrap()[1] += 1;
        }
    }
    out
}

proptest! {
    #[test]
    fn every_figure_is_that_of_a_painted_timeline(
        work in prop::collection::vec((0..5_usize, 0..2_i64, 0..60_i64, 0..20_i64), 1..14),
        steps in prop::collection::vec((-5..50_i64, 0..40_i64), 0..4),
    ) {
        let output = output(&work, &steps, None);
        let whole = found(output.table("exposure"), &["scope", "kind"]);
        let mut rows = 0;
        for (scope, device) in [("all", None), ("gpu0", Some(0)), ("gpu1", Some(1))] {
            let own: Vec<&Work> = work.iter().filter(|w| device.is_none_or(|device| w.1 == device)).collect();
            let (Some(from), Some(to)) = (own.iter().map(|w| w.2).min(), own.iter().map(|w| w.2 + w.3).max()) else {
                continue;
            };
            for (kind, times) in painted(&own, from, to) {
                prop_assert_eq!(whole[&vec![scope.to_owned(), kind.to_owned()]], times, "{} {}", scope, kind);
                rows += 1;
            }
            for (at, (start, dur)) in steps.iter().enumerate() {
                let by_step = found(output.table("exposure_by_step"), &["step", "scope", "kind"]);
                for (kind, times) in painted(&own, *start, start + dur) {
                    let key = vec![format!("step {at}"), scope.to_owned(), kind.to_owned()];
                    prop_assert_eq!(by_step[&key], times);
                }
            }
        }
        prop_assert_eq!(whole.len(), rows);
        let shares = output.table("exposure").f64("share").unwrap();
        for scope in 0..whole.len() / 4 {
            let sum: Option<f64> = (4 * scope..4 * scope + 4).map(|row| shares.get(row)).sum();
            prop_assert!(sum.is_none_or(|sum| (sum - 1.0).abs() < 1e-9));
        }
    }
}

#[test]
fn communication_behind_computation_is_hidden() {
    // ├─gemm 0–10─┤├─all-reduce 8–20─┤ copy 18–24, idle until a last gemm 30–40.
    let work = [(0, 0, 0, 10), (1, 0, 8, 12), (2, 0, 18, 6), (0, 0, 30, 10)];
    let output = output(&work, &[], Some(12));
    let whole = found(output.table("exposure"), &["scope", "kind"]);
    let of = |kind: &str| whole[&vec!["gpu0".to_owned(), kind.to_owned()]];
    assert_eq!(of("computation"), [20, 18, 2, 20]);
    // From 18 to 20 the copy runs too: it hides the communication, but not in the split.
    assert_eq!(of("communication"), [12, 8, 4, 10]);
    assert_eq!(of("copy"), [6, 4, 2, 4]);
    assert_eq!(of("idle"), [-1, 6, -1, 6]);
    let shares = output.table("exposure").f64("share").unwrap();
    assert_eq!(shares.get(0), Some(0.5));
    let copies = output.table("copies");
    assert_eq!(copies.text("direction").unwrap().get(0), Some("h2d"));
    assert_eq!(copies.f64("bytes_per_s").unwrap().get(0), Some(2e9));
}

#[test]
fn bytes_that_no_copy_states_are_not_zero() {
    let output = output(&[(2, 0, 0, 10)], &[], None);
    let copies = output.table("copies");
    assert_eq!(copies.u64("bytes").unwrap().get(0), None);
    assert_eq!(copies.f64("bytes_per_s").unwrap().get(0), None);
    assert_eq!(copies.u64("operations").unwrap().get(0), Some(1));
}

#[test]
fn a_run_without_steps_has_no_table_of_steps() {
    let output = output(&[(0, 0, 0, 10)], &[], None);
    assert!(
        output
            .tables
            .iter()
            .all(|table| table.name() != "exposure_by_step" && table.name() != "copies")
    );
}
