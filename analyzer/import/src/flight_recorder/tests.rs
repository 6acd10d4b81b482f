use serde_json::{Value, json};

use super::IMPORTER;
use crate::pickle::tests::pickled;
use crate::read_back::{Imported, of_bytes, recognises};
use crate::{Error, Options};

/// The time of the first entry.
const BEGAN_NS: i64 = 1_724_779_239_000_000_000;

fn entry(sequence: i64, state: &str, completed_ms: Option<i64>) -> Value {
    json!({
        "frames": [
            {"name": "all_reduce", "filename": "/v/torch/distributed/distributed_c10d.py", "line": 2696},
            {"name": "step", "filename": "/a/train.py", "line": 44},
        ],
        "record_id": sequence,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": BEGAN_NS + (sequence - 1) * 1_000_000,
        "duration_ms": 0.25,
        "input_sizes": [[3, 4]],
        "input_dtypes": ["Float"],
        "output_sizes": [[3, 4]],
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": null,
        "time_discovered_completed_ns": completed_ms.map(|ms| BEGAN_NS + ms * 1_000_000),
        "retired": completed_ms.is_some(),
        "timeout_ms": 600_000,
        "is_p2p": false,
    })
}

fn dump() -> Value {
    json!({
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": {"last_enqueued_collective": 2, "last_started_collective": -1, "last_completed_collective": 1}},
        "entries": [entry(1, "completed", Some(3)), entry(2, "scheduled", None)],
    })
}

fn read(bytes: &[u8], partial: bool) -> Result<Imported, Error> {
    let options = Options {
        partial,
        ..Options::default()
    };
    of_bytes(&IMPORTER, bytes, &options)
}

const COLUMNS: &str = "kind name thread time_ns arguments";

fn expected() -> [String; 3] {
    let entry = |sequence: i64, state: &str, completed: &str, retired: bool| {
        format!(
            "{{\"collective_seq_id\":{sequence},\"p2p_seq_id\":0,\"op_id\":{sequence},\"record_id\":{sequence},\
             \"process_group\":\"0\",\"description\":\"default_pg\",\"is_p2p\":false,\"state\":\"{state}\",{completed}\
             \"duration_ms\":0.25,\"timeout_ms\":600000,\"retired\":{retired},\"input_sizes\":[[3,4]],\
             \"input_dtypes\":[\"Float\"],\"output_sizes\":[[3,4]],\"output_dtypes\":[\"Float\"],\
             \"place\":\"/a/train.py:44 step\"}}"
        )
    };
    let completed = "\"completed_after_ns\":3000000,";
    let group = "{\"process_group\":\"0\",\"description\":\"default_pg\",\"ranks\":[0,1],\"last_enqueued\":2,\"last_completed\":1}";
    [
        format!(
            "instant nccl:all_reduce 0 0 {}",
            entry(1, "completed", completed, true)
        ),
        format!(
            "instant nccl:all_reduce 0 1000000 {}",
            entry(2, "scheduled", "", false)
        ),
        format!("instant process group 0 3000000 {group}"),
    ]
}

#[test]
fn a_pickle_and_its_json_give_the_same_instants() {
    let mut of_pytorch = dump();
    // As `_dump_nccl_trace_json`: numbers of the status are texts, and an unknown time is 0. It has no frames.
    of_pytorch["pg_status"]["0"] = json!({
        "last_enqueued_collective": "2", "last_started_collective": "-1", "last_completed_collective": "1",
    });
    of_pytorch["entries"][1]["time_discovered_completed_ns"] = json!(0);
    for bytes in [
        pickled(&dump()),
        dump().to_string().into_bytes(),
        of_pytorch.to_string().into_bytes(),
    ] {
        assert!(recognises(&IMPORTER, &bytes));
        let run = read(&bytes, false).unwrap();
        assert_eq!(run.rows("annotations", COLUMNS), expected());
        // Nothing here was timed: neither work nor calls.
        for table in ["bricks", "kernels", "calls", "collectives"] {
            assert!(run.rows(table, "id").is_empty(), "{table}");
        }
        assert_eq!(run.run.clock.origin_realtime_ns, BEGAN_NS);
        assert_eq!(run.run.values["flight_recorder.version"], "2.10");
        assert_eq!(run.wall_ns, Some(3_000_000));
    }
}

#[test]
fn a_dump_is_told_from_other_pickles_and_json() {
    for other in [
        &b"\x80\x04\x95}\x94(\x8c\x08segments\x94]u."[..],
        b"{\"schemaVersion\": 1, \"distributedInfo\": {\"pg_config\": []}, \"traceEvents\": []}",
        b"{\"entries\": []}",
        b"{\"version\": 4}",
    ] {
        assert!(!recognises(&IMPORTER, other));
    }
}

#[test]
fn a_dump_without_entries_or_groups_is_refused() {
    for bytes in [&b"{}"[..], b"{\"version\": \"2.10\"}", b"\x80\x02}."] {
        let error = read(bytes, false).err().unwrap().to_string();
        assert!(
            error.contains("neither entries nor process groups"),
            "{error}"
        );
    }
    let empty = json!({"version": "2.10", "pg_config": {}, "pg_status": {}});
    assert!(read(&pickled(&empty), false).is_ok());
}

#[test]
fn a_cut_dump_is_refused_or_read_in_part_and_noise_is_borne() {
    for whole in [pickled(&dump()), dump().to_string().into_bytes()] {
        for end in (0..whole.len()).step_by(41) {
            assert!(read(&whole[..end], false).is_err(), "{end}");
        }
        for at in (2..whole.len()).step_by(37) {
            for byte in [b'(', b'u', 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = read(&changed, at % 2 == 0);
            }
        }
    }
    let whole = dump().to_string();
    let cut = &whole[..whole.rfind("{\"name\"").unwrap_or(whole.len() / 2)];
    let _ = read(cut.as_bytes(), true);
}

#[test]
fn entries_with_times_that_no_clock_shows_are_counted() {
    let mut far = dump();
    far["entries"][0]["time_created_ns"] = json!(-5);
    let run = read(&pickled(&far), false).unwrap();
    assert_eq!(run.notes.left_out["entry with an impossible time"], 1);
    assert_eq!(run.rows("annotations", "name").len(), 2);
}
