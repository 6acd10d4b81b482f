//! Jobs exported table by table: what databases read of them is what queries read of the job.

use std::fs::{self, File};
use std::process::Command;

use polars::prelude::{ParquetReader, SerReader};
use trueno_engine::query::collect;
use trueno_engine::run::Run;

use crate::divided_queries::full_job;
use crate::harness::Dir;

fn export(dir: &Dir, to: &str) {
    let args = ["export", "parquet", "job", "--by-table", "-o", to];
    assert_eq!(dir.command(&args).exits(0).stdout, "");
}

/// Compares tables, columns, rows and their order.
#[test]
fn rows_of_exported_tables_are_those_of_the_job() {
    let dir = Dir::new();
    let run = Run::open(&full_job(&dir)).unwrap();
    export(&dir, "tables");
    let database = run.sql_context().unwrap();
    let told = fs::read_to_string(dir.join("tables/tables.json")).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let mut compared = 0;
    for (table, description) in told["tables"].as_object().unwrap() {
        let columns = description["columns"].as_array().unwrap().iter();
        let columns = columns.map(|column| format!("\"{}\"", column["name"].as_str().unwrap()));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let ranks = description["rows_of_rank"].as_object().unwrap();
        for (rank, rows) in ranks {
            let file = dir.join(&format!("tables/{table}/rank={rank}/000000.parquet"));
            let found = ParquetReader::new(File::open(file).unwrap())
                .finish()
                .unwrap();
            assert_eq!(found.height() as u64, rows.as_u64().unwrap());
            let sql = format!("SELECT {columns} FROM \"{table}\" WHERE rank = {rank}");
            let expected = collect(&database, &sql).unwrap();
            assert!(found.equals_missing(&expected), "{table} of rank {rank}");
            compared += 1;
        }
        let listed = fs::read_dir(dir.join(&format!("tables/{table}"))).unwrap();
        assert_eq!(listed.count(), ranks.len());
    }
    assert_eq!(compared, 4 * trueno_format::schema::TABLES.len());
    export(&dir, "again");
    for file in ["tables.json", "kernels/rank=10/000000.parquet"] {
        let bytes = |folder: &str| fs::read(dir.join(folder).join(file)).unwrap();
        assert_eq!(bytes("tables"), bytes("again"), "{file}");
    }
}

#[test]
fn python_reads_exported_tables_as_one() {
    let dir = Dir::new();
    full_job(&dir);
    export(&dir, "tables");
    let python = std::env::var_os("TRUENO_PYTHON").unwrap_or_else(|| "python3".into());
    let read = "import sys, pyarrow.dataset as d\n\
                t = d.dataset(sys.argv[1], partitioning='hive').to_table()\n\
                ranks = sorted(set(t['rank'].to_pylist()))\n\
                print(t.num_rows, sum(t['dur_ns'].to_pylist()), *ranks)";
    let python = |args: &[&str]| Command::new(&python).args(args).output();
    if !python(&["-c", "import pyarrow"]).is_ok_and(|done| done.status.success()) {
        eprintln!(
            "left out: no pyarrow for python3, or for the Python that TRUENO_PYTHON names \
             (pip install pyarrow)"
        );
        return;
    }
    let tables = dir.join("tables/kernels");
    let done = python(&["-c", read, tables.to_str().unwrap()]).unwrap();
    let why = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{why}");
    let sql = "SELECT COUNT(*) AS n, SUM(dur_ns) AS ns FROM kernels";
    let rows = dir.command(&["query", "job", sql, "--format", "json"]);
    let rows = rows.exits(0).json();
    let expected = format!("{} {} 0 1 2 10", rows[0]["n"], rows[0]["ns"]);
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), expected);
}

#[test]
fn exported_tables_are_no_run_and_take_no_place_of_one() {
    let dir = Dir::new();
    full_job(&dir);
    export(&dir, "tables");
    for command in [
        &["report", "tables"][..],
        &["query", "tables", "SELECT 1"],
        &["info", "tables"],
    ] {
        dir.command(command)
            .exits(2)
            .stderr_has("tables of a job for databases")
            .stderr_has("open the job");
    }
    let refused = |args: &str, why: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        let args = [&["export", "parquet"][..], &args].concat();
        dir.command(&args).exits(2).stderr_has(why);
    };
    refused("job/rank=0 --by-table -o one", "the run holds no ranks");
    assert!(!dir.join("one").exists());
    refused("job --by-table -o tables", "already contains tables");
    refused("job --by-table -o job", "lies in the run to export");
    let args = ["export", "parquet", "job", "-o", "parquet.run"];
    dir.command(&args).exits(0);
    let over_run = "job --by-table -o parquet.run --overwrite";
    refused(over_run, "holds no tables of a job");
    refused("job -o tables --overwrite", "is not a run directory");
    fs::write(dir.join("tables/kernels/notes"), "mine").unwrap();
    refused(
        "job --by-table -o tables --overwrite",
        "and would be lost (hint: choose another path)",
    );
    fs::remove_file(dir.join("tables/kernels/notes")).unwrap();
    fs::remove_dir_all(dir.join("job/rank=2")).unwrap();
    let args = ["export", "parquet", "job", "--by-table", "-o", "tables"];
    dir.command(&[&args[..], &["--overwrite"]].concat())
        .exits(0);
    assert!(!dir.join("tables/kernels/rank=2").exists());
}

/// A query for a cluster reports what is missing before it connects.
#[test]
fn a_query_says_what_a_cluster_needs() {
    let dir = Dir::new();
    full_job(&dir);
    export(&dir, "tables");
    let refused = |args: &[&str], why: &str| {
        let query = ["query", "job", "SELECT name FROM bricks", "--engine"];
        let args = [&query[..], &["ballista://127.0.0.1:1"], args].concat();
        dir.command(&args).exits(2).stderr_has(why);
    };
    refused(&[], "hint: --tables DIR");
    refused(&["--tables", "tables", "--run", "b=job"], "without --run");
    refused(&["--tables", "job"], "tables.json");
    fs::remove_dir_all(dir.join("job/rank=1")).unwrap();
    refused(
        &["--tables", "tables"],
        "tables of other files than job has",
    );
    dir.command(&["query", "job", "SELECT 1", "--engine", "spark://h:1"])
        .exits(2)
        .stderr_has("expected local or ballista://HOST:PORT");
}
