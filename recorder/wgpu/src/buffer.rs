//! Memory of the device.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use trueno_recorder::Name;

use crate::recorded::Wgpu;

/// A buffer, in the run from when it was made to when this is dropped (`allocations`). It is also the buffer of wgpu; clones
/// of that one may keep the memory longer.
pub struct Buffer {
    buffer: wgpu::Buffer,
    // After the buffer: it is recorded as given back when it has been.
    _held: LiveBuffer,
}

/// Records the free on drop.
struct LiveBuffer {
    gpu: Wgpu,
    tag: Name,
    bytes: i64,
    number: u64,
}

impl Drop for LiveBuffer {
    fn drop(&mut self) {
        self.gpu.recorder().device_allocation(
            self.gpu.number(),
            self.tag,
            -self.bytes,
            self.number,
        );
    }
}

impl Deref for Buffer {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Wgpu {
    /// Makes a buffer; `tag` says what for. wgpu tells no addresses: column `address` is a number that tells buffers apart.
    pub fn buffer(
        &self,
        tag: impl Into<Name>,
        bytes: wgpu::BufferAddress,
        usage: wgpu::BufferUsages,
    ) -> Buffer {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let tag = tag.into();
        let descriptor = wgpu::BufferDescriptor {
            label: Some(tag.as_str()),
            size: bytes,
            usage,
            mapped_at_creation: false,
        };
        let buffer = self.device().device().create_buffer(&descriptor);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.recorder()
            .device_allocation(self.number(), tag, bytes, number);
        Buffer {
            buffer,
            _held: LiveBuffer {
                gpu: self.clone(),
                tag,
                bytes,
                number,
            },
        }
    }
}
