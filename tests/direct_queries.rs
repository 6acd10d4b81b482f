//! Inputs of the standard plugins are the same however they are answered.

use std::path::Path;

use polars::prelude::DataFrame;
use trueno_engine::closed_types::to_closed_types;
use trueno_engine::query::output::csv;
use trueno_engine::query::{Database, QueryError, collect, collect_from_columns};
use trueno_engine::run::Run;

use crate::harness::{Dir, standard_plugins};

/// All queries that the standard plugins send to a run.
pub fn queries() -> Vec<String> {
    let dir = Dir::new();
    let folder = standard_plugins(&dir);
    let args = ["plugins", "list", "--no-default-plugins", "--json"];
    let args = [&args[..], &["--plugin-dir", folder.to_str().unwrap()]].concat();
    let plugins = dir.command(&args).exits(0).json();
    let inputs = plugins.as_array().unwrap().iter().flat_map(|plugin| {
        let inputs = plugin["inputs"].as_array().cloned();
        inputs.unwrap_or_default()
    });
    let mut queries: Vec<String> = inputs
        .map(|input| input["sql"].as_str().unwrap().to_owned())
        .collect();
    queries.sort();
    queries.dedup();
    queries
}

/// The rows in sorted order, because a query may leave their order open.
fn rows(frame: Result<DataFrame, QueryError>) -> Option<Vec<String>> {
    let frame = to_closed_types(frame.ok()?).unwrap();
    let mut bytes = Vec::new();
    csv(&frame, trueno_model::csv::CsvTexts::Exact, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let types = format!("{:?}", frame.dtypes());
    let mut rows: Vec<String> = text.lines().map(str::to_owned).chain([types]).collect();
    rows.sort();
    Some(rows)
}

fn by_plan(database: &Database, sql: &str) -> Result<DataFrame, QueryError> {
    let planned = database.planned(sql)?;
    let columns = planned.columns()?;
    let rows = planned.rows()?;
    assert_eq!(rows.fields(), columns, "{sql}");
    Ok(rows.into_frame().unwrap())
}

#[test]
fn every_way_to_answer_gives_the_same_rows() {
    let queries = queries();
    assert!(queries.len() > 60, "{}", queries.len());
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets");
    let mut answered = 0;
    for run in [
        "tiny/test.run",
        "decode/simd.run",
        "divergence/base.run",
        "roofline/avx2.run",
    ] {
        let run = Run::open(&datasets.join(run)).unwrap();
        let database = run.sql_context().unwrap();
        for sql in &queries {
            let expected = rows(collect(&database, sql));
            answered += usize::from(expected.is_some());
            assert_eq!(
                rows(collect_from_columns(&database, sql)),
                expected,
                "{sql}"
            );
            assert_eq!(rows(by_plan(&database, sql)), expected, "{sql}");
        }
    }
    assert!(answered > 150, "{answered}");
}

/// Starting the engine takes longer than the analyses of a small run.
#[test]
fn a_report_of_a_small_run_needs_no_engine() {
    let dir = Dir::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    let done = dir.report(&run, &[]).env("TRUENO_LOG", "trace").exits(0);
    let log: Vec<&str> = done.stderr.lines().collect();
    assert!(
        log.iter()
            .any(|line| line.contains("planned by the engine"))
    );
    let queries = log.iter().filter(|line| line.contains("run by the engine"));
    assert_eq!(queries.collect::<Vec<_>>(), [] as [&&str; 0]);
}
