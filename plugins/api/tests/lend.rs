//! Tables lent as streams: what comes out is what went in, wherever the structs lie.

use std::ptr;

use trueno_plugin::Table;
use trueno_plugin::arrow::{
    ArrowArray, ArrowArrayStream, ArrowSchema, export_batches, export_stream, read_stream,
};

fn table(rows: usize, nulls: bool) -> Table {
    let null = |i: &usize| nulls && i % 3 == 1;
    let rows = 0..rows;
    Table::build("t")
        .i64(
            "i",
            rows.clone().map(|i| (!null(&i)).then_some(i as i64 - 4)),
        )
        .u64(
            "u",
            rows.clone()
                .map(|i| (!null(&i)).then_some(u64::MAX - i as u64)),
        )
        .f64(
            "f",
            rows.clone().map(|i| (!null(&i)).then_some(i as f64 / 4.0)),
        )
        .bool("b", rows.clone().map(|i| (!null(&i)).then_some(i % 2 == 0)))
        .text(
            "t",
            rows.clone().map(|i| (!null(&i)).then(|| "ü".repeat(i % 3))),
        )
        .finish()
        .unwrap()
}

fn read(mut stream: ArrowArrayStream) -> Table {
    // SAFETY: a stream of the SDK.
    unsafe { read_stream(&mut stream) }.unwrap().with_name("t")
}

#[test]
fn a_table_survives_the_trip_in_batches_of_any_size() {
    let counts: &[usize] = if cfg!(miri) {
        &[0, 1, 9]
    } else {
        &[0, 1, 7, 8, 9, 30]
    };
    for nulls in [false, true] {
        for rows in counts.iter().copied() {
            let table = table(rows, nulls);
            assert_eq!(read(export_stream(table.clone())), table);
            for batch_rows in (0..=rows + 1).step_by(if cfg!(miri) { 4 } else { 1 }) {
                assert_eq!(
                    read(export_batches(table.clone(), batch_rows)),
                    table,
                    "{rows} by {batch_rows}"
                );
            }
        }
    }
}

fn next(stream: &mut ArrowArrayStream) -> ArrowArray {
    let mut batch = ArrowArray::released();
    // SAFETY: a live stream of the SDK.
    assert_eq!(unsafe { stream.get_next.unwrap()(stream, &mut batch) }, 0);
    batch
}

#[test]
fn the_end_can_be_asked_for_twice() {
    let mut stream = export_batches(table(3, false), 2);
    assert_eq!(next(&mut stream).length, 2);
    assert_eq!(next(&mut stream).length, 1);
    assert!(next(&mut stream).release.is_none());
    assert!(next(&mut stream).release.is_none());
}

#[test]
fn no_rows_are_no_batches_but_a_schema() {
    let mut stream = export_stream(table(0, false));
    assert!(next(&mut stream).release.is_none());
    let mut schema = ArrowSchema::released();
    // SAFETY: a live stream of the SDK.
    assert_eq!(
        unsafe { stream.get_schema.unwrap()(&mut stream, &mut schema) },
        0
    );
    assert_eq!(schema.n_children, 5);
}

#[test]
fn batches_and_schemas_outlive_their_stream() {
    let mut stream = export_stream(table(3, true));
    let mut schema = ArrowSchema::released();
    // SAFETY: a live stream of the SDK.
    unsafe { stream.get_schema.unwrap()(&mut stream, &mut schema) };
    let batch = next(&mut stream);
    drop(stream);
    // SAFETY: the second field and column of a live schema and array.
    unsafe {
        let name = std::ffi::CStr::from_ptr((**schema.children.add(1)).name);
        assert_eq!(name, c"u");
        let column = &**batch.children.add(1);
        assert_eq!(column.null_count, 1);
        assert_eq!(*(*column.buffers.add(1)).cast::<u64>(), u64::MAX);
    }
}

#[test]
fn a_column_moved_out_outlives_its_batch() {
    let mut stream = export_stream(table(3, false));
    let mut batch = next(&mut stream);
    // SAFETY: the place of the first column in a live array.
    let column = unsafe { ArrowArray::take(*batch.children) };
    // SAFETY: the first column is moved out; the batch releases the others.
    unsafe { batch.release.unwrap()(&mut batch) };
    assert!(batch.release.is_none());
    drop(stream);
    // SAFETY: values of a live array.
    let values = unsafe { std::slice::from_raw_parts((*column.buffers.add(1)).cast::<i64>(), 3) };
    assert_eq!(values, [-4, -3, -2]);
}

#[test]
fn a_stream_moves_between_calls() {
    let mut here = export_batches(table(4, true), 2);
    let first = next(&mut here);
    // SAFETY: `here` is a valid place.
    let mut there = Box::new(unsafe { ArrowArrayStream::take(&mut here) });
    assert!(here.release.is_none());
    let second = next(&mut there);
    assert_eq!((first.offset, first.length), (0, 2));
    // SAFETY: the first column of a live array.
    assert_eq!(unsafe { (**second.children).offset }, 2);
}

#[test]
fn a_null_place_is_an_error_and_no_crash() {
    let mut stream = export_stream(table(1, false));
    // SAFETY: null is what is tested.
    unsafe {
        assert_ne!(stream.get_schema.unwrap()(&mut stream, ptr::null_mut()), 0);
        assert_ne!(stream.get_next.unwrap()(&mut stream, ptr::null_mut()), 0);
        assert!(stream.get_last_error.unwrap()(&mut stream).is_null());
    }
}
