//! Bits of another's bitmap: validity, and truth values.

/// Bits of the rows of a batch, least significant first. Without a bitmap all bits are set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a> {
    /// The bytes from the first row to the last; `None`: all bits are set.
    bytes: Option<&'a [u8]>,
    /// Number of bits in the first byte before the first row.
    skip: usize,
    len: usize,
    zeros: usize,
}

impl<'a> Bits<'a> {
    pub(crate) fn ones(len: usize) -> Self {
        Self {
            bytes: None,
            skip: 0,
            len,
            zeros: 0,
        }
    }

    /// `len` bits of a bitmap, from bit `offset` on.
    ///
    /// # Safety
    /// `bitmap` points to at least `offset + len` bits, which stay as they are for `'a`.
    pub(crate) unsafe fn new(bitmap: *const u8, offset: usize, len: usize) -> Self {
        let skip = offset % 8;
        // SAFETY: these are the bytes that hold bits `offset` to `offset + len`.
        let bytes: &'a [u8] =
            unsafe { std::slice::from_raw_parts(bitmap.add(offset / 8), (skip + len).div_ceil(8)) };
        let mut ones: usize = bytes.iter().map(|byte| byte.count_ones() as usize).sum();
        if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
            let after = bytes.len() * 8 - skip - len;
            ones -= (u32::from(*first) & ((1 << skip) - 1)).count_ones() as usize;
            ones -= (u32::from(*last) >> (8 - after)).count_ones() as usize;
        }
        let zeros = len - ones;
        Self {
            bytes: (zeros > 0).then_some(bytes),
            skip,
            len,
            zeros,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn zeros(&self) -> usize {
        self.zeros
    }

    /// The bytes and the index of the first bit in them; `None`: all bits are set.
    pub(crate) fn bitmap(&self) -> Option<(&'a [u8], usize)> {
        Some((self.bytes?, self.skip))
    }

    /// `at` must be below the length.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> bool {
        match self.bytes {
            None => true,
            Some(bytes) => {
                let bit = self.skip + at;
                bytes[bit / 8] >> (bit % 8) & 1 == 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn zeros_are_counted_within_the_rows() {
        let bytes = [0b1010_0110_u8, 0b0111_1011, 0xff, 0x00, 0b0000_0001];
        for offset in 0..40 {
            for len in (0..=40 - offset).step_by(if cfg!(miri) { 3 } else { 1 }) {
                // SAFETY: offset + len is at most the 40 bits there are.
                let bits = unsafe { Bits::new(bytes.as_ptr(), offset, len) };
                let expected: Vec<bool> = (offset..offset + len)
                    .map(|at| bytes[at / 8] >> (at % 8) & 1 == 1)
                    .collect();
                let found: Vec<bool> = (0..len).map(|at| bits.get(at)).collect();
                assert_eq!(found, expected, "{len} bits from {offset}");
                let zeros = expected.iter().filter(|bit| !**bit).count();
                assert_eq!(bits.zeros(), zeros, "{len} bits from {offset}");
            }
        }
    }
}
