//! `check`: every limit holds at its value, and is violated right beyond it.

use trueno_recorder::{Recorder, Source};

use crate::check::{device, empty, one, rows};
use crate::compare::bricks;
use crate::harness::Dir;
use trueno_testing::{Made, Value as Cell};

/// The check passes with the first value and fails with the second.
#[track_caller]
fn flips(dir: &Dir, run: &str, body: &str, key: &str, holds: f64, violated: f64) {
    one(dir, run, &format!("{body}\n{key} = {holds}"), &[], 0);
    one(dir, run, &format!("{body}\n{key} = {violated}"), &[], 1);
}

/// Two bricks on one thread, 250 ns each in a run of 1000 ns.
fn two_bricks(dir: &Dir) -> String {
    let brick = |id: i64, category: &'static str, start: i64| {
        [
            ("id", Cell::from(id)),
            ("kind", Cell::from("brick")),
            ("name", Cell::from(category)),
            ("category", Cell::from(category)),
            ("start_ns", Cell::from(start)),
            ("dur_ns", Cell::from(250)),
            ("timing", Cell::from("host")),
        ]
    };
    let (a, b) = (brick(1, "FFN", 0), brick(2, "Norm", 750));
    rows(dir, "two.run", "bricks", &[&a, &b], 1000)
}

#[test]
fn times_and_shares() {
    let dir = Dir::new();
    let run = two_bricks(&dir);
    let path = "type = \"critical_path\"";
    flips(&dir, &run, path, "max_duration_us", 1.0, 0.999);
    flips(&dir, &run, path, "max_duration_ms", 0.001, 0.000_999);
    let kinds = format!("{path}\nkinds = [\"gap\"]");
    flips(&dir, &run, &kinds, "max_duration_us", 0.5, 0.499);
    let named = format!("{path}\ntrace_name_pattern = \"FF*\"");
    flips(&dir, &run, &named, "max_duration_us", 0.25, 0.249);
    let category = "type = \"category_share\"\ncategory = \"FFN\"";
    flips(&dir, &run, category, "max_share", 0.5, 0.499);
    flips(&dir, &run, category, "min_share", 0.5, 0.501);
    let wall = format!("{category}\nof = \"wall\"");
    flips(&dir, &run, &wall, "max_share", 0.25, 0.249);
    flips(&dir, &run, "type = \"coverage\"", "min", 0.5, 0.501);
    let count = "type = \"span_count\"";
    flips(&dir, &run, count, "max_spans", 2.0, 1.0);
    flips(&dir, &run, count, "min_spans", 2.0, 3.0);
}

#[test]
fn patterns() {
    let dir = Dir::new();
    let pattern = |name: &str| format!("type = \"anti_pattern\"\npattern = \"{name}\"");
    let serial = device(&dir, "serial.run", 300, 100);
    let pcie = pattern("PCIeBottleneck");
    flips(&dir, &serial, &pcie, "threshold", 0.6, 0.599);
    // Without a threshold, 50 %.
    one(&dir, &serial, &pcie, &[], 1);
    one(&dir, &device(&dir, "less.run", 200, 100), &pcie, &[], 0);
    let overlapped = device(&dir, "overlapped.run", 300, 50);
    let streams = pattern("SerialisedStreams");
    flips(&dir, &overlapped, &streams, "threshold", 0.667, 0.666);

    let call = |at: i64| {
        [
            ("id", Cell::from(at + 1)),
            ("name", Cell::from("read")),
            ("start_ns", Cell::from(at * 10)),
            ("dur_ns", Cell::from(5)),
            ("thread", Cell::from(0)),
        ]
    };
    let calls: Vec<_> = (0..50).map(call).collect();
    let calls: Vec<&[(&str, Cell<'_>)]> = calls.iter().map(|row| row.as_slice()).collect();
    let run = rows(&dir, "calls.run", "calls", &calls, 1000);
    let tight = format!("{}\nmin_repeats = 50", pattern("TightLoop"));
    flips(&dir, &run, &tight, "threshold", 0.5, 0.4);
    let repeated = format!("{}\nthreshold = 0.1", pattern("TightLoop"));
    flips(&dir, &run, &repeated, "min_repeats", 51.0, 50.0);

    let job = dir.folder("job.run");
    for (rank, dur) in [(0, 900), (1, 100)] {
        let row = [
            ("id", Cell::from(1)),
            ("kind", Cell::from("brick")),
            ("name", Cell::from("x")),
            ("start_ns", Cell::from(0)),
            ("dur_ns", Cell::from(dur)),
        ];
        let rank = format!("job.run/rank={rank}");
        rows(&dir, &rank, "bricks", &[&row], 1000);
    }
    let (job, god) = (job.to_str().unwrap(), pattern("GodProcess"));
    flips(&dir, job, &god, "threshold", 0.9, 0.899);
}

#[test]
fn memory_of_the_process_where_the_program_read_it() {
    let dir = Dir::new();
    let recorded = |name: &str, unit: &'static str| {
        let path = dir.join(name);
        let rec = Recorder::create(&path).expect("a recorder");
        for value in [1000.0, 5000.0, 1400.0] {
            rec.counter("rss", value, unit, Source::Measured);
        }
        rec.finish().expect("the recording ends");
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    let rss = "type = \"memory_usage\"\ntracking_mode = \"rss\"";
    let run = recorded("rss.run", "bytes");
    flips(&dir, &run, rss, "max_bytes", 5000.0, 4999.0);
    flips(&dir, &run, rss, "max_growth_bytes", 400.0, 399.0);
    // Another unit is not guessed at.
    let pages = recorded("pages.run", "pages");
    let body = format!("{rss}\nmax_bytes = 5000");
    let found = one(&dir, &pages, &body, &[], 3);
    assert!(found["actual"].as_str().unwrap().contains("\"pages\""));
    one(&dir, &empty(&dir), &body, &[], 3);
}

#[test]
fn memory_that_system_calls_gave_is_bounded_and_never_violates() {
    let dir = Dir::new();
    let body = |max: i64| format!("type = \"memory_usage\"\nmax_bytes = {max}");
    // Name, result, bytes, file.
    type Call = (&'static str, i64, Option<i64>, Option<&'static str>);
    let made = |name: &str, processes: i64, calls: &[Call]| {
        let path = dir.join(name);
        let mut made = Made::new(&path);
        for thread in 0..processes {
            made.row(
                "threads",
                &[("thread", thread.into()), ("process", (7 + thread).into())],
            );
        }
        for (at, (name, status, bytes, file)) in (0_i64..).zip(calls) {
            let mut row: Vec<(&str, Cell<'_>)> = vec![
                ("id", (at + 1).into()),
                ("name", (*name).into()),
                ("thread", (at % processes).into()),
                ("start_ns", (at * 10).into()),
                ("dur_ns", 5.into()),
                ("status", (*status).into()),
                ("kind", "syscall".into()),
            ];
            row.extend(bytes.map(|bytes| ("bytes", bytes.into())));
            row.extend(file.map(|file| ("target", file.into())));
            made.row("calls", &row);
        }
        made.finish(1000);
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    let calls: [Call; 9] = [
        ("brk", 50_000, None, None),
        ("execve", 0, None, Some("/bin/true")),
        ("brk", 9_000, None, None),
        ("mmap", 1 << 40, Some(700), Some("/lib/libc.so")),
        ("mmap", 1 << 40, Some(400), None),
        ("brk", 9_100, None, None),
        ("munmap", 0, Some(400), None),
        ("brk", 9_050, None, None),
        ("mremap", 1 << 40, Some(500), None),
    ];
    // 400 mapped, 100 by brk, 500 by mremap.
    let run = made("calls.run", 1, &calls);
    let found = one(&dir, &run, &body(1000), &[], 0);
    assert_eq!(
        found["actual"],
        "process: at most 1 kB, all that was mapped"
    );
    let found = one(&dir, &run, &body(999), &[], 3);
    assert!(
        found["actual"]
            .as_str()
            .unwrap()
            .contains("were mapped in total,")
    );
    // A child has what its parent had; calls that were not asked for are not zero.
    one(&dir, &made("two.run", 2, &calls), &body(1 << 40), &[], 3);
    one(
        &dir,
        &made("few.run", 1, &calls[3..5]),
        &body(1 << 40),
        &[],
        3,
    );
    let place = format!("{}\nplace = \"host\"", body(1000));
    one(&dir, &run, &place, &[], 3);
}

#[test]
fn memory_that_grows_from_iteration_to_iteration() {
    let dir = Dir::new();
    let made = |name: &str, iterations: i64, kept: i64| {
        let path = dir.join(name);
        let mut made = Made::new(&path);
        for i in 0..iterations {
            let (id, start) = (Cell::from(i + 1), Cell::from(i * 100));
            let iteration = [
                ("id", id),
                ("kind", "iteration".into()),
                ("name", "iteration".into()),
                ("start_ns", start),
                ("dur_ns", 90.into()),
                ("timing", "host".into()),
                ("iteration", i.into()),
            ];
            made.row("bricks", &iteration);
            for (at, bytes) in [(10, 5000), (80, kept - 5000)] {
                let row = [
                    ("time_ns", Cell::from(i * 100 + at)),
                    ("bytes", Cell::from(bytes)),
                ];
                made.row("allocations", &row);
            }
        }
        made.finish(iterations * 100);
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    let (memory, key) = ("type = \"memory_usage\"", "max_bytes_per_iteration");
    let leak = made("leak.run", 20, 64);
    flips(&dir, &leak, memory, key, 64.0, 63.0);
    one(
        &dir,
        &made("flat.run", 20, 0),
        &format!("{memory}\n{key} = 0"),
        &[],
        0,
    );
    let short = made("short.run", 3, 64);
    let found = one(&dir, &short, &format!("{memory}\n{key} = 1000"), &[], 3);
    assert_eq!(found["actual"], "host: cannot tell of 3 iterations");
    one(&dir, &empty(&dir), &format!("{memory}\n{key} = 0"), &[], 3);
    let elsewhere = format!("{memory}\n{key} = 0\nplace = \"gpu3\"");
    one(&dir, &leak, &elsewhere, &[], 3);
}

#[test]
fn regressions() {
    let dir = Dir::new();
    let base = bricks(&dir, "base.run", 40, 10_000, "host");
    let slow = bricks(&dir, "slow.run", 40, 11_000, "host");
    let golden = ["--golden", base.as_str()];
    let named = "type = \"regression\"\nname_pattern = \"Qkv*\"";
    let with = |more: &str, code| one(&dir, &slow, &format!("{named}\n{more}"), &golden, code);
    with("threshold = 0.05", 1);
    // Longer by 10 %: no more than is allowed.
    with("threshold = 0.15", 0);
    // Neither within the threshold nor surely beyond it.
    with("threshold = 0.101", 3);
    with("confidence = 0.99", 1);
    with("confidence = 0.999999999999999", 3);
    with("kinds = [\"kernel\"]", 1);
    with("kinds = [\"brick\"]", 1);
}
