//! Ranges that are called as iterations.

use super::fixture::Export;

const STEPS: &str = r#"
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (8, 'train_step');
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER, endGlobalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES
    (100, 200, 59, NULL, 8, 83886085, NULL), (110, 150, 59, 'forward', NULL, 83886085, NULL),
    (180, 190, 59, 'step', NULL, 83886085, NULL), (120, NULL, 34, 'train_step', NULL, 83886085, NULL),
    (210, 300, 59, 'train_step', NULL, 83886085, NULL), (280, 290, 59, 'step', NULL, 83886085, NULL),
    (220, 230, 59, 'loader', NULL, 83886086, NULL), (310, 400, 59, 'train_step', NULL, 83886085, NULL);
"#;

#[test]
fn ranges_that_follow_each_other_are_framed_by_iterations() {
    let run = Export::new(STEPS).import().unwrap();
    assert_eq!(
        run.rows("bricks", "kind name iteration start_ns dur_ns"),
        [
            "iteration iteration 0 0 100",
            "function train_step 0 0 100",
            "function forward 0 10 40",
            "function step 0 80 10",
            "iteration iteration 1 110 90",
            "function train_step 1 110 90",
            "function loader 1 120 10",
            "function step 1 180 10",
            "iteration iteration 2 210 90",
            "function train_step 2 210 90",
        ]
    );
    let frames = run.rows("bricks", "id parent");
    assert!(frames.contains(&"2 1".to_owned()), "{frames:?}");
}

/// `iteration10` to `12` were pushed and never popped, so that the export lets them end with the recording.
#[test]
fn ranges_that_were_never_popped_are_iterations_that_end_with_the_next() {
    let run = Export::new(
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
             globalTid INTEGER, endGlobalTid INTEGER);
         INSERT INTO NVTX_EVENTS VALUES
             (0, 50, 59, 'setup', NULL, 83886085, NULL),
             (100, 9000, 59, 'iteration10', NULL, 83886085, NULL), (110, 190, 59, 'forward', NULL, 83886085, NULL),
             (200, 9000, 59, 'iteration11', NULL, 83886085, NULL), (210, 290, 59, 'forward', NULL, 83886085, NULL),
             (300, 9000, 59, 'iteration12', NULL, 83886085, NULL), (310, 390, 59, 'forward', NULL, 83886085, NULL);",
    )
    .import()
    .unwrap();
    assert_eq!(
        run.rows("bricks", "kind name iteration start_ns dur_ns"),
        [
            "function setup - 0 50",
            "iteration iteration 10 100 100",
            "function iteration10 10 100 100",
            "function forward 10 110 80",
            "iteration iteration 11 200 100",
            "function iteration11 11 200 100",
            "function forward 11 210 80",
            "iteration iteration 12 300 100",
            "function iteration12 12 300 100",
            "function forward 12 310 80",
        ]
    );
    assert!(run.warns("3 NVTX ranges such as iteration10 were never closed"));
}
