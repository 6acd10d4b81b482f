//! The JSON of reports against `docs/report.schema.json`.
//!
//! The words of JSON Schema that the file uses are read here: a validator as a crate asks for features of crates that
//! polars shares, and would have it built once more for tests.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Dir;

fn schema() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/report.schema.json");
    let text = std::fs::read_to_string(file).expect("the schema");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Lists the places where a value violates its schema. Keys that the schema does not name are violations too.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    let schema = match schema["$ref"].as_str() {
        Some(place) => root
            .pointer(place.trim_start_matches('#'))
            .expect("a definition"),
        None => schema,
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_type = |name: &Value| name == kind || name == "number" && kind == "integer";
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is_type),
        name => is_type(name),
    };
    if !fits {
        out.push(format!("{at}: {kind} where {} is expected", schema["type"]));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        out.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        out.push(format!(
            "{at}: {value} where {} is expected",
            schema["const"]
        ));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < least
    {
        out.push(format!("{at}: {number} is below {least}"));
    }
    match value {
        Value::Array(items) => {
            if schema["maxItems"]
                .as_u64()
                .is_some_and(|most| items.len() as u64 > most)
            {
                out.push(format!("{at}: {} items", items.len()));
            }
            for (number, item) in items.iter().enumerate() {
                faults(root, &schema["items"], item, &format!("{at}/{number}"), out);
            }
        }
        Value::Object(entries) => {
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().expect("a name");
                if !entries.contains_key(name) {
                    out.push(format!("{at}: {name} is missing"));
                }
            }
            for (name, entry) in entries {
                let at = format!("{at}/{name}");
                match (
                    schema["properties"].get(name),
                    &schema["additionalProperties"],
                ) {
                    (Some(known), _) | (None, known @ Value::Object(_)) => {
                        faults(root, known, entry, &at, out);
                    }
                    _ => out.push(format!("{at}: not in the schema")),
                }
            }
        }
        _ => {}
    }
}

fn check(report: &Value) {
    let schema = schema();
    let mut found = Vec::new();
    faults(&schema, &schema, report, "", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../datasets")
        .join(name)
}

#[test]
fn reports_are_as_the_schema_says() {
    let dir = Dir::new();
    for (name, more) in [
        ("decode/simd_slow.run", &["--window", "iteration=3"][..]),
        ("decode/simd.run", &["--skip", "bottleneck"]),
        ("roofline/avx512.run", &[]),
        ("tiny/test.run", &[]),
    ] {
        let all = [&["--json", "-"], more].concat();
        check(&dir.report(&dataset(name), &all).exits(0).json());
    }
    let trace = dataset("pytorch/cpu_training.json.gz");
    check(&dir.report(&trace, &["--json", "-"]).exits(0).json());
    let killed = dir.run();
    std::fs::remove_file(killed.join("run.json")).expect("a file");
    check(&dir.report(&killed, &["--json", "-"]).exits(0).json());
}

#[test]
fn what_is_not_so_is_found() {
    let schema = schema();
    let dir = Dir::new();
    let report = dir.report(&dataset("tiny/test.run"), &["--json", "-"]);
    let report = report.exits(0).json();
    for (place, wrong, words) in [
        ("/run/wall_ns", json!("1"), "/run/wall_ns: string"),
        ("/run/rows", json!(-1), "/run/rows: -1 is below 0"),
        (
            "/run/state",
            json!("done"),
            "/run/state: \"done\" is none of",
        ),
        ("/top", json!({}), "/top: status is missing"),
        ("/format/major", json!(2), "/format/major: 2 where 1"),
        (
            "/sections/0/plugin",
            json!(null),
            "/sections/0/plugin: null",
        ),
        (
            "/problems",
            json!([{"later": 1}]),
            "/problems/0/later: not in the schema",
        ),
    ] {
        let mut changed = report.clone();
        *changed.pointer_mut(place).expect(place) = wrong;
        let mut found = Vec::new();
        faults(&schema, &schema, &changed, "", &mut found);
        let found = found.join("\n");
        assert!(found.contains(words), "{place}: {found}");
    }
}
