//! An Arrow C stream as a table.
//!
//! The other side may be any language, so everything that can be checked is:
//! types, child counts, lengths, offsets, UTF-8. What cannot be checked is how
//! long a buffer is; the interface does not carry it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use super::lend::format;
use super::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::column::{Column, ColumnType, PlainColumn};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::text::TextColumn;

/// No memory holds more values of 8 bytes; above it, sums and pointers could overflow.
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
    if stream.is_null() {
        return Err(Error::bad_input("the Arrow stream is a null pointer"));
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let mut stream = unsafe { ArrowArrayStream::take(stream) };
    if stream.release.is_none() {
        return Err(Error::bad_input("the Arrow stream was already released"));
    }
    let mut columns = read_schema(&mut stream)?;
    loop {
        let mut batch = ArrowArray::released();
        let Some(get_next) = stream.get_next else {
            return Err(no_callback("get_next"));
        };
        // SAFETY: the stream is live; `batch` is a place to fill.
        let code = unsafe { get_next(&mut stream, &mut batch) };
        if code != 0 {
            return Err(stream_error(&mut stream, "get_next", code));
        }
        // The end is a success with a released array.
        if batch.release.is_none() {
            return Table::from_columns("", columns)
                .map_err(|error| Error::BadInput(error.to_string()));
        }
        append_batch(&mut columns, &batch)?;
    }
}

fn no_callback(which: &str) -> Error {
    Error::bad_input(format!("the Arrow stream has no {which}"))
}

/// Copies the stream's text: it dies with the stream or the next call.
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

/// Empty columns as the stream announces them.
fn read_schema(stream: &mut ArrowArrayStream) -> Result<Vec<(String, Column)>> {
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
    let mut columns: Vec<(String, Column)> = Vec::with_capacity(fields.len());
    for field in fields {
        // SAFETY: fields of a live schema are live, or null by mistake.
        let field = unsafe { field.as_ref() }
            .ok_or_else(|| Error::bad_input("the Arrow schema has a null field"))?;
        columns.push(read_field(field)?);
    }
    Ok(columns)
}

fn read_field(field: &ArrowSchema) -> Result<(String, Column)> {
    // SAFETY: a live field's texts are NUL-terminated or null.
    let (name, found) = unsafe { (lossy(field.name), lossy(field.format)) };
    let known = ColumnType::ALL
        .into_iter()
        .find(|ty| format(*ty).to_bytes() == found.as_bytes());
    match known {
        Some(ty) if field.dictionary.is_null() => Ok((name, Column::new(ty))),
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

/// `offset` and `length` as row numbers, with their sum.
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

fn append_batch(columns: &mut [(String, Column)], batch: &ArrowArray) -> Result<()> {
    let (start, rows, end) = extent(batch, "an Arrow batch")?;
    // SAFETY: a live array lists n_children columns.
    let arrays = unsafe { children(batch.children, batch.n_children) };
    let Some(arrays) = arrays.filter(|arrays| arrays.len() == columns.len()) else {
        return Err(Error::bad_input(format!(
            "an Arrow batch has {} columns, its schema has {}",
            batch.n_children,
            columns.len()
        )));
    };
    if rows == 0 {
        return Ok(());
    }
    if batch.null_count != 0 && batch.n_buffers > 0 {
        check_no_null_rows(batch, start, rows)?;
    }
    for ((name, column), array) in columns.iter_mut().zip(arrays) {
        // SAFETY: columns of a live array are live, or null by mistake.
        let array = unsafe { array.as_ref() }
            .ok_or_else(|| Error::bad_input(format!("column `{name}` is a null pointer")))?;
        let (offset, length, _) = extent(array, &format!("column `{name}`"))?;
        if length < end {
            return Err(Error::bad_input(format!(
                "column `{name}` has {length} rows, its batch reaches to row {end}"
            )));
        }
        let slice = Slice {
            name,
            array,
            offset: offset + start,
            rows,
        };
        match column {
            Column::I64(c) => slice.append_plain(c)?,
            Column::U64(c) => slice.append_plain(c)?,
            Column::F64(c) => slice.append_plain(c)?,
            Column::Bool(c) => slice.append_bool(c)?,
            Column::Text(c) => slice.append_text(c)?,
        }
    }
    Ok(())
}

/// A whole row that is null has no meaning in a table.
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

/// The rows of one column that a batch shows.
struct Slice<'a> {
    name: &'a str,
    array: &'a ArrowArray,
    /// Own offset and that of the batch.
    offset: usize,
    rows: usize,
}

impl Slice<'_> {
    /// Buffer `index` of `count`, which must be there.
    fn buffer(&self, index: usize, count: i64) -> Result<*const u8> {
        let found = self.optional_buffer(index, count)?;
        if found.is_null() {
            return Err(Error::bad_input(format!(
                "column `{}` has rows but no buffer {index}",
                self.name
            )));
        }
        Ok(found)
    }

    fn too_large(&self) -> Error {
        Error::bad_input(format!(
            "column `{}` has {} rows, more than memory holds",
            self.name, self.rows
        ))
    }

    fn optional_buffer(&self, index: usize, count: i64) -> Result<*const u8> {
        if self.array.n_buffers != count || self.array.buffers.is_null() {
            return Err(Error::bad_input(format!(
                "column `{}` has {} Arrow buffers, its type has {count}",
                self.name, self.array.n_buffers
            )));
        }
        // SAFETY: a live array lists n_buffers buffers, and index is below count.
        let buffer: *const c_void = unsafe { *self.array.buffers.add(index) };
        Ok(buffer.cast())
    }

    /// Appends the validity, and zeroes the slots of null rows in `values`, so
    /// that what lies under a null never reaches a result.
    fn append_validity<T: Copy + Default>(
        &self,
        validity: &mut crate::validity::Validity,
        count: i64,
        values: &mut [T],
    ) -> Result<()> {
        let bits = self.optional_buffer(0, count)?;
        if bits.is_null() || self.array.null_count == 0 {
            if self.array.null_count > 0 {
                return Err(Error::bad_input(format!(
                    "column `{}` states {} nulls but has no validity bitmap",
                    self.name, self.array.null_count
                )));
            }
            validity.extend_valid(self.rows);
            return Ok(());
        }
        let before = validity.nulls();
        let first = validity.len();
        // SAFETY: the bitmap of a live array covers offset + length rows.
        unsafe { validity.extend_bits(bits, self.offset, self.rows) };
        if validity.nulls() > before && !values.is_empty() {
            let start = values.len() - self.rows;
            for row in 0..self.rows {
                if !validity.is_valid(first + row) {
                    values[start + row] = T::default();
                }
            }
        }
        Ok(())
    }

    /// `T` is one of the three 8-byte types, for which any bits are a value.
    fn append_plain<T: Copy + Default>(&self, column: &mut PlainColumn<T>) -> Result<()> {
        let from = self.buffer(1, 2)?.cast::<T>();
        let values = &mut column.values;
        values
            .try_reserve(self.rows)
            .map_err(|_| self.too_large())?;
        // SAFETY: the buffer holds offset + rows values; the copy is by bytes, so that it
        // need not be aligned; the room is reserved, and the length set after filling it.
        unsafe {
            let source = from.cast::<u8>().add(self.offset * size_of::<T>());
            let target = values.as_mut_ptr().add(values.len()).cast::<u8>();
            ptr::copy_nonoverlapping(source, target, self.rows * size_of::<T>());
            values.set_len(values.len() + self.rows);
        }
        self.append_validity(&mut column.validity, 2, values)
    }

    fn append_bool(&self, column: &mut PlainColumn<bool>) -> Result<()> {
        let bits = self.buffer(1, 2)?;
        column
            .values
            .try_reserve(self.rows)
            .map_err(|_| self.too_large())?;
        column
            .values
            .extend((self.offset..self.offset + self.rows).map(|i| {
                // SAFETY: the buffer holds offset + rows bits.
                unsafe { *bits.add(i / 8) >> (i % 8) & 1 == 1 }
            }));
        self.append_validity(&mut column.validity, 2, &mut column.values)
    }

    fn append_text(&self, column: &mut TextColumn) -> Result<()> {
        let offsets = self.buffer(1, 3)?.cast::<i64>();
        // SAFETY: offset + rows + 1 offsets, at any address.
        let offset = |row: usize| unsafe { offsets.add(self.offset + row).read_unaligned() };
        let first = offset(0);
        if first < 0 || (0..self.rows).any(|row| offset(row) > offset(row + 1)) {
            return Err(Error::bad_input(format!(
                "column `{}` has text offsets that are not in order",
                self.name
            )));
        }
        let bytes = match (offset(self.rows) - first) as usize {
            0 => &[],
            // SAFETY: the text buffer reaches to the last offset.
            length => unsafe {
                std::slice::from_raw_parts(self.buffer(2, 3)?.add(first as usize), length)
            },
        };
        let row_start = column.len();
        self.append_validity::<u8>(&mut column.validity, 3, &mut [])?;
        let base = column.data.len();
        let at = |row: usize| (offset(row) - first) as usize;
        match std::str::from_utf8(bytes) {
            Ok(text) if (0..self.rows).all(|row| text.is_char_boundary(at(row))) => {
                column.data.push_str(text);
                column
                    .offsets
                    .extend((1..=self.rows).map(|row| (base + at(row)) as i64));
                Ok(())
            }
            // Only rows that hold a value must be UTF-8.
            _ => (0..self.rows).try_for_each(|row| {
                if column.validity.is_valid(row_start + row) {
                    let text = std::str::from_utf8(&bytes[at(row)..at(row + 1)]).map_err(|_| {
                        Error::bad_input(format!(
                            "column `{}`, row {}: the text is not UTF-8",
                            self.name,
                            row_start + row
                        ))
                    })?;
                    column.data.push_str(text);
                }
                column.offsets.push(column.data.len() as i64);
                Ok(())
            }),
        }
    }
}
