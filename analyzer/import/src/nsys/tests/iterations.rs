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
