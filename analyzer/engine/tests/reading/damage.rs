//! Damage of every kind: what is good is read, what is lost is counted and named.

use std::fs;

use trueno_engine::query::collect;
use trueno_engine::run::Run;
use trueno_model::{RunState, WallSource};

use crate::sample::{Sample, all_rows, has_problem, originals, problem_texts, rows, sample};

/// Opens the run and checks that what is read is part of what was written.
fn open_damaged(sample: &Sample) -> Run {
    let original = originals();
    let run = sample.open();
    let read = all_rows(&run);
    for (table, rows) in &read {
        assert!(
            rows.iter().all(|row| original[table].contains(row)),
            "{table}: a row that was never written"
        );
    }
    assert_eq!(
        read.values().map(|r| r.len() as u64).sum::<u64>(),
        run.facts().rows,
        "rows are counted as they are read"
    );
    assert!(!run.problems().is_empty());
    assert!(run.facts().complete == Some(false));
    run
}

fn chunk_offset(sample: &Sample, segment: &str, nth: usize) -> usize {
    let journal = fs::read_to_string(sample.path("batches.jsonl")).unwrap();
    let lines = journal
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let offsets: Vec<u64> = lines
        .filter(|l| l["segment"] == segment)
        .map(|l| l["offset"].as_u64().unwrap())
        .collect();
    usize::try_from(offsets[nth]).unwrap()
}

#[test]
fn a_damaged_batch_loses_only_its_rows() {
    let sample = sample();
    // Chunk 0 is the head: this is the second batch, rows 4 to 7.
    let at = chunk_offset(&sample, "edges/000000.arrow", 2) + 100;
    sample.change("edges/000000.arrow", |bytes| bytes[at] ^= 0xff);
    let run = open_damaged(&sample);
    assert_eq!(run.facts().rows_lost, 4);
    assert!(has_problem(
        &run,
        &[
            "error",
            "edges/000000.arrow: batch 1 (rows 4..7) damaged: expected xxh3 ",
            ", found "
        ]
    ));
    assert!(has_problem(
        &run,
        &["edges/000000.arrow: 4 of 10 rows lost"]
    ));
    let edges = &all_rows(&run)["edges"];
    assert_eq!(edges.len(), 13);
    assert_eq!(
        (edges[3].as_str(), edges[4].as_str()),
        ("3|4|launches", "8|9|depends_on")
    );
    let table = &run.facts().tables[1];
    assert_eq!(
        (table.rows_read, table.rows_expected, table.rows_lost),
        (13, Some(17), Some(4))
    );
    let database = run.sql_context().unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT state, rows_expected, rows_read, rows_lost, verified FROM segments WHERE segment = 'edges/000000.arrow'"
        ),
        ["rebuilt|10|6|4|false"]
    );
    assert_eq!(
        rows(
            &database,
            "SELECT COUNT(DISTINCT kind), COUNT(DISTINCT kind_id) FROM edges"
        ),
        ["4|4"],
        "texts of rebuilt and of scanned segments have the same numbers"
    );
}

#[test]
fn a_damaged_head_or_tail_loses_nothing() {
    for at in [3, 100, usize::MAX] {
        let sample = sample();
        sample.change("bricks/000000.arrow", |bytes| {
            let at = at.min(bytes.len() - 20);
            bytes[at] ^= 1;
        });
        let run = open_damaged(&sample);
        assert_eq!(run.facts().rows_lost, 0, "{:?}", problem_texts(&run));
        assert_eq!(all_rows(&run), originals());
        assert!(has_problem(
            &run,
            &["bricks/000000.arrow", "damaged: expected xxh3"]
        ));
    }
}

#[test]
fn a_cut_segment_keeps_its_whole_batches() {
    let sample = sample();
    let at = chunk_offset(&sample, "edges/000000.arrow", 2) + 10;
    sample.change("edges/000000.arrow", |bytes| bytes.truncate(at));
    let run = open_damaged(&sample);
    assert_eq!(run.facts().rows_lost, 6);
    assert!(has_problem(
        &run,
        &[
            "edges/000000.arrow: batch 1 (rows 4..7) cut: expected ",
            ", found 10"
        ]
    ));
    assert!(has_problem(
        &run,
        &["edges/000000.arrow: tail (dictionaries and footer) cut"]
    ));
}

#[test]
fn an_empty_a_missing_and_a_foreign_segment() {
    let sample = sample();
    sample.change("edges/000000.arrow", Vec::clear);
    fs::remove_file(sample.path("edges/000001.arrow")).unwrap();
    fs::write(sample.path("edges/000007.arrow"), "no segment").unwrap();
    let run = open_damaged(&sample);
    assert_eq!(run.facts().rows_lost, 17);
    assert!(has_problem(&run, &["edges/000000.arrow: head cut"]));
    assert!(has_problem(
        &run,
        &["edges/000001.arrow: missing: 7 rows lost"]
    ));
    assert!(has_problem(
        &run,
        &["edges/000007.arrow: cannot be read: it does not begin with ARROW1"]
    ));
    assert_eq!(all_rows(&run)["bricks"].len(), 20);
}

#[test]
fn a_segment_that_nobody_lists_is_read_and_not_trusted() {
    let sample = sample();
    fs::copy(
        sample.path("edges/000001.arrow"),
        sample.path("edges/000002.arrow"),
    )
    .unwrap();
    let run = open_damaged(&sample);
    assert_eq!(all_rows(&run)["edges"].len(), 24);
    assert!(has_problem(
        &run,
        &["edges/000002.arrow: not verified: the journal does not list it"]
    ));
    assert!(has_problem(
        &run,
        &["edges: run.json counts 17 rows in 2 segments, found 24 rows in 3"]
    ));
}

#[test]
fn bytes_after_the_end_are_named() {
    let sample = sample();
    sample.change("edges/000001.arrow", |bytes| {
        bytes.extend_from_slice(b"more")
    });
    let run = open_damaged(&sample);
    assert_eq!(run.facts().rows_lost, 0);
    assert!(has_problem(
        &run,
        &[
            "edges/000001.arrow",
            "4 bytes at its end are not in the journal"
        ]
    ));
    assert_eq!(all_rows(&run)["edges"].len(), 17);
}

#[test]
fn a_whole_table_that_is_gone_is_missed() {
    let sample = sample();
    fs::remove_dir_all(sample.path("edges")).unwrap();
    sample.change("batches.jsonl", |bytes| {
        let text = String::from_utf8(std::mem::take(bytes)).unwrap();
        *bytes = text
            .lines()
            .filter(|l| !l.contains("edges"))
            .map(|l| format!("{l}\n"))
            .collect::<String>()
            .into_bytes();
    });
    let run = open_damaged(&sample);
    assert_eq!(run.facts().rows_lost, 17, "run.json alone remembers them");
    assert!(has_problem(
        &run,
        &["edges: run.json counts 17 rows in 2 segments, found 0 rows in 0"]
    ));
}

#[test]
fn without_run_json_the_segments_are_read() {
    for content in [
        None,
        Some(""),
        Some("{\"format\": {\"name\": \"trueno-run\", \"ma"),
        Some("[]"),
        Some("\u{1}"),
    ] {
        let sample = sample();
        match content {
            Some(content) => fs::write(sample.path("run.json"), content).unwrap(),
            None => fs::remove_file(sample.path("run.json")).unwrap(),
        }
        let run = open_damaged(&sample);
        assert!(
            has_problem(&run, &["error", "run.json is "]),
            "{:?}",
            problem_texts(&run)
        );
        let facts = run.facts();
        assert_eq!(
            (facts.state, facts.dropped, facts.rows),
            (RunState::Unknown, None, 37)
        );
        assert_eq!(
            (facts.wall_ns, facts.wall_source),
            (Some(2060), WallSource::LastEvent)
        );
        assert!(!facts.clean_end);
        let database = run.sql_context().unwrap();
        assert_eq!(
            rows(
                &database,
                "SELECT run_id, dropped, wall_ns, wall_source FROM run"
            ),
            ["-|-|2060|last_event"]
        );
    }
}

#[test]
fn what_the_recorder_dropped_makes_a_run_incomplete() {
    let sample = sample();
    sample.change("run.json", |bytes| {
        let mut value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        value["dropped"] = 5.into();
        value["tables"]["bricks"]["dropped"] = 5.into();
        value["problems"] = serde_json::json!(["the disk was full for a while"]);
        *bytes = value.to_string().into_bytes();
    });
    let run = open_damaged(&sample);
    assert_eq!(run.facts().dropped, Some(5));
    assert_eq!(run.facts().tables[0].dropped, Some(5));
    assert!(has_problem(
        &run,
        &["dropped", "5 rows were dropped at recording: bricks 5"]
    ));
    assert!(has_problem(
        &run,
        &["the recorder reports: the disk was full for a while"]
    ));
}

/// The columns cannot be read, so the query goes to the engine, which checks whether a condition leaves any row.
#[test]
fn segments_that_vanish_after_they_were_checked_are_an_error() {
    let sample = sample();
    let run = sample.open();
    let database = run.sql_context().unwrap();
    for table in ["bricks", "edges"] {
        std::fs::remove_dir_all(sample.path(table)).unwrap();
    }
    for sql in [
        "SELECT name FROM bricks WHERE kind = 'brick' ORDER BY start_ns",
        "SELECT COUNT(*) AS n FROM bricks WHERE dur_ns > 10",
        "SELECT e.kind FROM edges e JOIN bricks b ON e.\"from\" = b.id WHERE e.kind = 'spawns'",
    ] {
        assert!(collect(&database, sql).is_err(), "{sql}");
    }
}
