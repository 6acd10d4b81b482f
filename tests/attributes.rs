//! Attributes that a program gives rows, wherever these are shown, and in files for other tools.

use serde_json::Value;
use trueno_format::run_json::{Clock, RunJson};
use trueno_testing::Made;

use crate::harness::Dir;

const MS: i64 = 1_000_000;

/// Two bricks. One has attributes of each type.
fn recorded(dir: &Dir) -> String {
    let path = dir.join("own.run");
    let facts = RunJson {
        clock: Clock {
            origin_realtime_ns: 1_000 * MS,
            ..Clock::default()
        },
        ..RunJson::default()
    };
    let mut made = Made::with_facts(&path, facts);
    for (id, name) in [(1, "attention"), (2, "feed forward")] {
        let brick = [
            ("id", id.into()),
            ("kind", "brick".into()),
            ("name", name.into()),
            ("start_ns", (id * 10 * MS).into()),
            ("dur_ns", (10 * MS).into()),
        ];
        made.row("bricks", &brick);
    }
    for (name, column, value) in [
        ("batch", "integer", 4.into()),
        ("stage", "text", "<decode>".into()),
        ("batch", "integer", 8.into()),
        ("bits", "unsigned", (-1).into()),
        ("share", "number", 0.25.into()),
        ("trueno.kind", "number", f64::INFINITY.into()),
        ("warm", "truth", true.into()),
    ] {
        let row = [("span", 1.into()), ("name", name.into()), (column, value)];
        made.row("attributes", &row);
    }
    made.finish(30 * MS);
    path.to_str().unwrap().to_owned()
}

#[test]
fn they_stand_beside_their_rows() {
    let dir = Dir::new();
    let run = recorded(&dir);
    let tree = dir.command(&["tree", &run]).exits(0);
    // The last value of a key holds.
    tree.stdout_has("attention  ")
        .stdout_has("batch=8 · bits=18446744073709551615 · share=0.25 · stage=<decode>");
    let json = dir
        .command(&["tree", &run, "--format", "json"])
        .exits(0)
        .json();
    let rows = json["rows"].as_array().unwrap();
    let of = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(
        of("attention")["attributes"],
        serde_json::json!({
            "batch": 8, "bits": u64::MAX, "share": 0.25, "stage": "<decode>", "trueno.kind": "inf", "warm": true
        })
    );
    assert!(of("feed forward").get("attributes").is_none());
    dir.command_with_plugins(&["report", &run, "--html", "page.html"])
        .exits(0);
    let page = dir.read("page.html");
    assert!(page.contains("batch=8 \\u00b7 bits=") || page.contains("batch=8 · bits="));
    assert!(!page.contains("<decode>"), "escaped");
}

#[test]
fn other_tools_get_them_under_their_keys() {
    let dir = Dir::new();
    let run = recorded(&dir);
    let otlp = dir
        .command(&["export", "otlp", &run, "-o", "-"])
        .exits(0)
        .json();
    let spans = &otlp["resourceSpans"][0]["scopeSpans"][0]["spans"];
    let attributes = spans[0]["attributes"].as_array().unwrap();
    let value = |key: &str| {
        let found: Vec<&Value> = attributes.iter().filter(|of| of["key"] == key).collect();
        assert_eq!(found.len(), 1, "{key}");
        found[0]["value"].clone()
    };
    assert_eq!(value("batch"), serde_json::json!({"intValue": "8"}));
    assert_eq!(
        value("bits"),
        serde_json::json!({"stringValue": "18446744073709551615"})
    );
    assert_eq!(value("share"), serde_json::json!({"doubleValue": 0.25}));
    assert_eq!(value("warm"), serde_json::json!({"boolValue": true}));
    // No key twice: this one is a column's.
    assert_eq!(
        value("trueno.kind"),
        serde_json::json!({"stringValue": "brick"})
    );
    assert_eq!(
        value("attribute.trueno.kind"),
        serde_json::json!({"doubleValue": "Infinity"})
    );
    dir.command(&["export", "otlp", &run, "-o", "spans.json"])
        .exits(0);
    dir.command(&["import", "spans.json", "-o", "spans.run"])
        .exits(0);
    let sql = "SELECT integer FROM attributes WHERE name = 'batch'";
    dir.command(&["query", "spans.run", sql, "--format", "csv"])
        .exits(0)
        .stdout_has("\n8\r\n");
    dir.command(&["export", "chrome", &run, "-o", "trace.json"])
        .exits(0);
    let trace: Value = serde_json::from_str(&dir.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let event = events
        .iter()
        .find(|event| event["name"] == "attention")
        .unwrap();
    assert_eq!(event["args"]["attributes"]["stage"], "<decode>");
    dir.command(&["export", "perfetto", &run, "-o", "trace.pftrace"])
        .exits(0);
    let bytes = std::fs::read(dir.join("trace.pftrace")).unwrap();
    let has = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(has("attributes.stage") && has("<decode>"));
    dir.command(&["import", "trace.pftrace", "-o", "tracks.run"])
        .exits(0);
    dir.command(&["tree", "tracks.run"])
        .exits(0)
        .stdout_has("batch=8 · bits=18446744073709551615 · share=0.25 · stage=<decode>")
        .stdout_has("trueno.kind=inf · warm=true");
}

#[test]
fn what_a_chrome_trace_says_comes_back() {
    let dir = Dir::new();
    let run = recorded(&dir);
    dir.command(&["export", "chrome", &run, "-o", "trace.json"])
        .exits(0);
    let sql = "SELECT * FROM attributes";
    let before = dir
        .command(&["query", &run, sql, "--format", "csv"])
        .exits(0)
        .stdout;
    // As an export of a run.
    dir.command(&["import", "trace.json", "-o", "again.run"])
        .exits(0);
    let again = dir
        .command(&["query", "again.run", sql, "--format", "csv"])
        .exits(0);
    assert_eq!(again.stdout, before);
    // As a trace of another program.
    let foreign = r#"[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"batch": 4, "stage": "x"}}]"#;
    std::fs::write(dir.join("foreign.json"), foreign).unwrap();
    dir.command(&["import", "foreign.json", "-o", "foreign.run"])
        .exits(0);
    dir.command(&["tree", "foreign.run"])
        .exits(0)
        .stdout_has("batch=4 · stage=x\n");
}
