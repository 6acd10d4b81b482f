//! Devices, their primary context, and kernels in it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use super::api::Api;
use super::error::DriverError;
use super::stream::StreamHandle;

pub mod attribute {
    pub const MEMORY_CLOCK_KHZ: i32 = 36;
    /// Highest clock of the processors, in kHz.
    pub const CLOCK_KHZ: i32 = 13;
    pub const MULTIPROCESSORS: i32 = 16;
    /// Bits of the memory bus.
    pub const BUS_BITS: i32 = 37;
    /// Bytes of the L2 cache.
    pub const L2_BYTES: i32 = 38;
    /// Compute capability, before the point.
    pub const MAJOR: i32 = 75;
    /// Compute capability, after the point.
    pub const MINOR: i32 = 76;
}

/// A device's UUID as NVIDIA's tools print it: `GPU-8a3c...`.
pub fn uuid_text(bytes: &[u8; 16]) -> String {
    text_of("GPU", bytes)
}

/// The UUID of a part of a device: `MIG-8a3c...`.
pub fn mig_uuid_text(bytes: &[u8; 16]) -> String {
    text_of("MIG", bytes)
}

fn text_of(prefix: &str, bytes: &[u8; 16]) -> String {
    let mut text = prefix.to_owned();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text += &format!("{byte:02x}");
    }
    text
}

/// A device of the driver.
#[derive(Clone, Debug)]
pub struct Device {
    api: Arc<Api>,
    handle: c_int,
    /// Its number in this process.
    pub number: u32,
}

impl Device {
    /// All of them.
    ///
    /// # Errors
    /// In the driver's words; [`DriverError::NoDevice`] if there is none.
    pub fn all(api: &Arc<Api>) -> Result<Vec<Self>, DriverError> {
        let mut count = 0;
        // SAFETY: valid for the write.
        api.done("cuDeviceGetCount", unsafe {
            (api.device_count)(&mut count)
        })?;
        if count <= 0 {
            return Err(DriverError::NoDevice);
        }
        let device = |ordinal: c_int| {
            let mut handle = 0;
            // SAFETY: valid for the write.
            api.done("cuDeviceGet", unsafe { (api.device)(&mut handle, ordinal) })?;
            Ok(Self {
                api: Arc::clone(api),
                handle,
                number: ordinal.unsigned_abs(),
            })
        };
        (0..count).map(device).collect()
    }

    /// Such as `NVIDIA H100`.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn name(&self) -> Result<String, DriverError> {
        let mut name = [0 as c_char; 256];
        // SAFETY: valid for writes of one byte less, so a null byte stays.
        let code = unsafe { (self.api.device_name)(name.as_mut_ptr(), 255, self.handle) };
        self.api.done("cuDeviceGetName", code)?;
        Ok(super::loader::text(&name))
    }

    /// As NVIDIA's tools print it: `GPU-8a3c...`; of a part of a device (MIG) `MIG-...`.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn uuid(&self) -> Result<String, DriverError> {
        let mut whole = [0u8; 16];
        // SAFETY: valid for the write.
        let code = unsafe { (self.api.device_uuid)(&mut whole, self.handle) };
        self.api.done("cuDeviceGetUuid", code)?;
        // The first version gives a part the id of the whole device.
        let mut own = whole;
        if let Some(part_uuid) = self.api.part_uuid {
            // SAFETY: as above.
            let code = unsafe { part_uuid(&mut own, self.handle) };
            self.api.done("cuDeviceGetUuid_v2", code)?;
        }
        Ok(if own == whole {
            uuid_text(&whole)
        } else {
            mig_uuid_text(&own)
        })
    }

    /// One of [`attribute`]; `None`: the driver does not know it.
    pub fn attribute(&self, which: i32) -> Option<i32> {
        let mut value = 0;
        // SAFETY: valid for the write.
        let code = unsafe { (self.api.device_attribute)(&mut value, which, self.handle) };
        (code == 0).then_some(value)
    }

    /// Its primary context, which the program's own CUDA uses too.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn context(&self) -> Result<Context, DriverError> {
        let mut handle = null_mut();
        // SAFETY: valid for the write.
        let code = unsafe { (self.api.retain)(&mut handle, self.handle) };
        self.api.done("cuDevicePrimaryCtxRetain", code)?;
        Ok(Context(Arc::new(Retained {
            api: Arc::clone(&self.api),
            handle,
            device: self.handle,
        })))
    }
}

struct Retained {
    api: Arc<Api>,
    handle: *mut c_void,
    device: c_int,
}

// SAFETY: the driver's functions and handles may be used from any thread.
unsafe impl Send for Retained {}
// SAFETY: as above.
unsafe impl Sync for Retained {}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: retained when it was made, and not used after this.
        unsafe { (self.api.release)(self.device) };
    }
}

/// The device's primary context, which holds memory, modules and streams. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<Retained>);

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the context of device {}", self.0.device)
    }
}

impl Context {
    pub(super) fn api(&self) -> &Api {
        &self.0.api
    }

    /// Calls the driver with this context current on the thread, then restores the previous one.
    pub(super) fn within(
        &self,
        function: &'static str,
        call: impl FnOnce(&Api) -> c_int,
    ) -> Result<(), DriverError> {
        let api = self.api();
        // SAFETY: the context is retained.
        api.done("cuCtxPushCurrent", unsafe { (api.push)(self.0.handle) })?;
        let code = call(api);
        let mut was = null_mut();
        // SAFETY: valid for the write; it was pushed above.
        unsafe { (api.pop)(&mut was) };
        api.done(function, code)
    }

    /// Runs what needs this context current on the thread, and puts back what was.
    ///
    /// # Errors
    /// In the driver's words: the context cannot be made current.
    pub fn with_current(&self, run: impl FnOnce()) -> Result<(), DriverError> {
        self.within("cuCtxPopCurrent", |_| {
            run();
            0
        })
    }

    /// Compiles a text of PTX for the device.
    ///
    /// # Errors
    /// The driver refuses it.
    pub fn module(&self, ptx: &str) -> Result<Module, DriverError> {
        let mut text = ptx.as_bytes().to_vec();
        text.push(0);
        let mut handle = null_mut();
        self.within("cuModuleLoadData", |api| {
            // SAFETY: valid for the write; a text that ends with a null byte, as the driver expects of PTX.
            unsafe { (api.load)(&mut handle, text.as_ptr().cast()) }
        })?;
        Ok(Module(Arc::new(Loaded {
            context: self.clone(),
            handle,
        })))
    }

    /// Bytes free on the device, and bytes in all.
    ///
    /// # Errors
    /// In the driver's words.
    pub fn memory_bytes(&self) -> Result<(u64, u64), DriverError> {
        let (mut free, mut all) = (0, 0);
        // SAFETY: valid for the writes.
        self.within("cuMemGetInfo", |api| unsafe {
            (api.memory)(&mut free, &mut all)
        })?;
        Ok((free as u64, all as u64))
    }
}

struct Loaded {
    context: Context,
    handle: *mut c_void,
}

// SAFETY: as for `Retained`.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        let handle = self.handle;
        // A program that is ending may have no driver left: nothing to do about it.
        // SAFETY: loaded when it was made, and not used after this.
        let _ = self
            .context
            .within("cuModuleUnload", |api| unsafe { (api.unload)(handle) });
    }
}

/// Kernels of one text.
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

impl Module {
    /// A kernel by name.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn function(&self, name: &str) -> Result<Function, DriverError> {
        let text = CString::new(name).map_err(|_| DriverError::Text("the name of a kernel"))?;
        let mut handle = null_mut();
        self.0.context.within("cuModuleGetFunction", |api| {
            // SAFETY: valid for the write; the module is loaded, the name ends with a null byte.
            unsafe { (api.function)(&mut handle, self.0.handle, text.as_ptr()) }
        })?;
        Ok(Function {
            module: Arc::clone(&self.0),
            handle,
        })
    }
}

#[derive(Clone)]
pub struct Function {
    module: Arc<Loaded>,
    handle: *mut c_void,
}

// SAFETY: as for `Retained`.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// Launch shape: blocks, threads a block, bytes of dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    pub blocks: u32,
    pub threads: u32,
    pub shared_bytes: u32,
}

/// A parameter of a kernel, by value.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    Word(u64),
    Half(u32),
    Bytes(&'a [u64]),
}

impl Function {
    /// Submits it to a stream.
    ///
    /// # Errors
    /// In the driver's words.
    ///
    /// # Safety
    /// The arguments must be those of the kernel, in number and type; what they point to must be memory of the
    /// device that lives until the kernel has run, and that nothing else writes meanwhile.
    pub unsafe fn launch(
        &self,
        launch: Launch,
        stream: StreamHandle,
        arguments: &[Argument<'_>],
    ) -> Result<(), DriverError> {
        let mut words: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Word(word) => std::ptr::from_ref(word).cast_mut().cast(),
                Argument::Half(word) => std::ptr::from_ref(word).cast_mut().cast(),
                Argument::Bytes(words) => words.as_ptr().cast_mut().cast(),
            })
            .collect();
        let Launch {
            blocks,
            threads,
            shared_bytes,
        } = launch;
        self.module.context.within("cuLaunchKernel", |api| {
            // SAFETY: the function is of a loaded module; the driver copies the arguments, which the caller
            // vouches for, before it returns, and does not write to them.
            unsafe {
                (api.launch)(
                    self.handle,
                    blocks,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    shared_bytes,
                    stream.0,
                    words.as_mut_ptr(),
                    null_mut(),
                )
            }
        })
    }
}
