//! Runs to read, and ways to look at what was read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use polars::prelude::{AnyValue, DataFrame};
use tempfile::TempDir;
use trueno_engine::query::{Database, collect, collect_in_order};
use trueno_engine::run::Run;

use crate::writer::{Column, End, RunWriter, Values, i64s, sealed, texts, u32s, u64s};

pub struct Sample {
    pub temp: TempDir,
    pub dir: PathBuf,
}

/// Rows of `edges`, the table with the smallest segments, starting at row number `from`.
pub fn edges(from: u64, rows: u64) -> Vec<Column> {
    let kinds = ["depends_on", "spawns", "joins", "launches"];
    vec![
        u64s("from", from..from + rows),
        u64s("to", from + 1..from + rows + 1),
        texts(
            "kind",
            (from..from + rows).map(|i| Some(kinds[usize::try_from(i % 4).unwrap()])),
        ),
    ]
}

pub fn bricks(from: u64, rows: u64) -> Vec<Column> {
    let ids = || from + 1..from + rows + 1;
    let time = |i: u64| i64::try_from(i).unwrap() * 100;
    let every = |n: u64, i: u64| (i.is_multiple_of(n)).then_some(i);
    let names = ["RmsNorm", "QkvProjection", "Attention", ""];
    let mut columns = vec![
        u64s("id", ids()),
        (
            "parent".into(),
            Values::U64(ids().map(|i| every(2, i)).collect()),
        ),
        texts(
            "kind",
            ids().map(|i| Some(if i % 3 == 0 { "layer" } else { "brick" })),
        ),
        texts(
            "name",
            ids().map(|i| Some(names[usize::try_from(i % 4).unwrap()])),
        ),
        (
            "brick_id".into(),
            Values::U32(ids().map(|i| every(5, i).map(|i| i as u32)).collect()),
        ),
        texts("category", ids().map(|i| every(3, i).map(|_| "Norm"))),
        texts("backend", ids().map(|_| None)),
        u32s("thread", ids().map(|i| (i % 2) as u32)),
        i64s("start_ns", ids().map(time)),
        i64s("dur_ns", ids().map(|_| 60)),
        texts("timing", ids().map(|_| Some("host"))),
        (
            "iteration".into(),
            Values::U64(ids().map(|i| every(2, i)).collect()),
        ),
        ("layer".into(), Values::U32(ids().map(|_| None).collect())),
    ];
    for name in ["elements", "flops", "bytes_read", "bytes_written"] {
        columns.push((
            name.into(),
            Values::U64(ids().map(|i| every(4, i)).collect()),
        ));
    }
    columns.push((
        "signature".into(),
        Values::U64(ids().map(|i| every(3, i)).collect()),
    ));
    columns
}

/// Two tables, three segments, several batches each.
pub fn sample() -> Sample {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("sample.run"));
    writer.segment("bricks", 0, &bricks(0, 20), 8, End::Sealed);
    writer.segment("edges", 0, &edges(0, 10), 4, End::Sealed);
    writer.segment("edges", 1, &edges(10, 7), 4, End::Sealed);
    let dir = writer.finish();
    Sample { temp, dir }
}

/// Only `edges`, small enough to be damaged at every byte.
pub fn small() -> Sample {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("small.run"));
    writer.segment("edges", 0, &edges(0, 6), 4, End::Sealed);
    writer.segment("edges", 1, &edges(6, 3), 4, End::Sealed);
    let dir = writer.finish();
    Sample { temp, dir }
}

/// As [`small`], as left by a killed writer.
pub fn unsealed() -> Sample {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("small.run"));
    writer.segment("edges", 0, &edges(0, 6), 4, End::Sealed);
    writer.segment("edges", 1, &edges(6, 3), 2, End::Open);
    writer.run_json["state"] = "recording".into();
    let dir = writer.finish();
    Sample { temp, dir }
}

impl Sample {
    pub fn open(&self) -> Run {
        Run::open(&self.dir).unwrap()
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    pub fn change(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.path(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    pub fn change_line(&self, line: usize, change: impl FnOnce(&mut serde_json::Value)) {
        self.change("batches.jsonl", |bytes| {
            let text = String::from_utf8(std::mem::take(bytes)).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut value = serde_json::from_str(&lines[line]).unwrap();
            change(&mut value);
            lines[line] = sealed(value).trim_end().to_owned();
            *bytes = (lines.join("\n") + "\n").into_bytes();
        });
    }
}

pub fn rows(database: &Database, sql: &str) -> Vec<String> {
    let frame = collect(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    lines(&frame)
}

/// The rows of a query, in an order that does not depend on threads.
pub fn ordered_rows(database: &Database, sql: &str) -> Vec<String> {
    lines(&collect_in_order(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}")))
}

fn lines(frame: &DataFrame) -> Vec<String> {
    let show = |value: AnyValue<'_>| match value {
        AnyValue::Null => "-".to_owned(),
        AnyValue::String(text) => text.to_owned(),
        AnyValue::StringOwned(text) => text.to_string(),
        other => other.to_string(),
    };
    (0..frame.height())
        .map(|row| {
            frame
                .columns()
                .iter()
                .map(|c| show(c.get(row).unwrap()))
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect()
}

pub fn value(database: &Database, sql: &str) -> String {
    rows(database, sql).concat()
}

/// All rows of the sample's tables, without numbers of texts.
pub fn all_rows(run: &Run) -> BTreeMap<&'static str, Vec<String>> {
    let database = run.sql_context().unwrap();
    let queries = [
        (
            "bricks",
            "SELECT id, parent, kind, name, brick_id, category, backend, thread, start_ns, dur_ns, elements FROM bricks",
        ),
        ("edges", "SELECT \"from\", \"to\", kind FROM edges"),
    ];
    queries
        .map(|(table, sql)| (table, rows(&database, sql)))
        .into()
}

pub fn originals() -> BTreeMap<&'static str, Vec<String>> {
    let sample = sample();
    all_rows(&sample.open())
}

pub fn problem_texts(run: &Run) -> Vec<String> {
    run.problems()
        .iter()
        .map(|p| format!("{} {} {}", p.severity.as_str(), p.code, p.text))
        .collect()
}

pub fn has_problem(run: &Run, parts: &[&str]) -> bool {
    problem_texts(run)
        .iter()
        .any(|text| parts.iter().all(|part| text.contains(part)))
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
