//! Launches of kernels.

use std::ffi::c_void;

use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceRepr, LaunchConfig, SyncOnDrop, result, sys};
use trueno_recorder::SpanId;

use crate::error::Error;
use crate::module::Kernel;
use crate::stream::Stream;

#[derive(Clone, Copy, Default)]
struct Stated {
    elements: Option<u64>,
    flops: Option<u64>,
    bytes: Option<u64>,
}

/// A kernel argument, which the driver takes by address.
enum Argument {
    /// Address of the program's own value.
    Value(*mut c_void),
    Pointer(sys::CUdeviceptr),
}

/// A launch with its arguments, in the order of the kernel's parameters; from [`Stream::launch`].
///
/// Memory that other streams use is waited for, as with cudarc's own launches, before the first mark: such waits are no
/// part of the row.
#[must_use = "`submit` launches it"]
pub struct Launch<'a> {
    stream: &'a Stream,
    kernel: &'a Kernel,
    config: LaunchConfig,
    arguments: Vec<Argument>,
    // After the launch: they say on the stream that the memory was used.
    uses: Vec<SyncOnDrop<'a>>,
    stated: Stated,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(stream: &'a Stream, kernel: &'a Kernel, config: LaunchConfig) -> Self {
        Self {
            stream,
            kernel,
            config,
            arguments: Vec::new(),
            uses: Vec::new(),
            stated: Stated::default(),
        }
    }

    /// An argument by value.
    pub fn value<T: DeviceRepr>(&mut self, value: &'a T) -> &mut Self {
        let address: *const T = value;
        self.arguments
            .push(Argument::Value(address.cast_mut().cast()));
        self
    }

    /// Memory that the kernel reads.
    pub fn read<T>(&mut self, memory: &'a impl DevicePtr<T>) -> &mut Self {
        let (pointer, used) = memory.device_ptr(&self.stream.stream);
        self.arguments.push(Argument::Pointer(pointer));
        self.uses.push(used);
        self
    }

    /// Memory that the kernel writes, or reads and writes.
    pub fn write<T>(&mut self, memory: &'a mut impl DevicePtrMut<T>) -> &mut Self {
        let (pointer, used) = memory.device_ptr_mut(&self.stream.stream);
        self.arguments.push(Argument::Pointer(pointer));
        self.uses.push(used);
        self
    }

    /// Elements processed, as the program states.
    pub fn elements(&mut self, elements: u64) -> &mut Self {
        self.stated.elements = Some(elements);
        self
    }

    /// Floating-point operations, as the program states.
    pub fn flops(&mut self, flops: u64) -> &mut Self {
        self.stated.flops = Some(flops);
        self
    }

    /// Bytes moved, both ways together, as the program states.
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.stated.bytes = Some(bytes);
        self
    }

    /// Launches the kernel, from the place that the row names; the row's id.
    ///
    /// # Safety
    /// The arguments are those that the kernel takes, in number, order and type; it stays within its memory, and writes
    /// none that was given by [`Launch::read`]. Host memory behind arguments by value is not used afterwards.
    ///
    /// # Errors
    /// The driver's error; nothing was launched then, and there is no row.
    #[track_caller]
    pub unsafe fn submit(mut self) -> Result<SpanId, Error> {
        let stream = self.stream;
        stream
            .context()
            .bind_to_thread()
            .map_err(Error::call("cannot launch the kernel"))?;
        let mut guard = stream.open(self.kernel.name);
        let LaunchConfig {
            grid_dim: grid,
            block_dim: block,
            shared_mem_bytes: shared,
        } = self.config;
        guard
            .grid(grid.0, grid.1, grid.2)
            .block(block.0, block.1, block.2)
            .shared_memory(shared);
        if let Some(hash) = self.kernel.hash {
            guard.ptx(hash);
        }
        if let Some(registers) = self.kernel.registers {
            guard.registers(registers);
        }
        if let Some(bytes) = self.kernel.static_shared_memory {
            guard.static_shared_memory(bytes);
        }
        if let Some(elements) = self.stated.elements {
            guard.elements(elements);
        }
        if let Some(flops) = self.stated.flops {
            guard.flops(flops);
        }
        if let Some(bytes) = self.stated.bytes {
            guard.bytes(bytes);
        }
        let id = guard.id();
        // Pointers to where the pointers lie: the list is not changed from here on.
        let mut parameters: Vec<*mut c_void> = self
            .arguments
            .iter_mut()
            .map(|argument| match argument {
                Argument::Value(address) => *address,
                Argument::Pointer(pointer) => std::ptr::from_mut(pointer).cast(),
            })
            .collect();
        guard.begin();
        // SAFETY: function and stream exist and are of the context that is current; the caller answers for
        // the arguments, which the driver copies before it returns.
        let launched = unsafe {
            result::launch_kernel(
                self.kernel.function.cu_function(),
                grid,
                block,
                shared,
                stream.cu_stream(),
                &mut parameters,
            )
        };
        match launched {
            Ok(()) => {
                stream.submitted(guard);
                Ok(id)
            }
            Err(error) => {
                guard.cancel();
                Err(Error::call("cannot launch the kernel")(error))
            }
        }
    }
}
