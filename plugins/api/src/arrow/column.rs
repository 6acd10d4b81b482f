//! One column of a batch, checked where it lies.

use std::ffi::c_void;
use std::ptr;

use super::ArrowArray;
use crate::bits::Bits;
use crate::column::ColumnType;
use crate::error::{Error, Result};
use crate::slice::{BoolSlice, ColumnSlice, PlainSlice, TextSlice};

/// The rows of one column that belong to a batch.
pub(super) struct Cells<'a> {
    pub(super) name: &'a str,
    pub(super) array: &'a ArrowArray,
    /// The array's own offset plus that of the batch.
    pub(super) offset: usize,
    /// At least one.
    pub(super) rows: usize,
    /// Number of rows in earlier batches, for messages.
    pub(super) rows_before: usize,
}

impl<'a> Cells<'a> {
    /// The rows as a slice. Unaligned values are copied into `moved`.
    pub(super) fn slice(&self, ty: ColumnType, moved: &'a mut Vec<u64>) -> Result<ColumnSlice<'a>> {
        Ok(match ty {
            ColumnType::I64 => ColumnSlice::I64(self.plain(moved)?),
            ColumnType::U64 => ColumnSlice::U64(self.plain(moved)?),
            ColumnType::F64 => ColumnSlice::F64(self.plain(moved)?),
            ColumnType::Bool => ColumnSlice::Bool(self.bool()?),
            ColumnType::Text => ColumnSlice::Text(self.text(moved)?),
        })
    }

    /// Buffer `index` of `count`; an error if it is missing.
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

    fn validity(&self, count: i64) -> Result<Bits<'a>> {
        let bits = self.optional_buffer(0, count)?;
        if !bits.is_null() && self.array.null_count != 0 {
            // SAFETY: the bitmap of a live array covers offset + length rows.
            return Ok(unsafe { Bits::new(bits, self.offset, self.rows) });
        }
        if self.array.null_count > 0 {
            return Err(Error::bad_input(format!(
                "column `{}` states {} nulls but has no validity bitmap",
                self.name, self.array.null_count
            )));
        }
        Ok(Bits::ones(self.rows))
    }

    /// `count` values from `from` on, which need not be aligned. `T` is one of the three 8-byte
    /// types, for which any bits are a value.
    ///
    /// # Safety
    /// `from` points to so many values, which stay as they are for `'a`.
    unsafe fn values<T>(from: *const u8, count: usize, moved: &'a mut Vec<u64>) -> &'a [T] {
        const { assert!(size_of::<T>() == size_of::<u64>() && align_of::<T>() <= align_of::<u64>()) };
        let mut from = from.cast::<T>();
        if !from.is_aligned() {
            moved.clear();
            moved.resize(count, 0);
            // SAFETY: so many values lie there, and there is room for them; the copy is by bytes.
            unsafe {
                let to = moved.as_mut_ptr().cast::<u8>();
                ptr::copy_nonoverlapping(from.cast::<u8>(), to, count * size_of::<T>());
            }
            from = moved.as_ptr().cast();
        }
        // SAFETY: aligned; so many values, by the contract or copied just now.
        unsafe { std::slice::from_raw_parts(from, count) }
    }

    fn plain<T>(&self, moved: &'a mut Vec<u64>) -> Result<PlainSlice<'a, T>> {
        let from = self.buffer(1, 2)?;
        let valid = self.validity(2)?;
        // SAFETY: the buffer of a live array holds offset + rows values, and the array lives for 'a.
        let values =
            unsafe { Self::values(from.add(self.offset * size_of::<T>()), self.rows, moved) };
        Ok(PlainSlice { values, valid })
    }

    fn bool(&self) -> Result<BoolSlice<'a>> {
        let bits = self.buffer(1, 2)?;
        let valid = self.validity(2)?;
        // SAFETY: the buffer of a live array holds offset + rows bits.
        let values = unsafe { Bits::new(bits, self.offset, self.rows) };
        Ok(BoolSlice { values, valid })
    }

    fn text(&self, moved: &'a mut Vec<u64>) -> Result<TextSlice<'a>> {
        let from = self.buffer(1, 3)?;
        // SAFETY: offset + rows + 1 offsets, at any address.
        let offsets: &[i64] = unsafe {
            let from = from.add(self.offset * size_of::<i64>());
            Self::values(from, self.rows + 1, moved)
        };
        let first = offsets[0];
        if first < 0 || !offsets.is_sorted() {
            return Err(Error::bad_input(format!(
                "column `{}` has text offsets that are not in order",
                self.name
            )));
        }
        let bytes: &[u8] = match (offsets[self.rows] - first) as usize {
            0 => &[],
            // SAFETY: the text buffer reaches to the last offset.
            length => unsafe {
                std::slice::from_raw_parts(self.buffer(2, 3)?.add(first as usize), length)
            },
        };
        let slice = TextSlice {
            offsets,
            bytes,
            valid: self.validity(3)?,
        };
        self.check_utf8(&slice)?;
        Ok(slice)
    }

    /// Only rows that hold a value must be UTF-8.
    fn check_utf8(&self, slice: &TextSlice<'a>) -> Result<()> {
        let at = |row: usize| (slice.offsets[row] - slice.offsets[0]) as usize;
        if let Ok(text) = std::str::from_utf8(slice.bytes)
            && (0..self.rows).all(|row| text.is_char_boundary(at(row)))
        {
            return Ok(());
        }
        let is_broken = |row: &usize| {
            let bytes = &slice.bytes[at(*row)..at(row + 1)];
            slice.valid.get(*row) && std::str::from_utf8(bytes).is_err()
        };
        match (0..self.rows).find(is_broken) {
            None => Ok(()),
            Some(row) => Err(Error::bad_input(format!(
                "column `{}`, row {}: the text is not UTF-8",
                self.name,
                self.rows_before + row
            ))),
        }
    }
}
