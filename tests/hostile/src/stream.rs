//! Arrow streams that lie.
//!
//! Each is a sound stream of the SDK, with the callback in front of it replaced
//! by one that spoils what comes out.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use trueno_plugin::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema, export_batches};
use trueno_plugin::{Column, Table, TextColumn};

/// A valid stream, and functions that corrupt its output.
struct Spoiled {
    sound: ArrowArrayStream,
    schema: fn(&mut ArrowSchema),
    batch: fn(&mut ArrowArray),
    /// Index of the batch at which `get_next` fails.
    fails_at: usize,
    batches: usize,
}

fn spoil(
    schema: fn(&mut ArrowSchema),
    batch: fn(&mut ArrowArray),
    fails_at: usize,
) -> ArrowArrayStream {
    let names: TextColumn = ["one", "two", "three"].into_iter().collect();
    let columns = vec![
        ("x".to_owned(), Column::I64(vec![1, 2, 3].into())),
        ("name".to_owned(), Column::Text(names)),
    ];
    let sound = match Table::from_columns("bad", columns) {
        Ok(table) => export_batches(table, 2),
        Err(_) => ArrowArrayStream::released(),
    };
    let state = Box::new(Spoiled {
        sound,
        schema,
        batch,
        fails_at,
        batches: 0,
    });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(state).cast(),
    }
}

fn leave_schema(_: &mut ArrowSchema) {}

fn leave_batch(_: &mut ArrowArray) {}

/// Column `x` is one row shorter than its batch.
pub fn bad_lengths() -> ArrowArrayStream {
    spoil(
        leave_schema,
        |batch| column(batch, 0).length -= 1,
        usize::MAX,
    )
}

/// Column `x` has −1 rows.
pub fn negative_length() -> ArrowArrayStream {
    spoil(
        leave_schema,
        |batch| column(batch, 0).length = -1,
        usize::MAX,
    )
}

/// The offset of the batch is the largest number there is.
pub fn huge_offset() -> ArrowArrayStream {
    spoil(leave_schema, |batch| batch.offset = i64::MAX, usize::MAX)
}

pub fn bad_type() -> ArrowArrayStream {
    spoil(
        |schema| field(schema, 0).format = c"i".as_ptr(),
        leave_batch,
        usize::MAX,
    )
}

pub fn duplicate_column() -> ArrowArrayStream {
    spoil(
        |schema| field(schema, 1).name = c"x".as_ptr(),
        leave_batch,
        usize::MAX,
    )
}

pub fn not_utf8() -> ArrowArrayStream {
    static TEXT: [u8; 16] = [0xff; 16];
    spoil(
        leave_schema,
        |batch| set_buffer(column(batch, 1), 2, TEXT.as_ptr().cast()),
        usize::MAX,
    )
}

pub fn bad_offsets() -> ArrowArrayStream {
    static OFFSETS: [i64; 4] = [9, 6, 3, 0];
    spoil(
        leave_schema,
        |batch| set_buffer(column(batch, 1), 1, OFFSETS.as_ptr().cast()),
        usize::MAX,
    )
}

/// The second batch fails.
pub fn failing() -> ArrowArrayStream {
    spoil(leave_schema, leave_batch, 1)
}

fn field(schema: &mut ArrowSchema, index: usize) -> &mut ArrowSchema {
    // SAFETY: the sound schema has two fields.
    unsafe { &mut **schema.children.add(index) }
}

fn column(batch: &mut ArrowArray, index: usize) -> &mut ArrowArray {
    // SAFETY: the sound batch has two columns.
    unsafe { &mut **batch.children.add(index) }
}

/// Replaces a buffer. The original is not leaked: the SDK frees what it allocated, whatever the list of buffers
/// says.
fn set_buffer(array: &mut ArrowArray, index: usize, to: *const c_void) {
    // SAFETY: a text column has three buffers.
    unsafe { *array.buffers.add(index) = to };
}

/// # Safety
/// `stream` is one of ours.
unsafe fn state<'a>(stream: *mut ArrowArrayStream) -> &'a mut Spoiled {
    // SAFETY: private_data is set once, in `spoil`.
    unsafe { &mut *(*stream).private_data.cast::<Spoiled>() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the sound stream fills `out`, which the consumer passes for that.
    unsafe {
        let state = state(stream);
        let code = state
            .sound
            .get_schema
            .map_or(1, |get| get(&mut state.sound, out));
        (state.schema)(&mut *out);
        code
    }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as in get_schema.
    unsafe {
        let state = state(stream);
        if state.batches == state.fails_at {
            return 5;
        }
        state.batches += 1;
        let code = state
            .sound
            .get_next
            .map_or(1, |get| get(&mut state.sound, out));
        if (*out).release.is_some() {
            (state.batch)(&mut *out);
        }
        code
    }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    const TEXT: &CStr = c"deliberate stream failure";
    // SAFETY: as in get_schema.
    if unsafe { state(stream) }.fails_at == usize::MAX {
        ptr::null()
    } else {
        TEXT.as_ptr()
    }
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: called once, on a live stream of ours.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<Spoiled>()));
    }
}
