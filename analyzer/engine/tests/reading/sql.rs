//! SQL over published tables and over tables of plugins.

use polars::df;
use trueno_engine::query::{Database, Planned, QueryError, collect, collect_in_order};

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

/// The planner types columns by itself, without the engine's plan: with the very types that the rows have.
#[test]
fn the_columns_of_a_query_are_known_before_it_runs() {
    let (_sample, database) = database();
    let of_row = "id; parent; brick_id; name; name_id; dur_ns; kind = 'layer'; NOT (id > 3); -dur_ns; id + 1; id - parent; \
                  dur_ns * 2; dur_ns / 2; dur_ns % 7; dur_ns // 7; dur_ns + 0.5; id | 1; name || '!'; name || id; 1; 1.5; 'x'; TRUE; \
                  18446744073709551615; CAST(id AS BIGINT); CAST(id AS INTEGER); CAST(dur_ns AS DOUBLE); CAST(id AS VARCHAR); \
                  CAST(name AS BOOLEAN); TRY_CAST(name AS BIGINT); COALESCE(parent, 0); COALESCE(brick_id, dur_ns); \
                  NULLIF(id, 2); GREATEST(id, 2); LEAST(dur_ns, 2.5); IF(id > 2, id, parent); CASE WHEN id > 2 THEN 1 END; \
                  CASE kind WHEN 'layer' THEN dur_ns ELSE 0.5 END; id BETWEEN 1 AND 3; id IN (1, 2); name LIKE 'R%'; \
                  name IS NULL; id IS DISTINCT FROM parent; ABS(dur_ns); ABS(0.5 * dur_ns); CEIL(dur_ns / 7); FLOOR(dur_ns / 7); \
                  ROUND(dur_ns / 7, 1); SIGN(dur_ns); SQRT(dur_ns); POW(dur_ns, 2); LN(dur_ns); LOG(10, dur_ns); MOD(dur_ns, 7); \
                  TRUNC(dur_ns / 7); PI(); UPPER(name); LENGTH(name); OCTET_LENGTH(name); SUBSTR(name, 2); LEFT(name, 2); \
                  TRIM(name); LPAD(name, 9, ' '); REPLACE(name, 'R', 'r'); REVERSE(name); CONTAINS(name, 'm'); STARTS_WITH(name, 'R'); \
                  STRPOS(name, 'm'); SPLIT_PART(name, 'm', 1); REGEXP_MATCHES(name, 'm+'); REGEXP_EXTRACT(name, 'm+'); \
                  REGEXP_REPLACE(name, 'm', 'n'); CONCAT(name, id); CONCAT_WS('-', name, kind); \
                  (SELECT MAX(k.dur_ns) FROM bricks AS k WHERE k.id = b.parent); (SELECT COUNT(*) FROM kernels); \
                  EXISTS (SELECT 1 FROM bricks AS k WHERE k.parent = b.id); id IN (SELECT parent FROM bricks); \
                  ROW_NUMBER() OVER (ORDER BY id); RANK() OVER (ORDER BY kind); NTILE(3) OVER (ORDER BY id); \
                  PERCENT_RANK() OVER (ORDER BY id); LAG(id) OVER (ORDER BY id); LEAD(name) OVER (ORDER BY id); \
                  FIRST_VALUE(brick_id) OVER (ORDER BY id); SUM(dur_ns) OVER (PARTITION BY kind); \
                  SUM(id) OVER (ORDER BY id); AVG(dur_ns) OVER (PARTITION BY kind); COUNT(*) OVER (PARTITION BY kind); \
                  MIN(name) OVER (PARTITION BY kind); MAX(brick_id) OVER (ORDER BY id)";
    let of_group = "COUNT(*); COUNT(parent); COUNT(DISTINCT name); COUNT_IF(id > 2); SUM(id); SUM(dur_ns); SUM(brick_id); \
                    SUM(DISTINCT dur_ns); SUM(dur_ns / 2); SUM(id > 2); TOTAL(dur_ns); AVG(dur_ns); MEDIAN(dur_ns); MIN(id); MAX(name); \
                    MIN(brick_id); MAX(kind = 'layer'); ANY_VALUE(name); FIRST(dur_ns ORDER BY id); LAST(brick_id ORDER BY id); \
                    STDDEV(dur_ns); VAR_POP(dur_ns); BOOL_AND(id > 0); STRING_AGG(name, ',' ORDER BY id); ARG_MAX(name, dur_ns); \
                    ARG_MIN(id, dur_ns); CORR(id, dur_ns); COVAR_POP(id, dur_ns); QUANTILE_CONT(dur_ns, 0.5); QUANTILE_DISC(id, 0.5); \
                    QUANTILE_DISC(brick_id, 0.5); SUM(dur_ns) FILTER (WHERE id > 2); SUM(dur_ns) / COUNT(*); 2 * MAX(dur_ns)";
    let of_row = of_row.split(';').map(str::trim).flat_map(|expression| {
        let query =
            |condition| format!("SELECT {expression} AS x FROM bricks AS b {condition} LIMIT 9");
        ["", "WHERE id < 0"].map(query)
    });
    let of_group = of_group.split(';').map(str::trim).flat_map(|expression| {
        let query =
            |rest| format!("SELECT {expression} AS x, {expression} FROM bricks {rest} LIMIT 9");
        [
            "",
            "GROUP BY kind",
            "WHERE id < 0",
            "WHERE id < 0 GROUP BY kind, name",
        ]
        .map(query)
    });
    let whole = [
        "SELECT * FROM bricks LIMIT 2",
        "SELECT * FROM kernels LIMIT 2",
        "SELECT * FROM run, segments LIMIT 2",
        "SELECT b.*, c.* FROM bricks AS b JOIN bricks AS c ON b.parent = c.id LIMIT 2",
        "SELECT * FROM bricks LEFT JOIN kernels USING (id) LIMIT 2",
        "SELECT * FROM bricks FULL JOIN kernels USING (id) LIMIT 2",
        "SELECT id FROM bricks UNION ALL SELECT brick_id FROM bricks LIMIT 2",
        "SELECT id FROM bricks UNION SELECT 0.5 LIMIT 2",
        "SELECT name FROM bricks EXCEPT SELECT kind FROM bricks LIMIT 2",
        "VALUES (1, 'a', 0.5, NULL), (2, NULL, 1, TRUE)",
        "SELECT NULL AS x, id AS x FROM bricks LIMIT 2",
        "WITH w AS (SELECT kind, COUNT(*) AS n FROM bricks GROUP BY kind) SELECT *, n / 2 FROM w LIMIT 2",
        "SELECT DISTINCT ON (kind) kind, brick_id FROM bricks ORDER BY kind LIMIT 2",
        "SELECT * FROM timeline.spans LIMIT 2",
        "SELECT category, calls + 1, x FROM category.by_category CROSS JOIN category.path LIMIT 2",
        "SHOW TABLES",
        "EXPLAIN SELECT id FROM bricks",
    ];
    let mut answered = 0;
    for sql in of_row.chain(of_group).chain(whole.map(str::to_owned)) {
        let planned = database.planned(&sql);
        let columns = planned.as_ref().map(|planned| planned.columns().unwrap());
        let columns = columns.unwrap_or_default();
        // Some functions the engine cannot run, and some types no plugin reads.
        if let Ok(rows) = planned.and_then(Planned::rows) {
            assert_eq!(rows.fields(), columns, "{sql}");
            answered += 1;
        }
    }
    assert!(answered > 300, "{answered}");
}
