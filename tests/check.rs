//! `check`: each type of assertion holds, is violated, and cannot be measured.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Dir, Run, standard_plugins};
use trueno_testing::{Made, Value as Cell};

pub fn dataset(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode");
    root.join(name)
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

pub fn command(dir: &Dir, run: &str, toml: &str, args: &[&str]) -> Run {
    std::fs::write(dir.join("trueno.toml"), toml).expect("the file is written");
    let plugins = standard_plugins(dir);
    let plugins = plugins.to_str().expect("a path in UTF-8");
    let mut all = vec![
        "check",
        run,
        "--assert",
        "trueno.toml",
        "--no-default-plugins",
        "--plugin-dir",
        plugins,
    ];
    all.extend(args);
    dir.command(&all)
}

#[track_caller]
pub fn one(dir: &Dir, run: &str, body: &str, args: &[&str], code: i32) -> Value {
    let toml = format!("[[assertion]]\nname = \"it\"\n{body}");
    let mut all = vec!["--json"];
    all.extend(args);
    let found = command(dir, run, &toml, &all).exits(code).json();
    assert_eq!(found["exit_code"], code);
    let outcome = found["assertions"][0].clone();
    let status = match code {
        0 => "passed",
        1 => "failed",
        _ => "not_measurable",
    };
    assert_eq!(outcome["status"], status, "{body}\n{outcome:#}");
    for part in ["expected", "actual", "place"] {
        assert!(
            outcome[part].as_str().is_some_and(|text| !text.is_empty()),
            "{outcome:#}"
        );
    }
    outcome
}

pub fn empty(dir: &Dir) -> String {
    let path = dir.join("empty.run");
    if !path.exists() {
        Made::new(&path).finish(1000);
    }
    path.to_str().expect("a path in UTF-8").to_owned()
}

pub fn rows(
    dir: &Dir,
    name: &str,
    table: &str,
    rows: &[&[(&str, Cell<'_>)]],
    wall_ns: i64,
) -> String {
    let path = dir.join(name);
    let mut made = Made::new(&path);
    for row in rows {
        made.row(table, row);
    }
    made.finish(wall_ns);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn critical_path() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let type_ = "type = \"critical_path\"\n";
    one(&dir, &run, &format!("{type_}max_duration_ms = 100"), &[], 0);
    let found = one(&dir, &run, &format!("{type_}max_duration_ms = 6.5"), &[], 1);
    assert!(
        found["actual"].as_str().unwrap().starts_with("6.57 ms"),
        "{found}"
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_duration_us = 1000\nwindow = \"iteration=3\""),
        &[],
        0,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_duration_us = 10\nwindow = \"iteration=3\""),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_duration_ms = 1\nkinds = [\"sync_wait\"]"),
        &[],
        0,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_duration_us = 1\ntrace_name_pattern = \"mat*\""),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_duration_us = 1\ntrace_name_pattern = \"nobody\""),
        &[],
        3,
    );
    one(
        &dir,
        &empty(&dir),
        &format!("{type_}max_duration_ms = 0.0001\nkinds = [\"work\"]\ntrace_name_pattern = \"*\""),
        &[],
        3,
    );
}

/// Plain `strace` output has neither times nor durations. Limits on counts can be checked, limits on times cannot.
/// The imported run is cached, and the second command uses it.
#[test]
fn calls_without_durations_are_counted_and_not_timed() {
    let dir = Dir::new();
    let file = dir.join("calls.txt");
    let lines = "openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\nread(3, \"x\", 64) = 1\nread(3, \"\", 64) = 0\n+++ exited with 0 +++\n";
    std::fs::write(&file, lines).expect("the file is written");
    let file = file.to_str().expect("a path in UTF-8");
    let count = "type = \"span_count\"\n";
    one(&dir, file, &format!("{count}max_spans = 3\n"), &[], 0);
    let found = one(&dir, file, &format!("{count}max_spans = 2\n"), &[], 1);
    assert!(
        found["actual"]
            .as_str()
            .is_some_and(|text| text.starts_with("3, 2 of them"))
    );
    let reads = format!("{count}span_name_pattern = \"read\"\nmax_spans = 2\n");
    one(&dir, file, &reads, &[], 0);
    one(
        &dir,
        file,
        "type = \"critical_path\"\nmax_duration_ms = 5\n",
        &[],
        3,
    );
    command(
        &dir,
        file,
        &format!("[[assertion]]\nname = \"it\"\n{count}max_spans = 3\n"),
        &[],
    )
    .exits(0)
    .stderr_has("taken from");
}

#[test]
fn span_count() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let type_ = "type = \"span_count\"\n";
    one(&dir, &run, &format!("{type_}max_spans = 10000"), &[], 0);
    one(&dir, &run, &format!("{type_}max_spans = 500"), &[], 1);
    one(
        &dir,
        &run,
        &format!("{type_}max_spans = 32\nmin_spans = 32\nspan_name_pattern = \"down*\""),
        &[],
        0,
    );
    one(
        &dir,
        &run,
        &format!("{type_}min_spans = 33\nspan_name_pattern = \"DownProjection\""),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &format!("{type_}min_spans = 1\nspan_name_pattern = \"nobody\""),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_spans = 1\ntables = [\"calls\"]"),
        &[],
        3,
    );
    one(&dir, &empty(&dir), &format!("{type_}max_spans = 1"), &[], 3);
}

#[test]
fn memory_usage() {
    let dir = Dir::new();
    let at = |time: i64, bytes: i64| [("time_ns", Cell::from(time)), ("bytes", Cell::from(bytes))];
    let (a, b, c) = (at(10, 600), at(20, 500), at(30, -700));
    let run = rows(&dir, "memory.run", "allocations", &[&a, &b, &c], 100);
    let type_ = "type = \"memory_usage\"\n";
    one(
        &dir,
        &run,
        &format!("{type_}max_bytes = 1100\nmax_growth_bytes = 400"),
        &[],
        0,
    );
    let found = one(&dir, &run, &format!("{type_}max_bytes = 1099"), &[], 1);
    assert!(
        found["actual"].as_str().unwrap().contains("at 20 ns"),
        "{found}"
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_growth_bytes = 399"),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_bytes = 1\nplace = \"gpu0\""),
        &[],
        3,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_bytes = 1\ntracking_mode = \"rss\""),
        &[],
        3,
    );
    one(&dir, &empty(&dir), &format!("{type_}max_bytes = 1"), &[], 3);
}

#[test]
fn category_share_and_coverage() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let type_ = "type = \"category_share\"\ncategory = \"FFN\"\n";
    one(&dir, &run, &format!("{type_}max_share = 0.9"), &[], 0);
    one(&dir, &run, &format!("{type_}max_share = 0.001"), &[], 1);
    one(
        &dir,
        &run,
        &format!("{type_}min_share = 0.9\nof = \"wall\""),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &format!("{type_}max_share = 0.9\nlane_kind = \"device\""),
        &[],
        3,
    );
    one(
        &dir,
        &empty(&dir),
        &format!("{type_}max_share = 0.9"),
        &[],
        3,
    );
    one(&dir, &run, "type = \"coverage\"\nmin = 0.5", &[], 0);
    one(&dir, &run, "type = \"coverage\"\nmin = 0.9999", &[], 1);
    one(&dir, &empty(&dir), "type = \"coverage\"\nmin = 0.5", &[], 3);
}

/// A device with copies and with kernels on two streams. The second stream begins at `second_ns`.
pub fn device(dir: &Dir, name: &str, copy_ns: i64, second_ns: i64) -> String {
    let path = dir.join(name);
    let mut made = Made::new(&path);
    for (id, stream, start) in [(1, 7, 0), (2, 8, second_ns)] {
        made.row(
            "kernels",
            &[
                ("id", id.into()),
                ("name", "gemm".into()),
                ("device", 0.into()),
                ("stream", stream.into()),
                ("start_ns", start.into()),
                ("dur_ns", 100.into()),
                ("timing", "device".into()),
            ],
        );
    }
    made.row(
        "transfers",
        &[
            ("id", 3.into()),
            ("direction", "h2d".into()),
            ("bytes", 4096.into()),
            ("device", 0.into()),
            ("stream", 7.into()),
            ("start_ns", 1000.into()),
            ("dur_ns", copy_ns.into()),
            ("timing", "device".into()),
        ],
    );
    made.finish(5000);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn anti_patterns_honour_their_threshold() {
    let dir = Dir::new();
    let cpu = dataset("simd.run");
    let pattern = |name: &str, threshold: f64| {
        format!("type = \"anti_pattern\"\npattern = \"{name}\"\nthreshold = {threshold}")
    };
    // Copies 300 ns, kernels 200 ns: 60 %.
    let serial = device(&dir, "serial.run", 300, 100);
    one(&dir, &serial, &pattern("PCIeBottleneck", 0.7), &[], 0);
    let found = one(&dir, &serial, &pattern("PCIeBottleneck", 0.5), &[], 1);
    assert_eq!(found["actual"], "60.0 %: copies 300 ns, kernels 200 ns");
    one(&dir, &cpu, &pattern("PcieBottleneck", 0.5), &[], 3);

    one(&dir, &serial, &pattern("SerialisedStreams", 0.95), &[], 1);
    // Half of each overlaps: of 150 ns, 100 ns alone.
    let overlapped = device(&dir, "overlapped.run", 300, 50);
    one(
        &dir,
        &overlapped,
        &pattern("SerialisedStreams", 0.95),
        &[],
        0,
    );
    one(
        &dir,
        &overlapped,
        &pattern("SerialisedStreams", 0.6),
        &[],
        1,
    );
    one(&dir, &cpu, &pattern("SerialisedStreams", 0.9), &[], 3);

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
    let repeats = |least: usize, threshold: f64| {
        format!("{}\nmin_repeats = {least}", pattern("TightLoop", threshold))
    };
    one(&dir, &run, &repeats(50, 0.4), &[], 1);
    one(&dir, &run, &repeats(50, 0.5), &[], 0);
    one(&dir, &run, &repeats(51, 0.4), &[], 0);
    one(&dir, &empty(&dir), &pattern("TightLoop", 0.4), &[], 3);

    let job = dir.folder("job.run");
    for (rank, dur) in [(0, 900), (1, 100)] {
        let row = [
            ("id", Cell::from(1)),
            ("kind", Cell::from("brick")),
            ("name", Cell::from("x")),
            ("start_ns", Cell::from(0)),
            ("dur_ns", Cell::from(dur)),
        ];
        rows(
            &dir,
            &format!("job.run/rank={rank}"),
            "bricks",
            &[&row],
            1000,
        );
    }
    let job = job.to_str().unwrap();
    one(&dir, job, &pattern("GodProcess", 0.8), &[], 1);
    one(&dir, job, &pattern("GodProcess", 0.95), &[], 0);
    one(&dir, &cpu, &pattern("GodProcess", 0.95), &[], 3);
}

#[test]
fn regression() {
    let dir = Dir::new();
    let (base, slow) = (dataset("simd.run"), dataset("simd_slow.run"));
    let named = "type = \"regression\"\nname_pattern = \"DownProjection\"\nthreshold = 0.05\nkinds = [\"brick\"]";
    let found = one(&dir, &slow, named, &["--golden", &base], 1);
    let place = found["place"].as_str().unwrap();
    assert!(place.starts_with("brick DownProjection"), "{found}");
    one(&dir, &base, named, &["--golden", &slow], 0);
    one(&dir, &base, named, &[], 3);
    one(
        &dir,
        &base,
        "type = \"regression\"\nname_pattern = \"nobody\"",
        &["--golden", &base],
        1,
    );
}

#[test]
fn expression() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let sql = |sql: &str| format!("type = \"expression\"\nexpression = \"{sql}\"");
    one(
        &dir,
        &run,
        &sql("SELECT COUNT(*) = 832 AS ok FROM bricks WHERE kind = 'brick'"),
        &[],
        0,
    );
    one(
        &dir,
        &run,
        &sql("SELECT COUNT(*) = 0 AS ok FROM bricks"),
        &[],
        1,
    );
    one(
        &dir,
        &run,
        &sql("SELECT MAX(busy_share) < 1.1 AS ok FROM category.by_category"),
        &[],
        0,
    );
    one(
        &dir,
        &run,
        &sql("SELECT MAX(dur_ns) < 5 AS ok FROM calls"),
        &[],
        3,
    );
    one(
        &dir,
        &run,
        &sql("SELECT MAX(x) < 5 AS ok FROM energy.joules"),
        &[],
        3,
    );
    for (wrong, says) in [
        ("SELEC 1", "assertion \"it\""),
        ("SELECT nobody > 1 AS ok FROM bricks", "nobody"),
        ("SELECT COUNT(*) AS n FROM bricks", "true or false"),
        ("SELECT id > 0 AS ok FROM bricks", "one row"),
    ] {
        let toml = format!("[[assertion]]\nname = \"it\"\n{}", sql(wrong));
        command(&dir, &run, &toml, &[]).exits(2).stderr_has(says);
    }
}

#[test]
fn a_violation_comes_before_what_cannot_be_measured_and_warnings_are_neither() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let pass = "[[assertion]]\nname = \"covered <well>\"\ntype = \"coverage\"\nmin = 0.1\n";
    let fail = "[[assertion]]\nname = \"few\"\ntype = \"span_count\"\nmax_spans = 1\n";
    let unknown =
        "[[assertion]]\nname = \"pcie\"\ntype = \"anti_pattern\"\npattern = \"PCIeBottleneck\"\n";
    let run_with = |parts: &[String]| command(&dir, &run, &parts.concat(), &["--junit", "out.xml"]);
    let own = |text: &str| text.to_owned();
    run_with(&[own(pass)]).exits(0).stdout_has("1 passed");
    run_with(&[own(pass), own(unknown)])
        .exits(3)
        .stdout_has("1 not measurable");
    run_with(&[own(pass), own(unknown), own(fail)])
        .exits(1)
        .stdout_has("1 FAILED");
    let xml = dir.read("out.xml");
    assert!(
        xml.contains("tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\""),
        "{xml}"
    );
    assert!(xml.contains("name=\"covered &lt;well&gt;\"/>"), "{xml}");
    let warn = "fail_on_violation = false\n";
    run_with(&[
        own(pass),
        format!("{unknown}{warn}"),
        format!("{fail}{warn}"),
    ])
    .exits(0)
    .stdout_has("1 warned");
    assert!(dir.read("out.xml").contains("skipped=\"2\""));
    run_with(&[format!("{fail}enabled = false\n"), own(pass)])
        .exits(0)
        .stdout_has("1 disabled");
}

#[test]
fn a_comment_shows_what_does_not_hold_and_folds_the_rest() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    let pass = "[[assertion]]\nname = \"covered\"\ntype = \"coverage\"\nmin = 0.1\n";
    let fail = "[[assertion]]\nname = \"few | <b>\"\ntype = \"span_count\"\nmax_spans = 1\n";
    let toml = format!("{pass}{fail}");
    let shown = command(&dir, &run, &toml, &["--format", "markdown"]).exits(1);
    let parts: Vec<&str> = shown.stdout.split("<details>").collect();
    let [open, folded] = parts[..] else {
        panic!("{}", shown.stdout);
    };
    assert!(open.starts_with("<!-- trueno-analyze check -->\n\n**1 passed, 1 FAILED** · "));
    assert!(
        open.contains("\n| FAILED | few \\| &lt;b> (span\\_count) | "),
        "{open}"
    );
    assert!(!open.contains("covered"), "{open}");
    assert!(folded.contains("\n| passed | covered (coverage) | "));
    let done = command(&dir, &run, pass, &["--format", "markdown"]).exits(0);
    assert!(!done.stdout.contains("FAILED"), "{}", done.stdout);
}

#[test]
fn the_documented_file_works_and_a_wrong_one_is_refused() {
    let dir = Dir::new();
    let run = dataset("simd.run");
    // As the golden trace report of trueno has them, with room for a run of today.
    let toml = &include_str!("documented.toml").replace("max_spans = 500", "max_spans = 50000");
    command(&dir, &run, toml, &[])
        .exits(0)
        .stdout_has("3 passed, 1 not measurable");
    command(&dir, &run, &toml.replace("max_spans", "max_span"), &[])
        .exits(2)
        .stderr_has("max_span");
    command(&dir, &run, "not toml", &[])
        .exits(2)
        .stderr_has("trueno.toml");
    command(&dir, "nothing.run", toml, &[])
        .exits(2)
        .stderr_has("nothing.run");
    command(&dir, &run, toml, &["--golden", "nothing.run"])
        .exits(2)
        .stderr_has("nothing.run");
    dir.command(&["check", &run, "--assert", "nothing.toml"])
        .exits(2)
        .stderr_has("nothing.toml");
    command(&dir, &run, toml, &["--json", "--junit", "-"])
        .exits(2)
        .stderr_has("--junit");
    command(&dir, &run, toml, &["--junit", "-"])
        .exits(0)
        .stdout_has("<testsuites>");
}
