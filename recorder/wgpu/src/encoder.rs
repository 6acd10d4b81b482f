//! Command encoders whose work is recorded.

use std::ops::{Deref, DerefMut};

use trueno_recorder::TransferGuard;
use wgpu::{BufferAddress, BufferUsages};

use crate::device::QUEUE;
use crate::pass::Pass;
use crate::recorded::Wgpu;
use crate::recording::{Recording, Row};

const DEVICE: &str = "device";
/// The memory kind of a mappable buffer is unknown: wgpu does not tell.
const NOT_KNOWN: &str = "";

/// A command encoder: passes, copies and fills through here become rows when it is submitted ([`Wgpu::submit`]), none
/// where it is dropped. It is also the encoder of wgpu, whose own methods record nothing.
pub struct Encoder<'g> {
    gpu: &'g Wgpu,
    encoder: wgpu::CommandEncoder,
    recording: Recording<'g>,
}

impl Deref for Encoder<'_> {
    type Target = wgpu::CommandEncoder;

    fn deref(&self) -> &wgpu::CommandEncoder {
        &self.encoder
    }
}

impl DerefMut for Encoder<'_> {
    fn deref_mut(&mut self) -> &mut wgpu::CommandEncoder {
        &mut self.encoder
    }
}

impl<'g> Encoder<'g> {
    pub(crate) fn new(gpu: &'g Wgpu, label: &str) -> Self {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some(label) };
        Self {
            gpu,
            encoder: gpu.device().device().create_command_encoder(&descriptor),
            recording: Recording::new(gpu.device()),
        }
    }

    /// Begins a compute pass.
    #[track_caller]
    pub fn compute_pass<'e>(&'e mut self, label: &'static str) -> Pass<'g, 'e> {
        Pass::new(self.gpu, &mut self.encoder, &mut self.recording, label)
    }

    /// Copies between buffers: a row of `transfers`, `d2d`, or `h2d` or `d2h` where the host can map one of them.
    ///
    /// # Panics
    /// As wgpu does: offsets or size no multiple of 4, or not in the buffers.
    pub fn copy_buffer_to_buffer(
        &mut self,
        from: &wgpu::Buffer,
        from_offset: BufferAddress,
        to: &wgpu::Buffer,
        to_offset: BufferAddress,
        bytes: impl Into<Option<BufferAddress>>,
    ) {
        let size = bytes.into();
        let bytes = size.unwrap_or_else(|| from.size().saturating_sub(from_offset));
        let reads_host = from.usage().contains(BufferUsages::MAP_WRITE);
        let writes_host = to.usage().contains(BufferUsages::MAP_READ);
        let (direction, source, target) = match (reads_host, writes_host) {
            (false, false) => ("d2d", DEVICE, DEVICE),
            (true, false) => ("h2d", NOT_KNOWN, DEVICE),
            (false, true) => ("d2h", DEVICE, NOT_KNOWN),
            (true, true) => ("h2h", NOT_KNOWN, NOT_KNOWN),
        };
        let mut row = self.gpu.transfer(direction, bytes);
        row.memory(source, target);
        self.transfer(row, |encoder| {
            encoder.copy_buffer_to_buffer(from, from_offset, to, to_offset, size);
        });
    }

    /// Writes to a buffer when the encoder's work gets there: a row of `transfers`, `h2d`, of the copy from memory that the
    /// host filled in this call.
    ///
    /// # Panics
    /// As wgpu does: offset or length no multiple of 4, or not in the buffer.
    pub fn write_buffer(&mut self, to: &wgpu::Buffer, offset: BufferAddress, data: &[u8]) {
        let bytes = data.len() as BufferAddress;
        let device = self.gpu.device().device();
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("write_buffer"),
            size: bytes,
            usage: BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        staging.get_mapped_range_mut(..).copy_from_slice(data);
        staging.unmap();
        self.copy_buffer_to_buffer(&staging, 0, to, offset, bytes);
    }

    /// Fills with zeros: a row of `transfers`, `memset`.
    ///
    /// # Panics
    /// As wgpu does: offset or size no multiple of 4, or not in the buffer.
    pub fn clear_buffer(
        &mut self,
        buffer: &wgpu::Buffer,
        offset: BufferAddress,
        bytes: Option<BufferAddress>,
    ) {
        let filled = bytes.unwrap_or_else(|| buffer.size().saturating_sub(offset));
        let mut row = self.gpu.transfer("memset", filled);
        row.memory(NOT_KNOWN, DEVICE);
        self.transfer(row, |encoder| encoder.clear_buffer(buffer, offset, bytes));
    }

    fn transfer(
        &mut self,
        mut row: TransferGuard<'g>,
        record: impl FnOnce(&mut wgpu::CommandEncoder),
    ) {
        let Self {
            encoder, recording, ..
        } = self;
        if !recording.device().stamps().copies {
            record(encoder);
        } else {
            recording.stamp(
                || row.begin(),
                |set, slot| encoder.write_timestamp(set, slot),
            );
            record(encoder);
            recording.stamp(|| row.end(), |set, slot| encoder.write_timestamp(set, slot));
        }
        recording.push(Row::Transfer(row));
    }

    pub(crate) fn finish(self) -> (wgpu::CommandBuffer, Recording<'g>) {
        let Self {
            mut encoder,
            recording,
            ..
        } = self;
        recording.resolve(&mut encoder);
        (encoder.finish(), recording)
    }
}

impl Wgpu {
    pub(crate) fn transfer(&self, direction: &'static str, bytes: u64) -> TransferGuard<'_> {
        let rec = self.recorder();
        rec.transfer(direction, bytes, self.number(), QUEUE)
    }
}
