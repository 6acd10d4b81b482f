//! Runs as the recorder really writes them.

use trueno_engine::run::Run;
use trueno_recorder::{BrickId, Recorder};

use crate::sample::{has_problem, problem_texts, rows, value};

#[test]
fn a_recorded_run_is_complete_and_verified() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("recorded.run");
    let recorder = Recorder::create(&dir).unwrap();
    for i in 0..3 {
        let _iteration = recorder.iteration(i);
        for layer in 0..2 {
            let _layer = recorder.layer(layer);
            let mut brick = recorder.brick(BrickId::QkvProjection);
            brick.elements(64);
        }
    }
    recorder.finish().unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(problem_texts(&run), [""; 0]);
    assert!(run.facts().complete == Some(true), "{:?}", run.facts());
    let database = run.sql_context().unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT DISTINCT name, category, elements FROM bricks WHERE kind = 'brick'"
        ),
        ["QkvProjection|Attention|64"]
    );
    assert_eq!(
        value(
            &database,
            "SELECT COUNT(*) FROM bricks WHERE kind = 'layer'"
        ),
        "6"
    );
    assert_eq!(
        value(&database, "SELECT COUNT(*) FROM segments WHERE verified"),
        value(&database, "SELECT COUNT(*) FROM segments")
    );
}

#[test]
fn rows_that_were_open_at_the_end_make_it_incomplete() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("recorded.run");
    let recorder = Recorder::create(&dir).unwrap();
    let _iteration = recorder.iteration(0);
    let _layer = recorder.layer(0);
    drop(recorder.brick("b"));
    recorder.finish().unwrap();
    let run = Run::open(&dir).unwrap();
    let facts = run.facts();
    assert!(
        facts.complete == Some(false) && facts.clean_end,
        "{facts:?}"
    );
    assert_eq!(
        (facts.open, facts.dropped, facts.rows_lost),
        (2, Some(0), 0)
    );
    let said = [
        "warning",
        "2 rows were still open when the recording ended",
        "2 on thread 0 (iteration, layer)",
    ];
    assert!(has_problem(&run, &said), "{:?}", problem_texts(&run));
}
