//! Spans of several services, and what they are not.

use super::IMPORTER;
use crate::read_back::{Imported, of_bytes, partial};
use crate::{Error, Options};

fn import(text: &str) -> Result<Imported, Error> {
    of_bytes(&IMPORTER, text, &Options::default())
}

fn document(service: &str, spans: &[&str]) -> String {
    format!(
        r#"{{"resourceSpans": [{{"resource": {{"attributes": [
            {{"key": "service.name", "value": {{"stringValue": "{service}"}}}},
            {{"key": "process.pid", "value": {{"intValue": "70"}}}}]}},
            "scopeSpans": [{{"scope": {{"name": "x"}}, "spans": [{}]}}]}}]}}"#,
        spans.join(",")
    )
    .replace('\n', " ")
}

fn span(id: &str, parent: &str, name: &str, (start, end): (u32, u32), more: &str) -> String {
    format!(
        r#"{{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "{id}", "parentSpanId": "{parent}",
            "name": "{name}", "kind": 1, "startTimeUnixNano": "17000000000000{start:05}",
            "endTimeUnixNano": "17000000000000{end:05}"{more}}}"#
    )
}

const BRICKS: &str = "name kind thread start_ns dur_ns";

#[test]
fn children_lie_in_their_parents_and_others_side_by_side() {
    let spans = [
        // As they end: the parents last.
        span(
            "0000000000000002",
            "0000000000000001",
            "child",
            (110, 150),
            "",
        ),
        span(
            "0000000000000003",
            "0000000000000001",
            "beside it",
            (120, 160),
            "",
        ),
        // It outlives the span that began it.
        span(
            "0000000000000004",
            "0000000000000001",
            "late",
            (190, 300),
            "",
        ),
        span("0000000000000001", "", "request", (100, 200), ""),
        span("0000000000000005", "", "next", (400, 500), ""),
    ];
    let spans: Vec<&str> = spans.iter().map(String::as_str).collect();
    let run = import(&document("shop", &spans)).unwrap();
    assert_eq!(
        run.rows("bricks", BRICKS),
        [
            "request function 0 0 100",
            "child function 0 10 40",
            "beside it task 1 20 40",
            "late task 1 90 110",
            "next function 0 300 100",
        ]
    );
    let ids = run.rows("bricks", "id parent");
    let id = |at: usize| ids[at].split(' ').next().unwrap();
    assert_eq!(ids[1], format!("{} {}", id(1), id(0)));
    assert_eq!(
        run.rows("edges", "from to kind"),
        [2, 3].map(|at| format!("{} {} spawns", id(0), id(at)))
    );
    assert_eq!(
        run.rows("threads", "thread name process"),
        ["0 shop, lane 1 70", "1 shop, lane 2 70"]
    );
    assert!(run.warns("their lanes are inferred"));
    assert_eq!(run.wall_ns, Some(400));
    assert_eq!(run.run.clock.origin_realtime_ns, 1_700_000_000_000_000_100);
    assert_eq!(run.run.values["process.pid"], "70");
}

#[test]
fn what_spans_say_is_kept_with_its_types() {
    let more = r#", "attributes": [
        {"key": "thread.id", "value": {"intValue": "9"}}, {"key": "share", "value": {"doubleValue": 0.5}},
        {"key": "huge", "value": {"doubleValue": "Infinity"}}, {"key": "ok", "value": {"boolValue": true}},
        {"key": "ids", "value": {"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "a"}]}}},
        {"key": "map", "value": {"kvlistValue": {"values": [{"key": "b", "value": {"intValue": "2"}}]}}},
        {"key": "none", "value": {}}, {"key": "code.file.path", "value": {"stringValue": "a.rs"}},
        {"key": "code.line.number", "value": {"intValue": "12"}}],
        "events": [{"timeUnixNano": "1700000000000000120", "name": "retry", "attributes": [
            {"key": "count", "value": {"intValue": "2"}}]}],
        "links": [{"traceId": "0AF7651916CD43DD8448EB211C80319C", "spanId": "0000000000000007", "attributes": [
            {"key": "trueno.kind", "value": {"stringValue": "joins"}}]},
            {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "0000000000000007"},
            {"traceId": "00000000000000000000000000000001", "spanId": "0000000000000007"}],
        "status": {"code": 2, "message": "no room"}"#;
    let spans = [
        span("0000000000000007", "", "before", (50, 90), ""),
        span("0000000000000001", "", "request", (100, 200), more),
    ];
    let spans: Vec<&str> = spans.iter().map(String::as_str).collect();
    let run = import(&document("shop", &spans)).unwrap();
    assert_eq!(
        run.rows("bricks", "name file line thread"),
        ["before - - 0", "request a.rs 12 1"]
    );
    let columns = "name integer number truth text";
    assert_eq!(
        run.rows("attributes", columns),
        [
            "huge - - - Infinity",
            "ids - - - [1,\"a\"]",
            "map - - - {\"b\":2}",
            "ok - - true -",
            "share - 0.5 - -",
            "status - - - error",
            "status.message - - - no room",
            "thread.id 9 - - -",
        ]
    );
    assert_eq!(
        run.rows("annotations", "name time_ns arguments"),
        ["retry 70 {\"count\":2}"]
    );
    assert_eq!(run.rows("edges", "kind"), ["joins", "depends_on"]);
    assert_eq!(run.rows("threads", "os_id"), ["-", "9"]);
}

#[test]
fn spans_of_a_thread_that_do_not_nest_stand_on_further_lanes() {
    let thread = r#", "attributes": [{"key": "thread.id", "value": {"intValue": "9"}}]"#;
    let spans = [
        span("0000000000000001", "", "poll one", (100, 200), thread),
        // Within it, whoever began it.
        span("0000000000000002", "", "inner", (110, 150), thread),
        span(
            "0000000000000003",
            "0000000000000001",
            "poll two",
            (150, 300),
            thread,
        ),
        span(
            "0000000000000004",
            "0000000000000003",
            "of two",
            (160, 170),
            thread,
        ),
        span("0000000000000005", "", "next", (400, 500), thread),
    ];
    let spans: Vec<&str> = spans.iter().map(String::as_str).collect();
    let run = import(&document("shop", &spans)).unwrap();
    assert_eq!(
        run.rows("bricks", BRICKS),
        [
            "poll one function 0 0 100",
            "inner function 0 10 40",
            "poll two task 1 50 150",
            "of two function 1 60 10",
            "next function 0 300 100",
        ]
    );
    assert_eq!(run.rows("edges", "kind"), ["spawns"]);
    assert_eq!(
        run.rows("threads", "name os_id"),
        ["shop 9", "shop, thread 9, lane 2 9"]
    );
    assert!(run.warns("overlap without nesting"));
}

#[test]
fn services_are_processes_and_a_document_a_line() {
    let one = document(
        "shop",
        &[&span("0000000000000001", "", "request", (100, 200), "")],
    );
    let two = document(
        "store",
        &[&span(
            "0000000000000002",
            "0000000000000001",
            "query",
            (120, 130),
            "",
        )],
    );
    let run = import(&format!("{one}\n{two}\n")).unwrap();
    assert_eq!(
        run.rows("threads", "name"),
        ["shop, lane 1", "store, lane 1"]
    );
    assert_eq!(run.rows("edges", "kind"), ["spawns"]);
    assert_eq!(run.run.label.as_deref(), Some("trace.json"));
}

#[test]
fn what_cannot_be_a_row_is_counted_and_damage_is_placed() {
    let spans = [
        span("0000000000000001", "", "backwards", (200, 100), ""),
        span("0000000000000000", "", "no id", (100, 200), ""),
        r#"{"spanId": "0000000000000003", "name": "open", "startTimeUnixNano": "5", "endTimeUnixNano": 0}"#.to_owned(),
        // Its own parent, and linked with nothing there is.
        span("0000000000000004", "0000000000000004", "good", (100, 200), ""),
    ];
    let spans: Vec<&str> = spans.iter().map(String::as_str).collect();
    let text = document("shop", &spans);
    let run = import(&text).unwrap();
    assert_eq!(run.rows("bricks", "name kind"), ["good function"]);
    assert_eq!(run.notes.left_out.values().sum::<u64>(), 3);
    let damaged = |text: &str| import(text).map(drop).unwrap_err().to_string();
    let cut = damaged(&text[..text.len() - 9]);
    assert!(
        cut.contains("document 1") && cut.contains("resourceSpans"),
        "{cut}"
    );
    // Whole documents before the damage can be kept.
    let two = format!("{text}\n{}", &text[..90]);
    assert!(damaged(&two).contains("document 2"));
    let run = of_bytes(&IMPORTER, two, &partial()).unwrap();
    assert_eq!(run.rows("bricks", "name"), ["good"]);
    assert!(run.warns("the 1 documents before were read"));
}
