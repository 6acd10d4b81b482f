//! An Arrow C stream, batch by batch or as a table.
//!
//! The other side may be any language, so everything that can be checked is:
//! types, child counts, lengths, offsets, UTF-8. What cannot be checked is how
//! long a buffer is; the interface does not carry it.

use std::ffi::{CStr, c_char, c_int};

use super::column::Cells;
use super::lend::format;
use super::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::batch::Batch;
use crate::column::{Column, ColumnType};
use crate::error::{Error, Result};
use crate::table::Table;

/// Memory cannot hold more values of 8 bytes. With more, sums and pointers could overflow.
const MAX_ROWS: usize = isize::MAX as usize / 32;

/// Drains a stream into an owned table without a name and releases it.
///
/// The stream is moved out of its place first, which is left released; so the
/// caller has nothing to release afterwards, whatever the result. Batches are
/// copied one by one, each released before the next is asked for, so that
/// columns are contiguous and nothing of the producer's is kept.
///
/// # Errors
/// [`Error::BadInput`] when the stream is null, already released or fails (with
/// its own text), when it is not a struct of the five known types, or when an
/// array contradicts itself or is not UTF-8.
///
/// # Safety
/// `stream` is null or points to a stream whose callbacks and buffers obey the
/// Arrow C interfaces.
pub unsafe fn read_stream(stream: *mut ArrowArrayStream) -> Result<Table> {
    // SAFETY: passed on to the caller.
    let mut reader = unsafe { StreamReader::open(stream) }?;
    let empty = |(name, ty): &(String, ColumnType)| (name.clone(), Column::new(*ty));
    let mut columns: Vec<(String, Column)> = reader.fields.iter().map(empty).collect();
    while let Some(batch) = reader.next_batch()? {
        for ((name, column), slice) in columns.iter_mut().zip(&batch.columns) {
            column.try_append(slice).map_err(|_| {
                let rows = batch.rows;
                Error::bad_input(format!(
                    "column `{name}` has {rows} rows, more than memory holds"
                ))
            })?;
        }
    }
    Table::from_columns("", columns).map_err(Error::bad_input)
}

/// A stream taken over from the producer, with its current batch.
pub(crate) struct StreamReader {
    /// Declared before the stream, so that batches are released first.
    batch: ArrowArray,
    stream: ArrowArrayStream,
    fields: Vec<(String, ColumnType)>,
    /// By column: copies of the values of this batch that are not aligned.
    moved: Vec<Vec<u64>>,
    rows_before: usize,
    rows: usize,
}

impl StreamReader {
    /// Moves a stream out of its place and reads its schema.
    ///
    /// # Errors
    /// As for [`read_stream`].
    ///
    /// # Safety
    /// As for [`read_stream`].
    pub(crate) unsafe fn open(stream: *mut ArrowArrayStream) -> Result<Self> {
        if stream.is_null() {
            return Err(Error::bad_input("the Arrow stream is a null pointer"));
        }
        // SAFETY: not null, and the caller vouches for the rest.
        let mut stream = unsafe { ArrowArrayStream::take(stream) };
        if stream.release.is_none() {
            return Err(Error::bad_input("the Arrow stream was already released"));
        }
        let fields = read_schema(&mut stream)?;
        let moved = vec![Vec::new(); fields.len()];
        Ok(Self {
            batch: ArrowArray::released(),
            stream,
            fields,
            moved,
            rows_before: 0,
            rows: 0,
        })
    }

    pub(crate) fn fields(&self) -> &[(String, ColumnType)] {
        &self.fields
    }

    /// The next batch with rows, checked; the one before is released first.
    ///
    /// # Errors
    /// As for [`read_stream`].
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.rows_before += std::mem::take(&mut self.rows);
        let start = loop {
            self.batch = ArrowArray::released();
            let Some(get_next) = self.stream.get_next else {
                return Err(no_callback("get_next"));
            };
            // SAFETY: the stream is live; `batch` is a place to fill.
            let code = unsafe { get_next(&mut self.stream, &mut self.batch) };
            if code != 0 {
                return Err(stream_error(&mut self.stream, "get_next", code));
            }
            // The end is a success with a released array.
            if self.batch.release.is_none() {
                return Ok(None);
            }
            let (start, rows) = check_batch(&self.batch, self.fields.len())?;
            if rows > 0 && !self.fields.is_empty() {
                self.rows = rows;
                break start;
            }
        };
        // SAFETY: a live array lists n_children columns, as many as fields.
        let arrays = unsafe { children(self.batch.children, self.batch.n_children) };
        let mut columns = Vec::with_capacity(self.fields.len());
        let moved = self.moved.iter_mut();
        for (((name, ty), moved), array) in self.fields.iter().zip(moved).zip(arrays.unwrap_or(&[]))
        {
            // SAFETY: columns of a live array are live, or null by mistake.
            let array = unsafe { array.as_ref() }
                .ok_or_else(|| Error::bad_input(format!("column `{name}` is a null pointer")))?;
            let (offset, length, _) = extent(array, &format!("column `{name}`"))?;
            let end = start + self.rows;
            if length < end {
                return Err(Error::bad_input(format!(
                    "column `{name}` has {length} rows, its batch reaches to row {end}"
                )));
            }
            let cells = Cells {
                name,
                array,
                offset: offset + start,
                rows: self.rows,
                rows_before: self.rows_before,
            };
            columns.push(cells.slice(*ty, moved)?);
        }
        Ok(Some(Batch {
            name: "",
            fields: &self.fields,
            columns,
            rows: self.rows,
        }))
    }
}

fn no_callback(which: &str) -> Error {
    Error::bad_input(format!("the Arrow stream has no {which}"))
}

/// Copies the error text, which is valid only until the next call on the stream.
fn stream_error(stream: &mut ArrowArrayStream, call: &str, code: c_int) -> Error {
    let text = match stream.get_last_error {
        // SAFETY: the stream is live, and a call on it has just failed.
        Some(get_last_error) => unsafe { lossy(get_last_error(stream)) },
        None => String::new(),
    };
    let text = if text.is_empty() {
        "no reason given".to_owned()
    } else {
        text
    };
    Error::bad_input(format!(
        "the Arrow stream failed in {call} with code {code}: {text}"
    ))
}

/// # Safety
/// `text` is null or NUL-terminated.
unsafe fn lossy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null; NUL-terminated by the contract.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

fn read_schema(stream: &mut ArrowArrayStream) -> Result<Vec<(String, ColumnType)>> {
    let mut schema = ArrowSchema::released();
    let Some(get_schema) = stream.get_schema else {
        return Err(no_callback("get_schema"));
    };
    // SAFETY: the stream is live; `schema` is a place to fill.
    let code = unsafe { get_schema(stream, &mut schema) };
    if code != 0 {
        return Err(stream_error(stream, "get_schema", code));
    }
    if schema.release.is_none() {
        return Err(Error::bad_input("the Arrow stream gave a released schema"));
    }
    // SAFETY: a live schema's format is NUL-terminated.
    let top = unsafe { lossy(schema.format) };
    if top != "+s" {
        return Err(Error::bad_input(format!(
            "the Arrow stream is of type `{top}`, expected a struct `+s`"
        )));
    }
    // SAFETY: a live schema lists n_children fields.
    let fields = unsafe { children(schema.children, schema.n_children) }
        .ok_or_else(|| Error::bad_input("the Arrow schema has no list of fields"))?;
    let mut columns: Vec<(String, ColumnType)> = Vec::with_capacity(fields.len());
    for field in fields {
        // SAFETY: fields of a live schema are live, or null by mistake.
        let field = unsafe { field.as_ref() }
            .ok_or_else(|| Error::bad_input("the Arrow schema has a null field"))?;
        columns.push(read_field(field)?);
    }
    // A table refuses names that it cannot have.
    let empty = columns.iter();
    let empty = empty.map(|(name, ty)| (name.clone(), Column::new(*ty)));
    Table::from_columns("", empty.collect()).map_err(Error::bad_input)?;
    Ok(columns)
}

fn read_field(field: &ArrowSchema) -> Result<(String, ColumnType)> {
    // SAFETY: a live field's texts are NUL-terminated or null.
    let (name, found) = unsafe { (lossy(field.name), lossy(field.format)) };
    let known = ColumnType::ALL
        .into_iter()
        .find(|ty| format(*ty).to_bytes() == found.as_bytes());
    match known {
        Some(ty) if field.dictionary.is_null() => Ok((name, ty)),
        _ => {
            let what = if field.dictionary.is_null() {
                ""
            } else {
                " behind a dictionary"
            };
            Err(Error::bad_input(format!(
                "column `{name}` has Arrow type `{found}`{what}, expected one of i64 `l`, u64 `L`, f64 `g`, bool `b`, large UTF-8 `U`"
            )))
        }
    }
}

/// # Safety
/// `list` points to `count` pointers, or is null, or `count` is not positive.
unsafe fn children<'a, T>(list: *mut *mut T, count: i64) -> Option<&'a [*mut T]> {
    match usize::try_from(count).ok()? {
        0 => Some(&[]),
        _ if list.is_null() => None,
        // SAFETY: not null; the caller vouches for the length.
        count => Some(unsafe { std::slice::from_raw_parts(list, count) }),
    }
}

/// `offset`, `length` and their sum, checked to be valid row numbers.
fn extent(array: &ArrowArray, what: &str) -> Result<(usize, usize, usize)> {
    let range = || {
        let offset = usize::try_from(array.offset).ok()?;
        let length = usize::try_from(array.length).ok()?;
        let end = offset.checked_add(length).filter(|end| *end <= MAX_ROWS)?;
        Some((offset, length, end))
    };
    range().ok_or_else(|| {
        Error::bad_input(format!(
            "{what} has length {} and offset {}",
            array.length, array.offset
        ))
    })
}

/// Checks a batch; returns its first row and number of rows.
fn check_batch(batch: &ArrowArray, columns: usize) -> Result<(usize, usize)> {
    let (start, rows, _) = extent(batch, "an Arrow batch")?;
    // SAFETY: a live array lists n_children columns.
    let arrays = unsafe { children(batch.children, batch.n_children) };
    if arrays.is_none_or(|arrays| arrays.len() != columns) {
        return Err(Error::bad_input(format!(
            "an Arrow batch has {} columns, its schema has {columns}",
            batch.n_children
        )));
    }
    if rows > 0 && batch.null_count != 0 && batch.n_buffers > 0 {
        check_no_null_rows(batch, start, rows)?;
    }
    Ok((start, rows))
}

/// Rejects batches with null rows: a row of a table is never null as a whole.
fn check_no_null_rows(batch: &ArrowArray, start: usize, rows: usize) -> Result<()> {
    if batch.buffers.is_null() {
        return Ok(());
    }
    // SAFETY: a live struct array has one buffer, its validity.
    let bits = unsafe { *batch.buffers }.cast::<u8>();
    // SAFETY: the bitmap covers offset + length rows.
    let null = (start..start + rows)
        .find(|i| !bits.is_null() && unsafe { *bits.add(i / 8) } >> (i % 8) & 1 == 0);
    match null {
        Some(row) => Err(Error::bad_input(format!(
            "row {} of an Arrow batch is null as a whole",
            row - start
        ))),
        None => Ok(()),
    }
}
