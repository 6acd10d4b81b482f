//! `compare`: runs against runs, as a user gets it.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Dir, Run, standard_plugins};
use trueno_fixture::Made;

fn dataset(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode");
    let path = root.join(name);
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn compare(dir: &Dir, args: &[&str]) -> Run {
    let plugins = standard_plugins(dir);
    let plugins = plugins.to_str().expect("a path in UTF-8");
    let mut all = vec!["compare", "--no-default-plugins", "--plugin-dir", plugins];
    all.extend(args);
    dir.command(&all)
}

/// A run of `iterations`, each with one brick of about `ns` nanoseconds; durations repeat a fixed scatter of 2 %.
pub fn bricks(dir: &Dir, name: &str, iterations: i64, ns: i64, timing: &str) -> String {
    let path = dir.join(name);
    let mut made = Made::new(&path);
    made.row("threads", &[("thread", 0.into()), ("name", "main".into())]);
    for i in 0..iterations {
        let dur = ns + ns * (i * 7 % 11 - 5) / 500;
        let start = i * 4 * ns;
        for (id, kind, name, start, dur) in [
            (2 * i + 1, "iteration", "iteration", start, 3 * ns),
            (2 * i + 2, "brick", "QkvProjection", start + 10, dur),
        ] {
            made.row(
                "bricks",
                &[
                    ("id", id.into()),
                    ("kind", kind.into()),
                    ("name", name.into()),
                    ("start_ns", start.into()),
                    ("dur_ns", dur.into()),
                    ("timing", timing.into()),
                    ("iteration", i.into()),
                ],
            );
        }
    }
    made.finish(iterations * 4 * ns);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[track_caller]
fn name<'a>(comparison: &'a Value, kind: &str, name: &str) -> &'a Value {
    let all = comparison["names"].as_array().expect("names are a list");
    let found = all
        .iter()
        .find(|row| row["kind"] == kind && row["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name} in {comparison:#}"))
}

#[test]
fn the_slowed_brick_of_a_real_recording_is_found_and_what_else_differs_said_first() {
    let dir = Dir::new();
    let (base, slow) = (dataset("simd.run"), dataset("simd_slow.run"));
    let found = compare(&dir, &[&base, &slow, "--format", "json"])
        .exits(0)
        .json();
    let brick = name(&found, "brick", "DownProjection");
    assert_eq!(brick["verdict"], "slower", "{brick:#}");
    let ratio = &brick["ratio"];
    let (low, high) = (
        ratio["low"].as_f64().unwrap(),
        ratio["high"].as_f64().unwrap(),
    );
    assert!(low > 2.5 && high < 3.6, "{ratio}");
    let aspect = |wanted: &str| {
        let all = found["comparability"].as_array().unwrap();
        all.iter().find(|a| a["aspect"] == wanted).unwrap()["standing"].clone()
    };
    assert_eq!(aspect("machine"), "same");
    assert_eq!(aspect("value slow"), "differs");
    assert_eq!(aspect("completeness"), "same");
    // Three times the work is three times the kernels.
    let counts = found["counts"].as_array().unwrap();
    assert!(
        counts
            .iter()
            .any(|c| c["name"] == "matvec" && c["change"] == "more"),
        "{counts:?}"
    );
    // The change of the path adds up to that of the wall time.
    let path = found["path"].as_array().unwrap();
    let change: f64 = path
        .iter()
        .map(|p| p["run_ns"].as_f64().unwrap() - p["base_ns"].as_f64().unwrap())
        .sum();
    let totals = found["totals"].as_array().unwrap();
    let wall = totals.iter().find(|t| t["what"] == "wall").unwrap();
    let wall = wall["run"].as_f64().unwrap() - wall["base"].as_f64().unwrap();
    assert!((change - wall).abs() < 1.0, "{change} for {wall}");

    let page = compare(&dir, &[&base, &slow]).exits(0).stdout;
    let at = |text: &str| {
        page.find(text)
            .unwrap_or_else(|| panic!("no {text:?} in\n{page}"))
    };
    assert!(
        at("Can they be compared?") < at("What got slower"),
        "{page}"
    );
    assert!(at("value slow") < at("What got slower"), "{page}");
}

#[test]
fn the_same_runs_give_the_same_bytes_and_a_run_is_like_itself() {
    let dir = Dir::new();
    let (base, slow) = (dataset("simd.run"), dataset("simd_slow.run"));
    let once = || {
        compare(&dir, &[&base, &slow, "--format", "json"])
            .exits(0)
            .stdout
    };
    assert_eq!(once(), once());
    let other = compare(&dir, &[&base, &slow, "--format", "json", "--seed", "2"]).exits(0);
    assert_ne!(other.stdout, once(), "another seed draws others");
    let itself = compare(
        &dir,
        &[
            &base,
            &base,
            "--single",
            "--fail-on",
            "changed",
            "--format",
            "json",
        ],
    );
    let itself = itself.exits(0).json();
    let names = itself["names"].as_array().unwrap();
    assert!(
        names
            .iter()
            .all(|n| n["verdict"] == "same" || n["verdict"] == "cannot_tell")
    );
    assert_eq!(itself["counts"].as_array().unwrap().len(), 0);
}

#[test]
fn fail_on_and_the_threshold_decide_the_exit_code() {
    let dir = Dir::new();
    let base = bricks(&dir, "a.run", 60, 100_000, "host");
    let slower = bricks(&dir, "b.run", 60, 105_000, "host");
    compare(&dir, &[&base, &slower]).exits(0);
    // The machine may have changed between two runs.
    compare(&dir, &[&base, &slower, "--fail-on", "slower"])
        .exits(3)
        .stdout_has("one run a side")
        .stderr_has("no fewer than 3 runs a side");
    compare(&dir, &[&base, &slower, "--single", "--fail-on", "slower"])
        .exits(1)
        .stdout_has("slower");
    compare(
        &dir,
        &[
            &base,
            &slower,
            "--single",
            "--fail-on",
            "slower",
            "--threshold",
            "10%",
        ],
    )
    .exits(0);
    compare(&dir, &[&slower, &base, "--single", "--fail-on", "slower"]).exits(0);
    compare(&dir, &[&slower, &base, "--single", "--fail-on", "changed"]).exits(1);
    let longer = bricks(&dir, "c.run", 70, 100_000, "host");
    compare(&dir, &[&base, &longer, "--single", "--fail-on", "changed"])
        .exits(1)
        .stdout_has("more often");
    compare(&dir, &[&base, &slower, "--format", "markdown"])
        .exits(0)
        .stdout_has("| slower | brick | QkvProjection |");
}

#[test]
fn several_runs_a_side_are_told_apart_by_run() {
    let dir = Dir::new();
    let run = |name: &str, ns| bricks(&dir, name, 40, ns, "host");
    let base = [
        run("a1.run", 100_000),
        run("a2.run", 108_000),
        run("a3.run", 104_000),
    ];
    let like = [
        run("b1.run", 107_000),
        run("b2.run", 101_000),
        run("b3.run", 105_000),
    ];
    let slow = [
        run("c1.run", 150_000),
        run("c2.run", 158_000),
        run("c3.run", 154_000),
    ];
    let all = |other: &[String; 3]| {
        compare(
            &dir,
            &[
                &base[0],
                &other[0],
                &other[1],
                &other[2],
                "--baseline",
                &base[1],
                "--baseline",
                &base[2],
                "--format",
                "json",
            ],
        )
        .exits(0)
        .json()
    };
    // One of each would be told apart: 100 µs and 107 µs with a scatter of 2 %.
    let one = compare(&dir, &[&base[0], &like[0], "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(name(&one, "brick", "QkvProjection")["verdict"], "slower");
    assert_eq!(
        name(&all(&like), "brick", "QkvProjection")["verdict"],
        "cannot_tell"
    );
    let slow = all(&slow);
    assert_eq!(name(&slow, "brick", "QkvProjection")["verdict"], "slower");
    let wall = slow["totals"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["what"] == "wall")
        .unwrap();
    assert_eq!(wall["verdict"], "slower");
}

#[test]
fn what_cannot_be_compared_is_said_and_has_its_own_exit_code() {
    let dir = Dir::new();
    let base = bricks(&dir, "a.run", 60, 100_000, "host");
    let few = bricks(&dir, "few.run", 5, 200_000, "host");
    compare(&dir, &[&base, &few, "--single", "--fail-on", "slower"])
        .exits(3)
        .stderr_has("nothing could be compared")
        .stdout_has("too few samples");
    let bound = bricks(&dir, "bound.run", 60, 200_000, "bound");
    compare(&dir, &[&base, &bound])
        .exits(3)
        .stdout_has("bound to a wait");
    let empty = dir.join("empty.run");
    Made::new(&empty).finish(1000);
    compare(&dir, &[&base, empty.to_str().unwrap()])
        .exits(3)
        .stdout_has("gone");
    compare(&dir, &[&base, "nothing.run"])
        .exits(2)
        .stderr_has("nothing.run");
    compare(&dir, &[&base]).exits(2).stderr_has("RUN");
    compare(&dir, &[&base, &few, "--threshold", "x"])
        .exits(2)
        .stderr_has("--threshold");
    // Without the plugin of the critical path the rest is compared.
    dir.command(&["compare", "--no-default-plugins", &base, &base])
        .exits(0)
        .stderr_has("the critical path is not compared");
}

#[test]
fn of_many_rows_a_part_is_looked_at_and_said() {
    let dir = Dir::new();
    let base = bricks(&dir, "a.run", 300, 100_000, "host");
    let slower = bricks(&dir, "b.run", 300, 120_000, "host");
    let page = compare(
        &dir,
        &[
            &base,
            &slower,
            "--samples",
            "100",
            "--single",
            "--fail-on",
            "slower",
        ],
    )
    .exits(1);
    let text = page.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("more than 100 rows in a run: as many, drawn from all"),
        "{text}"
    );
    assert!(text.contains("100+100"), "{text}");
}
