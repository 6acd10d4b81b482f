//! Nsight Systems exports as folders of Parquet files give the run that the sqlite export gives.

use std::fs::{self, File};
use std::path::Path;

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde_json::Value as Json;
use trueno_engine::run::Run;

use crate::harness::Dir;
use crate::killed::{everything, same_rows};

const TABLES: &str = "
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm'), (3, 'poll'), (4, 'layer'), (5, 'main');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000000);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (5, 0, 83886085);
CREATE TABLE GPU_CONTEXT_SWITCH_EVENTS (start INTEGER);
INSERT INTO GPU_CONTEXT_SWITCH_EVENTS VALUES (1);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER, endGlobalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
    registersPerThread INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
";

/// Ranges, calls and kernels on two threads. Rows are not sorted by time, and some begin at the same time.
fn make(path: &Path) {
    let mut connection = Connection::open(path).unwrap();
    connection.execute_batch(TABLES).unwrap();
    let all = connection.transaction().unwrap();
    for number in 0..600_i64 {
        // Each third one begins with the one before it.
        let slot = (number * 7919) % 600 / 3 * 3;
        let start = 1000 + slot * 100;
        let thread = 83_886_085 + number % 2;
        let end = (number % 11 != 0).then_some(start + 60 + number % 5);
        all.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, ?, NULL)",
            params![start, end, (number % 4 == 0).then_some("step"), 4, thread],
        )
        .unwrap();
        all.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1, 0)",
            params![start + 5, start + 15, thread, number],
        )
        .unwrap();
        all.execute(
            "INSERT INTO OSRT_API VALUES (?, ?, ?, 3, NULL)",
            params![start + 20, start + 25, thread],
        )
        .unwrap();
        all.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 13, ?, 83886080, 2, 4, 2, 1, 128, 1, 1, 32, 64, 1024, 0)",
            params![start + 30, start + 50, number],
        )
        .unwrap();
    }
    // Never timed: it must not move the others.
    all.execute("INSERT INTO OSRT_API VALUES (0, 0, 83886085, 3, NULL)", [])
        .unwrap();
    all.commit().unwrap();
}

fn to_parquet(sqlite: &Path, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let connection = Connection::open(sqlite).unwrap();
    let mut names = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .unwrap();
    let names = names.query_map([], |row| row.get(0)).unwrap();
    for name in names.collect::<Result<Vec<String>, _>>().unwrap() {
        let mut rows = connection
            .prepare(&format!("SELECT * FROM \"{name}\""))
            .unwrap();
        let names: Vec<String> = rows.column_names().map(str::to_owned).collect();
        let mut values: Vec<Vec<Value>> = vec![Vec::new(); names.len()];
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (number, values) in values.iter_mut().enumerate() {
                values.push(row.get(number).unwrap());
            }
        }
        let column = |(name, values): (&String, &Vec<Value>)| -> Column {
            let is_text = values.iter().any(|value| matches!(value, Value::Text(_)));
            let text = |value: &Value| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            };
            let integer = |value: &Value| match value {
                Value::Integer(number) => Some(*number),
                _ => None,
            };
            let series = if is_text {
                Series::new(
                    name.as_str().into(),
                    values.iter().map(text).collect::<Vec<_>>(),
                )
            } else {
                Series::new(
                    name.as_str().into(),
                    values.iter().map(integer).collect::<Vec<_>>(),
                )
            };
            series.into()
        };
        let height = values[0].len();
        let columns = names.iter().zip(&values).map(column).collect();
        let mut frame = DataFrame::new(height, columns).unwrap();
        let file = File::create(folder.join(format!("{name}.parquet"))).unwrap();
        ParquetWriter::new(file)
            .with_row_group_size(Some(100))
            .finish(&mut frame)
            .unwrap();
    }
}

fn import(dir: &Dir, from: &str, to: &str) -> Json {
    dir.command(&["import", from, "-o", to, "--json"])
        .exits(0)
        .json()
}

#[test]
fn the_run_is_that_of_the_sqlite_export() {
    let dir = Dir::new();
    make(&dir.join("made.sqlite"));
    to_parquet(&dir.join("made.sqlite"), &dir.join("made"));
    let mut sqlite = import(&dir, "made.sqlite", "sqlite.run");
    let mut parquet = import(&dir, "made", "parquet.run");
    assert_eq!(sqlite["format"], "nsys-sqlite");
    assert_eq!(parquet["format"], "nsys-parquet");
    for summary in [&mut sqlite, &mut parquet] {
        for of_the_file in ["file", "format", "run"] {
            summary[of_the_file] = Json::Null;
        }
    }
    assert_eq!(sqlite, parquet);
    assert_eq!(sqlite["kept"]["kernels"], 600);
    let open = |name: &str| Run::open(&dir.join(name)).unwrap();
    let (sqlite, parquet) = (open("sqlite.run"), open("parquet.run"));
    same_rows(&everything(&sqlite), &everything(&parquet), "parquet");
    assert_eq!(sqlite.facts().wall_ns, parquet.facts().wall_ns);
}

/// Two processes of one export, each with a device, become two ranks. They share only a clock.
#[test]
fn processes_of_one_export_become_ranks() {
    let dir = Dir::new();
    let export = dir.join("made.sqlite");
    make(&export);
    for no in [
        ["made.sqlite", "one process alone ran kernels"],
        ["a.json", "name no process by a number"],
    ] {
        fs::write(dir.join("a.json"), r#"{"traceEvents": []}"#).unwrap();
        dir.command(&["import", "--by-process", no[0], "-o", "no.run"])
            .exits(2)
            .stderr_has(no[1]);
    }
    let connection = Connection::open(&export).unwrap();
    for table in ["NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API"] {
        let sql = format!(
            "UPDATE {table} SET globalTid = globalTid + 16777216 WHERE globalTid = 83886086"
        );
        connection.execute(&sql, []).unwrap();
    }
    connection
        .execute(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + 16777216, deviceId = 1 \
             WHERE correlationId % 2 = 1",
            [],
        )
        .unwrap();
    // Twelve calls of a launcher that ran no kernels, and a range that names no thread.
    for sql in [
        "INSERT INTO OSRT_API SELECT start, end, 50331649, nameId, returnValue FROM OSRT_API WHERE start > 0 LIMIT 12",
        "INSERT INTO NVTX_EVENTS SELECT start, start + 1, 59, text, textId, NULL, NULL FROM NVTX_EVENTS LIMIT 1",
    ] {
        connection.execute(sql, []).unwrap();
    }
    drop(connection);
    to_parquet(&export, &dir.join("made"));
    dir.command(&["import", "made.sqlite", "-o", "all.run"])
        .exits(0)
        .stderr_has("2 processes ran kernels: one run holds them all (hint: --by-process");
    for (from, to) in [("made.sqlite", "sqlite.run"), ("made", "parquet.run")] {
        let done = dir
            .command(&["import", "--by-process", from, "-o", to, "--json"])
            .exits(0)
            .json();
        let left_out = |rank: usize| {
            let why = "rows of processes that ran no kernels";
            done["ranks"][rank]["left_out"][why].as_u64()
        };
        assert_eq!([left_out(0), left_out(1)], [Some(13), None], "{done:#}");
        let query = |sql: &str| {
            let rows = dir.command(&["query", to, sql, "--format", "csv"]).exits(0);
            rows.stdout
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            query(
                "SELECT rank, COUNT(*) AS n, MIN(device) AS least, MAX(device) AS most FROM kernels GROUP BY rank ORDER BY rank"
            ),
            ["0,300,0,0", "1,300,65537,65537"]
        );
        assert_eq!(
            query("SELECT rank, offset_ns FROM ranks ORDER BY rank"),
            ["0,0", "1,0"]
        );
        let launched = query(
            "SELECT COUNT(*) AS n FROM kernels AS k JOIN edges AS e ON e.\"to\" = k.id JOIN calls AS c ON c.id = e.\"from\" \
             WHERE c.rank = k.rank AND c.start_ns + 25 = k.start_ns",
        );
        // Correlation 0 is none.
        assert_eq!(launched, ["599"]);
    }
    dir.command(&[
        "import",
        "--by-process",
        "made.sqlite",
        "--ranks",
        "4,9",
        "-o",
        "named.run",
    ])
    .exits(0)
    .stdout_has("rank=9");
}

#[test]
fn a_damaged_table_is_named_and_the_others_are_read() {
    let dir = Dir::new();
    make(&dir.join("made.sqlite"));
    to_parquet(&dir.join("made.sqlite"), &dir.join("made"));
    let kernels = dir.join("made/CUPTI_ACTIVITY_KIND_KERNEL.parquet");
    let bytes = fs::read(&kernels).unwrap();
    fs::write(&kernels, &bytes[..bytes.len() / 2]).unwrap();
    dir.command(&["import", "made", "-o", "cut.run"])
        .exits(2)
        .stderr_has("CUPTI_ACTIVITY_KIND_KERNEL.parquet");
    let done = dir
        .command(&["import", "made", "-o", "cut.run", "--json", "--partial"])
        .exits(0);
    let done = done.stderr_has("table CUPTI_ACTIVITY_KIND_KERNEL cannot be read");
    assert_eq!(done.json()["kept"]["bricks"], 545);
    let run = Run::open(&dir.join("cut.run")).unwrap();
    assert!(
        run.problems()
            .iter()
            .any(|p| p.text.contains("CUPTI_ACTIVITY_KIND_KERNEL"))
    );
}

#[test]
fn other_folders_are_refused_with_a_reason() {
    let dir = Dir::new();
    let refused = |from: &str, words: &str| {
        let done = dir.command(&["import", from, "-o", "out.run"]).exits(2);
        done.stderr_has(words);
        assert!(!dir.join("out.run").exists());
    };
    dir.folder("empty");
    refused("empty", "found no files");
    dir.run();
    refused("test.run", "is already a run");
    dir.folder("others");
    fs::write(dir.join("others/sales.parquet"), b"no parquet").unwrap();
    refused("others", "found one file that is not a trace");
    dir.folder("damaged");
    fs::write(dir.join("damaged/NVTX_EVENTS.parquet"), b"no parquet").unwrap();
    refused("damaged", "expected an Nsight Systems export");
    dir.command(&[
        "import",
        "damaged",
        "-o",
        "out.run",
        "--format",
        "nsys-sqlite",
    ])
    .exits(2)
    .stderr_has("--format is of files");
}
