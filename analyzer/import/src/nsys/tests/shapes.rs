//! Operators whose ranges state the sizes of their arguments.

use super::fixture::Export;

const RANGES: &str = "
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES
    (8, 'aten::mm, seq = 13, op_id = 35, sizes = [[64, 128], [128, 32]], input_op_ids = [(34,0), (0,-1)]');
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER, endGlobalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES
    (100, 900, 59, 'ProfilerStep#3', NULL, 83886085, NULL),
    (110, 200, 59, 'aten::mm, seq = 12, op_id = 34, sizes = [[64, 128], [128, 32]]', NULL, 83886085, NULL),
    (210, 300, 59, NULL, 8, 83886085, NULL),
    (310, 400, 59, 'aten::relu, op_id = 36, sizes = [[64, 32]]', NULL, 83886085, NULL),
    (410, 500, 59, 'aten::empty, op_id = 37', NULL, 83886085, NULL),
    (510, 600, 59, 'aten::mm, seq = 1, sizes = [[64, many]]', NULL, 83886085, NULL);
";

#[test]
fn sizes_become_signatures_and_numbers_of_calls_leave_the_name() {
    let run = Export::new(RANGES).import().unwrap();
    assert_eq!(
        run.rows("bricks", "kind name signature"),
        [
            "function ProfilerStep#3 -",
            "brick aten::mm 0",
            "brick aten::mm 0",
            "brick aten::relu 1",
            "function aten::empty, op_id = 37 -",
            "function aten::mm, seq = 1, sizes = [[64, many]] -",
        ]
    );
    assert_eq!(
        run.rows(
            "signatures",
            "id input_dims input_types input_strides concrete_inputs"
        ),
        ["0 [[64,128],[128,32]] - - -", "1 [[64,32]] - - -"]
    );
    let left_out = &run.notes.arguments_left_out;
    let counts = ["seq", "op_id", "input_op_ids"].map(|name| left_out[name]);
    assert_eq!(counts, [2, 3, 1]);
}
