//! Every table and column of the format is published, with its unit and its origin.

use polars::prelude::DataType;
use trueno_engine::run::Run;
use trueno_format::schema::{ColumnType, TABLES};
use trueno_render::inspect;

use crate::sample::sample;

#[test]
fn the_catalog_is_complete() {
    let sample = sample();
    let tables = sample.open().tables();
    let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
    let mut expected: Vec<&str> = TABLES.iter().map(|t| t.name).collect();
    expected.extend(["run", "segments", "problems"]);
    assert_eq!(names, expected);
    for (table, listed) in TABLES.iter().zip(&tables) {
        let ids = table
            .columns
            .iter()
            .filter(|c| c.ty == ColumnType::Text)
            .map(|c| format!("{}_id", c.name));
        let expected: Vec<String> = table
            .columns
            .iter()
            .map(|c| c.name.to_owned())
            .chain(ids)
            .collect();
        assert_eq!(
            listed
                .columns
                .iter()
                .map(|c| c.name.clone())
                .collect::<Vec<_>>(),
            expected
        );
        for column in &listed.columns {
            assert!(
                !column.doc.is_empty() && column.provenance.is_some(),
                "{}.{}",
                table.name,
                column.name
            );
            assert_eq!(
                column.unit.as_deref() == Some("ns"),
                column.name.ends_with("_ns"),
                "{}.{}",
                table.name,
                column.name
            );
        }
    }
}

#[test]
fn tables_are_listed_for_people_and_programs() {
    let sample = sample();
    let run = sample.open();
    let all = inspect::tables(&run.tables(), None, 80).unwrap();
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    assert!(all.contains("bricks"), "{all}");
    let bricks = inspect::tables(&run.tables(), Some("bricks"), 80).unwrap();
    assert!(
        bricks.lines().all(|line| line.chars().count() <= 80),
        "{bricks}"
    );
    assert!(
        bricks
            .lines()
            .any(|l| l.split_whitespace().collect::<Vec<_>>()[..]
                .starts_with(&["dur_ns", "i64", "ns", "measured"])),
        "{bricks}"
    );
    assert!(inspect::tables(&run.tables(), Some("brick"), 80).is_none());

    let json: serde_json::Value =
        serde_json::from_str(&inspect::tables_json(&run.tables(), None).unwrap()).unwrap();
    assert_eq!(json[0]["name"], "bricks");
    assert_eq!(json[0]["rows"], 20);
    assert_eq!(
        json[0]["columns"][0],
        serde_json::json!({"name": "id", "type": "u64", "unit": null, "nullable": false, "provenance": "identity", "doc": "unique in the run"})
    );
}

#[test]
fn computed_tables_are_listed_with_the_columns_that_queries_see() {
    let sample = sample();
    let database = sample.open().sql_context().unwrap();
    for table in trueno_engine::spans::computed_tables() {
        let sql = format!("SELECT * FROM {}", table.name);
        let frame = trueno_engine::query::collect(&database, &sql).unwrap();
        let seen = frame.columns().iter().map(|column| {
            let ty = match column.dtype() {
                DataType::String => "text".to_owned(),
                other => other.to_string(),
            };
            (column.name().to_string(), ty)
        });
        let listed = table.columns.iter();
        let listed = listed.map(|column| (column.name.clone(), column.ty.clone()));
        assert_eq!(
            listed.collect::<Vec<_>>(),
            seen.collect::<Vec<_>>(),
            "{}",
            table.name
        );
        for column in table.columns.iter().filter(|column| !column.nullable) {
            let found = frame.column(&column.name).unwrap();
            assert_eq!(found.null_count(), 0, "{}.{}", table.name, column.name);
        }
    }
}

fn info(run: &Run) -> String {
    inspect::info(run.facts(), run.problems(), 80)
}

#[test]
fn info_tells_what_a_run_holds() {
    let sample = sample();
    let text = info(&sample.open());
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for part in [
        "00000000deadbeef",
        "finished; complete: 0 dropped, 0 lost",
        "1 ms (1000000 ns), recorded",
        "decode --tokens 8",
        "2023-11-14 22:13:20 UTC",
        "Some CPU, 2 logical CPUs",
        "tiny",
        "no problems",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert_eq!(
        info(&sample.open()),
        text,
        "the same run gives the same text"
    );

    std::fs::remove_file(sample.path("run.json")).unwrap();
    sample.change("edges/000001.arrow", |bytes| bytes.truncate(700));
    let text = info(&sample.open());
    for part in [
        "unknown, no clean end; not complete: dropped: not known",
        "not known",
        "last event",
        "high",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let run = sample.open();
    let json: serde_json::Value =
        serde_json::from_str(&inspect::info_json(run.facts(), run.problems())).unwrap();
    assert_eq!(json["state"], "unknown");
    assert_eq!(json["dropped"], serde_json::Value::Null);
    assert_eq!(json["problems"][0]["code"], "run_json_missing");
}
