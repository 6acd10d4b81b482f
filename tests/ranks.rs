//! Several ranks of one job under one folder: every verb takes the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Dir, change_json, copy, section};

/// Two recordings put together as ranks by hand. The second begins `later_ns` after the first.
fn laid(dir: &Dir, numbers: [u32; 2], later_ns: i64) -> PathBuf {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode");
    let job = dir.join("job.run");
    let recordings = ["simd.run", "scalar.run"];
    for ((name, number), offset_ns) in recordings.iter().zip(numbers).zip([0, later_ns]) {
        let rank = job.join(format!("rank={number}"));
        copy(&datasets.join(name), &rank);
        change_json(&rank.join("run.json"), |run| {
            let origin_ns = 1_700_000_000_000_000_000 + offset_ns;
            run["clock"]["origin_realtime_ns"] = origin_ns.into();
        });
    }
    job
}

fn ask(dir: &Dir, run: &Path, sql: &str) -> Vec<Value> {
    let args = ["query", run.to_str().unwrap(), sql, "--format", "json"];
    let rows = dir.command(&args).exits(0).json();
    rows.as_array().unwrap().clone()
}

fn table<'a>(report: &'a Value, plugin: &str, table: &str) -> &'a Vec<Value> {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let found = tables.iter().find(|found| found["name"] == table);
    found.unwrap()["rows"].as_array().unwrap()
}

fn codes(report: &Value) -> BTreeSet<&str> {
    let problems = report["problems"].as_array().unwrap();
    problems
        .iter()
        .map(|p| p["code"].as_str().unwrap())
        .collect()
}

const LATER_NS: i64 = 1_000_000;

#[test]
fn sums_by_lane_are_those_of_the_ranks_alone() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], LATER_NS);
    let report = |run: &Path| dir.report(run, &["--json", "-"]).exits(0).json();
    let whole = report(&job);
    assert_eq!(whole["run"]["complete"], true, "{:#}", whole["problems"]);
    assert_eq!(codes(&whole), BTreeSet::new());
    let mut expected = BTreeMap::new();
    let mut calls: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
    let mut end_ns = 0;
    for (rank, offset_ns) in [(0, 0), (1, LATER_NS)] {
        let alone = report(&job.join(format!("rank={rank}")));
        for lane in table(&alone, "category", "by_lane") {
            let name = format!("rank {rank} {}", lane[0].as_str().unwrap());
            let sums = (lane[2].clone(), lane[3].clone());
            assert_eq!(expected.insert(name, sums), None, "each lane once");
        }
        for row in table(&alone, "category", "by_category") {
            let text = |at: usize| row[at].as_str().unwrap().to_owned();
            let sum = calls.entry((text(0), text(1))).or_default();
            *sum = (
                sum.0 + row[2].as_i64().unwrap_or(0),
                sum.1 + row[3].as_i64().unwrap(),
            );
        }
        end_ns = end_ns.max(offset_ns + alone["run"]["wall_ns"].as_i64().unwrap());
    }
    let found: BTreeMap<String, (Value, Value)> = table(&whole, "category", "by_lane")
        .iter()
        .map(|lane| {
            (
                lane[0].as_str().unwrap().to_owned(),
                (lane[2].clone(), lane[3].clone()),
            )
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(whole["run"]["wall_ns"], end_ns);
    for row in table(&whole, "category", "by_category") {
        let text = |at: usize| row[at].as_str().unwrap().to_owned();
        // What is no category has no calls.
        if !row[2].is_null() {
            let expected = calls[&(text(0), text(1))];
            let found = (row[2].as_i64().unwrap(), row[3].as_i64().unwrap());
            assert_eq!(found, expected, "{row}");
        }
    }
    let pieces = table(&whole, "critical_path", "by_kind").iter();
    let path_ns: i64 = pieces.map(|row| row[1].as_i64().unwrap()).sum();
    assert_eq!(
        path_ns, end_ns,
        "the critical path adds up to the window of the whole"
    );
    for check in table(&whole, "sanity", "checks") {
        assert_ne!(check[1], "fail", "{check}");
    }
    dir.report(&job, &[])
        .exits(0)
        .stdout_has(
            "ranks     0, 1; aligned by the wall clocks of their hosts; the last began 1 ms",
        )
        .stdout_has("after the first");
}

#[test]
fn ids_links_and_times_of_ranks_stay_apart() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], LATER_NS);
    for name in [
        "bricks",
        "kernels",
        "tiles",
        "edges",
        "checksums",
        "threads",
        "clock_pairs",
    ] {
        let sql = format!("SELECT COUNT(*) AS n FROM {name}");
        let rows = |run: &Path| ask(&dir, run, &sql)[0]["n"].as_u64().unwrap();
        let alone = rows(&job.join("rank=0")) + rows(&job.join("rank=1"));
        assert_eq!(rows(&job), alone, "{name}");
        let by_rank = ask(
            &dir,
            &job,
            &format!("SELECT DISTINCT rank FROM {name} ORDER BY rank"),
        );
        assert_eq!(by_rank, [json!({"rank": 0}), json!({"rank": 1})], "{name}");
    }
    // Every row of the second rank, moved back, is that of its own run.
    let columns = "id, parent, thread, start_ns, dur_ns, name, layer";
    let alone = ask(
        &dir,
        &job.join("rank=1"),
        &format!("SELECT {columns} FROM bricks ORDER BY id"),
    );
    let moved = format!("SELECT {columns} FROM bricks WHERE rank = 1 ORDER BY id");
    let back = |row: &Value, column: &str, by: i64| match row[column].as_i64() {
        Some(value) => json!(value - by),
        None => Value::Null,
    };
    let moved: Vec<Value> = ask(&dir, &job, &moved)
        .iter()
        .map(|row| {
            let mut row = row.clone();
            for (column, by) in [
                ("id", 1_i64 << 48),
                ("parent", 1 << 48),
                ("thread", 1 << 16),
                ("start_ns", LATER_NS),
            ] {
                row[column] = back(&row, column, by);
            }
            row
        })
        .collect();
    assert_eq!(moved, alone);
    // Parents, dependencies and threads are found in their own rank, all of them.
    for (sql, what) in [
        (
            "SELECT COUNT(*) AS n FROM bricks b JOIN bricks p ON b.parent = p.id WHERE b.rank <> p.rank",
            0,
        ),
        (
            "SELECT COUNT(*) AS n FROM edges e JOIN bricks b ON e.\"to\" = b.id WHERE e.rank <> b.rank",
            0,
        ),
        (
            "SELECT COUNT(*) AS n FROM kernels k JOIN threads t ON k.thread = t.thread WHERE k.rank <> t.rank",
            0,
        ),
    ] {
        assert_eq!(ask(&dir, &job, sql), [json!({"n": what})], "{sql}");
    }
    let orphans = "SELECT COUNT(*) AS n FROM kernels k LEFT JOIN bricks b ON k.brick = b.id \
                   WHERE b.id IS NULL AND k.brick IS NOT NULL";
    assert_eq!(ask(&dir, &job, orphans), [json!({"n": 0})]);
}

#[test]
fn every_verb_takes_the_whole() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], LATER_NS);
    let run = job.to_str().unwrap();
    dir.command(&["info", run])
        .exits(0)
        .stdout_has("rank  offset_ns")
        .stdout_has("1000000")
        .stdout_has("finished, complete");
    let info = dir.command(&["info", run, "--json"]).exits(0).json();
    assert_eq!(info["ranks"][1]["offset_ns"], LATER_NS);
    dir.command(&["tables", run, "kernels"])
        .exits(0)
        .stdout_has("its rank: that of its folder")
        .stdout_has("the rank in the bits above");
    let tables = dir.command(&["tables", run, "--json"]).exits(0).json();
    let ranks = tables
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == "ranks");
    assert_eq!(ranks.unwrap()["rows"], 2);
    let segments = ask(
        &dir,
        &job,
        "SELECT segment FROM segments WHERE rank = 1 AND \"table\" = 'bricks'",
    );
    assert_eq!(segments, [json!({"segment": "rank=1/bricks/000000.arrow"})]);
    assert_eq!(
        ask(
            &dir,
            &job,
            "SELECT rank, offset_ns FROM ranks ORDER BY rank"
        ),
        [
            json!({"rank": 0, "offset_ns": 0}),
            json!({"rank": 1, "offset_ns": LATER_NS})
        ]
    );

    let chrome = dir
        .command(&["export", "chrome", run, "-o", "-"])
        .exits(0)
        .json();
    let spans = chrome["traceEvents"].as_array().unwrap();
    let rows = |pids: &dyn Fn(u64) -> bool| {
        let of =
            |e: &&Value| e["ph"] == "X" && e["cat"] == "bricks" && pids(e["pid"].as_u64().unwrap());
        spans.iter().filter(of).count() as u64
    };
    for rank in [0, 1] {
        let sql = format!("SELECT COUNT(*) AS n FROM bricks WHERE rank = {rank}");
        let expected = ask(&dir, &job, &sql)[0]["n"].as_u64().unwrap();
        assert_eq!(rows(&|pid| pid >> 16 == rank), expected);
    }
    let folded = dir
        .command(&["export", "folded", run, "-o", "-"])
        .exits(0)
        .stdout;
    let sum = |text: &str| -> i64 {
        text.lines()
            .map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap())
            .sum()
    };
    let alone = |rank: u32| {
        let rank = job.join(format!("rank={rank}"));
        sum(&dir
            .command(&["export", "folded", rank.to_str().unwrap(), "-o", "-"])
            .exits(0)
            .stdout)
    };
    assert_eq!(sum(&folded), alone(0) + alone(1));
    assert!(folded.contains("rank 1"), "lanes say their rank");
    dir.command(&["export", "otlp", run, "-o", "out.json"])
        .exits(0);
    dir.command(&["export", "flamegraph", run, "-o", "out.svg"])
        .exits(0);
    let rules = dir.command(&["categories"]).exits(0).stdout;
    fs::write(dir.join("rules.toml"), rules).unwrap();
    dir.report(
        &job,
        &["--categories", "rules.toml", "--plugin-id", "category"],
    )
    .exits(0);
    // It is put in order rank by rank.
    dir.command(&["recover", run]).exits(2).stderr_has("rank=0");
}

#[test]
fn the_same_ranks_give_the_same_bytes() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], LATER_NS);
    let report = || dir.report(&job, &["--json", "-"]).exits(0).stdout;
    assert!(report() == report());
}

#[test]
fn a_missing_rank_is_named() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 2], LATER_NS);
    let report = dir.report(&job, &["--json", "-"]).exits(0).json();
    assert_eq!(report["run"]["complete"], false);
    assert_eq!(codes(&report), BTreeSet::from(["rank_missing"]));
    dir.report(&job, &[])
        .exits(0)
        .stdout_has("rank 1 of the run is missing");
    dir.report(&job, &["--fail-on", "warning"])
        .exits(1)
        .stdout_has("the job is not complete");
    // A list in a run.json of the whole names those that come last, too.
    fs::write(job.join("run.json"), "{\"ranks\": [0, 1, 2, 3]}").unwrap();
    dir.report(&job, &[])
        .exits(0)
        .stdout_has("ranks 1, 3 of the run are missing");
}

#[test]
fn damage_of_one_rank_stays_in_it() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], LATER_NS);
    let bricks = |rank: u32| {
        let sql = format!("SELECT COUNT(*) AS n FROM bricks WHERE rank = {rank}");
        ask(&dir, &job, &sql)[0]["n"].as_u64().unwrap()
    };
    let before = (bricks(0), bricks(1));
    let run_json = job.join("rank=1/run.json");
    let whole = fs::read(&run_json).unwrap();

    // Its times have no place, its rows are there.
    fs::write(&run_json, "{ broken").unwrap();
    let report = dir.report(&job, &["--json", "-"]).exits(0).json();
    assert_eq!(
        codes(&report),
        BTreeSet::from(["rank_not_aligned", "run_json_damaged"])
    );
    assert_eq!(
        (report["run"]["complete"].clone(), (bricks(0), bricks(1))),
        (json!(false), before)
    );
    dir.report(&job, &[])
        .exits(0)
        .stdout_has("rank 1: run.json is damaged");

    // A version that cannot be read loses the rank, and no other.
    fs::write(&run_json, &whole).unwrap();
    change_json(&run_json, |run| run["format"]["major"] = 9.into());
    let report = dir.report(&job, &["--json", "-"]).exits(0).json();
    assert_eq!(codes(&report), BTreeSet::from(["rank_lost"]));
    assert_eq!((bricks(0), bricks(1)), (before.0, 0));
    change_json(&job.join("rank=0/run.json"), |run| {
        run["format"]["major"] = 9.into()
    });
    dir.command(&["info", job.to_str().unwrap()])
        .exits(2)
        .stderr_has("use a newer");

    // A segment that is cut.
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], LATER_NS);
    fs::write(job.join("rank=1/bricks/000000.arrow"), "").unwrap();
    let report = dir.report(&job, &["--json", "-"]).exits(0).json();
    assert!(codes(&report).contains("rows_lost"), "{:?}", codes(&report));
    let sql = "SELECT DISTINCT rank FROM problems WHERE code = 'rows_lost'";
    assert_eq!(ask(&dir, &job, sql), [json!({"rank": 1})]);
}

#[test]
fn doubtful_folders_are_said_and_not_guessed() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], 3_600_000_000_000);
    let report = || {
        dir.report(&job, &["--json", "-", "--plugin-id", "category"])
            .exits(0)
            .json()
    };
    assert_eq!(codes(&report()), BTreeSet::from(["ranks_apart"]));
    // No wall clock at all: all at the start.
    for rank in [0, 1] {
        change_json(&job.join(format!("rank={rank}/run.json")), |run| {
            run["clock"]["origin_realtime_ns"] = 0.into();
        });
    }
    assert_eq!(codes(&report()), BTreeSet::from(["rank_not_aligned"]));
    dir.report(&job, &[])
        .exits(0)
        .stdout_has("aligned at their starts");
    fs::create_dir_all(job.join("rank=x")).unwrap();
    copy(&job.join("rank=1"), &job.join("rank=01"));
    assert_eq!(
        codes(&report()),
        BTreeSet::from(["rank_not_aligned", "rank_unknown", "rank_twice"])
    );
    // A run of its own beside them.
    fs::copy(job.join("rank=0/run.json"), job.join("run.json")).unwrap();
    dir.command(&["info", job.to_str().unwrap()])
        .exits(0)
        .stdout_has("the run has tables of its own");
    fs::create_dir_all(dir.join("none.run/rank=0")).unwrap();
    dir.command(&["info", "none.run"])
        .exits(2)
        .stderr_has("not a run directory");
}

/// A Kineto trace of one rank, with a kernel on device 0 and its launch. All ranks use the same ids.
fn trace(rank: Option<u32>, world_size: u32, base_ns: i64, kernel_us: f64) -> String {
    let event = |cat: &str, name: &str, tid: u64, ts: f64, dur: f64, args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args});
    let mut trace = json!({
        "schemaVersion": 1,
        "baseTimeNanoseconds": base_ns,
        "traceEvents": [
            event("cpu_op", "aten::mm", 1, 200.0, 300.5, json!({"External id": 5})),
            event("cuda_runtime", "cudaLaunchKernel", 1, 250.0, 10.0, json!({"correlation": 7})),
            event("kernel", "sgemm<float>", 7, 400.25, kernel_us, json!({"correlation": 7, "device": 0, "stream": 7, "grid": [4, 2, 1], "block": [128, 1, 1]})),
        ],
    });
    if let Some(rank) = rank {
        trace["distributedInfo"] =
            json!({"backend": "nccl", "rank": rank, "world_size": world_size});
    }
    trace.to_string()
}

#[test]
fn files_of_one_job_become_its_ranks() {
    let dir = Dir::new();
    let second_ns = 1_700_000_000_000_000_000;
    fs::write(
        dir.join("a.json"),
        trace(Some(1), 2, second_ns + 5_000, 80.0),
    )
    .unwrap();
    fs::write(dir.join("b.json"), trace(Some(0), 2, second_ns, 90.0)).unwrap();
    dir.command(&["import", "a.json", "b.json", "-o", "job.run"])
        .exits(0)
        .stdout_has("a.json (kineto) converted to the run job.run/rank=1")
        .stdout_has("job.run holds these 2 ranks");
    let job = dir.join("job.run");
    // One launch a rank, by correlation, though both have the same one; and each its own stream.
    let sql = "SELECT k.rank AS rank, c.rank AS call_rank, k.dur_ns AS dur_ns FROM kernels k \
               JOIN calls c ON k.correlation = c.correlation ORDER BY rank";
    assert_eq!(
        ask(&dir, &job, sql),
        [
            json!({"rank": 0, "call_rank": 0, "dur_ns": 90_000}),
            json!({"rank": 1, "call_rank": 1, "dur_ns": 80_000}),
        ]
    );
    let report = dir.report(&job, &["--json", "-"]).exits(0).json();
    let lanes: Vec<&str> = table(&report, "category", "by_lane")
        .iter()
        .map(|lane| lane[0].as_str().unwrap())
        .collect();
    assert!(
        lanes.contains(&"rank 0 gpu0/stream 7") && lanes.contains(&"rank 1 gpu0/stream 7"),
        "{lanes:?}"
    );
    assert_eq!(
        ask(&dir, &job, "SELECT offset_ns FROM ranks ORDER BY rank")[1],
        json!({"offset_ns": 5_000})
    );
    for check in table(&report, "sanity", "checks") {
        assert_ne!(check[1], "fail", "{check}");
    }
    // Replacing takes a flag, and the summary can be had as data.
    dir.command(&["import", "a.json", "b.json", "-o", "job.run"])
        .exits(2)
        .stderr_has("--overwrite");
    let summary = dir
        .command(&[
            "import",
            "a.json",
            "b.json",
            "-o",
            "job.run",
            "--overwrite",
            "--ranks",
            "3,5",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(summary["ranks"][0]["rank"], 3);
    assert_eq!(summary["ranks"][1]["file"], "b.json");
    assert!(job.join("rank=3").is_dir() && !job.join("rank=0").exists());
}

#[test]
fn files_that_contradict_each_other_are_refused_with_a_way_out() {
    let dir = Dir::new();
    fs::write(dir.join("a.json"), trace(Some(1), 2, 0, 80.0)).unwrap();
    fs::write(dir.join("b.json"), trace(Some(1), 2, 0, 90.0)).unwrap();
    fs::write(dir.join("c.json"), trace(Some(0), 4, 0, 90.0)).unwrap();
    fs::write(dir.join("d.json"), trace(None, 0, 0, 90.0)).unwrap();
    fs::write(dir.join("cut.json"), "{\"traceEvents\": [").unwrap();
    for (args, word) in [
        (&["a.json", "b.json"][..], "both be rank 1"),
        (&["a.json", "c.json"], "a job of 2 ranks"),
        (&["a.json", "d.json"], "by its position"),
        (&["a.json", "d.json", "--ranks", "0"], "for 2 files"),
        (&["a.json", "d.json", "--ranks", "0,70000"], "70000"),
        (&["a.json", "missing.json"], "cannot be read"),
        (&["a.json", "cut.json"], "cut.json"),
    ] {
        let all = [&["import"], args, &["-o", "job.run"]].concat();
        dir.command(&all).exits(2).stderr_has(word);
        assert!(!dir.join("job.run").exists(), "{args:?}");
    }
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 5, "nothing is left behind: {left:?}");
    dir.command(&[
        "import", "a.json", "b.json", "-o", "job.run", "--ranks", "0,1",
    ])
    .exits(0);
    dir.command(&["import", "d.json", "d.json", "-o", "two.run"])
        .exits(0);
    assert!(dir.join("two.run/rank=0").is_dir() && dir.join("two.run/rank=1").is_dir());
    // A folder that is more than a run is not replaced.
    fs::write(dir.join("two.run/notes.txt"), "mine").unwrap();
    dir.command(&["import", "d.json", "d.json", "-o", "two.run", "--overwrite"])
        .exits(2)
        .stderr_has("do not belong to a run: notes.txt");
}

#[test]
fn ranks_are_exported_to_parquet_and_opened_from_there() {
    let dir = Dir::new();
    let job = laid(&dir, [0, 1], 0);
    let there = dir.join("job.parquet");
    let export = [
        "export",
        "parquet",
        job.to_str().unwrap(),
        "-o",
        there.to_str().unwrap(),
    ];
    dir.command(&export).exits(0);
    assert!(there.join("rank=1/bricks/000000.parquet").is_file());
    for sql in [
        "SELECT rank, COUNT(*) AS n, SUM(dur_ns) AS ns FROM bricks GROUP BY rank ORDER BY rank",
        "SELECT MIN(id) AS a, MAX(id) AS b, MIN(start_ns) AS c FROM kernels",
    ] {
        assert_eq!(ask(&dir, &job, sql), ask(&dir, &there, sql), "{sql}");
    }
}
