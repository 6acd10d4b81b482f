//! Dumps of PyTorch's Flight Recorder as a user opens them: a folder with a file for each rank of a job that hangs.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Dir, section};

const BEGAN_NS: i64 = 1_724_779_239_000_000_000;

fn entry(number: i64, is_completed: bool) -> Value {
    let created_ns = BEGAN_NS + number * 1_000_000_000;
    json!({
        "record_id": number,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": created_ns,
        "input_sizes": [[3, 4]],
        "input_dtypes": ["Float"],
        "output_sizes": [[3, 4]],
        "output_dtypes": ["Float"],
        "state": if is_completed { "completed" } else { "scheduled" },
        "time_discovered_started_ns": null,
        "time_discovered_completed_ns": is_completed.then_some(created_ns + 1_000_000),
        "retired": is_completed,
        "timeout_ms": 600_000,
        "is_p2p": false,
        "frames": [{"name": "step", "filename": "/a/train.py", "line": 44}],
    })
}

/// A dump of each of three ranks: rank 1 does not come to the last collective, if they hang.
fn dumps(dir: &Dir, hang: bool) -> PathBuf {
    let folder = dir.join("dumps");
    fs::create_dir_all(&folder).unwrap();
    for rank in 0..3 {
        let last = if rank == 1 && hang { 4 } else { 5 };
        let entries: Vec<Value> = (1..=last).map(|n| entry(n, !hang || n < 5)).collect();
        let dump = json!({
            "version": "2.10",
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
            "pg_status": {"0": {"last_enqueued_collective": last, "last_started_collective": -1, "last_completed_collective": 4}},
            "entries": entries,
        });
        let file = folder.join(format!("nccl_trace_rank_{rank}"));
        fs::write(file, dump.to_string()).unwrap();
    }
    folder
}

#[test]
fn the_first_line_says_which_collective_hangs_and_who_is_missing() {
    let dir = Dir::new();
    let folder = dumps(&dir, true);
    let report = dir.report(&folder, &["--json", "-"]).exits(0).json();
    assert_eq!(
        report["headline"],
        "all_reduce number 5 of process group 0 (default_pg) did not complete: rank 1 never scheduled it, ranks 0, 2 wait"
    );
    let finding = &section(&report, "collectives")["findings"][0];
    assert_eq!(finding["code"], "incomplete_collective");
    // Nothing was timed, so nothing bounds the run.
    let text = report.to_string();
    assert!(!text.contains("bound by"), "{text}");
    let sql = "SELECT rank, COUNT(*) AS n FROM annotations WHERE name = 'nccl:all_reduce' GROUP BY rank ORDER BY rank";
    let done =
        dir.command_with_plugins(&["query", folder.to_str().unwrap(), sql, "--format", "json"]);
    let expected = json!([{"rank": 0, "n": 5}, {"rank": 1, "n": 4}, {"rank": 2, "n": 5}]);
    assert_eq!(done.exits(0).json(), expected);
}

#[test]
fn dumps_of_a_job_that_does_not_hang_say_so() {
    let dir = Dir::new();
    let folder = dumps(&dir, false);
    let report = dir.report(&folder, &["--json", "-"]).exits(0).json();
    let headline = "all 15 collectives in the dumps of 3 ranks completed";
    assert_eq!(report["headline"], headline);
}

#[test]
fn the_dump_of_one_rank_names_no_rank() {
    let dir = Dir::new();
    dumps(&dir, true);
    let file = dir.join("dumps/nccl_trace_rank_2");
    let report = dir.report(&file, &["--json", "-"]).exits(0).json();
    let headline = report["headline"].as_str().unwrap();
    assert!(
        headline.contains("did not complete: a rank waits"),
        "{headline}"
    );
}
