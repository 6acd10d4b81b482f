//! Streams made by hand, sound and broken, read into tables.

mod producer;

use producer::{Batch, Cells, Producer, bits, bytes_of, i64s};
use trueno_plugin::arrow::{ArrowArrayStream, read_stream};
use trueno_plugin::{ColumnType, Error};

fn refusal(producer: &Producer) -> String {
    match producer.read() {
        Err(Error::BadInput(message)) => message,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn numbers(batches: Vec<Batch>) -> Producer {
    Producer::new(vec![("x", c"l")], batches)
}

#[test]
fn offsets_of_batch_and_column_add_up_for_every_type() {
    const ROWS: usize = 21;
    let ints: Vec<i64> = (0..ROWS as i64).map(|i| i * i - 50).collect();
    let unsigned: Vec<u64> = (0..ROWS as u64).map(|i| u64::MAX - i).collect();
    let doubles: Vec<f64> = (0..ROWS).map(|i| i as f64 / 8.0).collect();
    let flags: Vec<bool> = (0..ROWS).map(|i| i % 3 == 0).collect();
    let texts: Vec<String> = (0..ROWS).map(|i| "é".repeat(i % 4)).collect();
    let valid: Vec<bool> = (0..ROWS).map(|i| i % 5 != 2).collect();
    let mut ends = vec![0];
    texts
        .iter()
        .for_each(|text| ends.push(ends[ends.len() - 1] + text.len() as i64));

    let buffers = [
        vec![bits(&valid), i64s(&ints)],
        vec![bits(&valid), bytes_of(&unsigned, u64::to_ne_bytes)],
        vec![bits(&valid), bytes_of(&doubles, f64::to_ne_bytes)],
        vec![bits(&valid), bits(&flags)],
        vec![bits(&valid), i64s(&ends), Some(texts.concat().into_bytes())],
    ];
    let fields = vec![
        ("i", c"l"),
        ("u", c"L"),
        ("f", c"g"),
        ("b", c"b"),
        ("t", c"U"),
    ];
    // Under Miri those around the end of a byte of bits.
    let (offsets, step): (&[usize], usize) = if cfg!(miri) {
        (&[0, 1, 8], 9)
    } else {
        (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1)
    };
    for column_offset in offsets.iter().copied() {
        for batch_offset in (0..4).step_by(if cfg!(miri) { 3 } else { 1 }) {
            for rows in (0..=ROWS - column_offset - batch_offset).step_by(step) {
                let columns = buffers.iter().map(|buffers| Cells {
                    null_count: -1,
                    ..Cells::new(column_offset, batch_offset + rows, buffers.clone())
                });
                let batch = Batch {
                    offset: batch_offset as i64,
                    length: rows as i64,
                    ..Batch::new(columns.collect())
                };
                let table = Producer::new(fields.clone(), vec![batch]).read().unwrap();
                assert_eq!(table.rows(), rows);
                for row in 0..rows {
                    let at = column_offset + batch_offset + row;
                    assert_eq!(
                        table.i64("i").unwrap().get(row),
                        valid[at].then_some(ints[at])
                    );
                    assert_eq!(
                        table.u64("u").unwrap().get(row),
                        valid[at].then_some(unsigned[at])
                    );
                    assert_eq!(
                        table.f64("f").unwrap().get(row),
                        valid[at].then_some(doubles[at])
                    );
                    assert_eq!(
                        table.bool("b").unwrap().get(row),
                        valid[at].then_some(flags[at])
                    );
                    assert_eq!(
                        table.text("t").unwrap().get(row),
                        valid[at].then_some(texts[at].as_str())
                    );
                }
            }
        }
    }
}

#[test]
fn a_validity_may_be_missing_or_uncounted() {
    let with = |null_count: i64, validity: Option<Vec<u8>>| {
        let cells = Cells {
            null_count,
            ..Cells::new(0, 3, vec![validity, i64s(&[7, 8, 9])])
        };
        numbers(vec![Batch::new(vec![cells])])
    };
    let read = |producer: Producer| {
        producer
            .read()
            .unwrap()
            .i64("x")
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
    };
    let all = vec![Some(7), Some(8), Some(9)];
    assert_eq!(read(with(-1, None)), all);
    assert_eq!(read(with(0, None)), all);
    assert_eq!(read(with(-1, bits(&[true; 3]))), all);
    assert_eq!(
        read(with(-1, bits(&[true, false, true]))),
        [Some(7), None, Some(9)]
    );
    assert_eq!(
        read(with(1, bits(&[true, false, true]))),
        [Some(7), None, Some(9)]
    );
    assert!(
        refusal(&with(1, None)).contains("column `x` states 1 nulls but has no validity bitmap")
    );
}

#[test]
fn what_lies_under_a_null_does_not_reach_the_values() {
    let cells = Cells {
        null_count: 1,
        ..Cells::new(0, 2, vec![bits(&[false, true]), i64s(&[666, 1])])
    };
    let table = numbers(vec![Batch::new(vec![cells])]).read().unwrap();
    assert_eq!(table.i64("x").unwrap().values(), [0, 1]);
    assert!(table.i64("x").unwrap().has_nulls());
}

#[test]
fn empty_batches_may_lack_their_buffers() {
    let empty = || Batch::new(vec![Cells::new(0, 0, vec![None, None])]);
    let full = |x| Batch::new(vec![Cells::new(0, 1, vec![None, i64s(&[x])])]);
    let table = numbers(vec![empty(), full(1), empty(), full(2)])
        .read()
        .unwrap();
    assert_eq!(table.i64("x").unwrap().values(), [1, 2]);
    let text = Batch::new(vec![Cells::new(0, 2, vec![None, i64s(&[0, 0, 0]), None])]);
    let table = Producer::new(vec![("t", c"U")], vec![text]).read().unwrap();
    assert_eq!(
        table.text("t").unwrap().iter().collect::<Vec<_>>(),
        [Some(""), Some("")]
    );
}

#[test]
fn the_end_may_come_before_any_batch() {
    let table = numbers(vec![]).read().unwrap();
    assert_eq!((table.rows(), table.columns().len()), (0, 1));
    assert!(table.i64("x").unwrap().values().is_empty());
    let table = Producer::new(vec![], vec![]).read().unwrap();
    assert_eq!((table.rows(), table.columns().len()), (0, 0));
}

#[test]
fn buffers_need_not_be_aligned() {
    for shift in (1..8).step_by(if cfg!(miri) { 3 } else { 1 }) {
        let x = Cells {
            shift,
            ..Cells::new(1, 2, vec![None, i64s(&[1, 2, 3])])
        };
        let t = Cells {
            shift,
            ..Cells::new(0, 2, vec![None, i64s(&[0, 1, 3]), Some(b"abc".to_vec())])
        };
        let table = Producer::new(vec![("x", c"l"), ("t", c"U")], vec![Batch::new(vec![x, t])])
            .read()
            .unwrap();
        assert_eq!(table.to_string(), "x  t\n2  a\n3  bc\n");
    }
}

#[test]
fn a_failing_stream_is_quoted_though_its_text_dies_with_it() {
    let batch = || Batch::new(vec![Cells::new(0, 1, vec![None, i64s(&[1])])]);
    let producer = numbers(vec![batch(), batch()]).with(|it| it.fail_at = Some(1));
    assert_eq!(
        refusal(&producer),
        "the Arrow stream failed in get_next with code 5: torn \u{fffd} page"
    );
    let producer = numbers(vec![]).with(|it| it.fail_schema = true);
    assert_eq!(
        refusal(&producer),
        "the Arrow stream failed in get_schema with code 22: no schema today"
    );
}

#[test]
fn a_moved_stream_reads_as_before() {
    let producer = numbers(vec![Batch::new(vec![Cells::new(
        0,
        1,
        vec![None, i64s(&[5])],
    )])]);
    let mut first = producer.stream();
    // SAFETY: `first` is a valid place.
    let mut second = Box::new(unsafe { ArrowArrayStream::take(&mut first) });
    assert!(first.release.is_none());
    // SAFETY: a sound stream.
    let table = unsafe { read_stream(&mut *second) }.unwrap();
    assert_eq!(table.i64("x").unwrap().values(), [5]);
    producer.check();
}

#[test]
fn no_stream_is_an_error() {
    // SAFETY: null and released are what is tested.
    let message = |stream| unsafe { read_stream(stream) }.unwrap_err().to_string();
    assert!(message(std::ptr::null_mut()).contains("null pointer"));
    assert!(message(&mut ArrowArrayStream::released()).contains("already released"));
}

#[test]
fn other_types_are_refused_by_name() {
    for format in [c"i", c"u", c"vu", c"tdD", c"+l", c"", c"ll"] {
        let message = refusal(&Producer::new(vec![("odd", format)], vec![]));
        assert!(
            message.starts_with(&format!(
                "column `odd` has Arrow type `{}`",
                format.to_str().unwrap()
            )),
            "{message}"
        );
        assert!(message.contains("large UTF-8 `U`"), "{message}");
    }
    let dictionary = numbers(vec![]).with(|it| it.dictionary = true);
    assert!(refusal(&dictionary).contains("`l` behind a dictionary"));
    let no_struct = numbers(vec![]).with(|it| it.top = c"l");
    assert!(refusal(&no_struct).contains("of type `l`, expected a struct"));
}

#[test]
fn the_five_types_are_known() {
    let fields = vec![
        ("i", c"l"),
        ("u", c"L"),
        ("f", c"g"),
        ("b", c"b"),
        ("t", c"U"),
    ];
    let table = Producer::new(fields, vec![]).read().unwrap();
    let types: Vec<ColumnType> = table.columns().map(|(_, column)| column.ty()).collect();
    assert_eq!(types, ColumnType::ALL);
}

#[test]
fn arrays_that_contradict_themselves_are_refused() {
    let sound = || Cells::new(0, 3, vec![None, i64s(&[1, 2, 3])]);
    let one = |cells: Cells| {
        refusal(&numbers(vec![Batch {
            length: 3,
            ..Batch::new(vec![cells])
        }]))
    };
    assert_eq!(
        one(Cells {
            length: 2,
            ..sound()
        }),
        "column `x` has 2 rows, its batch reaches to row 3"
    );
    assert!(
        one(Cells {
            length: -1,
            ..sound()
        })
        .contains("column `x` has length -1")
    );
    assert!(
        one(Cells {
            offset: -1,
            ..sound()
        })
        .contains("offset -1")
    );
    assert!(
        one(Cells {
            buffers: vec![None, None],
            ..sound()
        })
        .contains("has rows but no buffer 1")
    );
    assert!(
        one(Cells {
            buffers: vec![None],
            ..sound()
        })
        .contains("has 1 Arrow buffers, its type has 2")
    );
    let batch = |batch: Batch| refusal(&numbers(vec![batch]));
    assert!(
        batch(Batch {
            length: -5,
            ..Batch::new(vec![sound()])
        })
        .contains("length -5")
    );
    assert!(
        batch(Batch {
            offset: i64::MAX,
            ..Batch::new(vec![sound()])
        })
        .contains("length 3 and offset 9223372036854775807")
    );
    assert!(batch(Batch::new(vec![])).contains("has 0 columns, its schema has 1"));
    assert!(batch(Batch::new(vec![sound(), sound()])).contains("has 2 columns, its schema has 1"));
    let null_row = Batch {
        null_count: 1,
        validity: bits(&[true, false, true]),
        ..Batch::new(vec![sound()])
    };
    assert_eq!(
        batch(null_row),
        "row 1 of an Arrow batch is null as a whole"
    );
    let starts_later = Batch {
        offset: 1,
        length: 2,
        ..Batch::new(vec![Cells {
            length: 2,
            ..sound()
        }])
    };
    assert_eq!(
        batch(starts_later),
        "column `x` has 2 rows, its batch reaches to row 3"
    );
    let no_null_row = Batch {
        null_count: -1,
        validity: bits(&[true; 3]),
        ..Batch::new(vec![sound()])
    };
    assert_eq!(numbers(vec![no_null_row]).read().unwrap().rows(), 3);
    let twice = Producer::new(vec![("x", c"l"), ("x", c"g")], vec![]);
    assert!(refusal(&twice).contains("two columns are named `x`"));
}

#[test]
fn text_is_utf8_wherever_it_can_be_seen() {
    let text = |ends: &[i64], bytes: &[u8], valid: Option<Vec<u8>>| {
        let rows = ends.len() - 1;
        let cells = Cells {
            null_count: -1,
            ..Cells::new(0, rows, vec![valid, i64s(ends), Some(bytes.to_vec())])
        };
        Producer::new(vec![("t", c"U")], vec![Batch::new(vec![cells])])
    };
    assert_eq!(
        refusal(&text(&[0, 1, 3], b"a\xff\xfe", None)),
        "column `t`, row 1: the text is not UTF-8"
    );
    // A character cut in two by the offsets.
    assert_eq!(
        refusal(&text(&[0, 1, 2], "é".as_bytes(), None)),
        "column `t`, row 0: the text is not UTF-8"
    );
    assert!(refusal(&text(&[3, 1, 0], b"abc", None)).contains("offsets that are not in order"));
    assert!(refusal(&text(&[-1, 1], b"abc", None)).contains("offsets that are not in order"));
    // Under a null lies anything.
    let table = text(&[0, 1, 3, 4], b"a\xff\xfeb", bits(&[true, false, true]))
        .read()
        .unwrap();
    assert_eq!(
        table.text("t").unwrap().iter().collect::<Vec<_>>(),
        [Some("a"), None, Some("b")]
    );
}

#[test]
fn columns_are_contiguous_over_batches() {
    let batch =
        |values: &[i64]| Batch::new(vec![Cells::new(0, values.len(), vec![None, i64s(values)])]);
    let table = numbers(vec![batch(&[1, 2]), batch(&[3]), batch(&[4, 5])])
        .read()
        .unwrap();
    assert_eq!(table.i64("x").unwrap().values(), [1, 2, 3, 4, 5]);
}
