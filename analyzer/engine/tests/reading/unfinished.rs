//! Runs whose writer did not finish, or has not finished yet.

use serde_json::json;
use tempfile::TempDir;
use trueno_engine::run::Run;
use trueno_model::{Level, RunState, WallSource};

use crate::sample::{all_rows, bricks, edges, has_problem, problem_texts, rows};
use crate::writer::{End, RunWriter};

/// Larger than any process id of the kernel.
const NO_PID: u32 = 4_000_000_000;

fn recording(pid: u32) -> (TempDir, RunWriter) {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("open.run"));
    writer.segment("bricks", 0, &bricks(0, 12), 8, End::Sealed);
    writer.segment("bricks", 1, &bricks(12, 20), 8, End::Open);
    writer.segment("edges", 0, &edges(0, 10), 4, End::Open);
    writer.run_json["state"] = json!("recording");
    writer.run_json["wall_ns"] = json!(null);
    writer.run_json["program"]["pid"] = json!(pid);
    // As of the last sealing.
    writer.run_json["tables"] =
        json!({"bricks": {"rows": 12, "segments": 1, "bytes": 1, "dropped": 0}});
    // Not known: taken for this machine.
    writer.run_json["host"]["name"] = json!(null);
    (temp, writer)
}

#[test]
fn a_killed_writer_leaves_its_whole_batches() {
    let (_temp, writer) = recording(NO_PID);
    let run = Run::open(&writer.finish()).unwrap();
    let facts = run.facts();
    assert_eq!(
        (facts.state, facts.clean_end, facts.complete),
        (RunState::Recording, false, Some(false))
    );
    assert_eq!((facts.rows, facts.rows_lost), (42, 0));
    // What run.json counted at the last sealing says nothing of the time after it.
    assert_eq!(facts.dropped, None);
    assert!(facts.tables.iter().all(|table| table.dropped.is_none()));
    assert_eq!(
        (facts.wall_ns, facts.wall_source),
        (Some(3260), WallSource::LastEvent)
    );
    assert!(has_problem(
        &run,
        &[
            "warning unclean_end",
            "process 4000000000 is gone",
            "the data reach 3260 ns"
        ]
    ));
    let read = all_rows(&run);
    assert_eq!(read["bricks"].len(), 32);
    assert_eq!(read["bricks"][31], "32|32|brick|RmsNorm|-|-|-|0|3200|60|32");
    assert_eq!(read["edges"][9], "9|10|spawns");
    let database = run.sql_context().unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT segment, state, rows_read, verified FROM segments"
        ),
        [
            "bricks/000000.arrow|sealed|12|true",
            "bricks/000001.arrow|open|20|true",
            "edges/000000.arrow|open|10|true"
        ]
    );
    assert_eq!(
        rows(
            &database,
            "SELECT COUNT(DISTINCT name), COUNT(DISTINCT name_id) FROM bricks"
        ),
        ["4|4"]
    );
}

#[test]
fn a_writer_that_is_at_work_is_no_fault() {
    let (_temp, writer) = recording(std::process::id());
    let dir = writer.finish();
    // It is about to write its next batch.
    let path = dir.join("edges/000000.arrow.open");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.problems().len(), 1, "{:?}", problem_texts(&run));
    assert_eq!(run.problems()[0].severity, Level::Info);
    assert!(has_problem(
        &run,
        &["is still recording: the data reach 3260 ns"]
    ));
    assert_eq!((run.facts().rows, run.facts().rows_lost), (40, 0));
    assert!(run.facts().complete == Some(false));
}

#[test]
fn a_batch_that_a_killed_writer_announced_is_lost_and_counted() {
    let (_temp, writer) = recording(NO_PID);
    let dir = writer.finish();
    let path = dir.join("edges/000000.arrow.open");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 7]).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!((run.facts().rows, run.facts().rows_lost), (40, 2));
    assert!(has_problem(
        &run,
        &["edges/000000.arrow: batch 2 (rows 8..9) cut"]
    ));
}

#[test]
fn a_segment_sealed_but_not_renamed_is_read_as_it_is() {
    let sample = crate::sample::sample();
    std::fs::rename(
        sample.path("edges/000001.arrow"),
        sample.path("edges/000001.arrow.open"),
    )
    .unwrap();
    let run = sample.open();
    assert_eq!(all_rows(&run)["edges"].len(), 17);
    assert_eq!(run.facts().rows_lost, 0);
}

#[test]
fn an_open_segment_beside_a_sealed_one_is_named_and_not_read_twice() {
    let sample = crate::sample::sample();
    std::fs::copy(
        sample.path("edges/000001.arrow"),
        sample.path("edges/000001.arrow.open"),
    )
    .unwrap();
    let run = sample.open();
    assert_eq!(all_rows(&run)["edges"].len(), 17);
    assert!(has_problem(
        &run,
        &["edges/000001.arrow exists both sealed and open"]
    ));
}

#[test]
fn an_open_segment_without_journal_is_lost_with_the_reason() {
    let (_temp, writer) = recording(NO_PID);
    let dir = writer.finish();
    std::fs::remove_file(dir.join("batches.jsonl")).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.facts().rows, 12);
    assert!(
        has_problem(
            &run,
            &["error", "edges/000000.arrow", "the journal does not list"]
        ),
        "{:?}",
        problem_texts(&run)
    );
}

#[test]
fn a_recorder_that_failed_says_why() {
    let (_temp, mut writer) = recording(NO_PID);
    writer.run_json["state"] = json!("failed");
    writer.run_json["problems"] =
        json!(["bricks/000001.arrow.open: write a batch: no space left on device"]);
    let run = Run::open(&writer.finish()).unwrap();
    assert_eq!(run.facts().state, RunState::Failed);
    assert!(run.facts().complete == Some(false) && !run.facts().clean_end);
    assert!(has_problem(
        &run,
        &[
            "error recorder_failed",
            "the recorder stopped early",
            "no space left"
        ]
    ));
}
