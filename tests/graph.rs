//! `tree`, `dot` and `ptx`: the execution graph of real recordings, as a user gets it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Dir, Run, standard_plugins};
use trueno_testing::{Made, sample};

fn dataset() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    root.to_str().expect("a path in UTF-8").to_owned()
}

/// `VERB RUN` with only the standard plugins, and more arguments.
fn look(dir: &Dir, verb: &str, run: &str, args: &[&str]) -> Run {
    let plugins = standard_plugins(dir);
    let plugins = plugins.to_str().expect("a path in UTF-8");
    let mut all = vec![verb, run, "--no-default-plugins", "--plugin-dir", plugins];
    all.extend(args);
    dir.command(&all)
}

fn made(dir: &Dir, name: &str, make: impl FnOnce(&Path)) -> String {
    let path = dir.join(name);
    make(&path);
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn ns(row: &Value, key: &str) -> i64 {
    row[key].as_i64().unwrap_or(0)
}

#[test]
fn a_tree_holds_every_row_once_and_its_times_add_up() {
    let dir = Dir::new();
    let report = dir
        .report(
            Path::new(&dataset()),
            &["--plugin-id", "category,critical_path", "--json", "-"],
        )
        .exits(0)
        .json();
    let table = |plugin: &str, name: &str| {
        let section = crate::harness::section(&report, plugin);
        let tables = section["tables"].as_array().unwrap();
        tables
            .iter()
            .find(|table| table["name"] == name)
            .unwrap()
            .clone()
    };
    let sum = |table: &Value, column: &str| -> i64 {
        let columns = table["columns"].as_array().unwrap();
        let at = columns.iter().position(|c| c["name"] == column).unwrap();
        table["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[at].as_i64().unwrap_or(0))
            .sum()
    };
    let busy_ns = sum(&table("category", "by_lane"), "busy_ns");
    let path = table("critical_path", "path");
    for args in [
        &["--json"][..],
        &["--json", "--merge"],
        &["--json", "--tiles"],
        &["--json", "--merge", "--top", "2"],
    ] {
        let tree = look(&dir, "tree", &dataset(), args).exits(0).json();
        let rows = tree["rows"].as_array().unwrap();
        if !args.contains(&"2") {
            let tiles = if args.contains(&"--tiles") {
                "UNION ALL SELECT COUNT(*) AS n FROM tiles"
            } else {
                ""
            };
            let sql = format!(
                "SELECT SUM(n) AS n FROM (SELECT COUNT(*) AS n FROM bricks UNION ALL SELECT COUNT(*) AS n FROM kernels UNION ALL SELECT COUNT(*) AS n FROM syncs {tiles}) AS t"
            );
            let expected = dir
                .command(&["query", &dataset(), &sql, "--format", "json"])
                .exits(0)
                .json();
            let counted: i64 = rows.iter().map(|row| ns(row, "count")).sum();
            assert_eq!(counted, expected[0]["n"].as_i64().unwrap(), "{args:?}");
            // Self times are the busy time of the report, to the nanosecond.
            let self_ns: i64 = rows.iter().map(|row| ns(row, "self_ns")).sum();
            assert_eq!(self_ns, busy_ns, "{args:?}");
        }
        // What is on the path is the path, less its gaps; upwards, parts add up to their whole.
        let own: i64 = rows.iter().map(|row| ns(row, "path_self_ns")).sum();
        let critical = &tree["critical_path"];
        assert_eq!(sum(&path, "dur_ns"), ns(critical, "path_ns"));
        assert_eq!(
            ns(critical, "marked_ns") + ns(critical, "gap_ns"),
            ns(critical, "path_ns")
        );
        if !args.contains(&"2") {
            assert_eq!(own, ns(critical, "marked_ns"));
        }
        for (at, row) in rows.iter().enumerate() {
            let below: Vec<&Value> = rows
                .iter()
                .filter(|r| r["parent"].as_u64() == Some(at as u64))
                .collect();
            if !below.is_empty() {
                let parts: i64 = below.iter().map(|r| ns(r, "path_ns")).sum();
                assert_eq!(
                    parts + ns(row, "path_self_ns"),
                    ns(row, "path_ns"),
                    "{args:?} {row}"
                );
            }
        }
    }
}

#[test]
fn a_page_marks_the_critical_path_and_says_what_it_leaves_out() {
    let dir = Dir::new();
    let page = look(&dir, "tree", &dataset(), &["--depth", "3", "--top", "4"]).exits(0);
    let page = page
        .stdout_has("thread 0 main")
        .stdout_has("├ * iteration ")
        .stdout_has("… 13 more")
        .stdout_has("there is more below level 3 (hint: --depth 4)");
    assert!(page.stderr.is_empty(), "{}", page.stderr);
    assert!(page.stdout.lines().all(|line| line.chars().count() <= 80));
    let merged = look(&dir, "tree", &dataset(), &["--merge", "--width", "160"]).exits(0);
    let heading = merged
        .stdout
        .lines()
        .find(|line| line.starts_with("name"))
        .unwrap()
        .to_owned();
    let columns: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(
        columns,
        [
            "name", "what", "count", "host", "self", "share", "path", "min", "median", "max",
            "elements"
        ]
    );
    let only = look(&dir, "tree", &dataset(), &["--name", "LmHead"])
        .exits(0)
        .stdout_has("LmHead")
        .stdout_has("matvec");
    assert!(!only.stdout.contains("Sampling"));
    look(&dir, "tree", &dataset(), &["--name", "no such name"])
        .exits(2)
        .stderr_has("--name no such name: no lane or name matches")
        .stderr_has("thread 0 main");
    look(&dir, "tree", &dataset(), &["--min-share", "101"])
        .exits(2)
        .stderr_has("expected a percentage from 0 to 100");
    let small = look(&dir, "tree", &dataset(), &["--merge", "--min-share", "10%"])
        .exits(0)
        .stdout_has("more");
    assert!(!small.stdout.contains("RmsNorm"));
}

#[test]
fn without_the_plugin_there_is_a_tree_without_marks() {
    let dir = Dir::new();
    let args = ["tree", &dataset(), "--no-default-plugins"];
    let page = dir
        .command(&args)
        .exits(0)
        .stderr_has("the critical path is not marked: there is no plugin critical_path");
    assert!(page.stdout.contains("iteration") && !page.stdout.contains('*'));
    let quiet = dir.command(&[&args[..], &["--no-path"]].concat()).exits(0);
    assert_eq!((quiet.stderr.as_str(), &quiet.stdout), ("", &page.stdout));
}

#[test]
fn device_work_hangs_below_what_launched_it_and_is_summed_apart() {
    let dir = Dir::new();
    let run = made(&dir, "made.run", sample);
    let page = look(&dir, "tree", &run, &["--width", "140"]).exits(0);
    page.stdout_has("gemm @ gpu0/stream 7")
        .stdout_has("<<<(32,2,1),(256,1,1)>>> smem 1024+49152 B 40 regs ptx gemm.ptx ")
        .stdout_has("h2d 4096 B")
        .stdout_has("softmax @ gpu0/stream 7 [bound]")
        .stdout_has("≤ 310 ns")
        .stdout_has("softmax @ gpu0/stream 7 [not valid]")
        .stdout_has("not valid: wait failed")
        .stdout_has("1 bound to a wait, 1 not valid: in no sum")
        .stdout_has("head 0 @ thread 1 worker");
    let tiles = look(&dir, "tree", &run, &["--tiles", "--json"])
        .exits(0)
        .json();
    let tile = tiles["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["what"] == "tile")
        .unwrap()
        .clone();
    assert_eq!(
        (tile["name"].as_str(), tile["detail"].as_str()),
        (Some("macro"), Some("(1,3)"))
    );
}

#[test]
fn colours_and_control_characters_are_only_ours() {
    let dir = Dir::new();
    let run = made(&dir, "evil.run", |path| {
        let mut made = Made::new(path);
        let name = "evil\x1b]0;title\x07\nname \"quoted\" \\N {&lt;}";
        made.row(
            "bricks",
            &[
                ("id", 1.into()),
                ("kind", "brick".into()),
                ("name", name.into()),
                ("dur_ns", 5.into()),
            ],
        );
        made.finish(10);
    });
    let plain = look(&dir, "tree", &run, &["--width", "120"]).exits(0);
    assert!(
        plain
            .stdout
            .contains("evil\\x1b]0;title\\x07\\nname \"quoted\""),
        "{}",
        plain.stdout
    );
    assert!(!plain.stdout.contains('\x1b'));
    let coloured = look(&dir, "tree", &run, &["--color", "always"]).exits(0);
    assert!(coloured.stdout.contains("\x1b[1m") && !coloured.stdout.contains("\x1b]"));
    let none = look(&dir, "tree", &run, &[]).env("NO_COLOR", "1").exits(0);
    assert!(!none.stdout.contains('\x1b'));
    let dot = look(&dir, "dot", &run, &[]).exits(0);
    crate::dot::parse(&dot.stdout);
    assert!(
        dot.stdout
            .contains(r#"tooltip="evil\\x1b]0;title\\x07\\nname \"quoted\" \\N {&amp;lt;}""#),
        "{}",
        dot.stdout
    );
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let dir = Dir::new();
    for (verb, args) in [
        ("tree", &["--merge"][..]),
        ("tree", &["--json"]),
        ("dot", &[]),
    ] {
        let run = || look(&dir, verb, &dataset(), args).exits(0).stdout;
        assert_eq!(run(), run(), "{verb} {args:?}");
    }
}

#[test]
fn what_is_no_run_and_what_is_empty_is_said() {
    let dir = Dir::new();
    for verb in ["tree", "dot"] {
        look(&dir, verb, "missing.run", &[])
            .exits(2)
            .stderr_has("missing.run");
        let empty = made(&dir, &format!("empty-{verb}.run"), |path| {
            Made::new(path).finish(10)
        });
        look(&dir, verb, &empty, &[])
            .exits(3)
            .stderr_has("the run holds no row with a time");
    }
    dir.command(&["ptx", "missing.run"])
        .exits(2)
        .stderr_has("missing.run");
}

#[test]
fn rows_that_lie_in_themselves_are_shown_once() {
    let dir = Dir::new();
    let run = made(&dir, "circle.run", |path| {
        let mut made = Made::new(path);
        for (id, parent) in [(1, 2), (2, 3), (3, 1), (4, 4)] {
            let row = [
                ("id", id.into()),
                ("parent", parent.into()),
                ("kind", "brick".into()),
                ("name", "round".into()),
                ("start_ns", id.into()),
                ("dur_ns", 5.into()),
            ];
            made.row("bricks", &row);
        }
        made.finish(20);
    });
    let tree = look(&dir, "tree", &run, &["--json"])
        .exits(0)
        .stderr_has("1 row is its own parent")
        .json();
    let counted: i64 = tree["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ns(row, "count"))
        .sum();
    assert_eq!(counted, 4);
}

fn two_sources(dir: &Dir) -> (String, [String; 2]) {
    let mut hashes = [String::new(), String::new()];
    let run = made(dir, "ptx.run", |path| {
        let mut made = Made::new(path);
        hashes = [".entry one() { ret; }\n", ".entry two() { ret; }"]
            .map(|source| made.source("module", source));
        for (id, hash, name, timing) in [
            (1, 0, "gemm", "device"),
            (2, 0, "gemm", "bound"),
            (3, 1, "gemv", "device"),
            (4, 1, "gemv", "device"),
        ] {
            let hash: &str = &hashes[hash as usize];
            let row = [
                ("id", id.into()),
                ("name", name.into()),
                ("ptx_hash", hash.into()),
                ("timing", timing.into()),
                ("dur_ns", (id * 1000).into()),
                ("grid_x", id.into()),
                ("device", 0.into()),
            ];
            made.row("kernels", &row);
        }
        made.row(
            "kernels",
            &[
                ("id", 5.into()),
                ("name", "nosource".into()),
                ("dur_ns", 9.into()),
            ],
        );
        made.finish(10_000);
    });
    (run, hashes)
}

#[test]
fn a_source_is_found_by_hash_kernel_or_name() {
    let dir = Dir::new();
    let (run, [one, two]) = two_sources(&dir);
    let ptx = |args: &[&str]| dir.command(&[&["ptx", &run][..], args].concat());
    let by_kernel = ptx(&["gemm"]).exits(0);
    assert!(
        by_kernel.stdout.ends_with("\n\n.entry one() { ret; }\n"),
        "{}",
        by_kernel.stdout
    );
    let comment = by_kernel.stdout.split("\n\n").next().unwrap();
    assert!(
        comment.lines().all(|line| line.starts_with("// ")),
        "{comment}"
    );
    assert!(
        comment.contains("launches: 2, 1 µs in all; 1 bound or not valid, in no sum"),
        "{comment}"
    );
    assert!(comment.contains("<<<(1,–,–),(–,–,–)>>>"), "{comment}");
    assert_eq!(ptx(&[&one]).exits(0).stdout, by_kernel.stdout);
    let prefix = (1..=16)
        .map(|n| &two[..n])
        .find(|p| !one.starts_with(p))
        .unwrap();
    let by_prefix = ptx(&[&prefix.to_uppercase()]).exits(0);
    assert!(by_prefix.stdout.ends_with(".entry two() { ret; }\n"));
    let launches = ptx(&["gemv", "--launches"])
        .exits(0)
        .stdout_has("launches: 2, 7 µs in all");
    assert!(!launches.stdout.contains(".entry") && !launches.stdout.contains("//"));
    let json = ptx(&["gemv", "--json"]).exits(0).json();
    assert_eq!(json["launches"][0]["total_ns"], 4000);
    assert_eq!(json["source"], ".entry two() { ret; }");
    ptx(&["module"])
        .exits(2)
        .stderr_has("module: 2 sources fit")
        .stderr_has(&one)
        .stderr_has(&two);
    ptx(&[])
        .exits(0)
        .stdout_has(&one)
        .stdout_has("2 launches  module");
    ptx(&["nosource"])
        .exits(3)
        .stderr_has("holds no source of this kernel");
    ptx(&["nosource", "--launches"])
        .exits(0)
        .stdout_has("launches: 1, 9 ns in all");
    ptx(&["gemn"]).exits(2).stderr_has("hint: there is gemm");
}

#[test]
fn a_source_that_is_gone_or_was_changed_is_said() {
    let dir = Dir::new();
    let (run, [one, two]) = two_sources(&dir);
    let file = |hash: &str| -> PathBuf { Path::new(&run).join(format!("ptx/{hash}.ptx")) };
    std::fs::remove_file(file(&one)).unwrap();
    std::fs::write(file(&two), "changed").unwrap();
    dir.command(&["ptx", &run, &one])
        .exits(3)
        .stderr_has("the source cannot be read");
    dir.command(&["ptx", &run, &two])
        .exits(0)
        .stderr_has("has changed since it was recorded")
        .stdout_has("changed");
    dir.command(&["ptx", &dataset()])
        .exits(3)
        .stderr_has("no kernel source");
}
