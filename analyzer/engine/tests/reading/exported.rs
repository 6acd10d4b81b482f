//! Exported runs: the same rows and facts as their source, and damage of every kind.

use std::collections::BTreeMap;
use std::fs::{self, File};

use polars::prelude::{ParquetReader, ParquetWriter, SerReader};
use trueno_engine::run::{Recovered, Run, recover};
use trueno_export::{ParquetSizes, to_folder};
use trueno_format::run_json::RunJson;
use trueno_model::RunFacts;

use crate::sample::{
    Sample, all_rows, has_problem, originals, problem_texts, rows, sample, unsealed,
};
use crate::writer::{End, RunWriter, i64s, texts, u32s, u64s};

/// An export of the sample, with `group_rows` rows per row group and `part_groups` row groups per file.
pub fn exported(sample: &Sample, group_rows: usize, part_groups: usize) -> Sample {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("exported.run");
    fs::create_dir(&dir).unwrap();
    let sizes = ParquetSizes {
        group_rows,
        part_groups,
    };
    let run = sample.open();
    let mut told = 0;
    to_folder(&run, &dir, sizes, &mut |rows| told += rows).unwrap();
    assert_eq!(told, run.facts().rows);
    Sample { temp, dir }
}

fn facts(run: &Run) -> RunFacts {
    let mut facts = run.facts().clone();
    facts.directory = None;
    for table in &mut facts.tables {
        (table.segments, table.bytes) = (0, 0);
    }
    facts
}

#[track_caller]
fn same_run(source: &Run, export: &Run) {
    assert_eq!(facts(source), facts(export));
    assert_eq!(problem_texts(source), problem_texts(export));
    let (before, mut after) = (all_rows(source), all_rows(export));
    let mut sorted = before.clone();
    for rows in sorted.values_mut().chain(after.values_mut()) {
        rows.sort_unstable();
    }
    assert_eq!(sorted, after);
}

#[test]
fn an_export_is_the_same_run_in_other_files() {
    let source = sample();
    for (group_rows, part_groups, parts) in [(1, 1, 17), (4, 2, 3), (4, 1, 5), (100, 8, 1)] {
        let export = exported(&source, group_rows, part_groups);
        let run = export.open();
        same_run(&source.open(), &run);
        assert!(run.facts().complete == Some(true));
        let count = "SELECT COUNT(*) AS n FROM segments WHERE \"table\" = 'edges' AND verified";
        assert_eq!(
            rows(&run.sql_context().unwrap(), count),
            [parts.to_string()]
        );
        let again = exported(&export, 3, 3);
        same_run(&run, &again.open());
        assert!(matches!(
            recover(&export.dir, None, &mut |_| ()),
            Ok(Recovered::Nothing(_))
        ));
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let source = sample();
    let files = |export: &Sample| {
        let mut files = BTreeMap::new();
        for name in [
            "run.json",
            "batches.jsonl",
            "bricks/000000.parquet",
            "edges/000001.parquet",
        ] {
            files.insert(name, fs::read(export.path(name)).unwrap());
        }
        files
    };
    assert_eq!(
        files(&exported(&source, 4, 2)),
        files(&exported(&source, 4, 2))
    );
}

#[test]
fn rows_are_sorted_by_time_and_stay_as_written_where_times_are_equal() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("mixed.run"));
    let times = [[5, 1, 5, 3], [3, 9, 0, 5]];
    for (number, times) in (0_u32..).zip(&times) {
        let first = u64::from(number) * 4;
        let columns = vec![
            i64s("time_ns", *times),
            u32s("thread", [0; 4]),
            i64s("bytes", [8; 4]),
            u64s("address", first..first + 4),
            texts("tag", ["a", "b", "c", "a"].map(Some)),
        ];
        writer.segment("allocations", number, &columns, 4, End::Sealed);
    }
    let dir = writer.finish();
    let export = exported(&Sample { temp, dir }, 3, 1);
    let database = export.open().sql_context().unwrap();
    assert_eq!(
        rows(&database, "SELECT time_ns, address, tag FROM allocations"),
        [
            "0|6|c", "1|1|b", "3|3|a", "3|4|a", "5|0|a", "5|2|c", "5|7|a", "9|5|b"
        ]
    );
}

#[test]
fn what_was_wrong_with_the_source_is_said_of_its_export() {
    let cut = sample();
    cut.change("edges/000000.arrow", |bytes| {
        bytes.truncate(bytes.len() / 2)
    });
    let flipped = sample();
    flipped.change("bricks/000000.arrow", |bytes| bytes[2000] ^= 0xff);
    let unlisted = sample();
    fs::remove_file(unlisted.path("batches.jsonl")).unwrap();
    let nameless = sample();
    fs::remove_file(nameless.path("run.json")).unwrap();
    let garbage = sample();
    fs::remove_file(garbage.path("batches.jsonl")).unwrap();
    fs::write(garbage.path("edges/000001.arrow"), b"nothing").unwrap();
    for source in [cut, flipped, unlisted, unsealed(), nameless, garbage] {
        let run = source.open();
        assert!(run.facts().complete == Some(false) && !run.problems().is_empty());
        let export = exported(&source, 4, 2);
        same_run(&run, &export.open());
        same_run(&run, &exported(&export, 5, 1).open());
    }
}

/// Opens the run and checks that what is read is part of what was written.
fn open_damaged(export: &Sample) -> Run {
    let (original, run) = (originals(), export.open());
    let read = all_rows(&run);
    for (table, rows) in &read {
        let is_original = |row: &String| original[table].contains(row);
        assert!(rows.iter().all(is_original), "{table}: never written");
    }
    let count: usize = read.values().map(Vec::len).sum();
    assert_eq!(count as u64, run.facts().rows);
    assert!(run.facts().complete == Some(false));
    run
}

#[test]
fn a_damaged_row_group_loses_only_its_rows() {
    let export = exported(&sample(), 4, 3);
    // 20 rows of bricks in groups of 4: the second one, by the journal.
    let journal = fs::read_to_string(export.path("batches.jsonl")).unwrap();
    let lines = journal
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let second = lines
        .clone()
        .filter(|l| l["segment"] == "bricks/000000.parquet")
        .nth(2)
        .unwrap();
    let at = usize::try_from(second["offset"].as_u64().unwrap()).unwrap();
    export.change("bricks/000000.parquet", |bytes| bytes[at + 30] ^= 1);
    let run = open_damaged(&export);
    assert_eq!(run.facts().rows_lost, 4);
    assert!(has_problem(
        &run,
        &[
            "error",
            "bricks/000000.parquet: row group 1 (rows 4..7) damaged"
        ]
    ));
    assert!(has_problem(
        &run,
        &["bricks/000000.parquet: 4 of 12 rows lost"]
    ));
    let database = run.sql_context().unwrap();
    let ids = rows(&database, "SELECT id FROM bricks");
    let expected: Vec<String> = (1..=4)
        .chain(9..=20)
        .map(|id: u64| id.to_string())
        .collect();
    assert_eq!(ids, expected);
    assert_eq!(
        rows(
            &database,
            "SELECT state, rows_expected, rows_read, rows_lost, verified FROM segments WHERE segment = 'bricks/000000.parquet'"
        ),
        ["rebuilt|12|8|4|false"]
    );
}

#[test]
fn damaged_cut_and_missing_files_lose_themselves() {
    let footer = |bytes: &mut Vec<u8>| {
        let at = bytes.len() - 12;
        bytes[at] ^= 1;
    };
    for (damage, words) in [
        (footer as fn(&mut Vec<u8>), "footer damaged"),
        (|bytes| bytes.truncate(bytes.len() / 2), "cannot be read"),
        (Vec::clear, "cut: expected 4 bytes, found 0"),
        (|bytes| bytes.extend(b"more"), "its end is damaged"),
    ] {
        let export = exported(&sample(), 4, 2);
        export.change("bricks/000001.parquet", damage);
        let run = open_damaged(&export);
        assert_eq!(
            (run.facts().rows, run.facts().rows_lost),
            (29, 8),
            "{words}"
        );
        assert!(
            has_problem(&run, &["error", "bricks/000001.parquet", words]),
            "{:?}",
            run.problems()
        );
    }
    let export = exported(&sample(), 4, 2);
    fs::remove_file(export.path("bricks/000001.parquet")).unwrap();
    let run = open_damaged(&export);
    assert_eq!(run.facts().rows_lost, 8);
    assert!(has_problem(
        &run,
        &["bricks/000001.parquet: missing: 8 rows lost"]
    ));
}

#[test]
fn without_run_json_or_journal_the_rows_are_read() {
    let export = exported(&sample(), 4, 2);
    fs::remove_file(export.path("run.json")).unwrap();
    let run = open_damaged(&export);
    assert_eq!((run.facts().rows, run.facts().rows_lost), (37, 0));
    assert!(has_problem(&run, &["error", "run.json is missing"]));

    fs::remove_file(export.path("batches.jsonl")).unwrap();
    let run = open_damaged(&export);
    assert_eq!(run.facts().rows, 37);
    assert!(has_problem(&run, &["batches.jsonl is missing"]));
    assert!(!has_problem(&run, &["not_verified"]));

    let export = exported(&sample(), 4, 2);
    fs::remove_file(export.path("batches.jsonl")).unwrap();
    fs::remove_file(export.path("edges/000002.parquet")).unwrap();
    let run = open_damaged(&export);
    assert_eq!((run.facts().rows, run.facts().rows_lost), (36, 1));
}

#[test]
fn a_file_written_anew_by_another_program_is_read_and_said_to_be_changed() {
    let export = exported(&sample(), 4, 2);
    let path = export.path("bricks/000000.parquet");
    let mut frame = ParquetReader::new(File::open(&path).unwrap())
        .finish()
        .unwrap();
    ParquetWriter::new(File::create(&path).unwrap())
        .finish(&mut frame)
        .unwrap();
    let run = open_damaged(&export);
    assert_eq!((run.facts().rows, run.facts().rows_lost), (37, 0));
    assert!(has_problem(
        &run,
        &[
            "warning",
            "bricks/000000.parquet: changed since it was exported"
        ]
    ));
    assert_eq!(all_rows(&run)["bricks"], originals()["bricks"]);

    let mut fewer = frame.slice(0, 3);
    ParquetWriter::new(File::create(&path).unwrap())
        .finish(&mut fewer)
        .unwrap();
    let run = open_damaged(&export);
    assert_eq!((run.facts().rows, run.facts().rows_lost), (32, 5));
}

#[test]
fn sources_of_kernels_lie_beside_the_rows_that_name_them() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("full.run");
    trueno_testing::full(&dir, None);
    let source = Sample { temp, dir };
    let export = exported(&source, 100, 8);
    same_run(&source.open(), &export.open());
    let names = |sample: &Sample| -> Vec<_> {
        let files = trueno_testing::damage::files(&sample.path("ptx"));
        files
            .into_iter()
            .filter(|file| file.extension().unwrap() == "ptx")
            .collect()
    };
    assert_eq!(names(&source).len(), 1);
    assert_eq!(names(&source), names(&export));
}

#[test]
fn sources_of_kernels_and_what_a_run_says_of_itself_come_along() {
    let source = sample();
    fs::create_dir(source.path("ptx")).unwrap();
    fs::write(source.path("ptx/0123.ptx"), ".version 8.0").unwrap();
    let export = exported(&source, 100, 8);
    assert_eq!(
        fs::read_to_string(export.path("ptx/0123.ptx")).unwrap(),
        ".version 8.0"
    );
    let json = |sample: &Sample| -> RunJson {
        serde_json::from_slice(&fs::read(sample.path("run.json")).unwrap()).unwrap()
    };
    let (before, after) = (json(&source), json(&export));
    assert_eq!(before.host, after.host);
    assert_eq!(before.clock, after.clock);
    assert_eq!(before.values, after.values);
    let from = after.exported_from.unwrap();
    assert_eq!((from.run_id, from.complete), (before.run_id, Some(true)));
    assert_eq!(from.format, Some(before.format));
    let bricks = fs::metadata(export.path("bricks/000000.parquet"))
        .unwrap()
        .len();
    assert_eq!(
        (after.tables["bricks"].rows, after.tables["bricks"].bytes),
        (20, bricks)
    );
}

/// Without the journal, only its name says which part of a table a file is.
#[test]
fn a_part_that_lies_under_two_names_counts_once() {
    let export = exported(&sample(), 2, 2);
    fs::remove_file(export.path("batches.jsonl")).unwrap();
    let whole = all_rows(&export.open())["bricks"].len();
    let [first, second] = ["bricks/000000.parquet", "bricks/000001.parquet"];
    fs::copy(export.path(first), export.path(second)).unwrap();
    let run = open_damaged(&export);
    assert!(has_problem(
        &run,
        &["bricks/000001.parquet: a copy of bricks/000000.parquet, byte for byte"]
    ));
    assert_eq!(all_rows(&run)["bricks"].len(), whole - 4);
}
