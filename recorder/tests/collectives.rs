//! Calls of collectives become rows, with what the program states of them.

use trueno_recorder::Recorder;
use trueno_testing::{Cell, folder, table};

#[test]
fn a_collective_is_a_function_and_a_row_of_its_own() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    {
        let _step = rec.iteration(0);
        let mut call = rec.collective("all_reduce", "dp");
        call.sequence(7).elements(8, 8, "f32").ranks(&[0, 1]);
        call.algorithm("ring");
        drop(call);
        let mut send = rec.collective("send", "pp");
        send.peer(1);
    }
    rec.finish().unwrap();
    let (rows, bricks) = (table(&path, "collectives"), table(&path, "bricks"));
    assert_eq!(rows.rows, 2);
    let text = |column: &str, row: usize| rows.columns[column][row].clone();
    let t = |text: &str| Cell::T(text.into());
    assert_eq!(text("operation", 0), t("all_reduce"));
    assert_eq!(text("communicator", 0), t("dp"));
    assert_eq!(text("element_type", 0), t("f32"));
    assert_eq!(text("algorithm", 0), t("ring"));
    assert_eq!(text("group_ranks", 0), t("[0,1]"));
    assert_eq!(rows.number("sequence", 0), Some(7));
    assert_eq!(rows.number("group_size", 0), Some(2));
    assert_eq!(rows.number("elements_in", 0), Some(8));
    assert_eq!(text("operation", 1), t("send"));
    assert_eq!(rows.number("peer", 1), Some(1));
    assert_eq!(rows.number("sequence", 1), None);
    for row in 0..2 {
        let span = rows.number("span", row);
        let of = (0..bricks.rows).find(|at| bricks.number("id", *at) == span);
        let brick = of.expect("the row of bricks is there");
        assert_eq!(bricks.columns["kind"][brick], t("function"));
        assert_eq!(bricks.columns["category"][brick], t("communication"));
        assert_eq!(
            rows.number("time_ns", row),
            bricks.number("start_ns", brick)
        );
        assert!(rows.number("dur_ns", row) >= bricks.number("dur_ns", brick));
    }
}

#[test]
fn without_its_table_only_the_function_is_there() {
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .without_table("collectives")
        .create()
        .unwrap();
    drop(rec.collective("barrier", "all"));
    rec.finish().unwrap();
    assert_eq!(table(&path, "bricks").rows, 1);
    assert_eq!(table(&path, "collectives").rows, 0);
    drop(Recorder::disabled().collective("barrier", "all"));
}
