//! Inputs batch by batch: the rows of the table, and its refusals.

mod producer;

use proptest::prelude::*;
use trueno_plugin::arrow::ArrowArrayStream;
use trueno_plugin::{
    Batches, Column, Error, Input, Plugin, Result, Run, Table, TableBuilder, testing,
};

use producer::{Batch, Cells, Producer, bits, bytes_of, i64s};

#[derive(Clone, Debug)]
struct Row {
    i: Option<i64>,
    u: Option<u64>,
    f: Option<u64>,
    b: Option<bool>,
    t: Option<String>,
}

/// The shape of a batch: its rows, the offsets of array and batch, and by how many bytes its buffers are
/// misaligned.
#[derive(Clone, Debug)]
struct Shape {
    rows: Vec<Row>,
    column_offset: usize,
    batch_offset: usize,
    shift: usize,
    is_counted: bool,
}

fn rows(least: usize) -> impl Strategy<Value = Vec<Row>> {
    let cells = (
        prop::option::of(any::<i64>()),
        prop::option::of(any::<u64>()),
        prop::option::of(any::<u64>()),
        prop::option::of(any::<bool>()),
        prop::option::of("[aé算]{0,3}"),
    );
    let row = cells.prop_map(|(i, u, f, b, t)| Row { i, u, f, b, t });
    let nullable = prop::collection::vec(row, least..if cfg!(miri) { 12 } else { 40 });
    (nullable, any::<bool>()).prop_map(|(mut rows, is_full)| {
        // Whole batches without a null take another way.
        for row in rows.iter_mut().filter(|_| is_full) {
            row.i.get_or_insert(1);
            row.u.get_or_insert(2);
            row.f.get_or_insert(3);
            row.b.get_or_insert(true);
            row.t.get_or_insert_default();
        }
        rows
    })
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let shape = (rows(0), 0..20_usize, 0..20_usize, 0..8_usize, any::<bool>());
    let shape = shape.prop_map(
        |(rows, column_offset, batch_offset, shift, is_counted)| Shape {
            column_offset: column_offset.min(rows.len()),
            batch_offset: batch_offset.min(rows.len().saturating_sub(column_offset)),
            rows,
            shift,
            is_counted,
        },
    );
    prop::collection::vec(shape, 0..5)
}

impl Shape {
    fn shown(&self) -> &[Row] {
        &self.rows[self.column_offset + self.batch_offset..]
    }

    fn column(&self, valid: impl Fn(&Row) -> bool, values: Vec<Option<Vec<u8>>>) -> Cells {
        let of_column = &self.rows[self.column_offset..];
        let all: Vec<bool> = self.rows.iter().map(&valid).collect();
        let nulls = of_column.iter().filter(|row| !valid(row)).count() as i64;
        let validity = (nulls > 0 || !self.is_counted)
            .then(|| bits(&all))
            .flatten();
        let buffers = [vec![validity], values].concat();
        Cells {
            null_count: if self.is_counted { nulls } else { -1 },
            shift: self.shift,
            ..Cells::new(self.column_offset, of_column.len(), buffers)
        }
    }

    fn batch(&self) -> Batch {
        let rows = || self.rows.iter();
        let ints: Vec<i64> = rows().map(|row| row.i.unwrap_or(666)).collect();
        let unsigned: Vec<u64> = rows().map(|row| row.u.unwrap_or(666)).collect();
        let doubles: Vec<u64> = rows().map(|row| row.f.unwrap_or(666)).collect();
        let flags: Vec<bool> = rows().map(|row| row.b.unwrap_or(true)).collect();
        let texts: Vec<&[u8]> = rows()
            .map(|row| {
                row.t
                    .as_ref()
                    .map_or(&b"\xff\xfe"[..], |text| text.as_bytes())
            })
            .collect();
        let mut ends = vec![0];
        texts
            .iter()
            .for_each(|text| ends.push(ends[ends.len() - 1] + text.len() as i64));
        Batch {
            offset: self.batch_offset as i64,
            length: self.shown().len() as i64,
            ..Batch::new(vec![
                self.column(|row| row.i.is_some(), vec![i64s(&ints)]),
                self.column(
                    |row| row.u.is_some(),
                    vec![bytes_of(&unsigned, u64::to_ne_bytes)],
                ),
                self.column(
                    |row| row.f.is_some(),
                    vec![bytes_of(&doubles, u64::to_ne_bytes)],
                ),
                self.column(|row| row.b.is_some(), vec![bits(&flags)]),
                self.column(
                    |row| row.t.is_some(),
                    vec![i64s(&ends), Some(texts.concat())],
                ),
            ])
        }
    }
}

const FIELDS: [(&str, &std::ffi::CStr); 5] = [
    ("i", c"l"),
    ("u", c"L"),
    ("f", c"g"),
    ("b", c"b"),
    ("t", c"U"),
];

/// Concatenates all batches, and checks that everything is released exactly once.
fn concatenated(producer: &Producer) -> Result<TableBuilder> {
    let mut stream = producer.stream();
    let mut read = || {
        // SAFETY: a stream as described, or with the fault under test.
        let mut batches = unsafe { Batches::of_stream(&mut stream) }?;
        let (mut i, mut u, mut f, mut b, mut t) = (vec![], vec![], vec![], vec![], vec![]);
        while let Some(batch) = batches.next_batch()? {
            assert!(batch.rows() > 0);
            let (ints, flags) = (batch.i64("i")?, batch.bool("b")?);
            assert_eq!(ints.values().is_some(), !ints.has_nulls());
            assert_eq!(ints.len(), batch.rows());
            assert_eq!(
                flags.null_count(),
                flags.iter().filter(Option::is_none).count()
            );
            i.extend(ints.iter());
            u.extend(batch.u64("u")?.iter());
            f.extend(batch.f64("f")?.iter());
            b.extend(flags.iter());
            t.extend(batch.text("t")?.iter().map(|text| text.map(str::to_owned)));
        }
        let table = Table::build("rows").i64("i", i).u64("u", u).f64("f", f);
        Ok(table.bool("b", b).text("t", t))
    };
    let table = read();
    assert!(stream.release.is_none(), "the stream was not moved out");
    producer.check();
    table
}

proptest! {
    #[test]
    fn batches_after_each_other_are_the_table(shapes in shapes()) {
        let producer = || Producer::new(FIELDS.to_vec(), shapes.iter().map(Shape::batch).collect());
        let found = concatenated(&producer()).unwrap();
        let rows = || shapes.iter().flat_map(Shape::shown);
        let expected = Table::build("rows")
            .i64("i", rows().map(|row| row.i))
            .u64("u", rows().map(|row| row.u))
            .f64("f", rows().map(|row| row.f.map(f64::from_bits)))
            .bool("b", rows().map(|row| row.b))
            .text("t", rows().map(|row| row.t.as_deref()));
        let cells = |table: &Table| -> Vec<Vec<Option<String>>> {
            let columns = table.columns().map(|(_, column)| column);
            columns.map(|column| (0..column.len()).map(|row| column.cell_text(row)).collect()).collect()
        };
        let (found, table) = (cells(&found.finish().unwrap()), cells(&producer().read().unwrap()));
        prop_assert_eq!(&found, &table);
        prop_assert_eq!(found, cells(&expected.finish().unwrap()));
    }
}

fn numbers(batches: Vec<Batch>) -> Producer {
    Producer::new(FIELDS[..1].to_vec(), batches)
}

/// The error from reading a stream as a table, checked to be the same when reading batch by batch.
fn refusal(producer: impl Fn() -> Producer) -> String {
    let as_table = producer().read().unwrap_err();
    let producer = producer();
    let mut stream = producer.stream();
    let mut read = || -> Result<()> {
        // SAFETY: a stream with the fault under test.
        let mut batches = unsafe { Batches::of_stream(&mut stream) }?;
        while batches.next_batch()?.is_some() {}
        Ok(())
    };
    assert_eq!(read().unwrap_err(), as_table);
    producer.check();
    match as_table {
        Error::BadInput(message) => message,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn what_is_wrong_is_said_as_of_a_table() {
    let sound = || Batch::new(vec![Cells::new(0, 3, vec![None, i64s(&[1, 2, 3])])]);
    let short = || Cells {
        length: 2,
        ..Cells::new(0, 3, vec![None, i64s(&[1, 2, 3])])
    };
    let cut = || Batch {
        length: 3,
        ..Batch::new(vec![short()])
    };
    assert_eq!(
        refusal(|| numbers(vec![sound(), cut()])),
        "column `i` has 2 rows, its batch reaches to row 3"
    );
    assert!(
        refusal(|| numbers(vec![sound()]).with(|it| it.fail_at = Some(1)))
            .starts_with("the Arrow stream failed in get_next with code 5")
    );
    assert!(
        refusal(|| numbers(vec![]).with(|it| it.fail_schema = true)).contains("no schema today")
    );
    assert!(
        refusal(|| Producer::new(vec![("i", c"l"), ("i", c"g")], vec![]))
            .contains("two columns are named `i`")
    );
    let not_utf8 = || {
        let text = |bytes: &[u8]| {
            let cells = vec![None, i64s(&[0, 1, 2]), Some(bytes.to_vec())];
            Batch::new(vec![Cells::new(0, 2, cells)])
        };
        Producer::new(vec![("t", c"U")], vec![text(b"ab"), text(b"a\xff")])
    };
    assert_eq!(
        refusal(not_utf8),
        "column `t`, row 3: the text is not UTF-8"
    );
}

#[test]
fn a_batch_left_behind_is_released_with_its_stream() {
    let batch = || Batch::new(vec![Cells::new(0, 1, vec![None, i64s(&[1])])]);
    let producer = numbers(vec![batch(), batch()]);
    let mut stream = producer.stream();
    // SAFETY: a sound stream.
    let mut batches = unsafe { Batches::of_stream(&mut stream) }.unwrap();
    assert_eq!(
        batches
            .next_batch()
            .unwrap()
            .unwrap()
            .i64("i")
            .unwrap()
            .value(0),
        1
    );
    drop(batches);
    producer.check();
    let mut released = ArrowArrayStream::released();
    // SAFETY: released is what is tested.
    assert!(unsafe { Batches::of_stream(&mut released) }.is_err());
}

struct Reader;

impl Plugin for Reader {
    const ID: &'static str = "reader";
    const SUMMARY: &'static str = "Reads its inputs as its option says.";
    const INPUTS: &'static [Input] = &[
        Input::sql("spans", "SELECT id, dur_ns FROM bricks"),
        Input::sql("extra", "SELECT x FROM other.extra").optional(),
    ];
    type Options = std::collections::BTreeMap<String, u8>;

    fn run(run: &mut Run, options: Self::Options) -> Result<()> {
        let mut spans = run.batches("spans")?;
        if options.contains_key("twice") {
            run.table("spans")?;
        }
        let mut sum = 0;
        while let Some(batch) = spans.next_batch()? {
            let column = if options.contains_key("column") {
                "end_ns"
            } else {
                "dur_ns"
            };
            if options.contains_key("type") {
                batch.u64(column).map(drop)?
            } else {
                sum += batch.i64(column)?.iter().flatten().sum::<i64>()
            }
        }
        let mut extra = run.batches("extra")?;
        assert!(extra.next_batch()?.is_none());
        run.emit(
            Table::build("out")
                .i64("sum", [sum])
                .bool("missing", [extra.is_missing()])
                .bool("has", [spans.has("dur_ns") && !spans.has("x")]),
        )
    }
}

#[test]
fn a_plugin_reads_its_inputs_batch_by_batch() {
    // More than a batch of the tests' host.
    let rows = 2500_i64;
    let spans = || {
        Table::build("spans")
            .u64("id", 0..rows as u64)
            .i64("dur_ns", (0..rows).map(|row| (row % 3 > 0).then_some(row)))
    };
    let output = testing::run::<Reader>([spans()], "{}").unwrap();
    let Column::I64(sum) = output.table("out").column("sum").unwrap() else {
        panic!("another type")
    };
    assert_eq!(
        sum.values(),
        [(0..rows).filter(|row| row % 3 > 0).sum::<i64>()]
    );
    assert_eq!(
        output.table("out").bool("missing").unwrap().values(),
        [true]
    );
    assert_eq!(output.table("out").bool("has").unwrap().values(), [true]);
    let empty = Table::build("extra").i64("x", Vec::<i64>::new());
    let output = testing::run::<Reader>([spans(), empty], "{}").unwrap();
    assert_eq!(
        output.table("out").bool("missing").unwrap().values(),
        [false]
    );

    let error = |options: &str| {
        let error = testing::run::<Reader>([spans()], options).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        error(r#"{"twice": 1}"#),
        "input `spans` was read before (hint: keep the table)"
    );
    assert_eq!(
        error(r#"{"column": 1}"#),
        "table `spans` has no column `end_ns` (it has `id`, `dur_ns`)"
    );
    assert_eq!(
        error(r#"{"type": 1}"#),
        "table `spans`: column `dur_ns` is i64, but was read as u64 (hint: read it with .i64(), or cast it in the query)"
    );
}
