//! Verbs, flags, exit codes, messages.

use crate::harness::Dir;

#[test]
fn help_shows_examples_and_exit_codes() {
    let dir = Dir::new();
    let help = dir.command(&["--help"]).exits(0).stdout;
    for expected in [
        "EXAMPLES:",
        "trueno-analyze report decode.run --fail-on warning",
        "EXIT CODES:",
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
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}
