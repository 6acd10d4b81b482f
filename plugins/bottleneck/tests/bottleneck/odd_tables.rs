//! Tables that no run gives: nulls in every column, and times at the ends of their type.

use trueno_plugin::testing::run;
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// Input name with its columns of integers, floats, texts, booleans and ids.
type Columns = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const TABLES: [Columns; 29] = [
    (
        "run",
        &["wall_ns"],
        &["cost_ns_per_span"],
        &[],
        &[],
        &["dropped"],
    ),
    ("path_kinds", &["dur_ns"], &[], &["kind"], &[], &[]),
    (
        "path_names",
        &["dur_ns"],
        &[],
        &["name", "kind", "category"],
        &[],
        &[],
    ),
    (
        "path_pieces",
        &["start_ns", "dur_ns"],
        &[],
        &["kind", "name", "lane"],
        &[],
        &["id"],
    ),
    (
        "opportunity",
        &["path_ns", "gain_50pct_ns", "gain_100pct_ns"],
        &[],
        &["name"],
        &[],
        &[],
    ),
    (
        "path_alone",
        &["alone_ns", "shared_ns", "longest_ns"],
        &[],
        &["name", "category"],
        &[],
        &[],
    ),
    (
        "at_roof",
        &["path_ns", "gain_ns"],
        &[],
        &["source", "name"],
        &[],
        &[],
    ),
    (
        "points",
        &["threads", "dur_ns"],
        &[
            "flops_per_byte",
            "flops_per_s",
            "bytes_per_s",
            "efficiency_share",
        ],
        &[
            "source",
            "name",
            "device",
            "provenance",
            "assumed",
            "memory",
            "bound_by",
            "doubt",
        ],
        &["is_valid"],
        &["calls", "calls_above"],
    ),
    (
        "by_brick",
        &["inclusive_ns", "min_ns", "median_ns", "max_ns"],
        &[],
        &["lane_kind", "kind", "name", "category"],
        &[],
        &["calls"],
    ),
    (
        "by_lane",
        &["busy_ns"],
        &[],
        &["lane", "lane_kind"],
        &[],
        &[],
    ),
    (
        "growth",
        &["first_bytes", "last_bytes"],
        &["bytes_per_iteration", "growth_share", "p"],
        &["place", "tag", "verdict"],
        &[],
        &["iterations"],
    ),
    (
        "fragmentation",
        &[
            "footprint_bytes",
            "free_bytes",
            "free_segments_bytes",
            "largest_free_bytes",
        ],
        &["fragmentation_share", "free_share"],
        &["place", "moment"],
        &[],
        &[],
    ),
    (
        "out_of_memory",
        &[
            "requested_bytes",
            "live_bytes",
            "reserved_bytes",
            "largest_free_bytes",
        ],
        &[],
        &["place", "sentence"],
        &[],
        &[],
    ),
    (
        "kernels",
        &[
            "device",
            "stream",
            "start_ns",
            "dur_ns",
            "blocks",
            "threads",
            "called_ns",
            "returned_ns",
            "brick_ns",
            "brick_end_ns",
        ],
        &[],
        &["name", "brick_name"],
        &["valid", "is_bound"],
        &["id"],
    ),
    (
        "transfers",
        &[
            "device",
            "stream",
            "start_ns",
            "dur_ns",
            "called_ns",
            "returned_ns",
            "brick_ns",
            "brick_end_ns",
        ],
        &[],
        &["direction", "src_kind", "dst_kind", "brick_name"],
        &["is_bound", "is_async"],
        &["id", "bytes", "brick"],
    ),
    (
        "waits",
        &["thread", "start_ns", "dur_ns"],
        &[],
        &["kind"],
        &[],
        &["id"],
    ),
    ("live_before", &[], &[], &["place"], &[], &[]),
    (
        "iterations",
        &["wall_ns", "start_ns"],
        &["slow_excess_ns"],
        &["series", "phase", "outlier", "slow_name"],
        &[],
        &[],
    ),
    ("misses", &["dur_ns"], &["misses"], &["name"], &[], &[]),
    ("diverged", &[], &[], &["brick"], &[], &["tensors"]),
    (
        "call_names",
        &["dur_ns", "longest_ns", "first_ns", "first_end_ns"],
        &[],
        &["name"],
        &[],
        &["calls"],
    ),
    ("first_step", &["first_ns"], &[], &[], &[], &[]),
    (
        "brick_names",
        &["name_id", "dur_ns", "end_ns"],
        &[],
        &["name", "category", "kind"],
        &[],
        &[],
    ),
    (
        "loader_rows",
        &["name_id", "thread", "start_ns", "dur_ns"],
        &[],
        &[],
        &[],
        &[],
    ),
    ("copying_rows", &["start_ns"], &[], &[], &[], &[]),
    (
        "rank_rows",
        &["thread", "start_ns", "dur_ns"],
        &[],
        &[],
        &[],
        &[],
    ),
    (
        "tasks",
        &["thread", "start_ns", "dur_ns"],
        &[],
        &["name"],
        &[],
        &["id", "parent"],
    ),
    (
        "joins",
        &["start_ns", "dur_ns"],
        &[],
        &[],
        &[],
        &["task", "wait"],
    ),
    (
        "sizes",
        &["median_ns", "dur_ns"],
        &[],
        &["name"],
        &[],
        &["elements", "flops", "bytes", "calls"],
    ),
];

fn tables(
    rows: usize,
    whole: impl Fn(usize) -> Option<i64>,
    number: impl Fn(usize) -> Option<f64>,
    text: impl Fn(&str, usize) -> Option<&'static str>,
    id: impl Fn(usize) -> Option<u64>,
) -> Vec<TableBuilder> {
    let table = |of: &Columns| {
        let (name, wholes, numbers, texts, truths, ids) = *of;
        let mut table = Table::build(name);
        for column in wholes {
            table = table.i64(column, (0..rows).map(&whole));
        }
        for column in numbers {
            table = table.f64(column, (0..rows).map(&number));
        }
        for column in texts {
            table = table.text(column, (0..rows).map(|row| text(column, row)));
        }
        for column in truths {
            table = table.bool(column, (0..rows).map(|row| id(row).map(|id| id % 2 == 1)));
        }
        for column in ids {
            table = table.u64(column, (0..rows).map(&id));
        }
        table
    };
    TABLES.iter().map(table).collect()
}

#[test]
fn nothing_but_nulls_is_no_verdict() {
    let inputs = tables(3, |_| None, |_| None, |_, _| None, |_| None);
    let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
    assert_eq!(output.table("bottlenecks").rows(), 0);
}

#[test]
fn times_at_the_ends_of_their_type() {
    const TIMES: [i64; 8] = [i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, -1, 0, 1, 7];
    const KINDS: [&str; 4] = ["work", "sync_wait", "transfer", "gap"];
    for shift in 0..8 {
        let text = |column: &str, row: usize| match column {
            "kind" => Some(["join", "device", KINDS[row % 4]][row % 3]),
            "direction" => Some(["h2d", "d2h"][row % 2]),
            "lane_kind" => Some("host"),
            "verdict" => Some("grows"),
            "phase" => Some(["warm-up", "steady"][row % 2]),
            "outlier" => Some("slow"),
            "bound_by" => Some(["memory", "compute"][row % 2]),
            _ => Some("load a"),
        };
        let whole = |row: usize| Some(TIMES[(row * 3 + shift) % 8]);
        let number = |row: usize| Some([0.5, f64::MAX, -1.0, 1e-300][row % 4]);
        let id = |row: usize| Some([1, u64::MAX, 3, 4, 5][row % 5]);
        let inputs = tables(40, whole, number, text, id);
        let output = run::<Bottleneck>(inputs, "{}").expect("it ends well");
        let gains = output.table("bottlenecks").i64("gain_ns").expect("gains");
        assert!(gains.iter().flatten().all(|gain| gain > 0));
    }
}
