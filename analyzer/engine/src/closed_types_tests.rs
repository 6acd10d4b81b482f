use proptest::prelude::*;
use trueno_plugin::arrow::read_stream;

use super::*;

fn lent(frame: DataFrame) -> Table {
    let mut stream = lend(to_closed_types(frame).unwrap());
    // SAFETY: a stream of the engine's own making.
    let table = unsafe { read_stream(&mut stream) }.unwrap();
    assert!(stream.release.is_none(), "the reader takes the stream over");
    table
}

#[test]
fn all_integers_become_i64_but_u64_stays() {
    let frame = df!(
        "i32" => [1_i32, -2], "u32" => [u32::MAX, 0], "i64" => [i64::MIN, 1], "u64" => [u64::MAX, 0],
        "f32" => [0.5_f32, 1.5], "f64" => [0.1, 0.2], "bool" => [true, false], "text" => ["a", "ü漢"]
    )
    .unwrap();
    let table = lent(frame);
    let types: Vec<String> = table
        .columns()
        .map(|(_, column)| column.ty().to_string())
        .collect();
    assert_eq!(
        types,
        ["i64", "i64", "i64", "u64", "f64", "f64", "bool", "text"]
    );
    assert_eq!(table.i64("u32").unwrap().get(0), Some(i64::from(u32::MAX)));
    assert_eq!(table.u64("u64").unwrap().get(0), Some(u64::MAX));
    assert_eq!(table.f64("f32").unwrap().get(1), Some(1.5));
    assert_eq!(table.text("text").unwrap().get(1), Some("ü漢"));
}

#[test]
fn categories_are_text_to_a_plugin() {
    let text = Series::new("name".into(), ["b", "a", "b"]);
    let Ok(categories) = text.cast(&DataType::from_categories(Categories::global())) else {
        // The engine was built without them, so no column can have the type.
        return;
    };
    let table = lent(DataFrame::new(3, vec![categories.into_column()]).unwrap());
    assert_eq!(
        table
            .text("name")
            .unwrap()
            .iter()
            .flatten()
            .collect::<Vec<_>>(),
        ["b", "a", "b"]
    );
}

#[test]
fn a_type_that_plugins_cannot_read_is_named() {
    let binary = Series::new("blob".into(), [&b"x"[..]]);
    let error =
        to_closed_types(DataFrame::new(1, vec![binary.into_column()]).unwrap()).unwrap_err();
    assert!(
        error.starts_with("column blob is of type binary"),
        "{error}"
    );
}

#[test]
fn an_empty_frame_keeps_its_columns() {
    let table = lent(df!("a" => Vec::<i64>::new(), "b" => Vec::<String>::new()).unwrap());
    assert_eq!(table.rows(), 0);
    assert!(table.has("a") && table.has("b"));
}

#[test]
fn a_stream_that_nobody_reads_is_released() {
    drop(lend(df!("a" => [1_i64, 2]).unwrap()));
}

proptest! {
    /// Chunks, slices and nulls reach a plugin as one table and come back as an equal frame.
    #[test]
    fn frames_survive_the_way_out_and_back(
        parts in proptest::collection::vec(
            proptest::collection::vec((any::<Option<i64>>(), any::<Option<bool>>(), proptest::option::of("\\PC{0,20}"), any::<Option<u64>>()), 0..9),
            1..5,
        ),
        cut in 0..8_i64,
    ) {
        type Row = (Option<i64>, Option<bool>, Option<String>, Option<u64>);
        let part = |rows: &Vec<Row>| df!(
            "i" => rows.iter().map(|row| row.0).collect::<Vec<_>>(),
            "b" => rows.iter().map(|row| row.1).collect::<Vec<_>>(),
            "t" => rows.iter().map(|row| row.2.clone()).collect::<Vec<_>>(),
            "u" => rows.iter().map(|row| row.3).collect::<Vec<_>>(),
        ).unwrap();
        let mut frame = part(&parts[0]);
        for rows in &parts[1..] {
            frame.vstack_mut(&part(rows)).unwrap();
        }
        let frame = frame.slice(cut, frame.height());
        let table = lent(frame.clone());
        prop_assert_eq!(table.rows(), frame.height());
        prop_assert!(to_frame(&table).unwrap().equals_missing(&frame));
    }
}
