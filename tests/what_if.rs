//! Parts of a run, and predictions, as a user asks for them.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Dir, STANDARD, section};

fn dataset(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../datasets/decode/{name}.run"))
}

fn table<'a>(report: &'a Value, plugin: &str, name: &str) -> &'a Value {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let found = tables.iter().find(|table| table["name"] == name);
    found.unwrap_or_else(|| panic!("{plugin} has no table {name}"))
}

fn column<'a>(report: &'a Value, plugin: &str, name: &str, column: &str) -> Vec<&'a Value> {
    let table = table(report, plugin, name);
    let columns = table["columns"].as_array().unwrap();
    let at = columns.iter().position(|found| found["name"] == column);
    let rows = table["rows"].as_array().unwrap();
    rows.iter().map(|row| &row[at.unwrap()]).collect()
}

fn sum(values: &[&Value]) -> i64 {
    values.iter().map(|value| value.as_i64().unwrap()).sum()
}

fn json(dir: &Dir, run: &str, args: &[&str]) -> Value {
    let args = [args, &["--json", "-"]].concat();
    dir.report(&dataset(run), &args).exits(0).json()
}

#[test]
fn the_path_of_every_dataset_adds_up_to_its_wall() {
    let dir = Dir::new();
    for run in ["simd", "scalar", "simd_exp", "simd_slow"] {
        let report = json(&dir, run, &["--plugin-id", "critical_path"]);
        let wall_ns = report["run"]["wall_ns"].as_i64().unwrap();
        for name in ["path", "by_kind", "by_name", "by_category"] {
            let durations = column(&report, "critical_path", name, "dur_ns");
            assert_eq!(sum(&durations), wall_ns, "{run}: {name}");
        }
        // Iterations: each kind of piece, and all of them the iteration.
        let of = |name| column(&report, "critical_path", "by_iteration", name);
        let kinds = [
            "work_ns",
            "transfer_ns",
            "launch_delay_ns",
            "queue_ns",
            "sync_wait_ns",
            "gap_ns",
        ];
        let all: i64 = kinds.iter().map(|kind| sum(&of(kind))).sum();
        assert_eq!(all, sum(&of("dur_ns")), "{run}");
        assert_eq!(of("dur_ns").len(), 16, "{run}");
    }
}

#[test]
fn one_iteration_is_looked_at_alone() {
    let dir = Dir::new();
    let report = json(&dir, "simd", &["--window", "iteration=3"]);
    let window = &report["run"]["window"];
    assert_eq!(window["name"], "iteration 3");
    let looking: Vec<&str> = window["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|id| id.as_str())
        .collect();
    // It checks the whole recording.
    let expected: Vec<&str> = STANDARD
        .iter()
        .copied()
        .filter(|id| *id != "sanity")
        .collect();
    let mut sorted = looking;
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    let ns = window["until_ns"].as_i64().unwrap() - window["from_ns"].as_i64().unwrap();
    let path = column(&report, "critical_path", "path", "dur_ns");
    assert_eq!(sum(&path), ns);
    let starts = column(&report, "critical_path", "path", "start_ns");
    assert_eq!(starts[0], &window["from_ns"], "times stay those of the run");
    let lanes = column(&report, "category", "by_lane", "wall_ns");
    assert!(lanes.iter().all(|wall_ns| **wall_ns == ns));
    // The iteration has one interval of each brick of a layer, twice.
    let names = column(&report, "category", "by_brick", "name");
    let calls = column(&report, "category", "by_brick", "calls");
    let qkv = names
        .iter()
        .position(|name| **name == "QkvProjection")
        .unwrap();
    assert_eq!(calls[qkv], 2);
}

#[test]
fn times_choose_a_part_too() {
    let dir = Dir::new();
    let report = json(
        &dir,
        "simd",
        &[
            "--plugin-id",
            "critical_path",
            "--from",
            "2ms",
            "--to",
            "3500us",
        ],
    );
    assert_eq!(report["run"]["window"]["from_ns"], 2_000_000);
    let path = column(&report, "critical_path", "path", "dur_ns");
    assert_eq!(sum(&path), 1_500_000);
    dir.report(
        &dataset("simd"),
        &["--plugin-id", "critical_path", "--from", "2ms"],
    )
    .exits(0)
    .stdout_has("window    times: 2.000 ms to ")
    .stdout_has("critical_path is limited to");
}

#[test]
fn a_part_that_is_not_there_is_refused_with_what_there_is() {
    let dir = Dir::new();
    let run = dataset("simd");
    for (args, found) in [
        (
            &["--window", "iteration=99"][..],
            "its 16 iterations have the numbers 0 to 15",
        ),
        (&["--window", "id=7"], "no row has this id and times"),
        (
            &["--window", "layer=1"],
            "expected iteration=N, iteration=N..M or id=N",
        ),
        (&["--from", "3ms", "--to", "2ms"], "is empty"),
        (&["--from", "soon"], "expected a time with its unit"),
        (
            &["--window", "iteration=1", "--from", "1ms"],
            "cannot be used with",
        ),
    ] {
        dir.report(&run, args).exits(2).stderr_has(found);
    }
}

#[test]
fn a_prediction_stands_first_and_the_whole_adds_up() {
    let dir = Dir::new();
    let args = [
        "--plugin-id",
        "critical_path",
        "--what-if",
        "QkvProjection=0.5",
        "--what-if",
        "LmHead=0",
    ];
    let report = json(&dir, "simd", &args);
    let predicted = column(&report, "critical_path", "what_if", "predicted_ns");
    let gains = column(&report, "critical_path", "what_if", "gain_ns");
    let wall_ns = report["run"]["wall_ns"].as_i64().unwrap();
    assert_eq!(predicted.len(), 3, "each alone, and both");
    for (predicted, gain) in predicted.iter().zip(&gains) {
        assert_eq!(
            predicted.as_i64().unwrap() + gain.as_i64().unwrap(),
            wall_ns
        );
        assert!(gain.as_i64().unwrap() > 0);
    }
    // They have nothing to do with each other, and everything between them stays.
    let ns = |at: usize| gains[at].as_i64().unwrap();
    assert!((ns(0) + ns(1) - ns(2)).abs() <= wall_ns / 1000, "{gains:?}");
    let by_name = column(&report, "critical_path", "what_if_by_name", "dur_ns");
    assert_eq!(sum(&by_name), predicted[2].as_i64().unwrap());
    let page = dir.report(&dataset("simd"), &args).exits(0).stdout;
    let (first, second) = (page.find("what if\n"), page.find("by kind"));
    assert!(first.unwrap() < second.unwrap(), "{page}");
    assert!(
        page.lines().all(|line| line.chars().count() <= 80),
        "{page}"
    );
}

#[test]
fn rules_that_say_nothing_are_told() {
    let dir = Dir::new();
    let run = dataset("simd");
    dir.report(
        &run,
        &["--plugin-id", "critical_path", "--what-if", "Qkv=0.5"],
    )
    .exits(0)
    .stdout_has("`--what-if Qkv=0.5` matches nothing in this run")
    .stdout_has("QkvProjection");
}

/// An invalid rule is reported before any section is made and before the run is looked for.
#[test]
fn rules_that_are_none_are_refused_before_anything_is_read() {
    let dir = Dir::new();
    for (rule, why) in [
        ("QkvProjection", "what_if `QkvProjection`: there is no `=`"),
        (
            "QkvProjection=abc",
            "the value is neither a factor nor a time",
        ),
        (
            "QkvProjection=-1",
            "the value is neither a factor nor a time",
        ),
        ("=0.5", "nothing comes before the `=`"),
        ("id:x=1", "the id is not a whole number"),
    ] {
        for run in [dataset("simd"), dir.join("no.run")] {
            let done = dir
                .report(&run, &["--what-if", "LmHead=0.5", "--what-if", rule])
                .exits(2)
                .stderr_has(why)
                .stderr_has("expected TARGET=VALUE");
            assert_eq!(done.stdout, "");
        }
    }
    dir.report(
        &dataset("simd"),
        &["--what-if", "LmHead=0", "--skip", "critical_path"],
    )
    .exits(2)
    .stderr_has("--skip critical_path leaves it out");
}

#[test]
fn values_of_another_type_are_refused_before_anything_is_read() {
    let dir = Dir::new();
    for (setting, why) in [
        (
            "critical_path.path_rows=many",
            "critical_path: an option is wrong: option `path_rows`: ",
        ),
        (
            "roofline.nominal=3",
            "roofline: an option is wrong: option `nominal`: ",
        ),
        (
            "roofline.memory=ram",
            "roofline: an option is wrong: memory `ram` is not a level of memory",
        ),
    ] {
        let done = dir
            .report(&dir.join("no.run"), &["--set", setting])
            .exits(2)
            .stderr_has(why);
        assert_eq!(done.stdout, "");
    }
}

/// The slow run was recorded like the plain one, but does the work of one brick several times.
#[test]
fn what_was_slowed_down_on_purpose_is_predicted_back() {
    let dir = Dir::new();
    let argv = |run: &str| -> Vec<String> {
        let info = dir
            .command(&["info", dataset(run).to_str().unwrap(), "--json"])
            .exits(0)
            .json();
        let argv = info["program"]["argv"].as_array().unwrap();
        argv.iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect()
    };
    let slow = argv("simd_slow");
    let at = slow.iter().position(|word| word == "--slow").unwrap();
    let (brick, factor) = slow[at + 1].split_once('=').unwrap();
    let factor: f64 = factor.parse().unwrap();
    let report = json(
        &dir,
        "simd_slow",
        &[
            "--plugin-id",
            "critical_path",
            "--what-if",
            &format!("{brick}={}", 1.0 / factor),
        ],
    );
    let predicted = column(&report, "critical_path", "what_if", "predicted_ns")[0]
        .as_i64()
        .unwrap();
    // Recorded times: nothing here depends on the machine that runs the test.
    let plain_ns = json(&dir, "simd", &["--plugin-id", "sanity"])["run"]["wall_ns"]
        .as_i64()
        .unwrap();
    let error = (predicted - plain_ns) as f64 / plain_ns as f64;
    eprintln!(
        "{brick} x {factor}: predicted {predicted} ns, recorded {plain_ns} ns, {:+.1} %",
        100.0 * error
    );
    assert!(error.abs() <= 0.05, "{error}");
}
