//! Memory of the device.

use std::ops::{Deref, DerefMut};

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};
use trueno_recorder::Name;

use crate::error::Error;
use crate::stream::Stream;

/// Memory of the device, in the run from when it was taken to when it was given back (`allocations`). It is also the slice of
/// cudarc: `&*memory` and `&mut *memory`.
pub struct Memory<T> {
    slice: CudaSlice<T>,
    // After the slice: it is recorded as given back when it has been.
    _held: LiveAllocation,
}

/// Records the free on drop.
struct LiveAllocation {
    cuda: crate::Cuda,
    tag: Name,
    bytes: i64,
    address: u64,
}

impl Drop for LiveAllocation {
    fn drop(&mut self) {
        self.cuda
            .rec
            .device_allocation(self.cuda.number(), self.tag, -self.bytes, self.address);
    }
}

impl<T> Deref for Memory<T> {
    type Target = CudaSlice<T>;

    fn deref(&self) -> &CudaSlice<T> {
        &self.slice
    }
}

impl<T> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut CudaSlice<T> {
        &mut self.slice
    }
}

impl Stream {
    /// Takes memory and fills it with zeros (a row of `transfers`, `memset`).
    ///
    /// # Errors
    /// The driver's error.
    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        tag: impl Into<Name>,
        elements: usize,
    ) -> Result<Memory<T>, Error> {
        // SAFETY: it is filled right away.
        let mut memory = unsafe { self.alloc(tag, elements) }?;
        self.fill_zeros(&mut *memory)?;
        Ok(memory)
    }

    /// Takes memory; `tag` says what for.
    ///
    /// # Safety
    /// Its contents may be no valid `T`: it must be written before it is read.
    ///
    /// # Errors
    /// The driver's error.
    pub unsafe fn alloc<T: DeviceRepr>(
        &self,
        tag: impl Into<Name>,
        elements: usize,
    ) -> Result<Memory<T>, Error> {
        // SAFETY: the caller's promise is the same.
        let slice = unsafe { self.stream.alloc::<T>(elements) }
            .map_err(Error::call("cannot take device memory"))?;
        let address = {
            let (address, used) = slice.device_ptr(&self.stream);
            // Only the address was wanted: nothing was read on the stream.
            std::mem::forget(used);
            address
        };
        let bytes = i64::try_from(slice.num_bytes()).unwrap_or(i64::MAX);
        let tag = tag.into();
        let cuda = self.cuda.clone();
        cuda.rec
            .device_allocation(cuda.number(), tag, bytes, address);
        Ok(Memory {
            slice,
            _held: LiveAllocation {
                cuda,
                tag,
                bytes,
                address,
            },
        })
    }
}
