//! `compare`: runs against runs, as a user gets it.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Dir, Run, standard_plugins};
use trueno_testing::Made;

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

/// A run of `iterations`, each with one brick of about `ns` nanoseconds. Durations scatter by 2 %, the same in each
/// run.
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
fn one_sentence_says_how_much_and_how_sure() {
    let dir = Dir::new();
    let run = |name: &str, ns| bricks(&dir, name, 40, ns, "host");
    let quiet = |args: &[&str]| {
        let all: Vec<&str> = args.iter().chain(&["-q"]).copied().collect();
        let told = compare(&dir, &all).exits(0);
        assert_eq!(told.stderr, "");
        assert_eq!(told.stdout.lines().count(), 1, "{}", told.stdout);
        told.stdout
    };
    let (a, b) = (run("a1.run", 100_000), run("b1.run", 50_000));
    let one = quiet(&[&a, &b]);
    assert!(one.starts_with("step 300 µs → 150 µs, -50.0 % (±"), "{one}");
    assert!(one.contains("wall 16 ms → 8 ms"), "{one}");
    assert!(one.contains("within these two runs"), "{one}");

    let (a2, b2) = (run("a2.run", 101_000), run("b2.run", 50_200));
    let (a3, b3) = (run("a3.run", 99_000), run("b3.run", 50_400));
    let sides = [&a, &b, &b2, &b3, "--baseline", &a2, "--baseline", &a3];
    let several = quiet(&sides);
    assert!(
        several.starts_with("step 300 µs → 151 µs, -49.8 % (±"),
        "{several}"
    );
    assert!(!several.contains("within these two runs"), "{several}");
    // It stands above all else, in each form.
    let page = compare(&dir, &sides).exits(0).stdout;
    assert!(page.starts_with("step 300 µs → 151 µs, -49.8 %"), "{page}");
    let json = compare(&dir, &[&a, &b, "--format", "json"]).exits(0).json();
    assert_eq!(json["headline"].as_str().unwrap(), one.trim_end());
    // One sentence is no verdict where runs of one side differ as much.
    let noisy = run("noisy.run", 60_000);
    let unsure = quiet(&[&a, &noisy, &b, "--baseline", &b2]);
    assert!(unsure.starts_with("step "), "{unsure}");
}

/// A Kineto trace with kernels of 100 µs by these names, one every `every_us` microseconds.
fn kernels(
    dir: &Dir,
    file: &str,
    gpu: &str,
    names: &[&str],
    every_us: f64,
    wall_us: f64,
) -> String {
    let mut events = Vec::new();
    let mut from = 0.0;
    while from + 100.0 < wall_us {
        for (at, name) in names.iter().enumerate() {
            let ts = from + every_us / names.len() as f64 * at as f64;
            events.push(serde_json::json!({
                "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": 10.0,
                "args": {"device": 0, "stream": 7}
            }));
        }
        from += every_us;
    }
    events.push(serde_json::json!({
        "ph": "X", "cat": "kernel", "name": names[0], "pid": 0, "tid": 7, "ts": wall_us - 10.0, "dur": 10.0,
        "args": {"device": 0, "stream": 7}
    }));
    let trace = serde_json::json!({
        "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": gpu}], "traceEvents": events
    });
    std::fs::write(dir.join(file), trace.to_string()).unwrap();
    file.to_owned()
}

#[test]
fn runs_that_cannot_be_compared_have_no_percent_in_the_headline() {
    let dir = Dir::new();
    let told_with = |code: i32, base: &str, run: &str| {
        let done = compare(&dir, &[base, run, "-q"]).exits(code);
        done.stdout.trim_end().to_owned()
    };
    let told = |base: &str, run: &str| told_with(0, base, run);
    let h100 = "NVIDIA H100 80GB HBM3";
    let conv = ["conv_a", "conv_b", "pool", "relu", "bn_fw"];
    let llm = ["flash_fwd", "gemm", "rms_norm", "rotary", "silu"];
    let resnet = kernels(&dir, "resnet.json", h100, &conv, 1_000.0, 100_000.0);
    let other = kernels(&dir, "llm.json", h100, &llm, 1_000.0, 800_000.0);
    let line = told_with(3, &resnet, &other);
    assert!(
        line.starts_with("two different programs? 0 of 5 names are in both"),
        "{line}"
    );
    assert!(!line.contains('%') && !line.contains('×'), "{line}");
    // Steps have the same name in all programs.
    let stepped = |of: &str, every_us: f64| {
        let mut trace: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(dir.join(of)).unwrap()).unwrap();
        let steps = (0..10).map(|step| {
            serde_json::json!({
                "ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{step}"), "pid": 1, "tid": 1,
                "ts": every_us * f64::from(step), "dur": every_us
            })
        });
        trace["traceEvents"].as_array_mut().unwrap().extend(steps);
        let file = format!("steps_{of}");
        std::fs::write(dir.join(&file), trace.to_string()).unwrap();
        file
    };
    let line = told(&stepped(&resnet, 9_000.0), &stepped(&other, 79_000.0));
    assert!(
        line.starts_with(
            "two different programs? 0 of 5 names are in both; step 9 ms and 79 ms, not compared"
        ),
        "{line}"
    );

    let a100 = kernels(
        &dir,
        "a100.json",
        "NVIDIA A100-SXM4-80GB",
        &conv,
        2_000.0,
        200_000.0,
    );
    let line = told(&a100, &resnet);
    assert!(
        line.starts_with(&format!("other GPU: NVIDIA A100-SXM4-80GB → {h100}; wall ")),
        "{line}"
    );

    // As long, with less work: a call takes longer.
    let fewer = kernels(&dir, "fewer.json", h100, &conv, 1_250.0, 100_000.0);
    let line = told(&resnet, &fewer);
    assert!(
        line.starts_with("windows of equal length with unequal work: 10"),
        "{line}"
    );
    assert!(line.contains("+2"), "{line}");

    let long = kernels(
        &dir,
        "long.json",
        h100,
        &conv,
        1_000.0,
        57_000_000.0 / 100.0,
    );
    let line = told(&resnet, &long);
    assert!(line.contains(", +470 %") || line.contains("+4"), "{line}");
}

#[test]
fn runs_that_take_the_same_time_have_no_part_that_explains_it() {
    let dir = Dir::new();
    let trace = |file: &str, first_us: f64| {
        let span = |name: &str, from_us: f64, until_us: f64| {
            serde_json::json!({
                "ph": "X", "name": name, "pid": 1, "tid": 1, "ts": from_us, "dur": until_us - from_us
            })
        };
        // The second is 200 ns longer.
        let end_us = 100_000.0 + first_us / 100_000.0;
        let events = [
            span("decode", 0.0, first_us),
            span("encode", first_us, end_us),
        ];
        let text = serde_json::json!({ "traceEvents": events }).to_string();
        std::fs::write(dir.join(file), text).unwrap();
        file.to_owned()
    };
    let (base, run) = (trace("a.json", 20_000.0), trace("b.json", 40_000.0));
    // One span of a name a side: nothing is judged.
    let line = compare(&dir, &[&base, &run, "-q"]).exits(3).stdout;
    assert!(line.contains("+0.0 %"), "{line}");
    assert!(
        !line.contains("mostly") && !line.contains("largest part"),
        "{line}"
    );
}

#[test]
fn runs_of_memory_alone_are_compared_by_its_peak() {
    let dir = Dir::new();
    let trace = |file: &str, before: i64| {
        let mut total = before;
        let events = [1_000_000, 500_000, -500_000, -1_000_000]
            .into_iter()
            .zip(1..);
        let events = events.map(|(bytes, ts)| {
            total += bytes;
            let address = if bytes % 1_000_000 == 0 { 4_096 } else { 8_192 };
            serde_json::json!({
                "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 * ts,
                "args": {
                    "Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": bytes, "Total Allocated": total,
                    "Total Reserved": 20_000_000
                }
            })
        });
        let events: Vec<Value> = events.collect();
        let text = serde_json::json!({"schemaVersion": 1, "traceEvents": events}).to_string();
        std::fs::write(dir.join(file), text).unwrap();
        file.to_owned()
    };
    let (base, run) = (trace("a.json", 8_000_000), trace("b.json", 2_000_000));
    compare(&dir, &[&base, &run, "-q"]).exits(3).stdout_starts(
        "memory peak on gpu0 9.50 MB → 3.50 MB, -63.2 %; only memory was recorded, no work",
    );
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
        .stdout_has("one run per side")
        .stderr_has("at least 3 runs per side");
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

/// A run of one thread with as many samples of each function.
fn functions(dir: &Dir, name: &str, event: &str, functions: &[(&str, i64)]) -> String {
    const MS: i64 = 1_000_000;
    let path = dir.join(name);
    let mut made = Made::new(&path);
    made.row("threads", &[("thread", 0.into()), ("name", "main".into())]);
    let mut at = 0;
    for (stack, (function, samples)) in functions.iter().enumerate() {
        let row = [
            ("id", (stack as i64 + 1).into()),
            ("function", (*function).into()),
            ("module", "/bin/a".into()),
        ];
        made.row("stacks", &row);
        for _ in 0..*samples {
            at += 1;
            let row = [
                ("time_ns", (at * MS).into()),
                ("thread", 0.into()),
                ("stack", (stack as i64 + 1).into()),
                ("event", event.into()),
                ("period", MS.into()),
            ];
            made.row("samples", &row);
        }
    }
    let wait = [
        ("id", 1.into()),
        ("kind", "runnable".into()),
        ("thread", 0.into()),
        ("start_ns", 0.into()),
        ("dur_ns", MS.into()),
    ];
    made.row("syncs", &wait);
    made.finish((at + 1) * MS);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn sampled_runs_are_compared_by_function() {
    let dir = Dir::new();
    for (event, headline, columns) in [
        (
            "cpu-clock",
            "CPU time in `parse` +150 ms, by samples",
            "100 ms  250 ms  +150 ms",
        ),
        (
            "cycles",
            "samples in `parse` +16.5 points, by samples",
            "16.7 %  33.2 %  +16.5 points",
        ),
    ] {
        let made = |name: &str, samples: [i64; 3]| {
            let [render, parse, write] = samples;
            let samples = [("render", render), ("parse", parse), ("write", write)];
            functions(&dir, name, event, &samples)
        };
        let base = made("base.run", [400, 100, 100]);
        let run = made("run.run", [403, 250, 100]);
        compare(&dir, &[&base, &run]).exits(0).stdout_has(columns);
        let json = compare(&dir, &[&base, &run, "--format", "json"])
            .exits(0)
            .json();
        let sentence = json["headline"].as_str().unwrap();
        assert!(sentence.ends_with(headline), "{sentence}");
        let rows = json["functions"]["rows"].as_array().unwrap();
        let certain = |name: &str| {
            let mut rows = rows.iter();
            rows.find(|row| row["function"] == name).unwrap()["is_certain"].clone()
        };
        assert_eq!(certain("parse"), true);
        assert!(json["operators"].is_null(), "{}", json["operators"]);
        if event == "cpu-clock" {
            assert_eq!(certain("render"), false);
        }
        for path in [base, run] {
            std::fs::remove_dir_all(path).unwrap();
        }
    }
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
        text.contains("more than 100 rows in a run; a random sample of that many was used"),
        "{text}"
    );
    assert!(text.contains("100+100"), "{text}");
}

#[test]
fn device_or_host_time_is_told_by_operator_with_the_largest_change_first() {
    let dir = Dir::new();
    let (base, slow) = (dataset("simd.run"), dataset("simd_slow.run"));
    let compared = |args: &[&str]| compare(&dir, &[args, &["--no-path"]].concat()).exits(0);
    let found = compared(&[&base, &slow, "--format", "json"]).json();
    let operators = &found["operators"];
    let rows = operators["rows"].as_array().unwrap();
    assert_eq!(
        rows[0]["path"],
        serde_json::json!(["main", "iteration", "layer", "DownProjection"])
    );
    // Twice 32 kernels more, which the base has not.
    let more = rows[0]["only_run"].as_array().unwrap();
    let more: u64 = more.iter().map(|one| one["calls"].as_u64().unwrap()).sum();
    assert_eq!(more, 64);
    assert_eq!(rows[0]["only_base"].as_array().unwrap().len(), 0);
    // Rows add up to the whole, and no operator is on both sides but once.
    for side in ["base_host_self_ns", "run_host_self_ns"] {
        let sum: f64 = rows.iter().map(|row| row[side].as_f64().unwrap()).sum();
        assert_eq!(sum, operators[side].as_f64().unwrap(), "{side}");
    }
    assert_eq!(operators["matched_iterations"], 16);
    let more = |side: &str| {
        let all = operators[side].as_u64().unwrap();
        all - operators["matched_operators"].as_u64().unwrap()
    };
    assert_eq!((more("base_operators"), more("run_operators")), (0, 64));
    // Both the same: nothing to show, and few samples are said to be few.
    let page = compared(&[&base, &base]).stdout;
    assert!(page.contains("Host time by operator"), "{page}");
    assert!(
        page.contains("1 run, 16 iterations per side, so variation"),
        "{page}"
    );
    assert!(!page.contains("What only one side has"), "{page}");
    let page = compared(&[&base, &slow, "--operators", "never"]).stdout;
    assert!(!page.contains("time by operator"), "{page}");
}

/// A run of one iteration with one kernel, on a device with these properties.
fn on_device(dir: &Dir, name: &str, kernel: &str, dur_ns: i64, values: &[(&str, &str)]) -> String {
    let path = dir.join(name);
    let values = values.iter();
    let run = trueno_format::run_json::RunJson {
        values: values
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..Default::default()
    };
    let mut made = Made::with_facts(&path, run);
    let times = |start: i64, dur: i64| [("start_ns", start.into()), ("dur_ns", dur.into())];
    let step_name = format!("ProfilerStep#{dur_ns}");
    let step = [
        ("id", 1.into()),
        ("kind", "iteration".into()),
        ("name", step_name.as_str().into()),
        ("iteration", 0.into()),
    ];
    made.row("bricks", &[&step[..], &times(0, 9_000)].concat());
    let operator = [
        ("id", 2.into()),
        ("kind", "brick".into()),
        ("name", "aten::mm".into()),
    ];
    made.row("bricks", &[&operator[..], &times(10, 5_000)].concat());
    let launched = [
        ("id", 3.into()),
        ("name", kernel.into()),
        ("brick", 2.into()),
        ("device", 0.into()),
        ("stream", 7.into()),
        ("timing", "device".into()),
    ];
    made.row("kernels", &[&launched[..], &times(100, dur_ns)].concat());
    made.finish(10_000);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn kernels_of_another_name_are_told_by_operator_and_devices_in_one_line() {
    let dir = Dir::new();
    let key = |name: &str| format!("trace.deviceProperties.0.{name}");
    let (name, sms) = (key("name"), key("numSms"));
    let base = [(name.as_str(), "A100"), (sms.as_str(), "108")];
    let base = on_device(&dir, "base.run", "gemm_a", 4_000, &base);
    let run = [(name.as_str(), "H100"), (sms.as_str(), "132")];
    let run = on_device(&dir, "run.run", "gemm_b", 3_000, &run);
    let page = |args: &[&str]| {
        let more = ["--no-path", "--width", "80", "--top", "3"];
        // One sample a side decides nothing.
        compare(&dir, &[&[base.as_str(), &run], args, &more].concat())
            .exits(3)
            .stdout
    };
    let short = page(&[]);
    let from = short.find("Device time by operator").expect("the table");
    let to = short.find("What is unclear").expect("the next table");
    let lines: Vec<&str> = short[from..to].trim_end().lines().collect();
    assert_eq!(
        lines,
        [
            "Device time by operator",
            "  device time 4 µs → 3 µs, -25.0 %; 2 operators on both sides, 0 only in the",
            "  base, 0 only in the run",
            "  largest differences first; 1 run, 1 iteration per side, so variation between",
            "  runs is not known and this is not a verdict",
            "  operator  in                   calls  base   run  change  of base    host self",
            "  aten::mm  thread / …lerStep#*      1  4 µs  3 µs   -1 µs  -25.0 %  5 µs → 5 µs",
            "",
            "What only one side has, by operator",
            "  operators with everything below them, and kernel names; the table above counts",
            "  both for the operator around them",
            "  side  kind    name    in                              calls  device  host self",
            "  base  kernel  gemm_a  thread / Profil…p#* / aten::mm      1    4 µs          –",
            "  run   kernel  gemm_b  thread / Profil…p#* / aten::mm      1    3 µs          –",
        ]
    );
    let devices = short.lines().find(|line| line.contains("devices  "));
    let devices: Vec<&str> = devices.expect("a line").split_whitespace().collect();
    assert_eq!(devices, ["devices", "differs", "0:", "A100", "0:", "H100"]);
    assert!(
        !short.contains("numSms") && short.contains("-v lists them"),
        "{short}"
    );
    let full = page(&["-v"]);
    assert!(
        full.contains("132") && !full.contains("-v lists them"),
        "{full}"
    );
}

/// A run of 30 calls of an operator on a device. Each launches these kernels one after the other.
fn matmuls(dir: &Dir, name: &str, device: &str, kernels: &[(&str, i64)]) -> String {
    let path = dir.join(name);
    let run = trueno_format::run_json::RunJson {
        values: [(
            "trace.deviceProperties.0.name".to_owned(),
            device.to_owned(),
        )]
        .into(),
        ..Default::default()
    };
    let mut made = Made::with_facts(&path, run);
    made.row(
        "signatures",
        &[
            ("id", 0.into()),
            ("input_dims", "[[64,128],[128,32]]".into()),
        ],
    );
    for call in 0..30_i64 {
        let (id, start) = (call * 10, call * 100_000);
        let operator = [
            ("id", (id + 1).into()),
            ("kind", "brick".into()),
            ("name", "aten::mm".into()),
            ("signature", 0.into()),
            ("start_ns", start.into()),
            ("dur_ns", 5_000.into()),
        ];
        made.row("bricks", &operator);
        let mut at = start + 6_000;
        for (nth, (kernel, dur_ns)) in (2..).zip(kernels) {
            let dur_ns = dur_ns + call % 7;
            let launched = [
                ("id", (id + nth).into()),
                ("name", (*kernel).into()),
                ("brick", (id + 1).into()),
                ("device", 0.into()),
                ("stream", 7.into()),
                ("timing", "device".into()),
                ("start_ns", at.into()),
                ("dur_ns", dur_ns.into()),
            ];
            made.row("kernels", &launched);
            at += dur_ns;
        }
    }
    made.finish(3_000_000);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn kernels_of_other_vendors_are_compared_by_operator_and_shapes() {
    let dir = Dir::new();
    let one = [("ampere_sgemm_128x64", 8_000)];
    let two = [("Cijk_Ailk_Bljk", 5_000), ("Cijk_reduce", 1_000)];
    let base = matmuls(&dir, "base.run", "NVIDIA A100-SXM4-80GB", &one);
    let run = matmuls(&dir, "run.run", "AMD Instinct MI300X", &two);
    let found = compare(&dir, &[&base, &run, "--no-path", "--format", "json"])
        .exits(0)
        .json();
    let row = name(&found, "device_kernel", "aten::mm (64×128, 128×32)");
    assert_eq!(row["base_median_ns"], 8_003.0, "{row:#}");
    assert_eq!(row["run_median_ns"], 6_006.0, "{row:#}");
    assert_eq!(row["verdict"], "faster", "{row:#}");
    assert_eq!(found["counts"], serde_json::json!([]), "{found:#}");
    let said = found["comparability"].as_array().unwrap();
    let said = said.iter().find(|aspect| {
        let aspect = aspect["aspect"].as_str().unwrap();
        aspect.contains("by operator and shapes")
    });
    let said = said.expect("the vendors");
    assert_eq!([&said["base"], &said["run"]], ["NVIDIA", "AMD"]);
    // Devices of one vendor: kernels keep their names.
    let other = matmuls(&dir, "other.run", "NVIDIA H100 80GB HBM3", &one);
    let found = compare(&dir, &[&base, &other, "--no-path", "--format", "json"])
        .exits(0)
        .json();
    name(&found, "device_kernel", "ampere_sgemm_128x64");
}

/// Two results of a profiler that records only sums.
#[test]
fn sums_that_a_run_was_given_stand_beside_each_other() {
    let dir = Dir::new();
    let bricks = |norm_ns: u64| {
        format!(
            r#"{{"total_tokens":8,"total_ns":{norm_ns},"total_throughput":1.0,"bricks":[
{{"name":"RmsNorm","count":4,"total_ns":{norm_ns},"avg_us":25.10,"min_us":24.00,"max_us":26.19,"throughput":163210009.4,
"pct":100.0,"total_bytes":0,"compression_ratio":1.00,"throughput_gbps":0.00,"bottleneck":"unknown"}}]}}"#
        )
    };
    for (name, norm_ns) in [("base", 100_000), ("run", 50_000)] {
        let file = format!("{name}.json");
        std::fs::write(dir.join(&file), bricks(norm_ns)).unwrap();
        dir.command(&["import", &file, "-o", &format!("{name}.run")])
            .exits(0);
    }
    let told = compare(&dir, &["base.run", "run.run"]).exits(3);
    let line = told
        .stdout
        .lines()
        .find(|line| line.contains("sum: RmsNorm total_time"));
    let words: Vec<&str> = line.expect("the sum").split_whitespace().collect();
    assert_eq!(
        words[..8],
        [
            "sum:",
            "RmsNorm",
            "total_time",
            "100",
            "µs",
            "50",
            "µs",
            "-50.0"
        ]
    );
}
