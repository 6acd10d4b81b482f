//! Queries that are answered from columns alone give what the engine gives.

use std::path::{Path, PathBuf};

use std::collections::BTreeMap;

use polars::df;
use polars::prelude::{DataFrame, DataType};
use proptest::prelude::*;
use trueno_engine::closed_types::to_closed_types;
use trueno_engine::query::{Database, Planned, collect, collect_in_order};
use trueno_engine::run::Run;

use crate::exported::exported;
use crate::sample::sample;

fn runs() -> Vec<PathBuf> {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    let mut runs = Vec::new();
    let mut open = vec![datasets];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.join("run.json").exists() => runs.push(path),
                true => open.push(path),
                false => {}
            }
        }
    }
    runs.sort();
    runs
}

/// Compares each column of each table, read from columns and scanned by the engine.
#[track_caller]
fn assert_columns_as_scanned(run: &Run) {
    let database = run.sql_context().unwrap();
    for table in run.tables().iter().filter(|table| table.rows != Some(0)) {
        for column in &table.columns {
            let sql = format!("SELECT \"{}\" AS value FROM {}", column.name, table.name);
            let scanned = collect_in_order(&database, &format!("{sql} ORDER BY value")).unwrap();
            let in_order = |found: DataFrame| found.sort(["value"], Default::default()).unwrap();
            let found = in_order(by_plan(&database, &sql).unwrap());
            let scanned = in_order(to_closed_types(scanned).unwrap());
            assert!(scanned.equals_missing(&found), "{sql}");
        }
        let all = format!("SELECT COUNT(*) AS n FROM {}", table.name);
        assert_same(&database, &all);
    }
}

#[test]
fn exported_damaged_and_combined_runs_have_columns_too() {
    let source = sample();
    for (group_rows, part_groups) in [(4, 2), (1, 1)] {
        assert_columns_as_scanned(&exported(&source, group_rows, part_groups).open());
    }
    let damaged = sample();
    let segments = damaged.dir.join("bricks");
    let segment = std::fs::read_dir(segments)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let mut bytes = std::fs::read(segment.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(segment.path(), bytes).unwrap();
    assert_columns_as_scanned(&damaged.open());
    let temp = tempfile::tempdir().unwrap();
    let job = temp.path().join("job.run");
    for rank in 0..2 {
        let to = job.join(format!("rank={rank}"));
        std::fs::create_dir_all(&job).unwrap();
        copy_folder(&source.dir, &to);
    }
    assert_columns_as_scanned(&Run::open(&job).unwrap());
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to)
        } else {
            _ = std::fs::copy(entry.path(), to).unwrap()
        }
    }
}

fn by_engine(database: &Database, sql: &str) -> Option<DataFrame> {
    to_closed_types(collect(database, sql).ok()?).ok()
}

fn by_plan(database: &Database, sql: &str) -> Option<DataFrame> {
    let rows = database.planned(sql).and_then(Planned::rows).ok()?;
    Some(rows.into_frame().unwrap())
}

#[track_caller]
fn assert_same(database: &Database, sql: &str) {
    let (expected, found) = (by_engine(database, sql), by_plan(database, sql));
    let same = match (&expected, &found) {
        (Some(expected), Some(found)) => {
            expected.schema() == found.schema() && expected.equals_missing(found)
        }
        (None, None) => true,
        _ => false,
    };
    assert!(same, "{sql}\nexpected {expected:?}\nfound {found:?}");
}

/// A query over any columns of a table, with or without conditions on them.
fn query(database: &Database, table: &str, choices: &[prop::sample::Index]) -> String {
    let schema = collect(database, &format!("SELECT * FROM {table} LIMIT 0")).unwrap();
    let schema = schema.schema().clone();
    let columns: Vec<(String, DataType)> = schema
        .iter()
        .map(|(name, ty)| (format!("\"{name}\""), ty.clone()))
        .collect();
    let mut choices = choices.iter();
    let mut choose = |count: usize| choices.next().map_or(0, |choice| choice.index(count));
    let condition = |choose: &mut dyn FnMut(usize) -> usize| {
        let (name, ty) = &columns[choose(columns.len())];
        let plain = match ty {
            DataType::String => {
                let texts = ["bound", "host", "brick", "function", "", "no such text"];
                let by = ["=", "<>"][choose(2)];
                format!("{name} {by} '{}'", texts[choose(texts.len())])
            }
            DataType::Boolean => name.clone(),
            DataType::Int64 | DataType::UInt64 => {
                let by = ["=", "<>", "<", "<=", ">", ">="][choose(6)];
                format!("{name} {by} {}", [0, 1, 7, 1000, 100_000_000][choose(5)])
            }
            _ => format!("{name} IS NOT NULL"),
        };
        match choose(5) {
            0 => format!("NOT ({plain})"),
            1 => format!("{name} IS NULL"),
            _ => plain,
        }
    };
    let mut items = Vec::new();
    for at in 0..1 + choose(5) {
        let (name, _) = &columns[choose(columns.len())];
        items.push(match choose(4) {
            0 => format!(
                "{} OR {} AS c{at}",
                condition(&mut choose),
                condition(&mut choose)
            ),
            1 => format!("{} AS c{at}", condition(&mut choose)),
            2 => {
                let (other, _) = &columns[choose(columns.len())];
                format!("{name} + {other} AS c{at}")
            }
            _ => format!("{name} AS c{at}"),
        });
    }
    let filter = match choose(4) {
        0 => String::new(),
        1 => format!(" WHERE {}", condition(&mut choose)),
        2 => format!(
            " WHERE {} AND {}",
            condition(&mut choose),
            condition(&mut choose)
        ),
        _ => format!(
            " WHERE {} OR {}",
            condition(&mut choose),
            condition(&mut choose)
        ),
    };
    format!("SELECT {} FROM {table}{filter}", items.join(", "))
}

/// A query that groups the rows of a table, in a total order.
fn grouped(database: &Database, table: &str, choices: &[prop::sample::Index]) -> String {
    let schema = collect(database, &format!("SELECT * FROM {table} LIMIT 0")).unwrap();
    let schema = schema.schema().clone();
    let columns: Vec<(String, DataType)> = schema
        .iter()
        .map(|(name, ty)| (format!("\"{name}\""), ty.clone()))
        .collect();
    let mut choices = choices.iter();
    let mut choose = |count: usize| choices.next().map_or(0, |choice| choice.index(count));
    let any = |choose: &mut dyn FnMut(usize) -> usize| columns[choose(columns.len())].clone();
    let mut keys: Vec<String> = Vec::new();
    for _ in 0..choose(4) {
        let (name, ty) = any(&mut choose);
        if ty != DataType::Float64 && !keys.contains(&name) {
            keys.push(name);
        }
    }
    let mut items = keys.clone();
    let is_distinct = !keys.is_empty() && choose(5) == 0;
    for at in 0..(if is_distinct { 0 } else { 1 + choose(4) }) {
        let (name, ty) = any(&mut choose);
        let is_integer = matches!(ty, DataType::Int64 | DataType::UInt64);
        let of = match choose(7) {
            0 => "COUNT(*)".to_owned(),
            1 => format!("COUNT({name})"),
            2 if is_integer => format!("SUM({name})"),
            3 if is_integer => format!("MIN({name})"),
            4 if is_integer => format!("MAX({name})"),
            5 if is_integer => format!("SUM(COALESCE({name}, 0) + COALESCE({name}, 7))"),
            6 if is_integer => format!("MEDIAN({name})"),
            _ => "COUNT(*)".to_owned(),
        };
        items.push(format!("{of} AS c{at}"));
    }
    let mut order: Vec<String> = (1..=items.len()).map(|at| at.to_string()).collect();
    if choose(2) == 0 {
        order[0].push_str([" DESC", " NULLS FIRST", " DESC NULLS LAST"][choose(3)]);
    }
    let condition = match choose(6) {
        0 | 1 => String::new(),
        2 => match any(&mut choose) {
            (name, DataType::String) => {
                let how = [
                    "LIKE '%a%'",
                    "NOT LIKE 'b_%'",
                    "IN ('bound', 'host', '')",
                    "NOT IN ('brick')",
                ];
                format!(" WHERE {name} {}", how[choose(4)])
            }
            (name, DataType::Boolean) => format!(" WHERE {name} = FALSE"),
            (name, _) => format!(" WHERE {name} IS NOT NULL"),
        },
        3 => match any(&mut choose) {
            (name, DataType::String) => format!(" WHERE LOWER({name}) LIKE '%r%'"),
            (name, _) => format!(" WHERE {name} IS NULL"),
        },
        4 => {
            let ((name, ty), (other, other_ty)) = (any(&mut choose), any(&mut choose));
            if ty == other_ty && ty != DataType::Float64 && ty != DataType::Boolean {
                let not = ["", "NOT "][choose(2)];
                let some = ["", " WHERE id > 7"][choose(2)];
                format!(" WHERE {name} {not}IN (SELECT {other} FROM kernels{some})")
            } else {
                String::new()
            }
        }
        _ => " WHERE thread IN (SELECT thread FROM syncs WHERE thread IS NOT NULL)".to_owned(),
    };
    let group = if keys.is_empty() || is_distinct {
        String::new()
    } else {
        format!(" GROUP BY {}", keys.join(", "))
    };
    let distinct = if is_distinct { "DISTINCT " } else { "" };
    format!(
        "SELECT {distinct}{} FROM {table}{condition}{group} ORDER BY {}",
        items.join(", "),
        order.join(", ")
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_groups_are_as_the_engine_has_them(
        run in any::<prop::sample::Index>(),
        choices in proptest::collection::vec(any::<prop::sample::Index>(), 60),
    ) {
        let runs = runs();
        let run = Run::open(&runs[run.index(runs.len())]).unwrap();
        let database = run.sql_context().unwrap();
        for table in ["bricks", "kernels", "tiles", "transfers", "checksums", "allocations"] {
            assert_same(&database, &grouped(&database, table, &choices));
        }
    }

    #[test]
    fn any_choice_of_columns_and_rows_is_as_the_engine_has_it(
        run in any::<prop::sample::Index>(),
        choices in proptest::collection::vec(any::<prop::sample::Index>(), 60),
    ) {
        let runs = runs();
        let run = Run::open(&runs[run.index(runs.len())]).unwrap();
        let database = run.sql_context().unwrap();
        for table in ["bricks", "kernels", "tiles", "transfers", "checksums", "allocations"] {
            assert_same(&database, &query(&database, table, &choices));
        }
    }
}

#[test]
fn every_column_of_every_table_is_as_the_engine_has_it() {
    for run in runs() {
        let run = Run::open(&run).unwrap();
        let database = run.sql_context().unwrap();
        let tables: Vec<String> = database.table_names().map(str::to_owned).collect();
        for table in tables {
            let Ok(schema) = collect(&database, &format!("SELECT * FROM \"{table}\" LIMIT 0"))
            else {
                continue;
            };
            let columns: Vec<String> = schema
                .get_column_names()
                .iter()
                .map(|name| format!("\"{name}\""))
                .collect();
            assert_same(
                &database,
                &format!("SELECT {} FROM \"{table}\"", columns.join(", ")),
            );
        }
    }
}

#[test]
fn groups_of_joined_rows_are_as_the_engine_has_them() {
    let queries = [
        "SELECT kind, name, COUNT(*) AS n, SUM(dur_ns) AS dur_ns FROM ( \
         SELECT p.kind AS kind, p.name AS name, c.dur_ns AS dur_ns FROM bricks AS c JOIN bricks AS p ON c.parent = p.id \
         WHERE c.thread = p.thread AND c.timing <> 'bound') AS pairs GROUP BY kind, name ORDER BY kind, name",
        "SELECT COUNT(*) AS n, MAX(k.start_ns) AS last_ns \
         FROM kernels AS k INNER JOIN bricks AS b ON b.id = k.brick WHERE k.valid",
        // Correlations stand there more than once, and are missing.
        "SELECT COUNT(*) AS n FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation",
        "SELECT c.name AS name, COUNT(*) AS n FROM calls AS c JOIN kernels AS k ON c.correlation = k.correlation \
         GROUP BY c.name ORDER BY name",
        "SELECT COUNT(*) AS n FROM kernels AS k LEFT JOIN calls AS c ON k.correlation = c.correlation \
         WHERE k.device IS NOT NULL",
    ];
    for run in runs() {
        let run = Run::open(&run).unwrap();
        let database = run.sql_context().unwrap();
        for sql in queries {
            assert_same(&database, sql);
        }
    }
}

#[test]
fn tables_of_plugins_are_as_the_engine_has_them() {
    let rows = df![
        "name" => [Some("decode"), None, Some("no such brick"), Some("")],
        "count" => [Some(1_i64), Some(-1), None, Some(i64::MAX)],
        "bytes" => [Some(1_u64), None, Some(u64::MAX), Some(0)],
        "thread" => [Some(0_u32), Some(1), None, Some(u32::MAX)],
        "share" => [Some(0.5), None, Some(-0.0), Some(f64::INFINITY)],
        "is_bound" => [Some(true), None, Some(false), Some(true)],
        "day" => [Some(1_i16), None, Some(2), Some(3)],
    ]
    .unwrap();
    let queries = [
        "SELECT name, count, bytes, thread, share, is_bound FROM plugin.rows",
        "SELECT name, share FROM plugin.rows WHERE is_bound ORDER BY share DESC, name",
        "SELECT r.name AS name FROM plugin.rows AS r WHERE r.name = 'decode' OR r.count < 0",
        "SELECT name FROM plugin.rows WHERE name IN (SELECT name FROM bricks) ORDER BY name",
        "SELECT name, COUNT(*) AS n, SUM(count) AS sum FROM plugin.rows GROUP BY name ORDER BY name",
        "SELECT id, thread FROM bricks WHERE thread IN (SELECT thread FROM plugin.rows WHERE thread IS NOT NULL)",
        "SELECT COUNT(*) AS n, MAX(b.start_ns) AS last_ns FROM bricks AS b JOIN plugin.rows AS r ON b.name = r.name",
        // What columns in memory do not have, or the engine knows better.
        "SELECT day FROM plugin.rows",
        "SELECT name_id FROM plugin.rows",
        "SELECT DISTINCT name_id AS id, name AS text FROM plugin.rows",
        "SELECT b.name_id AS id, COUNT(*) AS n FROM bricks AS b JOIN plugin.rows AS r ON b.name = r.name GROUP BY b.name_id",
        "SELECT nothing FROM plugin.rows",
        "SELECT name FROM plugin.other",
    ];
    for run in runs() {
        let run = Run::open(&run).unwrap();
        let mut database = run.sql_context().unwrap();
        database.register("plugin.rows", rows.clone());
        for sql in queries {
            assert_same(&database, sql);
        }
        let count = "SELECT COUNT(*) AS n FROM plugin.rows";
        database.register("plugin.rows", rows.head(Some(1)));
        let one = by_plan(&database, count).unwrap();
        assert!(
            one.equals(&df!["n" => [1_i64]].unwrap()),
            "the later table stands"
        );
    }
}

#[test]
fn texts_that_only_a_table_of_a_plugin_holds_are_found_in_it() {
    for run in runs() {
        let run = Run::open(&run).unwrap();
        // Asked for before any other query has met the text.
        for (sql, found) in [
            (
                "SELECT name FROM plugin.rows WHERE kind = 'only here'",
                "one",
            ),
            (
                "SELECT name FROM plugin.rows WHERE kind <> 'only here'",
                "two",
            ),
        ] {
            let rows = df!["name" => ["one", "two"], "kind" => ["only here", "and here"]];
            let mut database = run.sql_context().unwrap();
            database.register("plugin.rows", rows.unwrap());
            let rows = by_plan(&database, sql).unwrap();
            assert!(
                rows.equals(&df!["name" => [found]].unwrap()),
                "{sql}: {rows}"
            );
        }
    }
}

/// The result does not depend on the side of a condition that names the joined table. For columns that the first
/// table lacks, the engine alone picks the wrong one.
#[test]
fn sides_of_a_condition_do_not_matter() {
    let mut found = 0;
    for run in runs() {
        let run = Run::open(&run).unwrap();
        let database = run.sql_context().unwrap();
        // Some runs have no kernels.
        if by_plan(&database, "SELECT brick FROM kernels").is_none() {
            continue;
        }
        let rows = |sql: &str| {
            let planned = database.planned(sql).and_then(Planned::rows);
            let rows = planned.unwrap_or_else(|error| panic!("{sql}: {error}"));
            rows.into_frame().unwrap()
        };
        let numbers = |table: &str, column: &str| -> Vec<Option<u64>> {
            let rows = rows(&format!("SELECT {column} FROM {table}"));
            rows.column(column).unwrap().u64().unwrap().iter().collect()
        };
        let parents: BTreeMap<Option<u64>, Option<u64>> = numbers("bricks", "id")
            .into_iter()
            .zip(numbers("bricks", "parent"))
            .collect();
        let bricks = numbers("kernels", "brick").into_iter();
        let of_parent = bricks.filter_map(|brick| parents.get(&brick));
        let expected = of_parent
            .filter(|parent| parents.contains_key(parent))
            .count();
        found += expected;
        for sql in [
            "SELECT COUNT(*) AS n FROM kernels k JOIN bricks b ON k.brick = b.id JOIN bricks p ON b.parent = p.id",
            "SELECT COUNT(*) AS n FROM kernels k JOIN bricks b ON b.id = k.brick JOIN bricks p ON p.id = b.parent",
            "SELECT COUNT(*) AS n FROM kernels k, bricks b, bricks p WHERE p.id = b.parent AND b.id = k.brick",
        ] {
            let n = rows(sql);
            assert!(
                n.equals(&df!["n" => [expected as i64]].unwrap()),
                "{sql}: {n}"
            );
        }
    }
    assert!(found > 0, "no kernel lies in a brick that lies in another");
}

#[test]
fn joins_are_the_same_in_memory_and_as_streams() {
    let queries = [
        "SELECT b.id AS id, p.name AS name FROM bricks AS b LEFT JOIN bricks AS p ON b.parent = p.id ORDER BY id, name",
        "SELECT c.name AS tensor, b.name AS name FROM checksums AS c JOIN bricks AS b ON c.span = b.id \
         WHERE b.kind <> 'run' ORDER BY tensor, name",
        // Of these a run may have none.
        "SELECT s.id AS id, c.start_ns AS called_ns FROM syncs AS s LEFT JOIN calls AS c ON s.correlation = c.correlation \
         WHERE s.kind <> 'join' ORDER BY id, called_ns",
        "SELECT k.id AS id FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation UNION ALL \
         SELECT t.id AS id FROM transfers AS t JOIN calls AS c ON t.correlation = c.correlation ORDER BY id",
        "SELECT COUNT(*) AS n, SUM(k.dur_ns) AS dur_ns FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation \
         JOIN bricks AS b ON b.id = k.brick ORDER BY n",
        "SELECT MAX(n) AS most FROM (SELECT k.id AS n FROM kernels AS k JOIN calls AS c ON k.correlation = c.correlation) AS x \
         ORDER BY most",
    ];
    for run in runs() {
        let run = Run::open(&run).unwrap();
        let database = run.sql_context().unwrap();
        for sql in queries {
            let found = by_plan(&database, sql);
            let expected = collect_in_order(&database, sql).and_then(|frame| {
                to_closed_types(frame).map_err(trueno_engine::query::QueryError::Failed)
            });
            let same = found.as_ref().zip(expected.as_ref().ok());
            let same = same.is_some_and(|(a, b)| a.equals_missing(b) && a.schema() == b.schema());
            assert!(same, "{sql}\nfound {found:?}\nexpected {expected:?}");
        }
    }
}
