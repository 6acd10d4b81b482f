//! Verbs, flags, exit codes, messages.

use crate::harness::Dir;

#[test]
fn help_shows_examples_and_exit_codes() {
    let dir = Dir::new();
    let help = dir.command(&["--help"]).exits(0).stdout;
    for expected in [
        "Examples:",
        "trueno-analyze report decode.run --fail-on high",
        "Exit codes:",
        "plugins",
    ] {
        assert!(help.contains(expected), "{help}");
    }
}

#[test]
fn wrong_arguments_exit_2_on_standard_error() {
    let dir = Dir::new();
    for args in [
        &["frobnicate"][..],
        &["report"],
        &["report", "x.run", "--width", "79"],
        &["report", "x.run", "--width", "201"],
        &["report", "x.run", "--fail-on", "sometimes"],
        &["report", "x.run", "--set", "nonsense"],
    ] {
        let done = dir.command(args).exits(2);
        assert!(
            done.stdout.is_empty() && !done.stderr.is_empty(),
            "{args:?}"
        );
    }
}

#[test]
fn a_run_that_is_not_there_exits_2_and_names_it() {
    let dir = Dir::new();
    let plugins = crate::harness::standard_plugins(&dir);
    let plugins = plugins.to_str().unwrap();
    for args in [
        &[
            "report",
            "nowhere.run",
            "--no-default-plugins",
            "--plugin-dir",
            plugins,
        ][..],
        &["query", "nowhere.run", "SELECT 1"],
        &["tables", "nowhere.run"],
        &["info", "nowhere.run"],
    ] {
        let done = dir
            .command(args)
            .exits(2)
            .stderr_has("nowhere.run")
            .stderr_has("error: ");
        assert!(done.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn info_and_tables_tell_what_a_run_holds() {
    let dir = Dir::new();
    dir.run();
    dir.command(&["info", "test.run"])
        .exits(0)
        .stdout_has("test")
        .stdout_has("bricks")
        .stdout_has(", resolution ")
        .stdout_has("finished");
    dir.command(&["tables", "test.run"])
        .exits(0)
        .stdout_has("kernels")
        .stdout_has("checksums");
    dir.command(&["tables", "test.run", "bricks"])
        .exits(0)
        .stdout_has("start_ns");
    let json = dir
        .command(&["tables", "test.run", "--json"])
        .exits(0)
        .json();
    assert!(
        json.as_array()
            .unwrap()
            .iter()
            .any(|table| table["name"] == "bricks")
    );
    dir.command(&["info", "test.run", "--json"]).exits(0).json();
    dir.command(&["tables", "test.run", "bicks"])
        .exits(2)
        .stderr_has("bicks")
        .stderr_has("bricks");
}

#[test]
fn a_query_prints_a_table_csv_or_json() {
    let dir = Dir::new();
    dir.run();
    let sql = "SELECT name, COUNT(*) AS n FROM kernels GROUP BY name";
    dir.command(&["query", "test.run", sql])
        .exits(0)
        .stdout_has("gemv");
    assert_eq!(
        dir.command(&["query", "test.run", sql, "--format", "csv"])
            .exits(0)
            .stdout,
        "name,n\r\ngemv,2\r\n"
    );
    let json = dir
        .command(&["query", "test.run", sql, "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(json, serde_json::json!([{"name": "gemv", "n": 2}]));
}

#[test]
fn a_query_reads_several_runs_and_standard_input() {
    let dir = Dir::new();
    let of = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/decode");
        format!("{folder}/{name}")
    };
    let (simd, scalar) = (of("simd.run"), of("scalar.run"));
    let value = |args: &[&str]| {
        let done = dir.command(&[args, &["--format", "csv"]].concat()).exits(0);
        done.stdout.lines().nth(1).unwrap_or_default().to_owned()
    };
    // Computed tables of another run are those that it has alone.
    for sql in [
        "SELECT SUM(self_ns) AS ns FROM @timeline.spans WHERE category = 'Attention'",
        "SELECT COUNT(*) AS n FROM @bricks WHERE name = 'QkvProjection'",
    ] {
        let other = format!("before={scalar}");
        let alone = value(&["query", &scalar, &sql.replace('@', "")]);
        let both = value(&[
            "query",
            &simd,
            "--run",
            &other,
            &sql.replace('@', "before."),
        ]);
        assert_eq!(both, alone, "{sql}");
        assert!(!alone.is_empty() && alone != "0");
    }
    let other = format!("before={scalar}");
    let joined = "SELECT a.n - b.n AS n FROM (SELECT name, COUNT(*) AS n FROM bricks GROUP BY name) AS a \
                  JOIN (SELECT name, COUNT(*) AS n FROM before.bricks GROUP BY name) AS b ON a.name = b.name \
                  WHERE a.name = 'iteration'";
    assert_eq!(value(&["query", &simd, "--run", &other, joined]), "0");
    for name in ["timeline", "1st", ""] {
        let other = format!("{name}={scalar}");
        dir.command(&["query", &simd, "--run", &other, "SELECT 1"])
            .exits(2)
            .stderr_has("--run");
    }
    std::fs::write(dir.join("q.sql"), "SELECT COUNT(*) AS n FROM bricks;\n").expect("a file");
    let shell = format!(
        "'{}' query '{simd}' --format csv < q.sql",
        env!("CARGO_BIN_EXE_trueno-analyze")
    );
    let mut command = std::process::Command::new("sh");
    let done = command
        .current_dir(dir.path())
        .args(["-c", &shell])
        .output();
    let text = String::from_utf8(done.expect("a shell").stdout).expect("UTF-8");
    assert_eq!(text, "n\r\n1041\r\n");
    dir.command(&["query", &simd, "-"])
        .exits(2)
        .stderr_has("SELECT");
}

#[test]
fn the_page_on_sql_tells_what_queries_can_do() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let page = std::fs::read_to_string(format!("{root}/docs/sql.md")).expect("the page");
    let dir = Dir::new();
    let run = format!("{root}/datasets/decode/simd.run");
    let other = format!("before={root}/datasets/decode/scalar.run");
    let query = |sql: &str, code| {
        let sql = sql.replace('\n', " ");
        dir.command(&["query", &run, "--run", &other, &sql])
            .exits(code);
    };
    let examples = page
        .split("\n\n")
        .filter(|part| part.starts_with("    SELECT"));
    assert_eq!(examples.map(|sql| query(sql, 0)).count(), 3);
    let of = |rows: &str| format!("SELECT {rows} FROM bricks");
    let works = include_str!("documented_queries.sql").lines();
    assert_eq!(works.map(|sql| query(sql, 0)).count(), 24);
    let refused = [
        "WITH RECURSIVE r AS (SELECT 1 AS n) SELECT n FROM r".to_owned(),
        of("name") + ", LATERAL (SELECT 1 AS n) AS l",
        of("name, COUNT(*)") + " GROUP BY ROLLUP (name)",
        of("SUM(dur_ns) OVER (ORDER BY start_ns RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS s"),
        of("EXTRACT(DAY FROM start_ns)"),
    ];
    refused.iter().for_each(|sql| query(sql, 2));
}

#[test]
fn a_query_that_names_what_is_not_there_exits_2_with_a_suggestion() {
    let dir = Dir::new();
    dir.run();
    dir.command(&["query", "test.run", "SELECT nme FROM bricks"])
        .exits(2)
        .stderr_has("nme")
        .stderr_has("name");
    dir.command(&["query", "test.run", "SELECT 1 FROM bicks"])
        .exits(2)
        .stderr_has("bicks")
        .stderr_has("bricks");
}

#[test]
fn a_query_reads_what_plugins_make_and_joins_it_to_what_was_recorded() {
    let dir = Dir::new();
    dir.run();
    let plugins = crate::harness::standard_plugins(&dir);
    let plugins = [
        "--no-default-plugins",
        "--plugin-dir",
        plugins.to_str().unwrap(),
    ];
    let ask = |sql: &str, more: &[&str]| {
        let args = ["query", "test.run", sql, "--format", "json"];
        dir.command(&[&args[..], &plugins[..], more].concat())
    };
    let rows = ask(
        "SELECT k.name, COUNT(*) AS n, MIN(s.slack_ns) >= 0 AS sound FROM kernels k \
         JOIN critical_path.slack s ON s.id = k.id GROUP BY k.name",
        &[],
    );
    assert_eq!(
        rows.exits(0).json(),
        serde_json::json!([{"name": "gemv", "n": 2, "sound": true}])
    );
    let sql = "SELECT wall_share FROM category.by_lane";
    ask(sql, &["--set", "category.nonsense=1"])
        .exits(2)
        .stderr_has("nonsense");
    ask(sql, &["--set", "nobody.key=1"])
        .exits(2)
        .stderr_has("nobody");
    ask("SELECT 1 FROM category.by_lanes", &[])
        .exits(2)
        .stderr_has("category makes no table by_lanes of this run (hint: it makes by_category,");
    ask("SELECT 1 FROM categry.by_lane", &[])
        .exits(2)
        .stderr_has("unknown table categry.by_lane");
    let library = crate::harness::built_library("trueno_plugin_divergence");
    let divergence = ["--plugin", library.to_str().unwrap()];
    let pairs = "SELECT COUNT(*) AS n FROM divergence.pairs";
    ask(pairs, &divergence).exits(2).stderr_has("--baseline");
    ask(
        pairs,
        &[&divergence[..], &["--baseline", "test.run"]].concat(),
    )
    .exits(0);
    ask("SELECT 1 AS one", &["--baseline", "test.run"])
        .exits(0)
        .stderr_has("do nothing");
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    use std::io::Read;
    use std::process::Stdio;
    let dir = Dir::new();
    let run = dir.run();
    let mut command = dir.report(&run, &["--json", "-"]).command;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed before anything is written: every write meets a broken pipe.
    drop(child.stdout.take());
    let status = crate::harness::ends(&mut child, "a command without a reader");
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_query_that_asks_for_too_much_ends_in_words() {
    let dir = Dir::new();
    let run = dir.run();
    let run = run.to_str().unwrap();
    let wide = "SELECT LPAD(name, 2000000000, 'x') AS a FROM bricks";
    dir.command(&["query", run, wide, "--memory", "500M"])
        .exits(2)
        .stderr_has("needs more memory than it may take");
    // Each doubles the one before it: no machine comes to an end of it.
    let doubled = (1..40).map(|n| {
        format!(
            "t{n} AS (SELECT * FROM t{} UNION ALL SELECT * FROM t{0})",
            n - 1
        )
    });
    let doubled: Vec<String> = doubled.collect();
    let long = format!(
        "WITH t0 AS (SELECT id FROM bricks), {} SELECT COUNT(*) FROM t39",
        doubled.join(", ")
    );
    dir.command(&["query", run, &long, "--timeout", "2s", "--memory", "2G"])
        .exits(2);
}

#[test]
fn a_time_without_a_unit_is_refused_with_its_readings() {
    let dir = Dir::new();
    for args in [
        &["report", "x.run", "--from", "10"][..],
        &["report", "x.run", "--to", "20"],
        &["report", "x.run", "--plugin-timeout", "30"],
        &["report", "x.run", "--plugin-cpu-time", "30"],
        &["report", "x.run", "--cluster-deadline", "30"],
        &["query", "x.run", "SELECT 1", "--timeout", "30"],
        &["serve", "x.run", "--query-timeout", "30"],
        &["mcp", "--timeout", "30"],
        &["watch", "x.run", "--last", "30"],
        &[
            "export",
            "otlp",
            "x.run",
            "--endpoint",
            "http://localhost:1",
            "--timeout",
            "30",
        ],
    ] {
        let number = args.last().expect("a number");
        dir.command(args)
            .exits(2)
            .stderr_has("a time needs a unit")
            .stderr_has(&format!("{number}s, {number}ms, {number}us or {number}ns"));
    }
    std::fs::write(dir.join("trueno.toml"), "[report]\nfrom = 10\n").expect("a file");
    let run = dir.run();
    dir.report(&run, &[])
        .exits(2)
        .stderr_has("a time needs a unit");
}

#[test]
fn a_window_that_holds_nothing_says_when_the_run_was() {
    let dir = Dir::new();
    let run = dir.run();
    let times = "the run's rows lie between ";
    dir.report(&run, &["--from", "1h"])
        .exits(2)
        .stderr_has("nothing was recorded after 3600 s")
        .stderr_has(times);
    dir.report(&run, &["--from", "1h", "--to", "2h"])
        .exits(2)
        .stderr_has("between 3600 s and 7200 s")
        .stderr_has(times);
    // Between the end of what was imported and the start of the next: within the run.
    let trace = r#"[{"ph":"X","name":"a","ts":0,"dur":1000,"pid":1,"tid":1},
                    {"ph":"X","name":"b","ts":9000,"dur":1000,"pid":1,"tid":1}]"#;
    std::fs::write(dir.join("gap.json"), trace).expect("a file");
    let gap = dir.join("gap.json");
    dir.report(&gap, &["--from", "3ms", "--to", "4ms"])
        .exits(2)
        .stderr_has("nothing was recorded between 3 ms and 4 ms")
        .stderr_has("0 ns and 10 ms");
    dir.report(&gap, &["--from", "0", "--to", "4ms"]).exits(0);
}

#[test]
fn a_query_shortens_no_text_in_a_pipe_unless_a_width_says_so() {
    let dir = Dir::new();
    dir.run();
    let long = "long ".repeat(60);
    let long = long.trim_end();
    let sql = format!("SELECT '{long}' AS text, '{long}' AS again FROM bricks LIMIT 1");
    let done = dir.command(&["query", "test.run", &sql]).exits(0);
    assert_eq!(done.stdout.matches(long).count(), 2, "{}", done.stdout);
    assert_eq!(done.stdout.lines().count(), 2, "one line a row");
    dir.command(&["query", "test.run", &sql, "-o", "rows.txt"])
        .exits(0);
    assert_eq!(dir.read("rows.txt"), done.stdout);
    let narrow = dir
        .command(&["query", "test.run", &sql, "--width", "60"])
        .exits(0);
    assert!(narrow.stdout.contains('…'), "{}", narrow.stdout);
    let is_narrow = |line: &str| line.chars().count() <= 60;
    assert!(narrow.stdout.lines().all(is_narrow), "{}", narrow.stdout);
}
