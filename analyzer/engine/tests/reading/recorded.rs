//! Runs as the recorder really writes them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use trueno_engine::run::{Run, recover};
use trueno_recorder::{BrickId, Overflow, Recorder};

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

const KEPT: &str = "TRUENO_TEST_ENGINE_KEPT";
const RECORDED: u64 = 400_000;

/// Records many times as much as its rolling window holds.
fn keeps_the_last(dir: &Path) -> Recorder {
    let builder = Recorder::builder(dir).keep_last(Duration::from_secs(3600));
    let builder = builder.overflow(Overflow::Block).keep_bytes(4 << 20);
    let recorder = builder.create().unwrap();
    for at in 0..RECORDED {
        recorder.brick("b").elements(at);
    }
    recorder
}

fn assert_window(dir: &Path) {
    let run = Run::open(dir).unwrap();
    let facts = run.facts();
    assert!(
        has_problem(&run, &["kept_last"]),
        "{:?}",
        problem_texts(&run)
    );
    let said = problem_texts(&run).join("\n");
    let rows: u64 = facts
        .tables
        .iter()
        .find(|table| table.name == "bricks")
        .unwrap()
        .rows_read;
    // A killed program leaves rows in its ring as well.
    assert!((8192..RECORDED).contains(&rows), "{rows}");
    let text = format!("{} earlier rows were discarded on request", RECORDED - rows);
    assert!(said.contains(&text), "{said}");
    assert_eq!((facts.rows_lost, facts.dropped), (0, Some(0)), "{said}");
    let database = run.sql_context().unwrap();
    let outside = "SELECT COUNT(*) FROM bricks WHERE start_ns < 0 OR parent IS NOT NULL";
    assert_eq!(value(&database, outside), "0");
    let wall_ns = facts.wall_ns.unwrap();
    let last_ns: i64 = value(&database, "SELECT MAX(start_ns + dur_ns) FROM bricks")
        .parse()
        .unwrap();
    assert!((last_ns..last_ns + 3_600_000_000_000).contains(&wall_ns));
    let first: u64 = value(&database, "SELECT MIN(elements) FROM bricks")
        .parse()
        .unwrap();
    assert_eq!(first, RECORDED - rows);
}

#[test]
fn a_rolling_window_says_how_much_of_the_recording_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, cut) = (temp.path().join("kept.run"), temp.path().join("cut.run"));
    let recorder = keeps_the_last(&dir);
    recorder.cut(&cut).unwrap();
    recorder.finish().unwrap();
    for dir in [&dir, &cut] {
        assert_window(dir);
        assert_eq!(Run::open(dir).unwrap().facts().complete, Some(true));
    }
}

#[test]
fn a_rolling_window_of_a_killed_program_is_recovered() {
    if let Ok(dir) = std::env::var(KEPT) {
        let _recorder = keeps_the_last(Path::new(&dir));
        std::process::abort();
    }
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("kept.run");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([
        "--exact",
        "recorded::a_rolling_window_of_a_killed_program_is_recovered",
    ]);
    assert!(!again.env(KEPT, &dir).output().unwrap().status.success());
    assert_window(&dir);
    recover(&dir, None, &mut |_| ()).unwrap();
    assert_window(&dir);
}
