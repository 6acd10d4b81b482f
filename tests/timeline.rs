//! The computed tables `timeline.spans` and `timeline.lanes`, as a user queries them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use polars::df;
use polars::prelude::DataFrame;
use serde_json::Value;
use trueno_engine::query::{
    Database, Planned, QueryError, collect_from_columns, collect_in_order, output,
};
use trueno_engine::run::Run;
use trueno_engine::timeline::{Limits, timeline};
use trueno_model::csv::CsvTexts;
use trueno_testing::Made;

use crate::harness::{Dir, section, standard_plugins};
use crate::hostile::compile_hostile;

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets")
        .join(name)
}

/// Rows of a query with the standard plugins, as JSON objects.
fn query(dir: &Dir, run: &Path, sql: &str) -> Vec<Value> {
    let plugins = standard_plugins(dir);
    let (run, plugins) = (run.to_str().unwrap(), plugins.to_str().unwrap());
    let args = ["query", run, sql, "--format", "json"];
    let plugins = ["--no-default-plugins", "--plugin-dir", plugins];
    let rows = dir.command(&[&args[..], &plugins].concat());
    rows.exits(0).json().as_array().unwrap().clone()
}

fn int(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap()
}

struct Interval {
    id: i64,
    start_ns: i64,
    end_ns: i64,
    is_brick: bool,
}

/// The intervals of each thread from the recorded tables. The run has no device.
fn recorded(dir: &Dir, run: &Path) -> BTreeMap<i64, Vec<Interval>> {
    let mut threads: BTreeMap<i64, Vec<Interval>> = BTreeMap::new();
    for (table, condition) in [
        ("bricks", "timing <> 'bound'"),
        ("kernels", "valid AND timing <> 'bound'"),
        ("tiles", "TRUE"),
        ("syncs", "TRUE"),
    ] {
        let sql = format!("SELECT id, thread, start_ns, dur_ns FROM {table} WHERE {condition}");
        for row in query(dir, run, &sql) {
            threads
                .entry(int(&row, "thread"))
                .or_default()
                .push(Interval {
                    id: int(&row, "id"),
                    start_ns: int(&row, "start_ns"),
                    end_ns: int(&row, "start_ns") + int(&row, "dur_ns"),
                    is_brick: table == "bricks",
                });
        }
    }
    threads
}

#[test]
fn every_row_has_what_lies_around_it_and_what_it_took_itself() {
    let (dir, run) = (Dir::new(), dataset("tiny/test.run"));
    let spans = query(&dir, &run, "SELECT * FROM timeline.spans");
    let spans: BTreeMap<i64, &Value> = spans.iter().map(|row| (int(row, "id"), row)).collect();
    let threads = recorded(&dir, &run);
    assert_eq!(spans.len(), threads.values().map(Vec::len).sum::<usize>());
    for lane in threads.values() {
        // The latest started; of equals the shorter; then the higher id.
        let key = |of: &Interval| (of.start_ns, -of.end_ns, of.id);
        let innermost = |at_ns: i64, before: &dyn Fn(&Interval) -> bool| {
            let open = lane
                .iter()
                .filter(|of| of.start_ns <= at_ns && at_ns < of.end_ns);
            open.filter(|of| before(of)).max_by_key(|of| key(of))
        };
        let parent = |of: &Interval| innermost(of.start_ns, &|other| key(other) < key(of));
        // Between two neighbouring ends of intervals nothing changes.
        let mut ends: Vec<i64> = lane
            .iter()
            .flat_map(|of| [of.start_ns, of.end_ns])
            .collect();
        ends.sort_unstable();
        let mut self_ns: BTreeMap<i64, i64> = BTreeMap::new();
        for pair in ends.windows(2) {
            if let Some(ran) = innermost(pair[0], &|_| true) {
                *self_ns.entry(ran.id).or_default() += pair[1] - pair[0];
            }
        }
        for of in lane {
            let row = spans[&of.id];
            let around = || std::iter::successors(Some(of), |of| parent(of));
            let id = |of: Option<&Interval>| of.map_or(Value::Null, |of| of.id.into());
            assert_eq!(row["parent"], id(parent(of)), "{row}");
            assert_eq!(row["brick"], id(around().find(|of| of.is_brick)), "{row}");
            assert_eq!(int(row, "depth"), around().count() as i64 - 1, "{row}");
            assert_eq!(
                int(row, "self_ns"),
                self_ns.get(&of.id).copied().unwrap_or(0),
                "{row}"
            );
        }
    }
}

#[test]
fn self_times_are_those_of_the_report_by_category_and_by_lane() {
    let dir = Dir::new();
    for run in ["tiny/test.run", "decode/simd.run", "roofline/avx2.run"] {
        let run = dataset(run);
        let both = |spans: &str, report: &str| {
            assert_eq!(
                query(&dir, &run, spans),
                query(&dir, &run, report),
                "{report}"
            );
        };
        both(
            "SELECT lane_kind, category, SUM(self_ns) AS ns, COUNT(*) AS calls FROM timeline.spans \
             GROUP BY lane_kind, category ORDER BY lane_kind, category",
            "SELECT lane_kind, category, SUM(self_ns) AS ns, SUM(calls) AS calls FROM category.by_brick \
             WHERE calls > 0 GROUP BY lane_kind, category ORDER BY lane_kind, category",
        );
        both(
            "SELECT lane, lane_kind, busy_ns FROM timeline.lanes ORDER BY lane",
            "SELECT lane, lane_kind, busy_ns FROM category.by_lane ORDER BY lane",
        );
        both(
            "SELECT s.lane, SUM(s.self_ns) AS busy_ns FROM timeline.spans s GROUP BY s.lane ORDER BY s.lane",
            "SELECT lane, busy_ns FROM timeline.lanes WHERE spans > 0 ORDER BY lane",
        );
    }
}

#[test]
fn work_belongs_to_the_brick_that_it_names() {
    let dir = Dir::new();
    let run = dir.join("device.run");
    trueno_testing::sample(&run);
    let named = "FROM kernels k JOIN timeline.spans s ON s.id = k.id WHERE k.brick IS NOT NULL";
    let rows = query(
        &dir,
        &run,
        &format!("SELECT k.brick, s.brick AS found {named}"),
    );
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["brick"], row["found"]);
    }
}

#[test]
fn rules_on_names_give_categories_here_too() {
    let dir = Dir::new();
    let rules = "[[rule]]\ncategory = \"set-up\"\ncontains = [\"make weights\"]\n";
    std::fs::write(dir.join("mine.toml"), rules).unwrap();
    let run = dataset("decode/simd.run");
    let sql = "SELECT DISTINCT category FROM timeline.spans WHERE name = 'make weights'";
    let args = ["query", run.to_str().unwrap(), sql, "--format", "csv"];
    let with = [&args[..], &["--categories", "mine.toml"]].concat();
    dir.command(&args).exits(0).stdout_has("uncategorised");
    dir.command(&with).exits(0).stdout_has("set-up");
}

/// Rows as text, in the order of the result.
fn lines(rows: Result<DataFrame, QueryError>) -> String {
    let rows = trueno_engine::closed_types::to_closed_types(rows.unwrap()).unwrap();
    let mut text = Vec::new();
    output::csv(&rows, CsvTexts::Guarded, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn every_way_to_answer_gives_the_same_rows() {
    let run = Run::open(&dataset("decode/simd.run")).unwrap();
    let database: Database = run.sql_context().unwrap();
    for sql in [
        "SELECT * FROM timeline.spans ORDER BY id",
        "SELECT id, name, name_id FROM timeline.spans ORDER BY id",
        "SELECT name, self_ns FROM timeline.spans WHERE kind = 'brick' AND depth > 1 ORDER BY id",
        "SELECT category, COUNT(*) AS n, MAX(self_ns) AS most FROM timeline.spans GROUP BY category ORDER BY category",
        "SELECT s.id, b.iteration FROM timeline.spans s JOIN bricks b ON s.brick = b.id ORDER BY s.id",
        "SELECT s.id, l.thread FROM timeline.spans s JOIN timeline.lanes l ON s.lane = l.lane ORDER BY s.id",
        "SELECT MAX(self_ns * 2) AS twice FROM timeline.spans",
    ] {
        let expected = lines(collect_in_order(&database, sql));
        assert!(expected.lines().count() > 1, "{sql}");
        assert_eq!(
            lines(collect_from_columns(&database, sql)),
            expected,
            "{sql}"
        );
        let planned = database.planned(sql).and_then(Planned::rows).unwrap();
        assert_eq!(lines(Ok(planned.into_frame().unwrap())), expected, "{sql}");
        // What was let go of is computed again.
        drop(database.claims(sql));
        assert_eq!(lines(collect_in_order(&database, sql)), expected, "{sql}");
    }
}

/// Compares the tables that a plugin gets, in this process and isolated, with what `query` returns.
#[test]
fn plugins_read_them_like_any_other_table() {
    let dir = Dir::new();
    let Some(echo) = compile_hostile("echo.c", &dir.join("."), "echo") else {
        return;
    };
    let (run, until_ns) = (dataset("tiny/test.run"), 2_000_000);
    let part = ["--from", "100us", "--to", "2ms"];
    for window in [&[][..], &part] {
        let mut database = Run::open(&run).unwrap().sql_context().unwrap();
        if !window.is_empty() {
            let window = df!("from_ns" => [100_000_i64], "until_ns" => [until_ns]);
            database.register("report_window", window.unwrap());
        }
        for isolation in [&[][..], &["--isolate"]] {
            let plugin = ["--plugin", echo.to_str().unwrap(), "--plugin-id", "echo"];
            let args = [&plugin[..], &["--json", "-"], isolation, window].concat();
            let report = dir.report(&run, &args).exits(0).json();
            let echo = section(&report, "echo");
            let tables = echo["tables"].as_array().unwrap();
            assert_eq!(tables.len(), 2, "{echo:#}");
            for (table, sql) in tables.iter().zip(echo_queries()) {
                let expected = lines(database.planned(&sql).and_then(rows_of));
                let cell = |cell: &Value| match cell {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    number => number.to_string(),
                };
                let rows = table["rows"].as_array().unwrap();
                assert!(!rows.is_empty(), "{sql}");
                let rows = rows.iter().map(|row| {
                    let cells = row.as_array().unwrap().iter().map(cell);
                    cells.collect::<Vec<_>>().join(",")
                });
                assert!(rows.eq(expected.lines().skip(1)), "{isolation:?} {sql}");
            }
        }
    }
}

/// The queries of the plugin, parsed from its source.
fn echo_queries() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hostile/c/echo.c");
    let source = std::fs::read_to_string(source).unwrap();
    let texts = source.split("TRUENO_TEXT(\"SELECT").skip(1);
    let texts = texts.map(|text| {
        let end = text.find("\")}").unwrap();
        let parts = text[..end].split('"').step_by(2).collect::<String>();
        format!("SELECT{parts}")
    });
    texts.collect()
}

fn rows_of(planned: Planned) -> Result<DataFrame, QueryError> {
    planned.rows().map(|rows| rows.into_frame().unwrap())
}

#[test]
fn a_small_timeline_tells_what_rows_say_and_what_led_to_what() {
    let dir = Dir::new();
    let path = dir.join("small.run");
    let mut made = Made::new(&path);
    let at = |id: i64, start_ns: i64| {
        [
            ("id", id.into()),
            ("start_ns", start_ns.into()),
            ("dur_ns", 10.into()),
        ]
    };
    let on_device = [
        ("device", 0.into()),
        ("stream", 7.into()),
        ("brick", 1.into()),
    ];
    let dims = [("id", 5.into()), ("input_dims", "[[2,3],[3,4]]".into())];
    made.row("signatures", &dims);
    let brick = [
        ("name", "aten::mm".into()),
        ("signature", 5.into()),
        ("kind", "brick".into()),
    ];
    made.row("bricks", &[&at(1, 0)[..], &brick].concat());
    let call = [
        ("name", "cudaLaunchKernel".into()),
        ("correlation", 9.into()),
    ];
    made.row("calls", &[&at(2, 20)[..], &call].concat());
    let size = [
        ("grid_x", 4.into()),
        ("grid_y", 2.into()),
        ("grid_z", 1.into()),
        ("registers", 32.into()),
    ];
    let launched = [("name", "sgemm".into()), ("correlation", 9.into())];
    made.row(
        "kernels",
        &[&at(3, 100)[..], &launched, &size, &on_device].concat(),
    );
    let copy = [
        ("direction", "h2d".into()),
        ("bytes", 64.into()),
        ("correlation", 10.into()),
    ];
    made.row("transfers", &[&at(4, 200)[..], &copy, &on_device].concat());
    let edge = [
        ("from", 3.into()),
        ("to", 4.into()),
        ("kind", "depends_on".into()),
    ];
    made.row("edges", &edge);
    made.finish(1_000);

    let database = Run::open(&path).unwrap().sql_context().unwrap();
    let made = timeline(&database, Some(1_000), false, Limits::default()).unwrap();
    let spans: Vec<_> = made.rows.iter().flat_map(|row| &row.spans).collect();
    let said: BTreeMap<i64, &str> = spans
        .iter()
        .map(|span| (span.id, &*made.details[span.detail as usize]))
        .collect();
    let expected = [
        (1, "2×3, 3×4"),
        (2, ""),
        (3, "grid 4×2×1 · 32 registers"),
        (4, "64 B"),
    ];
    assert_eq!(said, BTreeMap::from(expected));
    let id = |number: u32| spans[number as usize].id;
    let links: BTreeSet<_> = made
        .links
        .iter()
        .map(|link| (id(link.from), id(link.to)))
        .collect();
    // The copy's call was not recorded, so it comes from its row of bricks.
    assert_eq!(links, BTreeSet::from([(1, 4), (2, 3), (3, 4)]));
    assert!(made.rows[0].lane.starts_with("gpu0"), "devices come first");

    let few = Limits {
        spans: 3,
        ..Limits::default()
    };
    let made = timeline(&database, Some(1_000), false, few).unwrap();
    assert!(
        made.links.is_empty() && made.details.is_empty(),
        "short intervals have no numbers"
    );
}
