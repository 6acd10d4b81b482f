use serde_json::{Value, json};

use super::*;
use crate::testing;

fn text(report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn numbers_are_exact_and_nulls_stay_nulls() {
    let table = Table::build("t")
        .u64("id", [Some(u64::MAX), None])
        .i64("self_ns", [Some(i64::MIN), Some(9_007_199_254_740_993)])
        .f64("busy_share", [Some(0.1), Some(f64::NAN)])
        .f64("x", [Some(1e300), Some(f64::NEG_INFINITY)])
        .bool("ok", [Some(true), None])
        .text("name", [Some("a\"b\n"), None])
        .finish()
        .unwrap();
    let text = text(&testing::report(vec![testing::section("p", vec![table])]));
    assert!(
        text.contains(
            "[18446744073709551615, -9223372036854775808, 0.1, 1e+300, true, \"a\\\"b\\n\"]"
        ),
        "{text}"
    );
    assert!(
        text.contains("[null, 9007199254740993, null, null, null, null]"),
        "{text}"
    );
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["format"], json!({"major": 1, "minor": 2}));
    assert_eq!(
        value["sections"][0]["tables"][0]["columns"][1],
        json!({"name": "self_ns", "type": "i64", "unit": "ns"})
    );
    assert_eq!(
        value["sections"][0]["tables"][0]["columns"][5]["unit"],
        Value::Null
    );
}

#[test]
fn a_row_is_a_line_and_the_shape_is_that_of_plain_json() {
    let table = Table::build("t")
        .i64("a", [1, 2])
        .text("b", ["x", "y"])
        .finish()
        .unwrap();
    let report = testing::report(vec![
        testing::section("p", vec![table]),
        testing::section("q", vec![]),
    ]);
    let text = text(&report);
    assert!(
        text.contains("\n            [1, \"x\"],\n            [2, \"y\"]\n"),
        "{text}"
    );
    // The layout must not change the content.
    let plain = serde_json::to_value(AsJson(&report)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), plain);
}

#[test]
fn nothing_tells_where_or_when_the_report_was_made() {
    let value = serde_json::to_value(AsJson(&testing::report(vec![]))).unwrap();
    let keys: Vec<&String> = value["run"].as_object().unwrap().keys().collect();
    assert!(
        !keys
            .iter()
            .any(|key| ["path", "time", "date", "created"].contains(&key.as_str())),
        "{keys:?}"
    );
}
