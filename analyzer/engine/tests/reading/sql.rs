//! SQL over published tables and over tables of plugins.

use polars::df;
use trueno_engine::query::{Database, QueryError, collect, collect_in_order};

use crate::sample::{Sample, ordered_rows, rows, sample, value};

fn database() -> (Sample, Database) {
    let sample = sample();
    let mut database = sample.open().sql_context().unwrap();
    database.register(
        "category.by_category",
        df!["category" => ["Norm", "FFN"], "calls" => [3_i64, 4]].unwrap(),
    );
    database.register(
        "critical_path.path",
        df!["seq" => [1_u64, 2], "kind" => ["work", "gap"]].unwrap(),
    );
    database.register("category.path", df!["x" => [1_i64]].unwrap());
    (sample, database)
}

#[test]
fn tables_of_plugins_have_dotted_names() {
    let (_sample, database) = database();
    assert_eq!(
        value(
            &database,
            "SELECT SUM(calls) AS c FROM category.by_category"
        ),
        "7"
    );
    assert_eq!(
        value(
            &database,
            "select kind from critical_path.path p where p.seq = 2"
        ),
        "gap"
    );
    assert_eq!(value(&database, "SELECT x FROM category.path"), "1");
    assert_eq!(
        value(
            &database,
            "SELECT category.by_category.calls FROM category.by_category WHERE category.by_category.category = 'FFN'"
        ),
        "4"
    );
    assert_eq!(
        ordered_rows(
            &database,
            "WITH c AS (SELECT category, calls FROM category.by_category) SELECT c.category, c.calls, x FROM c CROSS JOIN category.path"
        ),
        ["FFN|4|1", "Norm|3|1"]
    );
}

#[test]
fn an_unknown_table_is_named_with_those_like_it() {
    let (_sample, database) = database();
    for (sql, name, near) in [
        ("SELECT * FROM brick", "brick", Some("bricks")),
        (
            "SELECT * FROM category.by_catgory",
            "category.by_catgory",
            Some("category.by_category"),
        ),
        (
            "SELECT * FROM critical_path.slack",
            "critical_path.slack",
            Some("critical_path.path"),
        ),
        (
            "SELECT * FROM bricks b JOIN kernel k ON b.id = k.brick",
            "kernel",
            Some("kernels"),
        ),
        ("SELECT * FROM zzzzzz", "zzzzzz", None),
    ] {
        match collect(&database, sql) {
            Err(QueryError::UnknownTable {
                name: found,
                nearest,
            }) => {
                assert_eq!(found, name, "{sql}");
                assert_eq!(nearest.first().map(String::as_str), near, "{sql}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn an_unknown_column_is_named_with_those_like_it() {
    let (_sample, database) = database();
    for (sql, name, near) in [
        ("SELECT durns FROM bricks", "durns", "dur_ns"),
        ("SELECT id FROM bricks WHERE nam = 'x'", "nam", "name"),
        ("SELECT b.startns FROM bricks b", "b.startns", "start_ns"),
        (
            "SELECT name, SUM(dur) AS s FROM bricks GROUP BY name",
            "dur",
            "dur_ns",
        ),
        (
            "SELECT id FROM bricks ORDER BY star_ns",
            "star_ns",
            "start_ns",
        ),
        ("SELECT call FROM category.by_category", "call", "calls"),
    ] {
        match collect(&database, sql) {
            Err(QueryError::UnknownColumn {
                name: found,
                nearest,
                columns,
            }) => {
                assert_eq!(found, name, "{sql}");
                assert!(columns.iter().any(|n| n == near), "{sql}: {columns:?}");
                assert!(
                    nearest.iter().any(|n| n.ends_with(near)),
                    "{sql}: {nearest:?}"
                );
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
    let error = collect(&database, "SELECT durns FROM bricks").unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("unknown column durns (hint: did you mean dur_ns? there are "),
        "{error}"
    );
}

#[test]
fn what_is_no_query_is_an_error_of_one_line() {
    let (_sample, database) = database();
    for sql in [
        "",
        "SELEC id FROM bricks",
        "SELECT",
        "SELECT * FROM bricks; SELECT 1",
        "DROP TABLE bricks",
        "SELECT nofunction(id) FROM bricks",
        "SELECT * FROM read_ipc('x.arrow')",
        "SELECT id FROM bricks WHERE (",
        "'",
        "SELECT 1 FROM bricks b, edges e WHERE",
        "SELECT interval 'x'",
        "SELECT id FROM bricks WHERE name ~ '('",
        "SELECT id, COUNT(*) FROM bricks GROUP BY name",
        "SELECT id FROM bricks WHERE COUNT(*) > 1",
        "SELECT name FROM bricks a JOIN bricks b ON a.id = b.id",
        "SELECT id FROM bricks UNION SELECT id, name FROM bricks",
        &format!("SELECT {}1", "1+".repeat(5000)),
    ] {
        let error = collect(&database, sql).expect_err(sql);
        assert!(matches!(error, QueryError::Sql(_)), "{sql}: {error:?}");
        assert!(!error.to_string().contains('\n'), "{sql}: {error}");
    }
}

#[test]
fn a_query_does_not_change_the_tables_of_the_next() {
    let (_sample, database) = database();
    assert_eq!(
        value(
            &database,
            "SELECT COUNT(*) FROM (SELECT id FROM bricks WHERE id = 3) AS bricks"
        ),
        "1"
    );
    assert_eq!(value(&database, "SELECT COUNT(*) FROM bricks"), "20");
}

#[test]
fn rows_keep_the_order_of_the_files() {
    let (_sample, database) = database();
    let ids = rows(
        &database,
        "SELECT \"from\" FROM edges WHERE kind <> 'joins'",
    );
    let mut sorted: Vec<u64> = ids.iter().map(|id| id.parse().unwrap()).collect();
    sorted.sort_unstable();
    assert_eq!(ids, sorted.iter().map(u64::to_string).collect::<Vec<_>>());
}

#[test]
fn an_open_order_is_closed() {
    let (_sample, database) = database();
    assert_eq!(
        ordered_rows(
            &database,
            "SELECT name, COUNT(*) AS n FROM bricks GROUP BY name"
        ),
        ["|5", "Attention|5", "QkvProjection|5", "RmsNorm|5"]
    );
    assert_eq!(
        ordered_rows(
            &database,
            "SELECT name, COUNT(*) AS n FROM bricks GROUP BY name ORDER BY n DESC LIMIT 2; -- the most"
        ),
        ["|5", "Attention|5"]
    );
    assert_eq!(
        ordered_rows(
            &database,
            "SELECT DISTINCT kind FROM edges UNION SELECT name FROM bricks"
        )
        .len(),
        8
    );
    assert_eq!(
        ordered_rows(
            &database,
            "SELECT thread, id FROM bricks ORDER BY thread LIMIT 3"
        ),
        ["0|2", "0|4", "0|6"]
    );
    assert_eq!(
        ordered_rows(&database, "SELECT * FROM bricks ORDER BY name DESC LIMIT 1").len(),
        1
    );
    assert_eq!(
        ordered_rows(
            &database,
            "SELECT b.name, e.kind FROM bricks b JOIN edges e ON b.id = e.\"from\" WHERE b.id < 3"
        ),
        ["Attention|joins", "QkvProjection|spawns"]
    );
    assert!(collect_in_order(&database, "SHOW TABLES").is_ok());
}

#[test]
fn columns_that_would_have_one_name_get_distinct_ones() {
    let (_sample, database) = database();
    let names = |sql: &str| {
        let frame = collect_in_order(&database, sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        let names = frame
            .columns()
            .iter()
            .map(|column| column.name().to_string());
        names.collect::<Vec<_>>().join("|")
    };
    for (sql, expected) in [
        (
            "SELECT COUNT(*), COUNT(*) FROM bricks",
            "COUNT(*)|COUNT(*)_2",
        ),
        (
            "SELECT SUM(dur_ns), MAX(dur_ns) FROM bricks",
            "SUM(dur_ns)|MAX(dur_ns)",
        ),
        (
            "SELECT a.name, b.name FROM bricks a JOIN bricks b ON a.parent = b.id",
            "name|name_2",
        ),
        ("SELECT id AS x, dur_ns AS x FROM bricks", "x|x_2"),
        (
            "SELECT calls, * FROM category.by_category",
            "calls|category|calls_2",
        ),
        (
            "SELECT name, MIN(dur_ns), MAX(dur_ns) AS m FROM bricks GROUP BY name ORDER BY m",
            "name|MIN(dur_ns)|m",
        ),
    ] {
        assert_eq!(names(sql), expected, "{sql}");
    }
}
