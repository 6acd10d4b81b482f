//! Exports of runs: what is not as an export writes it.

use super::{import, partial};

const MARK: &str = r#""otherData": {"trueno": {"format": 1, "run": {"run_id": "00c0ffee", "label": "größer", "wall_ns": 9000, "wall_source": "recorded", "complete": true, "host": 7}}}"#;
const EVENTS: &str = r#""traceEvents": [
{"ph":"X","cat":"bricks","name":"norm","pid":1,"tid":1,"ts":-0.001,"dur":2.345,"args":{"id":"18446744073709551615","kind":"brick","thread":0,"timing":"host"}},
{"ph":"b","cat":"syncs","name":"stream","pid":1,"tid":1,"ts":3.000,"id":"0x2","trueno":{"untimed":"impossible"},"args":{"id":2,"kind":"stream","start_ns":3000,"dur_ns":-1}},
{"ph":"e","cat":"syncs","name":"stream","pid":1,"tid":1,"ts":3.000,"id":"0x2"},
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"host"}}"#;

fn trace(first: &str, second: &str) -> String {
    format!("{{{first}, {second}}}")
}

#[test]
fn the_mark_may_stand_before_or_behind_the_events() {
    let events = format!("{EVENTS}]");
    for text in [trace(MARK, &events), trace(&events, MARK)] {
        let run = import(text).unwrap();
        let bricks = run.rows("bricks", "id name parent start_ns dur_ns");
        assert_eq!(bricks, ["18446744073709551615 norm - -1 2345"]);
        let syncs = run.rows("syncs", "id name start_ns dur_ns");
        assert_eq!(syncs, ["2 - 3000 -1"]);
        assert_eq!(run.notes.left_out.len(), 0, "{:?}", run.notes.left_out);
        assert_eq!(run.notes.read["X bricks"], 1);
        assert_eq!(run.run.label.as_deref(), Some("größer"));
        assert_eq!(run.run.values["exported_from"], "00c0ffee");
        assert_eq!(run.run.wall_ns, Some(9_000));
    }
}

#[test]
fn a_newer_format_is_refused() {
    let mark = MARK.replace("\"format\": 1", "\"format\": 2");
    let error = import(trace(&mark, &format!("{EVENTS}]"))).err().unwrap();
    assert!(
        error.contains("format 2") && error.contains("version"),
        "{error}"
    );
}

#[test]
fn what_the_schema_has_not_is_left_out_and_counted() {
    let more = r#",
{"ph":"X","cat":"futures","name":"a","ts":1,"dur":1,"args":{"id":1}},
{"ph":"M","cat":"edges","name":"trueno_row","args":{"from":1,"to":2,"kind":"joins","weight":{"a":[1]}}},
{"ph":"M","cat":"edges","name":"trueno_row","args":{"from":1,"kind":"joins"}},
{"ph":"M","cat":"edges","name":"trueno_row","args":{"from":-1,"to":2,"kind":"joins"}},
{"ph":"C","cat":"counters","name":"a","ts":1,"args":{"value":1}},
{"ph":"B","cat":"bricks","name":"a","ts":1}, 5], "extra": []"#;
    let run = import(trace(MARK, &format!("{EVENTS}{more}"))).unwrap();
    assert_eq!(run.rows("edges", "*"), ["1 2 joins"]);
    for reason in [
        "table futures",
        "column edges.weight",
        "row of edges without to",
        "row of edges whose from is not",
        "row of counters without value",
        "phase",
        "not an object",
        "field extra",
    ] {
        assert_eq!(
            run.left_out(reason),
            1,
            "{reason}: {:?}",
            run.notes.left_out
        );
    }
}

#[test]
fn a_cut_export_is_refused_or_kept_as_far_as_it_is_good() {
    let text = trace(MARK, EVENTS);
    let cut = &text[..text.len() - 20];
    let error = import(cut).err().unwrap();
    assert!(error.contains("--partial"), "{error}");
    let run = partial(cut).unwrap();
    assert_eq!(run.rows("bricks", "name"), ["norm"]);
    assert_eq!(run.run.problems.len(), 1);
}

#[test]
fn kernel_sources_become_files_again_if_they_are_what_their_rows_say() {
    let row = |hash: &str, more: &str| {
        format!(
            "{{\"ph\":\"M\",\"cat\":\"ptx\",\"name\":\"trueno_row\"{more},\"args\":{{\"hash\":\"{hash}\",\"source_bytes\":9}}}}"
        )
    };
    // Longer than any other text may be.
    let long = "// größer\n".repeat(10_000);
    let (short, long_hash) = (
        trueno_format::PtxHash::from_source(".version").to_string(),
        trueno_format::PtxHash::from_source(&long).to_string(),
    );
    let held = |text: &str| format!(",\"trueno\":{{\"ptx_source\":{}}}", serde_json::json!(text));
    let events = [
        row(&short, &held(".version")),
        row(&short, ""),
        row(&long_hash, &held(&long)),
        row("0123456789abcdef", &held("other")),
        row("fedcba9876543210", ",\"trueno\":{\"ptx_source\":7}"),
    ]
    .join(",\n");
    let run = import(trace(MARK, &format!("{EVENTS},\n{events}]"))).unwrap();
    assert_eq!(run.rows("ptx", "hash").len(), 5);
    let files = run.files();
    let file = |hash: &str| {
        let name = std::path::PathBuf::from(format!("ptx/{hash}.ptx"));
        let found = files.iter().find(|(path, _)| *path == name);
        found.map(|(_, bytes)| bytes.clone())
    };
    assert_eq!(file(&short).unwrap(), b".version");
    assert!(file(&long_hash).unwrap() == long.as_bytes());
    assert_eq!(
        files
            .iter()
            .filter(|(path, _)| path.extension().is_some_and(|e| e == "ptx"))
            .count(),
        2
    );
    assert_eq!(run.left_out("whose hash differs from that of its row"), 1);
    let said = |text: &str| run.notes.warnings.iter().any(|w| w.contains(text));
    assert!(said("names 2 kernel sources"), "{:?}", run.notes.warnings);
    assert!(!said("very long"));
}
