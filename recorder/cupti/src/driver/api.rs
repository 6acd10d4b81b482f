//! Functions of `libcuda`, found at run time.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::error::{self, DriverError};
use super::loader::Driver;

macro_rules! functions {
    (
        required: { $($name:ident $symbol:literal ($($argument:ty),*);)* }
        optional: { $($later:ident $later_symbol:literal ($($later_argument:ty),*);)* }
    ) => {
        /// The functions. All return 0 when they did what they are for.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_snake_case, reason = "as above")]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            $(pub $later: Option<unsafe extern "C" fn($($later_argument),*) -> c_int>,)*
        }

        impl Api {
            fn from_driver(driver: Driver) -> Result<Self, DriverError> {
                $(let $name = driver.function($symbol)?;)*
                Ok(Self {$(
                    // SAFETY: the driver's API has a function of this name and type.
                    $name: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>($name.as_ptr()) },
                )*$(
                    $later: driver.function($later_symbol).ok().map(|address| {
                        // SAFETY: as above.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($later_argument),*) -> c_int>(address.as_ptr()) }
                    }),
                )*})
            }
        }
    };
}

functions! {
    required: {
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
    optional: {
    part_uuid c"cuDeviceGetUuid_v2" (*mut [u8; 16], c_int);
    }
}

impl Api {
    /// Those of this machine's driver, which is loaded and initialised.
    ///
    /// # Errors
    /// There is no driver, it lacks a function, or it cannot be initialised.
    pub fn load() -> Result<Self, DriverError> {
        let driver = Driver::find()?;
        let api = Self::from_driver(driver)?;
        driver.init()?;
        Ok(api)
    }

    pub(super) fn done(&self, function: &'static str, code: c_int) -> Result<(), DriverError> {
        error::done(Some(self.error_text), function, code)
    }
}
