//! A run of a later version of the format, as the rules of evolution in `docs/format.md` allow it to be: today's
//! program opens it and says what it does not know.

use std::fs;
use std::path::{Path, PathBuf};

use polars::prelude::{
    DataFrame, IpcCompression, IpcReader, IpcWriter, NamedFrom, SerReader, SerWriter, Series,
};
use serde_json::{Value, json};
use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::run_json::{RUN_JSON, sealed};
use trueno_format::schema::{FORMAT_MAJOR, FORMAT_MINOR};

use crate::harness::{Dir, copy};

fn kept(version: &str) -> PathBuf {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/formats");
    formats.join(version).join("hello.run")
}

/// Rewrites a segment and returns its journal lines.
fn write(run: &Path, name: &str, rows: &mut DataFrame) -> String {
    let path = run.join(name);
    fs::create_dir_all(path.parent().expect("a folder of a table")).expect("a folder");
    let file = fs::File::create(&path).expect("a segment");
    let mut writer = IpcWriter::new(file).with_compression(Some(IpcCompression::LZ4));
    writer.finish(rows).expect("a segment is written");
    let bytes = fs::read(&path).expect("the segment");
    let footer_at = bytes.len() - 10;
    let length = i32::from_le_bytes(
        bytes[footer_at..footer_at + 4]
            .try_into()
            .expect("four bytes"),
    );
    let footer = arrow_ipc::root_as_footer(&bytes[footer_at - length as usize..footer_at]);
    let batches = footer.expect("a footer").recordBatches().expect("batches");
    assert_eq!(batches.len(), 1);
    let (from, length) = (
        batches.get(0).offset() as usize,
        batches.get(0).metaDataLength() as usize + batches.get(0).bodyLength() as usize,
    );
    let height = rows.height() as u64;
    let line = |chunk, from: usize, to: usize, rows| {
        let mut line = Line::new(name, chunk, from as u64, &bytes[from..to]);
        line.rows = rows;
        line.encode().expect("a line")
    };
    [
        line(Chunk::Head, 0, from, None),
        line(Chunk::Batch, from, from + length, Some(height)),
        line(Chunk::Tail, from + length, bytes.len(), Some(height)),
    ]
    .concat()
}

/// `hello.run` of this version as version 1.99 might have written it: with a new table, a new column and new
/// fields.
fn newer(dir: &Dir) -> PathBuf {
    let run = dir.join("newer.run");
    copy(&kept(&format!("{FORMAT_MAJOR}.{FORMAT_MINOR}")), &run);
    let name = "clock_pairs/000000.arrow";
    let file = fs::File::open(run.join(name)).expect("the segment");
    let mut pairs = IpcReader::new(file).finish().expect("its rows");
    let drift = Series::new("drift".into(), vec![0.5; pairs.height()]);
    pairs.with_column(drift.into()).expect("a column more");
    let mut plans = DataFrame::new(
        3,
        vec![
            Series::new("plan".into(), [7u64, 8, 9]).into(),
            Series::new("start_ns".into(), [1i64, 2, 3]).into(),
        ],
    )
    .expect("a table");
    let journal = fs::read_to_string(run.join(JOURNAL)).expect("the journal");
    let others = journal.lines().filter(|line| !line.contains(name));
    let mut journal: String = others.map(|line| format!("{line}\n")).collect();
    journal += &write(&run, name, &mut pairs);
    journal += &write(&run, "plans/000000.arrow", &mut plans);
    fs::write(run.join(JOURNAL), journal).expect("the journal");
    edit(&run, |json| {
        json["format"]["minor"] = 99.into();
        json["orbit"] = json!({"of": ["planets"]});
        json["host"]["moons"] = 2.into();
        json["tables"]["plans"] = json!({"rows": 3, "segments": 1, "bytes": 1, "dropped": 0});
    });
    run
}

/// Changes `run.json` and renews its seal.
fn edit(run: &Path, change: impl FnOnce(&mut Value)) {
    let path = run.join(RUN_JSON);
    let text = fs::read(&path).expect("run.json");
    let mut json: Value = serde_json::from_slice(&text).expect("an object");
    json.as_object_mut().expect("an object").remove("xxh3");
    change(&mut json);
    fs::write(path, sealed(&json).expect("an object")).expect("run.json");
}

#[test]
fn a_run_of_a_later_minor_version_opens_and_what_is_unknown_is_said() {
    let dir = Dir::new();
    let run = newer(&dir);
    let run = run.to_str().expect("a path in UTF-8");
    let info = dir
        .command(&["info", run, "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(
        (&info["format_minor"], &info["complete"]),
        (&json!(99), &json!(true))
    );
    let problems = info["problems"].as_array().expect("a list");
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(
        (&problems[0]["severity"], &problems[0]["code"]),
        (&json!("info"), &json!("newer_format"))
    );
    let text = problems[0]["text"].as_str().expect("a text");
    assert!(text.contains("format 1.99 is newer than 1."), "{text}");
    assert!(text.contains(": plans, clock_pairs.drift (hint"), "{text}");

    let query = |sql: &str| {
        dir.command(&["query", run, sql, "--format", "csv"])
            .exits(0)
            .stdout
    };
    assert_eq!(query("SELECT SUM(plan) AS n FROM plans"), "n\r\n24\r\n");
    assert_eq!(
        query("SELECT SUM(drift) AS d FROM clock_pairs"),
        "d\r\n1.0\r\n"
    );
    let tables = dir.command(&["tables", run]).exits(0).stdout;
    assert!(
        tables.contains("not a table this program knows"),
        "{tables}"
    );
}

#[test]
fn the_other_commands_do_with_a_later_minor_version_what_they_do_with_this_one() {
    let dir = Dir::new();
    let run = newer(&dir);
    let path = run.to_str().expect("a path in UTF-8");
    let sums = "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns FROM bricks GROUP BY name ORDER BY n DESC, name";
    let kept = kept(&format!("{FORMAT_MAJOR}.{FORMAT_MINOR}"));
    let expected =
        fs::read_to_string(kept.with_file_name("hello.bricks.csv")).expect("what was printed");
    let query = |run: &str| {
        dir.command(&["query", run, sums, "--format", "csv"])
            .exits(0)
            .stdout
    };
    assert_eq!(query(path), expected);
    let report = dir.report(&run, &["--json", "-"]).exits(0).json();
    for id in crate::harness::STANDARD.iter() {
        assert_eq!(crate::harness::section(&report, id)["status"], "ok", "{id}");
    }
    dir.report(&run, &["--html", "newer.html"]).exits(0);
    assert!(dir.read("newer.html").contains("format 1.99 is newer than"));
    // With one of the first version, either way round.
    let first = self::kept("1.0");
    let first = first.to_str().expect("a path in UTF-8");
    // Too few rows a name to tell: not measurable, and not refused.
    dir.command(&["compare", first, path]).exits(3);
    dir.command(&["compare", path, first]).exits(3);
    // What is made of it has the rows that are known.
    dir.command(&["export", "parquet", path, "-o", "exported.run"])
        .exits(0);
    assert_eq!(query("exported.run"), expected);
}
