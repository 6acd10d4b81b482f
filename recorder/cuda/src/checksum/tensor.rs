//! Tensors on the device.

use std::marker::PhantomData;

use trueno_recorder::Element;

/// Dimensions of a strided tensor at most.
pub const MAX_DIMENSIONS: usize = 8;

/// A reason why something is no tensor that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInPlace {
    /// The address of an element must be a multiple of its size.
    #[error("the address {address:#x} is not a multiple of the {size} bytes of an element")]
    Misaligned {
        /// Stated address of the first element.
        address: u64,
        /// Bytes of an element.
        size: usize,
    },
    /// There must be a stride for each dimension.
    #[error("{strides} strides for {dimensions} dimensions")]
    Strides {
        /// Found.
        strides: usize,
        /// Expected.
        dimensions: usize,
    },
    /// More dimensions than the kernels support.
    #[error(
        "{found} dimensions with strides (at most {MAX_DIMENSIONS}; hint: dimensions that lie side by side can be given as one)"
    )]
    Dimensions {
        /// Found.
        found: usize,
    },
    /// The number of elements, or the offset of one, does not fit in 63 bits.
    #[error("a shape with more elements than there are addresses")]
    TooLarge,
}

/// Elements on the device: where, and in which order.
#[derive(Clone, Copy, Debug)]
pub struct DeviceTensor<'a, T> {
    pub(super) address: u64,
    pub(super) shape: &'a [usize],
    /// Strides in elements; `None` if contiguous.
    pub(super) strides: Option<&'a [usize]>,
    elements: u64,
    of: PhantomData<T>,
}

impl<'a, T: Element> DeviceTensor<'a, T> {
    /// Elements side by side, the last dimension fastest. No dimension: one element.
    ///
    /// # Errors
    /// The address is not aligned, or the shape has too many elements.
    pub fn new(address: u64, shape: &'a [usize]) -> Result<Self, NotInPlace> {
        let size = size_of::<T>();
        if !address.is_multiple_of(size as u64) {
            return Err(NotInPlace::Misaligned { address, size });
        }
        let elements = shape
            .iter()
            .try_fold(1u64, |count, length| count.checked_mul(*length as u64))
            .filter(|count| {
                count
                    .checked_mul(size as u64)
                    .is_some_and(|bytes| bytes < 1 << 62)
            })
            .ok_or(NotInPlace::TooLarge)?;
        Ok(Self {
            address,
            shape,
            strides: None,
            elements,
            of: PhantomData,
        })
    }

    /// Element `(i, j, ...)` lies `i * strides[0] + j * strides[1] + ...` elements on.
    ///
    /// # Errors
    /// As [`DeviceTensor::new`], or the strides do not fit the shape.
    pub fn strided(
        address: u64,
        shape: &'a [usize],
        strides: &'a [usize],
    ) -> Result<Self, NotInPlace> {
        let mut tensor = Self::new(address, shape)?;
        if shape.len() != strides.len() {
            return Err(NotInPlace::Strides {
                strides: strides.len(),
                dimensions: shape.len(),
            });
        }
        if shape.len() > MAX_DIMENSIONS {
            return Err(NotInPlace::Dimensions { found: shape.len() });
        }
        let furthest = shape
            .iter()
            .zip(strides)
            .try_fold(0u64, |sum, (length, stride)| {
                let steps = (*length as u64).saturating_sub(1);
                sum.checked_add(steps.checked_mul(*stride as u64)?)
            });
        let bytes = furthest.and_then(|at| at.checked_mul(size_of::<T>() as u64));
        if bytes.is_none_or(|bytes| bytes >= 1 << 62) {
            return Err(NotInPlace::TooLarge);
        }
        tensor.strides = Some(strides).filter(|_| !is_dense(shape, strides));
        Ok(tensor)
    }

    /// Counts its elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    pub(super) fn layout(&self) -> Option<[u64; 1 + 2 * MAX_DIMENSIONS]> {
        let strides = self.strides?;
        let mut layout = [0; 1 + 2 * MAX_DIMENSIONS];
        layout[0] = self.shape.len() as u64;
        for (at, (length, stride)) in self.shape.iter().zip(strides).enumerate() {
            layout[1 + at] = *length as u64;
            layout[1 + MAX_DIMENSIONS + at] = *stride as u64;
        }
        Some(layout)
    }
}

fn is_dense(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1usize;
    shape.iter().zip(strides).rev().all(|(length, stride)| {
        let is = *length == 1 || *stride == expected;
        expected = expected.saturating_mul(*length);
        is
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_refused() {
        let of = |address, shape: &[usize]| DeviceTensor::<f32>::new(address, shape).err();
        assert_eq!(of(8, &[3, 4]), None);
        let misaligned = NotInPlace::Misaligned {
            address: 6,
            size: 4,
        };
        assert_eq!(of(6, &[3]), Some(misaligned));
        assert_eq!(of(8, &[usize::MAX, 2]), Some(NotInPlace::TooLarge));
        let strided = |shape: &[usize], strides: &[usize]| {
            DeviceTensor::<f32>::strided(0, shape, strides).err()
        };
        assert!(matches!(
            strided(&[3], &[1, 1]),
            Some(NotInPlace::Strides { .. })
        ));
        assert!(matches!(
            strided(&[1; 9], &[1; 9]),
            Some(NotInPlace::Dimensions { found: 9 })
        ));
        assert_eq!(
            strided(&[2, 2], &[usize::MAX, 1]),
            Some(NotInPlace::TooLarge)
        );
    }

    #[test]
    fn strides_of_a_dense_tensor_are_none() {
        let layout = |shape, strides| {
            DeviceTensor::<u8>::strided(0, shape, strides)
                .unwrap()
                .layout()
        };
        assert_eq!(layout(&[2, 3, 4], &[12, 4, 1]), None);
        assert_eq!(layout(&[2, 1, 4], &[4, 77, 1]), None);
        let transposed = layout(&[4, 3], &[1, 4]).unwrap();
        assert_eq!(transposed[..3], [2, 4, 3]);
        assert_eq!(transposed[9..11], [1, 4]);
    }
}
