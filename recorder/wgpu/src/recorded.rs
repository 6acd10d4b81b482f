//! The handle that records a program's use of a device.

use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use trueno_recorder::{Device, Recorder, SpanId};

use crate::device::WgpuDevice;
use crate::encoder::Encoder;
use crate::error::Error;

/// A recorder and a device together; cheap to clone.
#[derive(Clone)]
pub struct Wgpu {
    rec: Recorder,
    device: Arc<WgpuDevice>,
    last: Arc<Mutex<SpanId>>,
}

impl Wgpu {
    /// Rows go to `rec`. They have device times where `device` is that recorder's own and has timestamp queries; what it
    /// lacks is told among the problems of the run: one handle a recorder is enough, clones are the same.
    pub fn new(rec: &Recorder, device: &Arc<WgpuDevice>) -> Self {
        for limit in device.limits() {
            rec.problem(limit);
        }
        Self {
            rec: rec.clone(),
            device: device.clone(),
            last: Arc::new(Mutex::new(SpanId::NONE)),
        }
    }

    /// The recorder.
    pub fn recorder(&self) -> &Recorder {
        &self.rec
    }

    /// The device.
    pub fn device(&self) -> &WgpuDevice {
        &self.device
    }

    pub(crate) fn number(&self) -> u32 {
        self.device.number()
    }

    fn last(&self) -> MutexGuard<'_, SpanId> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new command encoder.
    pub fn encoder(&self, label: &str) -> Encoder<'_> {
        Encoder::new(self, label)
    }

    /// Gives the work of encoders to the queue, in their order. Their rows become known here.
    pub fn submit<'g>(
        &self,
        encoders: impl IntoIterator<Item = Encoder<'g>>,
    ) -> wgpu::SubmissionIndex {
        let finished = encoders.into_iter().map(Encoder::finish);
        let (commands, recordings): (Vec<_>, Vec<_>) = finished.unzip();
        let submission = self.device.queue().submit(commands);
        for recording in recordings {
            if let Some(last) = recording.submitted() {
                *self.last() = last;
            }
        }
        submission
    }

    /// Writes to a buffer with the next submission: a row of `transfers`, `h2d`. wgpu copies it in commands of its own, so
    /// its time is not measured: the row is `bound`, from this call to the end of a wait for it.
    /// [`Encoder::write_buffer`] has a time.
    ///
    /// # Panics
    /// As wgpu does: offset or length no multiple of 4, or not in the buffer.
    pub fn write_buffer(&self, buffer: &wgpu::Buffer, offset: wgpu::BufferAddress, data: &[u8]) {
        let mut row = self.transfer("h2d", data.len() as u64);
        row.memory("pageable", "device");
        self.device.queue().write_buffer(buffer, offset, data);
    }

    /// Waits until the queue has done all it was given. Recorded as a row of `syncs`, joined by the last row here.
    ///
    /// # Errors
    /// The device is lost.
    pub fn synchronize(&self) -> Result<(), Error> {
        let last = *self.last();
        let wait = self.rec.wait("Device::poll", &[last]);
        let done = self.device.wait();
        drop(wait);
        done.map_err(Error::Wait)
    }

    /// Waits for the queue, and reads bytes of a buffer that can be mapped. Recorded as [`Wgpu::synchronize`] is.
    ///
    /// # Errors
    /// The buffer cannot be mapped, or the device is lost.
    pub fn read_buffer(
        &self,
        buffer: &wgpu::Buffer,
        range: impl RangeBounds<wgpu::BufferAddress> + Clone,
    ) -> Result<Vec<u8>, Error> {
        let (sender, receiver) = mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, range.clone(), move |mapped| {
            // The receiver is gone where the wait failed.
            let _ = sender.send(mapped);
        });
        self.synchronize()?;
        let mapped = receiver
            .try_recv()
            .map_err(|error| Error::Read(error.to_string()))?;
        mapped.map_err(|error| Error::Read(error.to_string()))?;
        let bytes = buffer.get_mapped_range(range).to_vec();
        buffer.unmap();
        Ok(bytes)
    }
}
