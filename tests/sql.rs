//! SQL gives the rows that DuckDB gives.

use std::fs;
use std::path::Path;
use std::process::Command;

use polars::prelude::DataFrame;
use serde_json::{Value, json};
use trueno_engine::query::output::json as as_json;
use trueno_engine::query::{Database, collect_in_order};
use trueno_engine::run::Run;

use crate::harness::{Dir, datasets};
use crate::query_generator::{Generator, make_run};

/// Number of queries in CI. `TRUENO_SQL_QUERIES` overrides it.
const QUERIES: u64 = 300;

fn parts(frame: &DataFrame) -> (Vec<String>, Vec<Vec<Value>>) {
    let names: Vec<String> = frame
        .columns()
        .iter()
        .map(|column| column.name().to_string())
        .collect();
    let mut bytes = Vec::new();
    as_json(frame, &mut bytes).unwrap();
    let rows: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let row = |row: &Value| names.iter().map(|name| row[name].clone()).collect();
    let rows = rows.iter().map(row).collect();
    (names, rows)
}

fn answer(database: &Database, sql: &str) -> Value {
    match collect_in_order(database, sql) {
        Ok(frame) => {
            let (names, rows) = parts(&frame);
            json!({"sql": sql, "names": names, "rows": rows})
        }
        Err(why) => json!({"sql": sql, "error": why.to_string()}),
    }
}

fn python_with_duckdb() -> Option<std::ffi::OsString> {
    let python = std::env::var_os("TRUENO_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&python).args(["-c", "import duckdb"]).output();
    if found.is_ok_and(|done| done.status.success()) {
        return Some(python);
    }
    eprintln!(
        "skipped: no duckdb for python3, or for the Python that TRUENO_PYTHON names \
         (pip install duckdb)"
    );
    None
}

/// A test thread has a stack of 2 MB, like the threads of a server.
#[test]
fn queries_of_many_operators_need_no_large_stack_of_the_caller() {
    let dir = Dir::new();
    make_run(&dir.join("full.run"));
    let run = Run::open(&dir.join("full.run")).unwrap();
    let database = run.sql_context().unwrap();
    for operators in [4, 7, 60, 199] {
        let sum = vec!["ABS(COALESCE(dur_ns, 0))"; operators].join(" + ");
        let cases =
            vec!["CASE WHEN dur_ns > 1 THEN name ELSE 'x' END"; operators / 4 + 1].join(" || ");
        let sql = format!("SELECT {sum} AS a, {cases} AS b FROM kernels ORDER BY a DESC, b");
        let rows = answer(&database, &sql);
        assert!(rows.get("error").is_none(), "{operators}: {rows}");
    }
}

/// Each query is generated from its number, so a failing one can be reproduced.
#[test]
fn generated_queries_give_the_rows_of_duckdb() {
    let Some(python) = python_with_duckdb() else {
        return;
    };
    let dir = Dir::new();
    make_run(&dir.join("full.run"));
    let export = ["export", "parquet", "full.run", "-o", "parquet.run"];
    dir.command(&export).exits(0);
    let run = Run::open(&dir.join("full.run")).unwrap();
    let database = run.sql_context().unwrap();
    let count = std::env::var("TRUENO_SQL_QUERIES").ok();
    let count: u64 = count.map_or(QUERIES, |count| count.parse().unwrap());
    let lines = (0..count).map(|seed| {
        let sql = Generator::new(seed).query();
        answer(&database, &sql).to_string() + "\n"
    });
    let answers = dir.join("answers.jsonl");
    fs::write(&answers, lines.collect::<String>()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/sql_differential.py");
    let done = Command::new(python)
        .arg(script)
        .arg(&answers)
        .arg(dir.join("parquet.run"))
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{why}");
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    eprintln!(
        "{}",
        json!({"same": found["same"], "refused": found["refused"], "no_query": found["no_query"]})
    );
    let differences = found["differences"].as_array().unwrap();
    assert!(differences.is_empty(), "{differences:#?}");
    let refused = found["refused"].as_u64().unwrap();
    assert!(refused * 50 <= count, "{refused}: {}", found["refusals"]);
    let same = found["same"].as_u64().unwrap();
    assert!(same * 10 >= count * 9, "{same} of {count} were compared");
}

/// True if two values are equal, up to rounding of fractions.
fn is_same(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        _ => found == expected,
    }
}

/// The rows in `sql_written.jsonl` are DuckDB's, from the same tables.
#[test]
fn queries_as_people_write_them_give_the_rows_of_duckdb() {
    let run = Run::open(&datasets().join("decode/simd.run")).unwrap();
    let database = run.sql_context().unwrap();
    let written = include_str!("sql_written.jsonl");
    let mut count = 0;
    for line in written.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let sql = expected["sql"].as_str().unwrap();
        let frame = collect_in_order(&database, sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        let (_, mut rows) = parts(&frame);
        let mut expected: Vec<Vec<Value>> =
            serde_json::from_value(expected["rows"].clone()).unwrap();
        let is_ordered = sql.contains(" ORDER BY ");
        if !is_ordered {
            rows.sort_by_key(|row| format!("{row:?}"));
            expected.sort_by_key(|row| format!("{row:?}"));
        }
        let is_row = |(a, b): (&Vec<Value>, &Vec<Value>)| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        };
        let all_same = rows.len() == expected.len() && rows.iter().zip(&expected).all(is_row);
        assert!(all_same, "{sql}: found {rows:?}, expected {expected:?}");
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

#[test]
fn groups_and_joins_without_rows_give_the_rows_of_duckdb() {
    let dir = Dir::new();
    make_run(&dir.join("full.run"));
    let run = Run::open(&dir.join("full.run")).unwrap();
    let database = run.sql_context().unwrap();
    for (sql, expected) in [
        (
            "SELECT 'a', COUNT(*) FROM counters WHERE time_ns < 0 GROUP BY ALL",
            json!([["a", 0]]),
        ),
        (
            "SELECT 'a' FROM counters WHERE time_ns < 0 GROUP BY ALL",
            json!([]),
        ),
        (
            "SELECT COUNT(*) FROM checksums JOIN ceilings ON checksums.layer = ceilings.repetitions \
             RIGHT JOIN streams ON checksums.thread = streams.stream \
             WHERE NULLIF('Attention', checksums.name) IN ('gemm', 'norm')",
            json!([[0]]),
        ),
    ] {
        let frame = collect_in_order(&database, sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        assert_eq!(json!(parts(&frame).1), expected, "{sql}");
    }
}

#[test]
fn a_column_without_a_name_is_headed_by_its_text() {
    let dir = Dir::new();
    dir.run();
    let sql = "SELECT count(*), AVG(dur_ns), ROUND(2.5), ABS(-3), b.name, b.name FROM bricks b GROUP BY b.name";
    let done = dir.command(&["query", "test.run", sql, "--format", "csv"]);
    done.exits(0)
        .stdout_starts("count(*),AVG(dur_ns),ROUND(2.5),ABS(-3),name,name_2\r\n");
}

/// An error says why the query cannot be answered, and what to write instead.
#[test]
fn a_refusal_names_the_construct_and_the_way_to_write_it() {
    let dir = Dir::new();
    dir.run();
    for (sql, said) in [
        (
            "SELECT name FROM bricks WHERE name ~ '('",
            &["'('", "unclosed group"][..],
        ),
        (
            "SELECT k.parent FROM kernels k JOIN bricks b ON k.brick = b.id",
            &["unknown column k.parent", "b.parent"],
        ),
        (
            "SELECT id FROM bricks WHERE id = (SELECT id FROM bricks)",
            &["more than one row", "LIMIT 1"],
        ),
        (
            "SELECT SUM(id * 4611686018427387904) FROM bricks",
            &["64 bits", "DOUBLE"],
        ),
        (
            "SELECT name, dur_ns FROM bricks GROUP BY name",
            &["dur_ns", "GROUP BY", "ANY_VALUE"],
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r",
            &["WITH RECURSIVE is not supported"],
        ),
        (
            "SELECT * FROM read_csv('/etc/passwd')",
            &["read_csv is not available"],
        ),
        ("SELECT meidan(dur_ns) FROM bricks", &["meidan", "median"]),
        ("SELECT id FROM bricks WHERE name > 5", &["text", "CAST"]),
    ] {
        let mut done = dir.command(&["query", "test.run", sql]).exits(2);
        for part in said {
            done = done.stderr_has(part);
        }
    }
}

#[test]
fn the_first_rows_of_a_table_with_null_are_read() {
    let dir = Dir::new();
    make_run(&dir.join("full.run"));
    for table in ["bricks", "kernels", "checksums"] {
        let sql = format!("SELECT * FROM {table} LIMIT 2");
        let done = dir.command(&["query", "full.run", &sql, "--format", "json"]);
        assert_eq!(done.exits(0).json().as_array().unwrap().len(), 2, "{table}");
    }
}
