//! A table as an Arrow C stream.
//!
//! Batches share the table and differ in `offset` and `length` only. Nothing
//! looks at the address of a struct: consumers may move it (specification,
//! "moving an array"), so all state hangs on `private_data`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use super::{ArrowArray, ArrowArrayStream, ArrowSchema, FLAG_NULLABLE};
use crate::column::{Column, ColumnType};
use crate::table::Table;

/// The errno for an invalid argument, the same on all systems we know.
const EINVAL: c_int = 22;

/// A stream of the table in one batch (in none when it has no rows).
pub fn export_stream(table: Table) -> ArrowArrayStream {
    export_batches(table, usize::MAX)
}

/// A stream of the table in batches of `batch_rows` rows (at least 1).
pub fn export_batches(table: Table, batch_rows: usize) -> ArrowArrayStream {
    let state = StreamState {
        shared: Arc::new(Shared::new(table)),
        next_row: 0,
        batch_rows: batch_rows.max(1),
    };
    ArrowArrayStream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(stream_release),
        private_data: Box::into_raw(Box::new(state)).cast(),
    }
}

/// The table, with what Arrow stores in another form than we do.
struct Shared {
    table: Table,
    /// Packed bits of boolean columns, by column; empty for other types.
    packed: Vec<Vec<u8>>,
}

impl Shared {
    fn new(table: Table) -> Self {
        let packed = table.columns().map(|(_, column)| pack(column)).collect();
        Self { table, packed }
    }
}

fn pack(column: &Column) -> Vec<u8> {
    let Column::Bool(column) = column else {
        return Vec::new();
    };
    let byte = |bits: &[bool]| {
        bits.iter()
            .rev()
            .fold(0, |byte, bit| byte << 1 | u8::from(*bit))
    };
    column.values().chunks(8).map(byte).collect()
}

struct StreamState {
    shared: Arc<Shared>,
    next_row: usize,
    batch_rows: usize,
}

unsafe extern "C" fn stream_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer passes a live stream of ours, so private_data is a StreamState.
    let state = unsafe { (*stream).private_data.cast::<StreamState>().as_ref() };
    let (Some(state), false) = (state, out.is_null()) else {
        return EINVAL;
    };
    let fields = state
        .shared
        .table
        .columns()
        .map(|(name, column)| field(name, column.ty()))
        .collect();
    // SAFETY: `out` is a place of the consumer's that holds nothing to drop.
    unsafe { out.write(schema(c"+s", CString::default(), 0, fields)) };
    0
}

unsafe extern "C" fn stream_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as in stream_schema; callbacks of one stream are never called at once.
    let state = unsafe { (*stream).private_data.cast::<StreamState>().as_mut() };
    let (Some(state), false) = (state, out.is_null()) else {
        return EINVAL;
    };
    let start = state.next_row;
    let rows = (state.shared.table.rows() - start).min(state.batch_rows);
    let batch = if rows == 0 {
        ArrowArray::released()
    } else {
        batch(&state.shared, start, rows)
    };
    state.next_row += rows;
    // SAFETY: `out` is a place of the consumer's that holds nothing to drop.
    unsafe { out.write(batch) };
    0
}

unsafe extern "C" fn stream_error(_stream: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn stream_release(stream: *mut ArrowArrayStream) {
    // SAFETY: called once, on a live stream of ours.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<StreamState>()));
    }
}

struct SchemaState {
    name: CString,
    fields: Vec<*mut ArrowSchema>,
}

fn field(name: &str, ty: ColumnType) -> ArrowSchema {
    // Table refuses names with NUL bytes.
    let name = CString::new(name).unwrap_or_default();
    schema(format(ty), name, FLAG_NULLABLE, Vec::new())
}

pub(super) fn format(ty: ColumnType) -> &'static CStr {
    match ty {
        ColumnType::I64 => c"l",
        ColumnType::U64 => c"L",
        ColumnType::F64 => c"g",
        ColumnType::Bool => c"b",
        ColumnType::Text => c"U",
    }
}

fn schema(
    format: &'static CStr,
    name: CString,
    flags: i64,
    fields: Vec<ArrowSchema>,
) -> ArrowSchema {
    let fields = fields
        .into_iter()
        .map(|field| Box::into_raw(Box::new(field)))
        .collect();
    let mut state = Box::new(SchemaState { name, fields });
    ArrowSchema {
        format: format.as_ptr(),
        name: state.name.as_ptr(),
        metadata: ptr::null(),
        flags,
        n_children: state.fields.len() as i64,
        children: state.fields.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(schema_release),
        private_data: Box::into_raw(state).cast(),
    }
}

unsafe extern "C" fn schema_release(schema: *mut ArrowSchema) {
    // SAFETY: called once, on a live schema of ours.
    let state = unsafe {
        (*schema).release = None;
        Box::from_raw((*schema).private_data.cast::<SchemaState>())
    };
    for field in state.fields {
        // SAFETY: made by Box::into_raw; dropping releases it unless the consumer moved it out.
        drop(unsafe { Box::from_raw(field) });
    }
}

struct ArrayState {
    buffers: Vec<*const c_void>,
    columns: Vec<*mut ArrowArray>,
    /// Keeps the buffers alive.
    _shared: Arc<Shared>,
}

fn batch(shared: &Arc<Shared>, start: usize, rows: usize) -> ArrowArray {
    let columns = shared.table.columns().zip(&shared.packed);
    let columns = columns
        .map(|((_, cells), packed)| column(shared, cells, packed, start, rows))
        .collect();
    array(shared, vec![ptr::null()], columns, [rows, 0, 0])
}

fn column(
    shared: &Arc<Shared>,
    cells: &Column,
    packed: &[u8],
    start: usize,
    rows: usize,
) -> ArrowArray {
    let validity = cells.validity();
    let bits = validity
        .bits()
        .map_or(ptr::null(), |bits| bits.as_ptr().cast());
    let mut buffers = vec![bits];
    match cells {
        Column::I64(c) => buffers.push(c.values.as_ptr().cast()),
        Column::U64(c) => buffers.push(c.values.as_ptr().cast()),
        Column::F64(c) => buffers.push(c.values.as_ptr().cast()),
        Column::Bool(_) => buffers.push(packed.as_ptr().cast()),
        Column::Text(c) => {
            buffers.extend([c.offsets.as_ptr().cast::<c_void>(), c.data.as_ptr().cast()])
        }
    }
    let nulls = match validity.nulls() {
        0 => 0,
        _ => (start..start + rows)
            .filter(|row| !validity.is_valid(*row))
            .count(),
    };
    array(shared, buffers, Vec::new(), [rows, start, nulls])
}

fn array(
    shared: &Arc<Shared>,
    buffers: Vec<*const c_void>,
    columns: Vec<ArrowArray>,
    [length, offset, nulls]: [usize; 3],
) -> ArrowArray {
    let columns = columns
        .into_iter()
        .map(|column| Box::into_raw(Box::new(column)))
        .collect();
    let mut state = Box::new(ArrayState {
        buffers,
        columns,
        _shared: Arc::clone(shared),
    });
    ArrowArray {
        length: length as i64,
        null_count: nulls as i64,
        offset: offset as i64,
        n_buffers: state.buffers.len() as i64,
        n_children: state.columns.len() as i64,
        buffers: state.buffers.as_mut_ptr(),
        children: state.columns.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(array_release),
        private_data: Box::into_raw(state).cast(),
    }
}

unsafe extern "C" fn array_release(array: *mut ArrowArray) {
    // SAFETY: called once, on a live array of ours.
    let state = unsafe {
        (*array).release = None;
        Box::from_raw((*array).private_data.cast::<ArrayState>())
    };
    for column in state.columns {
        // SAFETY: made by Box::into_raw; dropping releases it unless the consumer moved it out.
        drop(unsafe { Box::from_raw(column) });
    }
}
