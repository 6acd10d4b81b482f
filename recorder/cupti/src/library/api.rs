//! CUPTI's functions, each of them optional.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::path::Path;

use super::open::{Library, OpenError};

/// CUPTI asks for memory: where, how long, how many records at most (0: as fit).
pub type ActivityBufferRequested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// CUPTI gives memory back: context, stream, where, how long, how much of it holds records.
pub type ActivityBufferCompleted = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
/// Own data, domain, number, data of the callback.
pub type CallbackFunction = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

/// `CUpti_SubscriberParams`.
#[repr(C)]
#[derive(Debug)]
pub struct SubscriberParams {
    pub struct_size: usize,
    pub subscriber_name: *const c_char,
    pub old_subscriber_name: *mut c_char,
    pub old_subscriber_size: usize,
}

/// A reason why a call did nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    Missing(&'static str),
    Code(&'static str, i32),
}

impl Refused {
    /// CUPTI's own number.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Missing(_) => None,
            Self::Code(_, code) => Some(*code),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(function) => write!(f, "this CUPTI has no {function}"),
            Self::Code(function, code) => {
                write!(f, "{function}: error {code}")?;
                code_name(*code).map_or(Ok(()), |name| write!(f, " ({name})"))
            }
        }
    }
}

/// Names the result codes of CUPTI that people meet.
pub fn code_name(code: i32) -> Option<&'static str> {
    Some(match code {
        1 => "invalid parameter",
        8 => "invalid operation",
        12 => "no more records",
        14 => "not compatible with what is on already",
        15 => "not initialised",
        17 => "a function of the driver failed",
        21 => "invalid kind",
        27 => "not supported",
        33 => "virtualised devices are not supported",
        35 => "insufficient privileges",
        39 => "another tool holds CUPTI in this process",
        40 => "not allowed on this virtual machine",
        41 => "confidential computing is on",
        42 => "mining devices are not supported",
        43 => "not supported on this part of a device",
        999 => "unknown; without a driver, newer versions say only this",
        _ => return None,
    })
}

macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident $symbol:literal ($($arg:ident: $ty:ty),*);)*) => {
        /// The functions of an open library.
        #[derive(Clone, Copy, Debug)]
        pub struct Cupti {
            library: Library,
            $($field: Option<unsafe extern "C" fn($($ty),*) -> i32>,)*
        }

        impl Cupti {
            /// Finds the functions.
            pub fn load(library: Library) -> Self {
                $(
                    const _: () = assert!(CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes()).is_ok());
                    let $field = CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes())
                        .ok()
                        .and_then(|name| library.find(name))
                        // SAFETY: CUPTI's headers say so; a pointer and a function are of one size here.
                        .map(|address| unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> i32>(address.as_ptr()) });
                )*
                Self { library, $($field,)* }
            }

            $(
                $(#[$doc])*
                ///
                /// # Safety
                /// Pointers are as CUPTI's documentation asks.
                ///
                /// # Errors
                /// The function is not there, or says no.
                #[allow(clippy::missing_safety_doc, reason = "above")]
                pub unsafe fn $field(&self, $($arg: $ty),*) -> Result<(), Refused> {
                    let function = self.$field.ok_or(Refused::Missing($symbol))?;
                    // SAFETY: the caller promised it.
                    match unsafe { function($($arg),*) } {
                        0 => Ok(()),
                        code => Err(Refused::Code($symbol, code)),
                    }
                }
            )*
        }
    };
}

functions! {
    get_version "cuptiGetVersion" (version: *mut u32);
    get_timestamp "cuptiGetTimestamp" (time: *mut u64);
    subscribe "cuptiSubscribe" (subscriber: *mut *mut c_void, callback: CallbackFunction, data: *mut c_void);
    /// Also reports who else has subscribed.
    subscribe_v2 "cuptiSubscribe_v2" (subscriber: *mut *mut c_void, callback: CallbackFunction, data: *mut c_void, params: *mut SubscriberParams);
    unsubscribe "cuptiUnsubscribe" (subscriber: *mut c_void);
    enable_callback "cuptiEnableCallback" (enable: u32, subscriber: *mut c_void, domain: u32, number: u32);
    get_callback_name "cuptiGetCallbackName" (domain: u32, number: u32, name: *mut *const c_char);
    set_thread_id_type "cuptiSetThreadIdType" (kind: u32);
    /// Registers the functions that provide empty buffers and take full ones.
    register_callbacks "cuptiActivityRegisterCallbacks" (requested: ActivityBufferRequested, completed: ActivityBufferCompleted);
    activity_enable "cuptiActivityEnable" (kind: u32);
    activity_disable "cuptiActivityDisable" (kind: u32);
    enable_runtime_api "cuptiActivityEnableRuntimeApi" (number: u32, enable: u8);
    enable_driver_api "cuptiActivityEnableDriverApi" (number: u32, enable: u8);
    enable_latency_timestamps "cuptiActivityEnableLatencyTimestamps" (enable: u8);
    enable_event_timestamps "cuptiActivityEnableCudaEventDeviceTimestamps" (enable: u8);
    /// Whether each query of an unfinished event creates a record.
    enable_all_sync_records "cuptiActivityEnableAllSyncRecords" (enable: u8);
    flush_all "cuptiActivityFlushAll" (flag: u32);
    get_next_record "cuptiActivityGetNextRecord" (buffer: *mut u8, valid_bytes: usize, record: *mut *mut u8);
    get_graph_node_id "cuptiGetGraphNodeId" (node: *mut c_void, number: *mut u64);
    get_dropped "cuptiActivityGetNumDroppedRecords" (context: *mut c_void, stream: u32, dropped: *mut usize);
}

impl Cupti {
    /// Opens a library.
    ///
    /// # Errors
    /// The loader refuses.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Library::open(path).map(Self::load)
    }

    /// File it was loaded from.
    pub fn path(&self) -> Option<String> {
        let address = self
            .library
            .find(c"cuptiGetVersion")
            .or_else(|| self.library.find(c"cuptiSubscribe"))?;
        Library::path_of(address)
    }

    /// Its version.
    ///
    /// # Errors
    /// It does not say.
    pub fn version(&self) -> Result<u32, Refused> {
        let mut version = 0;
        // SAFETY: valid for the write.
        unsafe { self.get_version(&mut version) }?;
        Ok(version)
    }

    /// The name of a function of the driver (domain 1) or the runtime (2).
    pub fn callback_name(&self, domain: u32, number: u32) -> Option<String> {
        let mut name = std::ptr::null();
        // SAFETY: valid for the write.
        unsafe { self.get_callback_name(domain, number, &mut name) }.ok()?;
        if name.is_null() {
            return None;
        }
        // SAFETY: CUPTI gives a text of its own, which ends with a null byte.
        Some(
            unsafe { CStr::from_ptr(name) }
                .to_string_lossy()
                .into_owned(),
        )
    }
}
