//! A run that was exported and imported has the rows it had.
//!
//! Compared are all columns of all tables. What a trace cannot hold is not asked for: the order
//! of rows in their files, and bits of a NaN.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use trueno_engine::query::{collect, output};
use trueno_engine::run::Run;
use trueno_export::exporter;
use trueno_format::run_json::RunJson;
use trueno_format::run_writer::{Cell, RunWriter};
use trueno_format::schema::{Column, ColumnType, TABLES};
use trueno_import::chrome::IMPORTER;
use trueno_import::{Import, Notes, Options};

use crate::harness::Dir;

/// Rows of every table as JSON, sorted.
fn tables(path: &Path) -> Vec<(&'static str, Vec<String>)> {
    let run = Run::open(path).expect("a run");
    let database = run.sql_context().expect("its tables");
    let rows = |table: &trueno_format::schema::Table| {
        let columns: Vec<String> = table.columns.iter().map(|c| quoted(c.name)).collect();
        let sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(table.name));
        let frame = collect(&database, &sql).expect("its rows");
        let mut json = Vec::new();
        output::json(&frame, &mut json).expect("memory");
        let rows: Vec<Value> = serde_json::from_slice(&json).expect("JSON");
        let mut rows: Vec<String> = rows.iter().map(Value::to_string).collect();
        rows.sort_unstable();
        rows
    };
    TABLES.iter().map(|t| (t.name, rows(t))).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn assert_same_rows(left: &Path, right: &Path) {
    for ((table, left), (_, right)) in tables(left).into_iter().zip(tables(right)) {
        assert_eq!(left.len(), right.len(), "{table}");
        for (left, right) in left.iter().zip(&right) {
            assert_eq!(left, right, "{table}");
        }
    }
}

#[test]
fn a_recording_comes_back_whole_packed_or_not() {
    let dataset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    let path = dataset.to_str().expect("a path in UTF-8");
    let dir = Dir::new();
    for (trace, run) in [("one.json", "one.run"), ("two.json.gz", "two.run")] {
        dir.command(&["export", "chrome", path, "-o", trace])
            .exits(0);
        let summary = dir
            .command(&["import", trace, "-o", run, "--json"])
            .exits(0)
            .json();
        assert_eq!(summary["left_out"], serde_json::json!({}), "{trace}");
        assert_same_rows(&dataset, &dir.join(run));
    }
    let facts = |path: &Path| -> RunJson {
        let text = std::fs::read_to_string(path.join("run.json")).expect("run.json");
        serde_json::from_str(&text).expect("its facts")
    };
    let (before, mut after) = (facts(&dataset), facts(&dir.join("one.run")));
    assert_eq!(
        after.values.remove("exported_from").as_deref(),
        Some(before.run_id.as_str())
    );
    assert_ne!(after.run_id, before.run_id);
    assert_eq!(after.label, before.label);
    assert_eq!(after.program, before.program);
    assert_eq!(after.host, before.host);
    assert_eq!(after.clock, before.clock);
    assert_eq!(after.values, before.values);
    assert_eq!(after.wall_ns, before.wall_ns);
    assert!(after.problems.is_empty());
}

#[test]
fn kernel_sources_come_back_as_files() {
    let dir = Dir::new();
    let mut run = RunWriter::create(&dir.join("before.run"), RunJson::default()).unwrap();
    let ptx = run.table("ptx").unwrap();
    let kernels = [
        ".version 9.0\n.entry gemm() { }\n",
        "// \"größer\"\t\u{1f980}\\",
        "",
    ];
    for source in kernels {
        let (hash, name) = (run.source(source).unwrap(), run.text("gemm"));
        let bytes = Cell::U64(source.len() as u64);
        // Two names of one source are two rows and one file.
        run.row(ptx, &[Cell::Text(hash), Cell::Text(name), bytes])
            .unwrap();
        run.row(ptx, &[Cell::Text(hash), Cell::Null, bytes])
            .unwrap();
    }
    let gone = run.text("0123456789abcdef");
    run.row(ptx, &[Cell::Text(gone), Cell::Null, Cell::U64(1)])
        .unwrap();
    run.finish(Some(1)).unwrap();

    dir.command(&["export", "chrome", "before.run", "-o", "trace.json"])
        .exits(0);
    let summary = dir
        .command(&["import", "trace.json", "-o", "after.run"])
        .exits(0);
    assert!(
        summary.stderr.contains("names 1 kernel sources"),
        "{}",
        summary.stderr
    );
    assert_same_rows(&dir.join("before.run"), &dir.join("after.run"));
    let files = |run: &str| {
        let mut files: Vec<_> = std::fs::read_dir(dir.join(run).join("ptx"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "ptx"))
            .map(|path| {
                (
                    path.file_name().unwrap().to_owned(),
                    std::fs::read_to_string(&path).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    };
    assert_eq!(files("after.run"), files("before.run"));
    assert_eq!(files("after.run").len(), 3);
}

/// A cell whose text is not yet in a run's dictionary.
#[derive(Clone, Debug)]
enum Made {
    Null,
    Cell(Cell),
    Text(String),
}

/// Values that the schema allows for a column: limits, nulls, and ids of all sizes.
fn made(column: &'static Column) -> BoxedStrategy<Made> {
    let cell = match (column.ty, column.name) {
        // Some are trusted intervals, some end before they begin.
        (_, "dur_ns") => prop_oneof![0..1_i64 << 40, -9_i64..9]
            .prop_map(Cell::I64)
            .boxed(),
        (_, "start_ns" | "time_ns") => prop_oneof![-9_i64..1_000_000, -(1_i64 << 60)..1 << 60]
            .prop_map(Cell::I64)
            .boxed(),
        (ColumnType::U32, _) => prop_oneof![0..3_u64, 0..=u64::from(u32::MAX)]
            .prop_map(Cell::U64)
            .boxed(),
        (ColumnType::U64, _) => prop_oneof![0..4_u64, any::<u64>()]
            .prop_map(Cell::U64)
            .boxed(),
        (ColumnType::I64, _) => any::<i64>().prop_map(Cell::I64).boxed(),
        (ColumnType::F64, _) => any::<f64>().prop_map(Cell::F64).boxed(),
        (ColumnType::Bool, _) => any::<bool>().prop_map(Cell::Bool).boxed(),
        (ColumnType::Text, name) => {
            let words: &[&str] = match name {
                "timing" => &["host", "device", "bound"],
                "kind" => &["layer", "joins", "depends_on", "stream"],
                _ => &[
                    "",
                    "Größe",
                    "行列 \"積\"",
                    "a\\b\n\u{0}\u{1f980}",
                    "null",
                    "7",
                ],
            };
            return with_nulls(
                column,
                proptest::sample::select(words.to_vec())
                    .prop_map(|text| Made::Text(text.to_owned()))
                    .boxed(),
            );
        }
    };
    with_nulls(column, cell.prop_map(Made::Cell).boxed())
}

fn with_nulls(column: &Column, value: BoxedStrategy<Made>) -> BoxedStrategy<Made> {
    if column.nullable {
        prop_oneof![1 => Just(Made::Null), 3 => value].boxed()
    } else {
        value
    }
}

/// Rows of all tables, in the order of the schema.
fn rows() -> impl Strategy<Value = Vec<Vec<Vec<Made>>>> {
    let tables = TABLES.iter().map(|table| {
        let row: Vec<_> = table.columns.iter().map(made).collect();
        proptest::collection::vec(row, 0..6)
    });
    tables.collect::<Vec<_>>()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_schema_allows_comes_back(rows in rows()) {
        let dir = Dir::new();
        let (before, after) = (dir.join("before.run"), dir.join("after.run"));
        let named: Vec<_> = TABLES.iter().map(|table| table.name).zip(&rows).collect();
        write(&before, &named);

        let mut trace = Vec::new();
        let run = Run::open(&before).unwrap();
        exporter("chrome").unwrap().write(&run, &mut trace).unwrap();
        let file = dir.join("trace.json");
        std::fs::write(&file, &trace).unwrap();
        let mut run = RunWriter::create(&after, RunJson::default()).unwrap();
        let mut notes = Notes::default();
        let import = Import {
            path: &file,
            options: &Options::default(),
            into: &mut run,
            notes: &mut notes,
            progress: &mut |_| (),
        };
        let wall_ns = IMPORTER.import(import).unwrap();
        run.finish(wall_ns).unwrap();
        prop_assert!(notes.left_out.is_empty(), "{:?}", notes.left_out);
        prop_assert_eq!(wall_ns, Some(1_000));
        assert_same_rows(&before, &after);

        let parquet = dir.join("parquet.run");
        std::fs::create_dir(&parquet).unwrap();
        let run = Run::open(&before).unwrap();
        let sizes = trueno_export::ParquetSizes::default();
        trueno_export::to_folder(&run, &parquet, sizes, &mut |_| ()).unwrap();
        assert_same_rows(&before, &parquet);
    }
}

fn write(path: &Path, tables: &[(&str, &Vec<Vec<Made>>)]) {
    let mut run = RunWriter::create(path, RunJson::default()).unwrap();
    for (table, rows) in tables {
        let id = run.table(table).unwrap();
        for row in *rows {
            let cells = row.iter().map(|made| match made {
                Made::Null => Cell::Null,
                Made::Cell(cell) => *cell,
                Made::Text(text) => Cell::Text(run.text(text)),
            });
            let cells: Vec<Cell> = cells.collect();
            run.row(id, &cells).unwrap();
        }
    }
    run.finish(Some(1_000)).unwrap();
}
