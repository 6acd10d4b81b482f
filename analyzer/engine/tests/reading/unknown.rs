//! Tables and columns this program does not know, and known ones that are not there.

use trueno_engine::run::Run;

use crate::sample::{edges, has_problem, problem_texts, rows, value};
use crate::writer::{End, RunWriter, Values, i64s, texts, u64s};

#[test]
fn unknown_columns_and_tables_are_published() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(temp.path());
    let mut more = edges(0, 6);
    more.push(texts(
        "reason",
        (0..6).map(|i| (i % 2 == 0).then_some("because")),
    ));
    more.push((
        "sure".into(),
        Values::Bool((0..6).map(|i| Some(i == 4)).collect()),
    ));
    more.push((
        "weight".into(),
        Values::F64((0..6).map(|i| Some(f64::from(i) / 2.0)).collect()),
    ));
    writer.segment("edges", 0, &more, 4, End::Sealed);
    writer.segment("edges", 1, &edges(6, 4), 4, End::Sealed);
    writer.segment(
        "marks",
        0,
        &[
            i64s("time_ns", 0..5),
            texts("text", (0..5).map(|_| Some("hm"))),
        ],
        4,
        End::Sealed,
    );
    let run = Run::open(&writer.finish()).unwrap();
    assert_eq!(problem_texts(&run), [""; 0]);
    let database = run.sql_context().unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT \"from\", kind, reason, sure, weight, reason_id IS NULL AS none FROM edges WHERE \"from\" IN (4, 5, 6)"
        ),
        [
            "4|depends_on|because|true|2.0|false",
            "5|spawns|-|false|2.5|true",
            "6|joins|-|-|-|true"
        ]
    );
    assert_eq!(
        value(
            &database,
            "SELECT SUM(time_ns) AS s FROM marks WHERE text = 'hm'"
        ),
        "10"
    );

    let tables = run.tables();
    let marks = tables.last().unwrap();
    assert_eq!((marks.name.as_str(), marks.rows), ("marks", Some(5)));
    let columns: Vec<_> = marks
        .columns
        .iter()
        .map(|c| (c.name.as_str(), c.ty.as_str(), c.unit.as_deref()))
        .collect();
    assert_eq!(
        columns,
        [
            ("text", "text", None),
            ("time_ns", "i64", Some("ns")),
            ("text_id", "i64", None)
        ]
    );
    let edges = tables.iter().find(|t| t.name == "edges").unwrap();
    let columns: Vec<_> = edges.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        columns,
        [
            "from",
            "to",
            "kind",
            "reason",
            "sure",
            "weight",
            "kind_id",
            "reason_id"
        ]
    );
}

#[test]
fn the_catalog_lists_what_a_query_sees() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(temp.path());
    let mut more = edges(0, 6);
    more.push(texts("reason", (0..6).map(|_| Some("because"))));
    writer.segment("edges", 0, &more, 4, End::Sealed);
    let run = Run::open(&writer.finish()).unwrap();
    let database = run.sql_context().unwrap();
    for table in run.tables() {
        let frame =
            trueno_engine::query::collect(&database, &format!("SELECT * FROM {}", table.name))
                .unwrap();
        let seen: Vec<_> = frame
            .get_column_names()
            .iter()
            .map(|n| n.to_string())
            .collect();
        let listed: Vec<_> = table.columns.iter().map(|c| c.name.clone()).collect();
        assert_eq!(seen, listed, "{}", table.name);
        assert_eq!(Some(frame.height() as u64), table.rows, "{}", table.name);
    }
}

#[test]
fn a_known_column_that_is_not_there_is_null() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(temp.path());
    writer.segment(
        "calls",
        0,
        &[
            u64s("id", 1..4),
            texts("name", (0..3).map(|_| Some("write"))),
        ],
        4,
        End::Sealed,
    );
    let run = Run::open(&writer.finish()).unwrap();
    assert_eq!(
        rows(
            &run.sql_context().unwrap(),
            "SELECT id, name, start_ns, status FROM calls"
        ),
        ["1|write|-|-", "2|write|-|-", "3|write|-|-"]
    );
}

#[test]
fn a_column_of_another_type_is_converted_or_null_with_the_reason() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(temp.path());
    let text = Values::PlainText(vec![Some("x".into()), None]);
    writer.segment(
        "calls",
        0,
        &[
            i64s("id", 1..3),
            ("name".into(), text.clone()),
            ("thread".into(), text),
        ],
        4,
        End::Sealed,
    );
    let run = Run::open(&writer.finish()).unwrap();
    let database = run.sql_context().unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT id, name, thread, name_id IS NULL AS n FROM calls"
        ),
        ["1|x|-|false", "2|-|-|true"]
    );
    assert!(has_problem(
        &run,
        &["calls/000000.arrow: column thread is text, expected u32: read as null"]
    ));
}

#[test]
fn a_damaged_segment_with_unknown_columns_is_rebuilt_from_its_own_head() {
    let temp = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::new(temp.path());
    let mut more = edges(0, 6);
    more.push(texts("reason", (0..6).map(|_| Some("because"))));
    writer.segment("edges", 0, &more, 4, End::Sealed);
    let dir = writer.finish();
    let path = dir.join("edges/000000.arrow");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(
        rows(
            &run.sql_context().unwrap(),
            "SELECT \"to\", reason FROM edges WHERE \"to\" = 6"
        ),
        ["6|because"]
    );
    // With the head gone as well nothing tells the columns.
    bytes[100] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let run = Run::open(&dir).unwrap();
    assert!(has_problem(
        &run,
        &["edges/000000.arrow: its head is damaged"]
    ));
    assert_eq!(run.facts().rows_lost, 6);
}
