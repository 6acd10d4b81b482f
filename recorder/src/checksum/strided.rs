//! Tensors whose elements do not lie side by side.

use super::{BLOCK_BYTES, Element, Fingerprint, Reader, Width};

/// A view of some elements of a slice: rows of a wider matrix, a transposed one, one channel.
///
/// Element `(i, j, …)` is `data[i * strides[0] + j * strides[1] + …]`; the last index runs fastest. It
/// is fingerprinted as its contiguous copy would be, by way of a small buffer.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a, T> {
    data: &'a [T],
    shape: &'a [usize],
    strides: &'a [usize],
}

impl<'a, T: Element> Strided<'a, T> {
    /// A view; strides in elements, 0 repeats. `None`: shape and strides are not of one length, or
    /// an element would lie outside of `data`.
    ///
    /// ```
    /// use trueno_recorder::{Strided, fingerprint};
    /// let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let transposed = Strided::new(&data, &[3, 2], &[1, 3]).unwrap();
    /// assert_eq!(transposed.fingerprint(), fingerprint(&[1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0]));
    /// assert!(Strided::new(&data, &[3, 3], &[1, 3]).is_none());
    /// ```
    pub fn new(data: &'a [T], shape: &'a [usize], strides: &'a [usize]) -> Option<Self> {
        if shape.len() != strides.len() {
            return None;
        }
        shape
            .iter()
            .try_fold(1usize, |count, length| count.checked_mul(*length))?;
        if !shape.contains(&0) {
            let mut last = 0usize;
            for (length, stride) in shape.iter().zip(strides) {
                last = last.checked_add((length - 1).checked_mul(*stride)?)?;
            }
            data.get(last)?;
        }
        Some(Self {
            data,
            shape,
            strides,
        })
    }

    /// Dimensions.
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// Counts the elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The fingerprint of its contiguous copy.
    pub fn fingerprint(&self) -> Fingerprint {
        let (width, block) = (Width::best(), BLOCK_BYTES / size_of::<T>());
        let mut reader = Reader::default();
        let count = self.elements();
        let Some((inner, stride)) = self.shape.last().zip(self.strides.last()) else {
            reader.block(width, &self.data[..1]);
            return reader.end::<T>();
        };
        let mut buffer = Vec::with_capacity(block.min(count));
        let mut at = 0;
        while at < count {
            // As much of one run along the last dimension as there is room for.
            let (from, within) = (self.place(at), at % inner);
            let length = (inner - within).min(block - buffer.len());
            if *stride == 1 {
                buffer.extend_from_slice(&self.data[from..from + length]);
            } else {
                buffer.extend((0..length).map(|nth| self.data[from + nth * stride]));
            }
            at += length;
            if buffer.len() == block || at == count {
                reader.block(width, &buffer);
                buffer.clear();
            }
        }
        reader.end::<T>()
    }

    pub(super) fn place(&self, mut at: usize) -> usize {
        let mut place = 0;
        for (length, stride) in self.shape.iter().zip(self.strides).rev() {
            place += at % length * stride;
            at /= length;
        }
        place
    }

    pub(super) fn value(&self, at: usize) -> f64 {
        self.data[self.place(at)].as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_view_is_as_its_copy(dims in prop::collection::vec((0usize..40, 0usize..5), 0..4), wide in any::<bool>()) {
            let shape: Vec<usize> = dims.iter().map(|(length, _)| *length).collect();
            // Some strides overlap, some leave holes; the last may be that of a contiguous row.
            let mut strides: Vec<usize> = dims.iter().map(|(_, stride)| stride * 7).collect();
            if let Some(last) = strides.last_mut().filter(|_| wide) {
                *last = 1;
            }
            let data: Vec<f32> = (0..5000).map(|i| (i as f32).sin()).collect();
            let view = Strided::new(&data, &shape, &strides);
            let view = view.expect("it lies within");
            let copy: Vec<f32> = (0..view.elements()).map(|at| data[view.place(at)]).collect();
            prop_assert_eq!(view.fingerprint(), fingerprint(&copy));
        }
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let data = [0u8; 10];
        for (shape, strides) in [
            (&[11][..], &[1][..]),
            (&[2, 2], &[9, 2]),
            (&[2], &[1, 1]),
            (&[2, 2], &[usize::MAX, 1]),
            (&[usize::MAX, 2], &[0, 0]),
        ] {
            assert!(Strided::new(&data, shape, strides).is_none(), "{shape:?}");
        }
        assert!(Strided::new(&data, &[2, 5], &[5, 1]).is_some());
        assert_eq!(
            Strided::new(&data[..0], &[0, 9], &[9, 1])
                .unwrap()
                .fingerprint()
                .elements,
            0
        );
        assert!(Strided::new(&data[..0], &[], &[]).is_none());
    }
}
