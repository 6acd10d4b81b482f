//! Values that ranges and marks carry.

use super::fixture::Export;

const RANGES: &str = r#"
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (8, '{"Root": 3}');
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER, endGlobalTid INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL,
    uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonText TEXT, jsonTextId INTEGER);
INSERT INTO NVTX_EVENTS VALUES
    (100, 190, 59, 'u64', NULL, 83886085, NULL, -1, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (200, 290, 59, 'i64', NULL, 83886085, NULL, NULL, -4, NULL, NULL, NULL, NULL, NULL, NULL),
    (300, 390, 59, 'f64', NULL, 83886085, NULL, NULL, NULL, 2.0, NULL, NULL, NULL, NULL, NULL),
    (400, 490, 59, 'u32', NULL, 83886085, NULL, NULL, NULL, NULL, 7, NULL, NULL, NULL, NULL),
    (500, 590, 59, 'ncclAllReduce', NULL, 83886085, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        '{"Message size [bytes]": 4096, "In place": true, "Reduction operation": "Sum", "ranks": [0, 1], "no": null}',
        NULL),
    (600, 690, 59, 'ncclBroadcast', NULL, 83886085, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8),
    (700, 790, 59, 'odd', NULL, 83886085, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"cut', NULL),
    (800, 890, 59, 'none', NULL, 83886085, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (850, NULL, 34, 'mark', NULL, 83886085, NULL, NULL, NULL, NULL, NULL, -9, NULL, NULL, NULL);
"#;

#[test]
fn payloads_are_attributes_and_those_of_marks_their_arguments() {
    let run = Export::new(RANGES).import().unwrap();
    let names = run.rows("bricks", "id name");
    let columns = "span name integer unsigned number truth text";
    let said: Vec<String> = run
        .rows("attributes", columns)
        .iter()
        .map(|row| {
            let (span, said) = row.split_once(' ').unwrap();
            let of = names
                .iter()
                .find_map(|name| name.strip_prefix(&format!("{span} ")));
            format!("{}: {said}", of.unwrap())
        })
        .collect();
    assert_eq!(
        said,
        [
            "u64: payload - 18446744073709551615 - - -",
            "i64: payload -4 - - - -",
            "f64: payload - - 2 - -",
            "u32: payload 7 - - - -",
            "ncclAllReduce: In place - - - true -",
            "ncclAllReduce: Message size [bytes] 4096 - - - -",
            "ncclAllReduce: Reduction operation - - - - Sum",
            "ncclAllReduce: ranks - - - - [0,1]",
            "ncclBroadcast: Root 3 - - - -",
            "odd: payload - - - - {\"cut",
        ]
    );
    assert_eq!(
        run.rows("annotations", "name arguments"),
        ["mark {\"payload\":-9}"]
    );
}
