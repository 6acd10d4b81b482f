//! Validity of rows: a bitmap that exists only once there is a null.

use crate::bits::Bits;

/// Validity bits of a column, least significant first; 1 means that the row has a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Validity {
    len: usize,
    nulls: usize,
    /// Empty as long as there is no null.
    bits: Vec<u8>,
}

impl Validity {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn nulls(&self) -> usize {
        self.nulls
    }

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

    pub(crate) fn extend_valid(&mut self, rows: usize) {
        if self.nulls == 0 {
            self.len += rows;
            return;
        }
        for _ in 0..rows {
            self.push(true);
        }
    }

    pub(crate) fn append(&mut self, bits: &Bits<'_>) {
        let Some((bytes, skip)) = bits.bitmap() else {
            return self.extend_valid(bits.len());
        };
        self.start_bits();
        self.nulls += bits.zeros();
        let rows = bits.len();
        let mut done = 0;
        while done < rows {
            let at = self.len + done;
            if at.is_multiple_of(8) && rows - done >= 8 {
                self.bits.push(eight_bits(bytes, skip + done));
                done += 8;
            } else {
                self.push_bit(at, bits.get(done));
                done += 1;
            }
        }
        self.len += rows;
    }

    /// Creates the bitmap, with ones for the existing rows.
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

fn eight_bits(bytes: &[u8], from: usize) -> u8 {
    let (at, shift) = (from / 8, from % 8);
    match shift {
        0 => bytes[at],
        // Bit `from + 7` lies in the next byte.
        _ => bytes[at] >> shift | bytes[at + 1] << (8 - shift),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, Validity};

    #[test]
    fn appending_foreign_bits_equals_pushing_them_one_by_one() {
        let bytes = [0b1010_0110_u8, 0b0111_1011, 0xff, 0xff, 0b0000_0001, 0xff];
        let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1 == 1;
        // Under Miri, where each step takes hundreds of times as long, still on both sides of a byte's end.
        let (by, rows_by) = if cfg!(miri) { (7, 5) } else { (1, 1) };
        for before in (0..18).step_by(by) {
            for offset in (0..17).step_by(by) {
                for rows in (0..=(48 - offset)).step_by(rows_by) {
                    let mut slow = Validity::default();
                    let mut fast = Validity::default();
                    (0..before).for_each(|_| slow.push(true));
                    fast.extend_valid(before);
                    (0..rows).for_each(|i| slow.push(bit(offset + i)));
                    // SAFETY: offset + rows is at most the 48 bits there are.
                    fast.append(&unsafe { Bits::new(bytes.as_ptr(), offset, rows) });
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
        validity.append(&unsafe { Bits::new([0xff].as_ptr(), 1, 2) });
        assert_eq!(validity.bits(), None);
        assert_eq!(validity.len(), 5);
        validity.push(false);
        assert_eq!(validity.bits(), Some(&[0b0001_1111][..]));
    }
}
