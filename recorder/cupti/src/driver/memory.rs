//! Memory of the device, and of the host where the device can write it.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use super::context::Context;
use super::error::DriverError;
use super::stream::StreamHandle;

/// Memory of the device, freed with this.
#[derive(Debug)]
pub struct Buffer {
    context: Context,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` bytes, at least one.
    ///
    /// # Errors
    /// There is not as much.
    pub fn new(context: &Context, bytes: usize) -> Result<Self, DriverError> {
        let mut address = 0;
        // SAFETY: valid for the write.
        context.within("cuMemAlloc", |api| unsafe {
            (api.allocate)(&mut address, bytes.max(1))
        })?;
        Ok(Self {
            context: context.clone(),
            address,
            bytes,
        })
    }

    /// Address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Gives the number of bytes that were asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies bytes into it, from its start, and waits until they are there.
    ///
    /// # Errors
    /// They are more than it has, or in the driver's words.
    pub fn fill(&self, from: &[u8]) -> Result<(), DriverError> {
        let bytes = from.len().min(self.bytes);
        // SAFETY: no more than either side has.
        self.context.within("cuMemcpyHtoD", |api| unsafe {
            (api.to_device)(self.address, from.as_ptr().cast(), bytes)
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated when it was made; the driver waits for kernels that use it.
        let _ = self
            .context
            .within("cuMemFree", |api| unsafe { (api.free)(self.address) });
    }
}

/// Memory of the host that the device writes without a copy of the driver's own; freed with this.
#[derive(Debug)]
pub struct Pinned {
    context: Context,
    words: NonNull<u64>,
    count: usize,
}

// SAFETY: memory of its own, which is only written by who has it, and by the device as `receive` says.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Allocates `count` words, at least one.
    ///
    /// # Errors
    /// There is not as much.
    pub fn new(context: &Context, count: usize) -> Result<Self, DriverError> {
        let mut address: *mut c_void = null_mut();
        // Portable: any context may use it.
        // SAFETY: valid for the write.
        context.within("cuMemHostAlloc", |api| unsafe {
            (api.allocate_host)(&mut address, count.max(1) * 8, 1)
        })?;
        let words = NonNull::new(address.cast::<u64>()).ok_or(DriverError::Failed {
            function: "cuMemHostAlloc",
            code: 0,
            words: "success, and no memory".to_owned(),
        })?;
        // SAFETY: so many words were allocated. What the driver gives is not said to be initialised.
        unsafe { words.write_bytes(0, count) };
        Ok(Self {
            context: context.clone(),
            words,
            count,
        })
    }

    pub fn words(&self) -> usize {
        self.count
    }

    /// Submits a copy of `words` words from the device; it is done when the stream has come to it.
    ///
    /// # Errors
    /// In the driver's words.
    ///
    /// # Safety
    /// The device's memory must have as many and live until then, and so must this; nobody may read this before.
    pub unsafe fn receive(
        &mut self,
        from: u64,
        words: usize,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        let bytes = words.min(self.count) * 8;
        self.context.within("cuMemcpyDtoHAsync", |api| {
            // SAFETY: no more than there is room for; the caller vouches for the rest.
            unsafe { (api.to_host)(self.words.as_ptr().cast(), from, bytes, stream.0) }
        })
    }

    /// Reads the words.
    ///
    /// # Safety
    /// No copy into it may be under way.
    pub unsafe fn read(&self) -> &[u64] {
        // SAFETY: so many words, initialised when they were allocated; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let words = self.words.as_ptr().cast();
        // SAFETY: allocated when it was made.
        let _ = self
            .context
            .within("cuMemFreeHost", |api| unsafe { (api.free_host)(words) });
    }
}
