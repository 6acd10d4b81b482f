//! Streams, and events in them.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::context::Context;
use super::error::DriverError;

/// A stream of whoever made it; of cudarc, what `CudaStream::cu_stream` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHandle(pub *mut c_void);

impl StreamHandle {
    /// The stream that a program has without asking for one.
    pub const DEFAULT: Self = Self(null_mut());
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for StreamHandle {}
// SAFETY: as above.
unsafe impl Sync for StreamHandle {}

/// A stream of our own.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    handle: StreamHandle,
}

impl Stream {
    /// One that does not wait for the default stream.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn new(context: &Context) -> Result<Self, DriverError> {
        let mut handle = null_mut();
        // SAFETY: valid for the write; 1 is "non-blocking".
        context.within("cuStreamCreate", |api| unsafe {
            (api.stream)(&mut handle, 1)
        })?;
        Ok(Self {
            context: context.clone(),
            handle: StreamHandle(handle),
        })
    }

    /// Handle to submit work to.
    pub fn handle(&self) -> StreamHandle {
        self.handle
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made by us, and not used after this; what was submitted still runs.
        let _ = self.context.within("cuStreamDestroy", |api| unsafe {
            (api.stream_destroy)(self.handle.0)
        });
    }
}

/// A mark in a stream.
#[derive(Debug)]
pub struct Event {
    context: Context,
    handle: *mut c_void,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Event {}

impl Event {
    /// One that keeps time.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn new(context: &Context) -> Result<Self, DriverError> {
        let mut handle = null_mut();
        // SAFETY: valid for the write; 0 is the default, which keeps time.
        context.within("cuEventCreate", |api| unsafe {
            (api.event)(&mut handle, 0)
        })?;
        Ok(Self {
            context: context.clone(),
            handle,
        })
    }

    /// Puts it behind what was submitted to a stream so far.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn record(&self, stream: StreamHandle) -> Result<(), DriverError> {
        // SAFETY: the event is ours; a stream of the context.
        self.context.within("cuEventRecord", |api| unsafe {
            (api.event_record)(self.handle, stream.0)
        })
    }

    /// Returns whether the stream has come to it.
    ///
    /// # Errors
    /// In the driver's words: something submitted before it failed.
    pub fn is_reached(&self) -> Result<bool, DriverError> {
        const NOT_READY: i32 = 600;
        let mut not_ready = false;
        self.context.within("cuEventQuery", |api| {
            // SAFETY: the event is ours.
            let code = unsafe { (api.event_query)(self.handle) };
            not_ready = code == NOT_READY;
            if not_ready { 0 } else { code }
        })?;
        Ok(!not_ready)
    }

    /// Waits for that.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the event is ours.
        self.context.within("cuEventSynchronize", |api| unsafe {
            (api.event_wait)(self.handle)
        })
    }

    /// Seconds to a later event; both must be reached. The driver counts half microseconds.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn seconds_to(&self, later: &Self) -> Result<f64, DriverError> {
        let mut milliseconds = 0.0;
        // SAFETY: valid for the write; both events are ours.
        self.context.within("cuEventElapsedTime", |api| unsafe {
            (api.event_elapsed)(&mut milliseconds, self.handle, later.handle)
        })?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: ours, and not used after this.
        let _ = self.context.within("cuEventDestroy", |api| unsafe {
            (api.event_destroy)(self.handle)
        });
    }
}
