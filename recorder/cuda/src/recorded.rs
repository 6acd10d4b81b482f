//! The handle that records a program's use of a device.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use trueno_recorder::{Device, Recorder};

use crate::device::CudaDevice;
use crate::error::Error;
use crate::module::Module;
use crate::stream::Stream;

/// A recorder and a device together; cheap to clone.
#[derive(Clone)]
pub struct Cuda {
    pub(crate) rec: Recorder,
    pub(crate) device: Arc<CudaDevice>,
}

impl Cuda {
    /// Rows go to `rec`. They have device times where `device` is that recorder's own.
    pub fn new(rec: &Recorder, device: &Arc<CudaDevice>) -> Self {
        Self {
            rec: rec.clone(),
            device: device.clone(),
        }
    }

    /// The recorder.
    pub fn recorder(&self) -> &Recorder {
        &self.rec
    }

    /// The device.
    pub fn device(&self) -> &Arc<CudaDevice> {
        &self.device
    }

    pub(crate) fn number(&self) -> u32 {
        self.device.number()
    }

    /// A new stream that is not ordered with the default one.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new_stream(&self) -> Result<Stream, Error> {
        let stream = self
            .device
            .context()
            .new_stream()
            .map_err(Error::call("cannot make a stream"))?;
        Ok(self.stream(stream))
    }

    /// A stream that the program has already.
    pub fn stream(&self, stream: Arc<CudaStream>) -> Stream {
        Stream::new(self.clone(), stream)
    }

    /// Loads PTX, and keeps its source in the run, as `ptx/<hash>.ptx`.
    ///
    /// # Errors
    /// The driver's error; a null byte in the source.
    pub fn load_ptx(&self, name: &str, source: &str) -> Result<Module, Error> {
        Module::load(self, name, source)
    }
}
