//! Queries whose tables a cluster reads: the answer is that of one process, to the byte.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, begin, ends, ends_of, same};

/// Groups, conditions, and cases that easily go wrong.
const OWN: &[&str] = &[
    "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns, MIN(start_ns) AS first, MAX(name) AS last FROM bricks GROUP BY name",
    "SELECT rank, name, AVG(dur_ns) AS mean FROM bricks GROUP BY rank, name ORDER BY mean DESC LIMIT 5",
    "SELECT SUM(layer) AS s, AVG(layer) AS a, COUNT(layer) AS n FROM bricks WHERE kind = 'nothing'",
    "SELECT kind, SUM(layer) AS s, AVG(layer) AS a FROM bricks GROUP BY kind",
    "SELECT DISTINCT name, name_id FROM kernels ORDER BY name DESC",
    "SELECT name, COUNT(*) AS n FROM bricks WHERE dur_ns BETWEEN 10 AND 400 AND NOT (rank = 1 OR rank IN (2, 3)) GROUP BY name",
    "SELECT name, dur_ns FROM bricks WHERE name <> 'gemm' AND dur_ns * 2 > 100 AND parent IS NOT NULL",
    "SELECT DISTINCT rank FROM kernels WHERE name = 'ä \"b\" ''c'''",
    "SELECT * FROM kernels WHERE rank = 10",
    "SELECT * FROM bricks",
    "SELECT rank, STDDEV(dur_ns) AS s FROM bricks GROUP BY rank",
    "SELECT k.name, r.offset_ns FROM kernels k JOIN ranks r ON k.rank = r.rank",
    "SELECT AVG(dur_ns) AS mean FROM bricks",
    "SELECT nothing FROM bricks",
    "SELECT name FROM brics",
];

fn documented() -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |file: &str| fs::read_to_string(format!("{root}/{file}")).expect("a file");
    let page = read("docs/sql.md");
    let examples = page.split("\n\n");
    let examples =
        examples.filter(|part| part.starts_with("    SELECT") && !part.contains("before."));
    let list = read("tests/documented_queries.sql");
    let all = list.lines().chain(examples).map(str::to_owned).collect();
    all
}

fn inputs(workplace: &Workplace) -> Vec<String> {
    let mut list = Command::new(&workplace.analyze);
    list.args(["plugins", "list", "--no-default-plugins", "--json"]);
    list.arg("--plugin-dir").arg(workplace.join("plugins"));
    let plugins: Value = serde_json::from_str(&ends(&mut list, 0).stdout).expect("JSON");
    let plugins = plugins.as_array().expect("a list").iter();
    let inputs = plugins.flat_map(|plugin| plugin["inputs"].as_array().cloned());
    let mut queries: Vec<String> = inputs
        .flatten()
        .map(|input| input["sql"].as_str().expect("a query").to_owned())
        .collect();
    queries.sort();
    queries.dedup();
    assert!(queries.len() > 60, "{}", queries.len());
    queries
}

/// Compares answers over a job with rows in all tables. Returns how many came from where.
fn compared(workplace: &Workplace, job: &PathBuf, cluster: &Processes, queries: &[String]) {
    let (mut answered, mut refused, mut wrong) = (0, 0, 0);
    for sql in queries {
        let args = ["--format", "csv", "--csv-exact"];
        let local = workplace.query(job, sql, &args).output().expect("a query");
        let mut there = workplace.query_by(job, &cluster.url, "tables", sql, &args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (code, local_error) = (local.status.code().expect("a code"), text(&local.stderr));
        let made = there.output().expect("a query");
        let made_error = text(&made.stderr);
        if made_error.contains("is computed from the rows of all tables, here") {
            assert_eq!(
                (made.status.code(), made.stdout.len()),
                (Some(2), 0),
                "{sql}"
            );
            refused += 1;
            continue;
        }
        assert_eq!(made.status.code(), Some(code), "{sql}: {made_error}");
        same(&text(&made.stdout), &text(&local.stdout), sql);
        assert_eq!(made_error, local_error, "{sql}");
        answered += usize::from(code == 0);
        wrong += usize::from(code != 0);
    }
    println!("{answered} answered, {wrong} wrong the same way, {refused} refused");
    assert!(answered > refused);
}

#[test]
fn answers_of_clusters_are_those_of_one_process() {
    let workplace = Workplace::new();
    let job = workplace.full_job();
    let cluster = Processes::of_three(&workplace);
    let mut queries = documented();
    queries.extend(OWN.iter().map(|sql| (*sql).to_owned()));
    compared(&workplace, &job, &cluster, &queries);
}

#[test]
#[ignore = "minutes"]
fn inputs_of_plugins_are_those_of_one_process() {
    let workplace = Workplace::new();
    let job = workplace.full_job();
    let cluster = Processes::of_three(&workplace);
    compared(&workplace, &job, &cluster, &inputs(&workplace));
}

fn repeated(times: usize) {
    let workplace = Workplace::new();
    let job = workplace.job(16);
    let cluster = Processes::of_three(&workplace);
    for sql in [
        "SELECT rank, name, COUNT(*) AS n, SUM(dur_ns) AS ns, AVG(dur_ns) AS mean FROM kernels GROUP BY rank, name",
        "SELECT rank, name, start_ns, dur_ns FROM kernels WHERE dur_ns > 60",
    ] {
        let args = ["--format", "json"];
        let local = ends(&mut workplace.query(&job, sql, &args), 0).stdout;
        assert!(local.len() > 1_000, "{local}");
        for number in 0..times {
            let mut query = workplace.query_by(&job, &cluster.url, "tables", sql, &args);
            let made = ends(&mut query, 0);
            same(&made.stdout, &local, &format!("{number}: {sql}"));
            println!("{number}: {:.2?}", made.took);
        }
    }
}

#[test]
fn answers_are_the_same_each_time() {
    repeated(3);
}

#[test]
#[ignore = "minutes"]
fn answers_are_the_same_twenty_times() {
    repeated(20);
}

/// A folder name read as a pattern would also match other folders.
#[test]
fn tables_lie_in_folders_of_any_name() {
    let workplace = Workplace::new();
    let job = workplace.full_job();
    let cluster = Processes::start(&workplace.analyze, 1);
    let sql = "SELECT rank, COUNT(*) AS n, SUM(dur_ns) AS ns FROM kernels GROUP BY rank";
    let local = ends(&mut workplace.query(&job, sql, &[]), 0).stdout;
    for name in [
        "table",
        "tabl*",
        "t[a]ble",
        "{table,tabl*}",
        "a b%20#ü?",
        "quo'te\"s",
    ] {
        let mut query = workplace.query_by(&job, &cluster.url, name, sql, &[]);
        same(&ends(&mut query, 0).stdout, &local, name);
    }
}

#[test]
fn more_rows_than_may_come_are_an_error() {
    let workplace = Workplace::new();
    let job = workplace.full_job();
    let cluster = Processes::start(&workplace.analyze, 1);
    let query = |sql: &str, args: &[&str], code: i32| {
        ends(
            &mut workplace.query_by(&job, &cluster.url, "tables", sql, args),
            code,
        )
    };
    let rows = "SELECT name FROM bricks";
    let failed = query(rows, &["--most-rows", "3"], 2);
    assert!(
        failed.stderr.contains("more than 3 rows"),
        "{}",
        failed.stderr
    );
    assert_eq!(failed.stdout, "");
    query("SELECT COUNT(*) AS n FROM bricks", &["--most-rows", "3"], 0);
    let failed = query("SELECT name FROM timeline.spans", &[], 2);
    assert!(
        failed.stderr.contains("timeline.spans is computed"),
        "{}",
        failed.stderr
    );
    // A file that is gone is an error, not an answer with fewer rows.
    fs::remove_dir_all(workplace.join("tables/bricks/rank=1")).expect("a rank");
    for sql in [rows, "SELECT COUNT(*) AS n FROM bricks"] {
        let failed = query(sql, &[], 2);
        assert!(failed.stderr.contains("is refused"), "{}", failed.stderr);
    }
    fs::write(
        workplace.join("tables/kernels/rank=0/000000.parquet"),
        "PAR1",
    )
    .expect("a file");
    let failed = query("SELECT name FROM kernels", &["--timeout", "60s"], 2);
    assert!(
        failed.stderr.contains("--engine ballista://"),
        "{}",
        failed.stderr
    );
}

/// An executor killed during a query only costs time.
#[test]
fn a_killed_executor_changes_no_answer() {
    let workplace = Workplace::new();
    let job = workplace.job(16);
    let mut cluster = Processes::of_three(&workplace);
    let sql =
        "SELECT rank, name, COUNT(*) AS n, SUM(dur_ns) AS ns FROM kernels GROUP BY rank, name";
    let local = ends(&mut workplace.query(&job, sql, &[]), 0).stdout;
    let whole = ends(
        &mut workplace.query_by(&job, &cluster.url, "tables", sql, &[]),
        0,
    );
    same(&whole.stdout, &local, "undisturbed");
    for number in 0..3 {
        let began = Instant::now();
        let query = begin(&mut workplace.query_by(&job, &cluster.url, "tables", sql, &[]));
        std::thread::sleep(whole.took * (number + 1) / 5);
        cluster.replace_executor(0, &workplace.analyze);
        let made = ends_of(query, began, 0, "the query");
        same(&made.stdout, &local, &format!("{number}"));
        println!(
            "{number}: {:.2?} ({:.2?} undisturbed)",
            made.took, whole.took
        );
        assert!(made.took < Duration::from_secs(200));
    }
}
