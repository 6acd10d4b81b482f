//! Functions of `libcuda`, found at run time.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use crate::library::Library;

/// The library that comes with the driver.
pub const LIBRARY: &str = "libcuda.so.1";

/// Why the driver did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// There is no driver.
    #[error("no NVIDIA driver library ({LIBRARY}) was found: {0}")]
    NoLibrary(String),
    /// A driver without a function that is needed.
    #[error("the NVIDIA driver has no {0} (hint: a newer driver has it)")]
    NoFunction(String),
    /// A driver, and nothing to drive.
    #[error("the NVIDIA driver sees no device")]
    NoDevice,
    /// A function failed.
    #[error("{function}: {words} (error {code})")]
    Failed {
        /// What was called.
        function: &'static str,
        /// The driver's code.
        code: i32,
        /// What the driver says about it.
        words: String,
    },
}

macro_rules! functions {
    ($($name:ident $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions. All return 0 when they did what they are for.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "named as in NVIDIA's documentation of the driver API")]
        #[allow(non_snake_case, reason = "as above")]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Api {
            fn find(library: Library) -> Result<Self, DriverError> {
                $(
                    let $name = library.find($symbol).ok_or_else(|| {
                        DriverError::NoFunction($symbol.to_string_lossy().into_owned())
                    })?;
                )*
                Ok(Self {$(
                    // SAFETY: the driver's API has a function of this name and type.
                    $name: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>($name.as_ptr()) },
                )*})
            }
        }
    };
}

functions! {
    init c"cuInit" (c_uint);
    device_count c"cuDeviceGetCount" (*mut c_int);
    device c"cuDeviceGet" (*mut c_int, c_int);
    device_name c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_uuid c"cuDeviceGetUuid" (*mut [u8; 16], c_int);
    device_attribute c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain c"cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    release c"cuDevicePrimaryCtxRelease_v2" (c_int);
    push c"cuCtxPushCurrent_v2" (*mut c_void);
    pop c"cuCtxPopCurrent_v2" (*mut *mut c_void);
    load c"cuModuleLoadData" (*mut *mut c_void, *const c_void);
    unload c"cuModuleUnload" (*mut c_void);
    function c"cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    launch c"cuLaunchKernel" (*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    allocate c"cuMemAlloc_v2" (*mut u64, usize);
    free c"cuMemFree_v2" (u64);
    memory c"cuMemGetInfo_v2" (*mut usize, *mut usize);
    allocate_host c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    free_host c"cuMemFreeHost" (*mut c_void);
    to_host c"cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, *mut c_void);
    to_device c"cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    stream c"cuStreamCreate" (*mut *mut c_void, c_uint);
    stream_destroy c"cuStreamDestroy_v2" (*mut c_void);
    event c"cuEventCreate" (*mut *mut c_void, c_uint);
    event_record c"cuEventRecord" (*mut c_void, *mut c_void);
    event_query c"cuEventQuery" (*mut c_void);
    event_wait c"cuEventSynchronize" (*mut c_void);
    event_elapsed c"cuEventElapsedTime" (*mut f32, *mut c_void, *mut c_void);
    event_destroy c"cuEventDestroy_v2" (*mut c_void);
    error_text c"cuGetErrorString" (c_int, *mut *const c_char);
}

impl Api {
    /// Those of this machine's driver, which is loaded and initialised.
    ///
    /// # Errors
    /// There is no driver, it lacks a function, or it cannot be initialised.
    pub fn load() -> Result<Self, DriverError> {
        let library = Library::open(Path::new(LIBRARY))
            .map_err(|error| DriverError::NoLibrary(error.to_string()))?;
        let api = Self::find(library)?;
        // SAFETY: 0 is the only value there is.
        match unsafe { (api.init)(0) } {
            100 => Err(DriverError::NoDevice),
            code => api.done("cuInit", code).map(|()| api),
        }
    }

    /// An error, if the code says so.
    pub(super) fn done(&self, function: &'static str, code: c_int) -> Result<(), DriverError> {
        if code == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: valid for the write; what the driver points to is a text of its own that stays.
        let words = unsafe {
            if (self.error_text)(code, &mut text) == 0 && !text.is_null() {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            } else {
                "an error that the driver has no words for".to_owned()
            }
        };
        Err(DriverError::Failed {
            function,
            code,
            words,
        })
    }
}
