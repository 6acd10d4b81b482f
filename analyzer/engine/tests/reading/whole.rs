//! A run as it should be.

use trueno_engine::run::{Run, RunError};
use trueno_model::{RunState, WallSource};

use crate::sample::{all_rows, problem_texts, rows, sample, value};
use crate::writer::{End, RunWriter};

#[test]
fn a_sound_run_is_read_whole() {
    let sample = sample();
    let run = sample.open();
    assert_eq!(problem_texts(&run), [""; 0]);
    let facts = run.facts();
    assert!(facts.complete == Some(true) && facts.clean_end);
    assert_eq!(facts.state, RunState::Finished);
    assert_eq!(
        (facts.rows, facts.rows_lost, facts.dropped),
        (37, 0, Some(0))
    );
    assert_eq!(
        (facts.wall_ns, facts.wall_source),
        (Some(1_000_000), WallSource::Recorded)
    );
    assert_eq!(facts.run_id.as_deref(), Some("00000000deadbeef"));
    assert_eq!(facts.host.cpu_model.as_deref(), Some("Some CPU"));
    assert_eq!(facts.program.argv, ["decode", "--tokens", "8"]);
    assert_eq!(facts.cost_ns_per_span, Some(31.5));
    let tables: Vec<_> = facts
        .tables
        .iter()
        .map(|t| (t.name.as_str(), t.rows_read, t.rows_expected, t.segments))
        .collect();
    assert_eq!(
        tables,
        [("bricks", 20, Some(20), 1), ("edges", 17, Some(17), 2)]
    );

    let read = all_rows(&run);
    assert_eq!(read["edges"].len(), 17);
    assert_eq!(read["edges"][5], "5|6|spawns");
    assert_eq!(read["edges"][16], "16|17|depends_on");
    assert_eq!(
        read["bricks"][0],
        "1|-|brick|QkvProjection|-|-|-|1|100|60|-"
    );
    assert_eq!(read["bricks"][14], "15|-|layer||15|Norm|-|1|1500|60|-");
}

#[test]
fn a_table_that_was_not_recorded_is_there_and_empty() {
    let sample = sample();
    let run = sample.open();
    let database = run.sql_context().unwrap();
    assert_eq!(value(&database, "SELECT COUNT(*) FROM kernels"), "0");
    assert!(
        rows(
            &database,
            "SELECT name, name_id, start_ns + dur_ns AS e FROM kernels WHERE valid"
        )
        .is_empty()
    );
}

#[test]
fn run_segments_and_problems_are_tables() {
    let sample = sample();
    let run = sample.open();
    let database = run.sql_context().unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT run_id, state, wall_ns, wall_source, complete, clean_end, dropped, \"rows\", cpu_features FROM run"
        ),
        ["00000000deadbeef|finished|1000000|recorded|true|true|0|37|avx2 fma"]
    );
    assert_eq!(
        rows(
            &database,
            "SELECT \"table\", segment, state, rows_expected, rows_read, rows_lost, verified, problem FROM segments"
        ),
        [
            "bricks|bricks/000000.arrow|sealed|20|20|0|true|-",
            "edges|edges/000000.arrow|sealed|10|10|0|true|-",
            "edges|edges/000001.arrow|sealed|7|7|0|true|-"
        ]
    );
    assert_eq!(value(&database, "SELECT COUNT(*) FROM problems"), "0");
}

#[test]
fn numbers_of_texts_are_the_same_over_segments_and_queries() {
    let sample = sample();
    let run = sample.open();
    let database = run.sql_context().unwrap();
    // In the second segment of edges `joins` comes first, in the first `depends_on`.
    let pairs = rows(
        &database,
        "SELECT DISTINCT kind, kind_id FROM edges ORDER BY kind",
    );
    assert_eq!(
        pairs.len(),
        4,
        "a text has one number in all segments: {pairs:?}"
    );
    assert_eq!(
        rows(
            &database,
            "SELECT DISTINCT kind, kind_id FROM edges ORDER BY kind"
        ),
        pairs
    );
    assert_eq!(
        value(
            &database,
            "SELECT COUNT(*) FROM edges e JOIN (SELECT DISTINCT kind_id, kind FROM edges) k ON e.kind_id = k.kind_id WHERE e.kind = k.kind"
        ),
        "17"
    );
    assert_eq!(
        value(
            &database,
            "SELECT COUNT(*) FROM bricks WHERE category_id IS NULL AND category IS NOT NULL"
        ),
        "0"
    );
    assert_eq!(
        value(
            &database,
            "SELECT COUNT(*) FROM bricks WHERE backend_id IS NOT NULL"
        ),
        "0"
    );
}

#[test]
fn an_empty_run_is_a_run() {
    let temp = tempfile::tempdir().unwrap();
    let run = Run::open(&RunWriter::new(temp.path()).finish()).unwrap();
    assert_eq!(problem_texts(&run), [""; 0]);
    assert!(run.facts().complete == Some(true));
    assert_eq!(run.facts().rows, 0);
    assert_eq!(
        value(&run.sql_context().unwrap(), "SELECT COUNT(*) FROM bricks"),
        "0"
    );
}

#[test]
fn what_is_no_run_is_an_error_that_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        Run::open(&temp.path().join(name))
            .err()
            .expect("opened what is no run")
    };
    assert!(matches!(open("nowhere"), RunError::Missing { .. }));
    assert!(open("nowhere").to_string().contains("nowhere: no such run"));

    std::fs::write(temp.path().join("file"), "x").unwrap();
    assert!(matches!(open("file"), RunError::NotARun { .. }));
    std::fs::create_dir(temp.path().join("folder")).unwrap();
    assert!(open("folder").to_string().contains("not a run directory"));
}

#[test]
fn a_newer_major_is_refused_and_a_newer_minor_read() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("a.run"));
    writer.segment("edges", 0, &crate::sample::edges(0, 3), 4, End::Sealed);
    writer.run_json["format"] =
        serde_json::json!({"name": "trueno-run", "major": 2, "minor": 0, "more": 1});
    let error = Run::open(&writer.finish()).err().unwrap();
    assert!(
        matches!(error, RunError::NewerFormat { found_major: 2, .. }),
        "{error}"
    );

    writer.run_json["format"] = serde_json::json!({"name": "trueno-run", "major": 1, "minor": 9});
    writer.run_json["something_new"] = serde_json::json!([1, 2]);
    let run = Run::open(&writer.finish()).unwrap();
    assert!(run.facts().complete == Some(true));
    assert_eq!(run.facts().format_minor, Some(9));
}

#[test]
fn the_path_may_hold_anything() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(&temp.path().join("a [b]*? {c} ä.run"));
    writer.segment("edges", 0, &crate::sample::edges(0, 3), 4, End::Sealed);
    let run = Run::open(&writer.finish()).unwrap();
    assert_eq!(
        value(
            &run.sql_context().unwrap(),
            "SELECT COUNT(*) FROM edges WHERE \"to\" > 1"
        ),
        "2"
    );
}
