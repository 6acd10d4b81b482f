//! Validity of rows: a bitmap that exists only once there is a null.

/// Bits of a column, least significant first, 1 = the row holds a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Validity {
    len: usize,
    nulls: usize,
    /// Empty while there is no null.
    bits: Vec<u8>,
}

impl Validity {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn nulls(&self) -> usize {
        self.nulls
    }

    /// The bitmap, if any row is null.
    pub(crate) fn bits(&self) -> Option<&[u8]> {
        (self.nulls > 0).then_some(&self.bits[..])
    }

    #[inline]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.nulls == 0 || self.bits[row / 8] >> (row % 8) & 1 == 1
    }

    pub(crate) fn push(&mut self, valid: bool) {
        if !valid {
            self.start_bits();
            self.nulls += 1;
        }
        if self.nulls > 0 {
            self.push_bit(self.len, valid);
        }
        self.len += 1;
    }

    /// Appends `rows` rows that hold values.
    pub(crate) fn extend_valid(&mut self, rows: usize) {
        if self.nulls == 0 {
            self.len += rows;
            return;
        }
        for _ in 0..rows {
            self.push(true);
        }
    }

    /// Appends `rows` bits of a foreign bitmap, from bit `offset` on.
    ///
    /// # Safety
    /// `bitmap` points to at least `offset + rows` bits.
    pub(crate) unsafe fn extend_bits(&mut self, bitmap: *const u8, offset: usize, rows: usize) {
        self.start_bits();
        let mut done = 0;
        while done < rows {
            let at = self.len + done;
            let from = offset + done;
            if at.is_multiple_of(8) && rows - done >= 8 {
                // SAFETY: bits `from` to `from + 8` lie inside what the caller vouches for.
                let byte = unsafe { eight_bits(bitmap, from) };
                self.bits.push(byte);
                self.nulls += byte.count_zeros() as usize;
                done += 8;
            } else {
                // SAFETY: bit `from` lies inside what the caller vouches for.
                let valid = unsafe { *bitmap.add(from / 8) } >> (from % 8) & 1 == 1;
                self.push_bit(at, valid);
                self.nulls += usize::from(!valid);
                done += 1;
            }
        }
        self.len += rows;
        if self.nulls == 0 {
            self.bits = Vec::new();
        }
    }

    /// Makes the bitmap real, with ones for the rows so far.
    fn start_bits(&mut self) {
        if self.nulls == 0 {
            self.bits = vec![0xff; self.len / 8];
            if !self.len.is_multiple_of(8) {
                self.bits.push((1 << (self.len % 8)) - 1);
            }
        }
    }

    fn push_bit(&mut self, at: usize, valid: bool) {
        if at.is_multiple_of(8) {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(valid) << (at % 8);
        }
    }
}

/// Eight bits from bit `from` on.
///
/// # Safety
/// Bits `from..from + 8` can be read.
unsafe fn eight_bits(bitmap: *const u8, from: usize) -> u8 {
    let shift = from % 8;
    // SAFETY: the byte holds bit `from`.
    let low = unsafe { *bitmap.add(from / 8) };
    if shift == 0 {
        return low;
    }
    // SAFETY: with a shift, bit `from + 7` lies in the next byte.
    let high = unsafe { *bitmap.add(from / 8 + 1) };
    low >> shift | high << (8 - shift)
}

#[cfg(test)]
mod tests {
    use super::Validity;

    #[test]
    fn appending_foreign_bits_equals_pushing_them_one_by_one() {
        let bytes = [0b1010_0110_u8, 0b0111_1011, 0xff, 0xff, 0b0000_0001, 0xff];
        let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1 == 1;
        for before in 0..18 {
            for offset in 0..17 {
                for rows in 0..=(48 - offset) {
                    let mut slow = Validity::default();
                    let mut fast = Validity::default();
                    (0..before).for_each(|_| slow.push(true));
                    fast.extend_valid(before);
                    (0..rows).for_each(|i| slow.push(bit(offset + i)));
                    // SAFETY: offset + rows is at most the 48 bits there are.
                    unsafe { fast.extend_bits(bytes.as_ptr(), offset, rows) };
                    fast.push(false);
                    slow.push(false);
                    assert_eq!(
                        fast, slow,
                        "{before} rows before, {rows} rows from bit {offset}"
                    );
                }
            }
        }
    }

    #[test]
    fn without_nulls_there_is_no_bitmap() {
        let mut validity = Validity::default();
        validity.extend_valid(3);
        // SAFETY: two bits of one byte.
        unsafe { validity.extend_bits([0xff].as_ptr(), 1, 2) };
        assert_eq!(validity.bits(), None);
        assert_eq!(validity.len(), 5);
        validity.push(false);
        assert_eq!(validity.bits(), Some(&[0b0001_1111][..]));
    }
}
