//! Small runs, and the tables a reader would expect of them.

use trueno_analysis::testing::{Row, RunFixture, interval, lines};
use trueno_plugin::Table;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_category::Category;

fn analyse(fixture: &RunFixture) -> Output {
    run::<Category>(fixture.inputs(), "{}").unwrap()
}

/// Two layers, a brick in each, a kernel with a link and a tile without.
///
/// ```text
/// thread 0  ├─ layer 0..100 ─────────┤   ├─ layer 110..200 ───┤
///             ├ Qkv 10..60 ────┤           ├ mine 120..180 ─┤
///               ├ gemv 20..50 ┤              ├ micro 130..140 ┤
/// ```
fn decode() -> RunFixture {
    RunFixture {
        wall_ns: Some(250),
        threads: vec![(0, Some("main"))],
        bricks: vec![
            interval(2, "brick", "Qkv", 10, 60)
                .category("Attention")
                .elements(1000),
            interval(1, "layer", "layer", 0, 100),
            interval(5, "brick", "mine", 120, 180),
            interval(4, "layer", "layer", 110, 200),
        ],
        kernels: vec![Row {
            brick: Some(2),
            ..interval(3, "", "gemv", 20, 50)
        }],
        tiles: vec![interval(6, "", "micro", 130, 140)],
        ..RunFixture::default()
    }
}

#[test]
fn a_thread_that_waits_for_a_device_does_not_work() {
    let fixture = RunFixture {
        wall_ns: Some(100),
        threads: vec![(0, Some("main"))],
        bricks: vec![interval(1, "brick", "step", 0, 100)],
        calls: vec![
            interval(2, "", "hipDeviceSynchronize", 0, 60),
            interval(3, "", "hipLaunchKernel", 60, 95),
        ],
        ..RunFixture::default()
    };
    let columns = ["lane", "busy_ns", "waiting_ns", "most_name", "most_ns"];
    assert_eq!(
        lines(analyse(&fixture).table("by_lane"), &columns),
        ["thread 0 main | 100 | 60 | hipLaunchKernel | 35"]
    );
}

#[test]
fn every_instant_of_the_window_is_in_one_category() {
    let out = analyse(&decode());
    let columns = ["lane_kind", "category", "calls", "self_ns", "inclusive_ns"];
    assert_eq!(
        lines(out.table("by_category"), &columns),
        [
            "host | outside bricks | 2 | 80 | 190",
            "host | uncategorised | 2 | 60 | 60",
            "host | Attention | 2 | 50 | 50",
            "host | unaccounted | - | 10 | -",
            "host | not alive | - | 50 | -",
        ]
    );
    let lane = [
        "lane",
        "lane_kind",
        "busy_ns",
        "self_ns",
        "unaccounted_ns",
        "not_alive_ns",
        "wall_ns",
    ];
    assert_eq!(
        lines(out.table("by_lane"), &lane),
        ["thread 0 main | host | 190 | 190 | 10 | 50 | 250"]
    );
}

#[test]
fn a_brick_is_apart_from_the_kernel_and_the_tile_in_it() {
    let out = analyse(&decode());
    let columns = [
        "kind",
        "name",
        "category",
        "calls",
        "self_ns",
        "inclusive_ns",
        "elements",
        "elements_per_s",
        "median_ns",
    ];
    assert_eq!(
        lines(out.table("by_brick"), &columns),
        [
            "layer | layer | outside bricks | 2 | 80 | 190 | - | - | 90",
            "brick | mine | uncategorised | 1 | 50 | 60 | - | - | 60",
            "kernel | gemv | Attention | 1 | 30 | 30 | - | - | 30",
            "brick | Qkv | Attention | 1 | 20 | 50 | 1000 | 20000000000 | 50",
            "tile | micro | uncategorised | 1 | 10 | 10 | - | - | 10",
        ]
    );
}

#[test]
fn shares_of_a_kind_of_lane_add_up_to_one() {
    let mut fixture = decode();
    fixture.bricks.push(
        interval(7, "task", "head", 30, 90)
            .thread(3)
            .category("Attention"),
    );
    fixture
        .kernels
        .push(interval(8, "", "gemm", 40, 140).stream(0, 7));
    let out = analyse(&fixture);
    let table = out.table("by_category");
    for kind in ["host", "device"] {
        let rows: Vec<usize> = (0..table.rows())
            .filter(|row| table.text("lane_kind").unwrap().value(*row) == kind)
            .collect();
        let sum = |column| {
            rows.iter()
                .filter_map(|row| table.f64(column).unwrap().get(*row))
                .sum::<f64>()
        };
        assert!((sum("wall_share") - 1.0).abs() < 1e-12, "{kind}");
        assert!((sum("busy_share") - 1.0).abs() < 1e-12, "{kind}");
    }
    let lanes = ["lane", "busy_ns", "unaccounted_ns", "not_alive_ns"];
    assert_eq!(
        lines(out.table("by_lane"), &lanes),
        [
            "thread 0 main | 190 | 10 | 50",
            "thread 3 | 60 | 0 | 190",
            "gpu0/stream 7 | 100 | 0 | 150"
        ]
    );
    // No link and nothing open on its stream.
    assert_eq!(
        lines(table, &["lane_kind", "category", "self_ns"])[5],
        "device | outside bricks | 100"
    );
}

#[test]
fn a_recursive_brick_counts_once() {
    let out = analyse(&RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            interval(1, "brick", "f", 0, 100).elements(3),
            interval(2, "brick", "f", 20, 60).elements(4),
            interval(3, "brick", "f", 30, 40),
        ],
        ..RunFixture::default()
    });
    let columns = [
        "calls",
        "self_ns",
        "inclusive_ns",
        "elements",
        "elements_per_s",
    ];
    assert_eq!(
        lines(out.table("by_brick"), &columns),
        ["3 | 100 | 100 | 7 | 70000000"]
    );
}

#[test]
fn a_kernel_has_the_category_of_the_brick_it_names_on_any_lane() {
    let brick = interval(1, "brick", "Gate", 0, 10).category("FFN");
    let out = analyse(&RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            Row {
                bound: true,
                ..brick
            },
            interval(4, "task", "other", 0, 50).thread(1),
        ],
        kernels: vec![
            Row {
                brick: Some(1),
                ..interval(2, "", "gemm", 20, 90).stream(0, 7)
            },
            Row {
                brick: Some(1),
                ..interval(3, "", "gemm", 5, 15).thread(1)
            },
            Row {
                brick: Some(99),
                ..interval(5, "", "lost", 20, 30).thread(1)
            },
        ],
        ..RunFixture::default()
    });
    let columns = ["lane_kind", "name", "category", "self_ns", "bound_calls"];
    assert_eq!(
        lines(out.table("by_brick"), &columns),
        [
            "host | other | uncategorised | 30 | 0",
            "host | gemm | FFN | 10 | 0",
            "host | lost | uncategorised | 10 | 0",
            "host | Gate | FFN | 0 | 1",
            "device | gemm | FFN | 70 | 0",
        ]
    );
}

#[test]
fn what_cannot_be_timed_is_counted_and_not_added() {
    let out = analyse(&RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            interval(1, "brick", "ok", 0, 40).category("FFN"),
            Row {
                bound: true,
                ..interval(2, "brick", "ok", 0, 90).category("FFN")
            },
            interval(3, "brick", "backwards", 50, 20),
            interval(4, "brick", "endless", i64::MAX - 5, i64::MAX - 5),
        ],
        kernels: vec![Row {
            invalid: true,
            ..interval(5, "", "bad", 0, 40)
        }],
        ..RunFixture::default()
    });
    assert_eq!(
        lines(
            out.table("by_category"),
            &["category", "calls", "self_ns", "bound_calls"]
        )[0],
        "FFN | 1 | 40 | 1"
    );
    let finding = out.finding("left_out").unwrap();
    assert_eq!(finding.title, "3 rows are left out of all times");
    assert!(finding.detail.as_ref().unwrap().starts_with("1 bound row,"));
}

/// A request is open while it waits: no thread works for as long.
#[test]
fn a_task_that_was_only_open_is_on_no_thread() {
    let out = analyse(&RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            interval(1, "brick", "work", 0, 40).thread(0),
            Row {
                bound: true,
                ..interval(2, "task", "request", 0, 100).thread(1)
            },
        ],
        ..RunFixture::default()
    });
    assert_eq!(
        lines(out.table("by_lane"), &["lane", "busy_ns"]),
        ["thread 0 | 40"]
    );
    let columns = ["name", "self_ns", "bound_calls"];
    assert_eq!(
        lines(out.table("by_brick"), &columns),
        ["work | 40 | 0", "request | 0 | 1"]
    );
}

#[test]
fn time_outside_the_window_is_not_in_it() {
    let out = analyse(&RunFixture {
        wall_ns: Some(100),
        bricks: vec![
            interval(1, "brick", "early", -30, 20),
            interval(2, "brick", "late", 90, 140),
        ],
        ..RunFixture::default()
    });
    let columns = ["name", "self_ns", "inclusive_ns", "max_ns"];
    assert_eq!(
        lines(out.table("by_brick"), &columns),
        ["early | 20 | 20 | 50", "late | 10 | 10 | 50"]
    );
    assert_eq!(
        lines(
            out.table("by_lane"),
            &["busy_ns", "unaccounted_ns", "not_alive_ns"]
        ),
        ["30 | 70 | 0"]
    );
}

#[test]
fn an_empty_run_has_empty_tables() {
    for wall_ns in [None, Some(0), Some(5)] {
        let out = analyse(&RunFixture {
            wall_ns,
            ..RunFixture::default()
        });
        for table in ["by_category", "by_brick", "by_lane"] {
            assert_eq!(out.table(table).rows(), 0);
        }
        assert_eq!((out.findings.len(), out.charts.len()), (0, 0));
    }
}

#[test]
fn a_run_without_a_wall_time_lasts_until_its_last_end() {
    let out = analyse(&RunFixture {
        bricks: vec![interval(1, "brick", "a", 10, 40)],
        ..RunFixture::default()
    });
    assert_eq!(
        lines(out.table("by_lane"), &["busy_ns", "wall_ns"]),
        ["30 | 40"]
    );
}

#[test]
fn a_large_part_without_a_category_or_without_rows_is_said() {
    let fixture = |end_ns, own_ns| RunFixture {
        wall_ns: Some(1000),
        bricks: vec![
            interval(1, "brick", "mine", 0, own_ns),
            interval(2, "brick", "Qkv", own_ns, 100).category("Attention"),
            interval(3, "brick", "Qkv", end_ns, end_ns).category("Attention"),
        ],
        ..RunFixture::default()
    };
    let codes = |fixture: &RunFixture| {
        analyse(fixture)
            .findings
            .into_iter()
            .map(|f| f.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&fixture(200, 20)), [""; 0]);
    assert_eq!(codes(&fixture(200, 21)), ["uncategorised"]);
    assert_eq!(codes(&fixture(201, 20)), ["unaccounted"]);
}

#[test]
fn a_wait_is_waiting_and_what_a_thread_does_meanwhile_is_not() {
    let mut fixture = decode();
    fixture.bricks.push(interval(7, "brick", "join", 200, 240));
    fixture.syncs.push(interval(8, "", "join", 205, 240));
    fixture.tiles.push(interval(9, "", "helped", 210, 220));
    let out = analyse(&fixture);
    let columns = ["lane_kind", "category", "calls", "self_ns", "inclusive_ns"];
    assert_eq!(
        lines(out.table("by_category"), &columns),
        [
            "host | outside bricks | 2 | 80 | 190",
            "host | uncategorised | 4 | 75 | 100",
            "host | Attention | 2 | 50 | 50",
            "host | waiting | 1 | 25 | 35",
            "host | unaccounted | - | 10 | -",
            "host | not alive | - | 10 | -",
        ]
    );
}

#[test]
fn a_thread_that_does_not_run_within_a_call_is_in_that_call() {
    let mut fixture = RunFixture {
        wall_ns: Some(200),
        ..RunFixture::default()
    };
    fixture.calls.push(interval(1, "", "cudaMemcpy", 0, 100));
    fixture.syncs.push(interval(2, "", "off_cpu", 10, 90));
    fixture.syncs.push(interval(3, "", "off_cpu", 120, 150));
    // What a thread that reads waits for, its call does not say.
    fixture.calls.push(interval(4, "", "read", 160, 200));
    fixture.syncs.push(interval(5, "", "off_cpu", 160, 190));
    let out = analyse(&fixture);
    assert_eq!(
        lines(out.table("by_brick"), &["name", "calls", "self_ns"]),
        ["cudaMemcpy | 1 | 100", "off_cpu | 2 | 60", "read | 1 | 10"]
    );
}

#[test]
fn what_a_call_of_a_device_calls_in_the_operating_system_is_that_call() {
    let mut fixture = RunFixture {
        wall_ns: Some(400),
        ..RunFixture::default()
    };
    fixture.calls.push(interval(1, "", "cudaMalloc", 0, 100));
    fixture.calls.push(interval(2, "", "ioctl", 10, 90));
    fixture.calls.push(interval(3, "", "ioctl", 95, 110));
    // Each API of a device says more than the one around it.
    fixture.calls.push(interval(4, "", "hipFree", 120, 200));
    fixture
        .calls
        .push(interval(5, "", "hsa_memory_free", 130, 190));
    fixture.calls.push(interval(6, "", "munmap", 140, 150));
    // What the program calls itself.
    fixture.calls.push(interval(7, "", "fread", 210, 250));
    fixture.calls.push(interval(8, "", "read", 220, 240));
    fixture.calls.push(interval(9, "", "ioctl", 260, 270));
    let out = analyse(&fixture);
    assert_eq!(
        lines(out.table("by_brick"), &["name", "calls", "self_ns"]),
        [
            "cudaMalloc | 1 | 95",
            "hsa_memory_free | 1 | 60",
            "ioctl | 2 | 25",
            "fread | 1 | 20",
            "hipFree | 1 | 20",
            "read | 1 | 20",
        ]
    );
}

/// A main thread that is busy for all but the last tenth, and `workers` workers, each alive for 8 ns and busy for
/// 4.
fn short_lived(workers: i64) -> RunFixture {
    let bricks = (1..=workers).flat_map(|worker| {
        let (id, start_ns) = (10 * worker as u64, 20 * worker);
        [
            interval(id, "task", "head", start_ns, start_ns + 2).thread(worker),
            interval(id + 1, "task", "head", start_ns + 6, start_ns + 8).thread(worker),
        ]
    });
    RunFixture {
        wall_ns: Some(1000),
        bricks: [interval(1, "brick", "Qkv", 0, 900).category("Attention")]
            .into_iter()
            .chain(bricks)
            .collect(),
        ..RunFixture::default()
    }
}

#[test]
fn before_its_first_row_and_after_its_last_a_lane_is_no_unexplained_work() {
    let out = analyse(&short_lived(40));
    let columns = ["category", "self_ns"];
    assert_eq!(
        lines(out.table("by_category"), &columns),
        [
            "Attention | 900",
            "uncategorised | 160",
            "unaccounted | 160",
            "not alive | 780",
        ]
    );
    // No two workers are there at once: together they are one lane.
    let columns = [
        "lane",
        "busy_ns",
        "self_ns",
        "unaccounted_ns",
        "not_alive_ns",
        "wall_ns",
    ];
    assert_eq!(
        lines(out.table("by_lane"), &columns),
        [
            "thread 0 | 900 | 900 | 0 | 100 | 1000",
            "threads of head ×40 (1 at once) | 160 | 160 | 160 | 680 | 1000",
        ]
    );
    // 160 of 1220 ns.
    assert!(out.finding("unaccounted").is_none());
}

#[test]
fn of_several_lanes_it_is_said_what_shares_are_of() {
    let mut fixture = short_lived(2);
    fixture
        .bricks
        .push(interval(2, "brick", "late", 950, 960).thread(1));
    fixture
        .bricks
        .push(interval(3, "brick", "late", 950, 960).thread(2));
    let found = |fixture: &RunFixture| analyse(fixture).finding("unaccounted").cloned().unwrap();
    let finding = found(&fixture);
    assert!(
        finding
            .title
            .starts_with("nothing was recorded for 66.4 % of the time on host threads"),
        "{}",
        finding.title
    );
    let detail = finding.detail.unwrap();
    assert!(
        detail.contains("wall shares are of wall time × 3 lanes"),
        "{detail}"
    );
    assert!(detail.contains("another 8.0 % of that"), "{detail}");
}

#[test]
fn in_a_window_a_lane_lives_from_its_first_row_of_the_run_to_its_last() {
    let fixture = RunFixture {
        wall_ns: Some(1000),
        bricks: vec![
            interval(1, "brick", "a", 0, 100),
            interval(2, "brick", "a", 450, 500),
            interval(3, "brick", "a", 900, 1000),
            // Begins in the window; and one that ended before it.
            interval(4, "brick", "b", 550, 560).thread(1),
            interval(5, "brick", "b", 700, 800).thread(1),
            interval(6, "brick", "c", 0, 300).thread(2),
            // Whatever a row is good for, its thread was there.
            Row {
                bound: true,
                ..interval(7, "brick", "d", 410, 590).thread(3)
            },
        ],
        ..RunFixture::default()
    };
    let mut inputs = fixture.inputs();
    inputs.push(
        Table::build("report_window")
            .i64("from_ns", [400])
            .i64("until_ns", [600]),
    );
    let out = run::<Category>(inputs, "{}").unwrap();
    let columns = [
        "lane",
        "busy_ns",
        "unaccounted_ns",
        "not_alive_ns",
        "wall_ns",
    ];
    assert_eq!(
        lines(out.table("by_lane"), &columns),
        [
            "thread 0 | 50 | 150 | 0 | 200",
            "thread 1 | 10 | 40 | 150 | 200",
            "thread 2 | 0 | 0 | 200 | 200",
            "thread 3 | 0 | 180 | 20 | 200",
        ]
    );
}
