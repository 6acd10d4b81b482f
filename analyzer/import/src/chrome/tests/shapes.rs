//! Shapes and arguments of operators.

use super::import;
use super::traces::trace;

fn operator(phase: &str, name: &str, ts: u32, arguments: &str) -> String {
    format!(
        r#"{{"ph": "{phase}", "cat": "cpu_op", "name": "{name}", "pid": 7, "tid": 7, "ts": {ts}, "dur": 5, "args": {{"External id": {ts}{arguments}}}}}"#
    )
}

const MM: &str = r#", "Input Dims": [[16, 128], [128, 256]], "Input type": ["c10::Half", "c10::Half"], "Input Strides": [[128, 1], [256, 1]], "Concrete Inputs": ["", ""]"#;

#[test]
fn shapes_that_repeat_stand_once() {
    let run = import(trace(&[
        operator("X", "aten::mm", 10, MM),
        // Another writer's white space.
        operator(
            "X",
            "aten::mm",
            20,
            r#", "Concrete Inputs": ["",""], "Input Dims":[ [16,128],[128,256]], "Input type":["c10::Half","c10::Half"], "Input Strides": [[128,1],[256,1] ]"#,
        ),
        operator("X", "aten::t", 30, MM),
        operator("X", "aten::mm", 40, r#", "Input dims": [[2, 3], [3, 4]]"#),
        operator("X", "aten::mm", 50, ""),
        operator("B", "aten::mm", 60, MM),
        operator("E", "aten::mm", 70, ""),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("bricks", "name signature"),
        [
            "aten::mm 0",
            "aten::mm 0",
            "aten::t 0",
            "aten::mm 1",
            "aten::mm -",
            "aten::mm 0"
        ]
    );
    let columns = "id input_dims input_types input_strides concrete_inputs";
    assert_eq!(
        run.rows("signatures", columns),
        [
            r#"0 [[16,128],[128,256]] ["c10::Half","c10::Half"] [[128,1],[256,1]] ["",""]"#,
            "1 [[2,3],[3,4]] - - -"
        ]
    );
}

#[test]
fn shapes_too_long_to_be_kept_are_counted() {
    let long = format!(r#", "Input Dims": [[{}1]]"#, "1,".repeat(1 << 16));
    let run = import(trace(&[operator("X", "aten::mm", 10, &long)])).unwrap();
    assert_eq!(run.rows("bricks", "name signature"), ["aten::mm -"]);
    assert_eq!(run.left_out("shapes of an operator"), 1);
}
