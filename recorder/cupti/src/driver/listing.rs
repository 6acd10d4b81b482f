//! Devices of a driver, listed with functions that every version has had.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::context::attribute;
use super::error::DriverError;
use super::loader::{Driver, text};

/// A device, as a listing has it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Listed {
    /// Number in this process.
    pub number: u32,
    /// Name, such as `NVIDIA H100`.
    pub name: String,
    /// Compute capability, such as `9.0`.
    pub compute_capability: Option<String>,
    pub memory_bytes: Option<u64>,
}

type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type Bytes = unsafe extern "C" fn(*mut usize, c_int) -> c_int;

impl Driver {
    /// Starts the driver, and lists its devices: one at least. No context is made.
    ///
    /// # Errors
    /// As [`Driver::devices`] has them, or in the driver's words.
    pub fn list(self) -> Result<Vec<Listed>, DriverError> {
        let count = self.devices()?;
        let find = |name: &CStr| self.function(name).map(std::ptr::NonNull::as_ptr);
        // SAFETY: functions of the driver's API, of these types since its first versions.
        let (get, name, attribute, bytes) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Get>(find(c"cuDeviceGet")?),
                std::mem::transmute::<*mut c_void, Name>(find(c"cuDeviceGetName")?),
                std::mem::transmute::<*mut c_void, Attribute>(find(c"cuDeviceGetAttribute")?),
                std::mem::transmute::<*mut c_void, Bytes>(find(c"cuDeviceTotalMem_v2")?),
            )
        };
        let one = |number: u32| {
            let mut handle = 0;
            // SAFETY: valid for the write.
            let code = unsafe { get(&mut handle, number.cast_signed()) };
            self.done("cuDeviceGet", code)?;
            let mut shown = [0 as c_char; 256];
            // SAFETY: valid for writes of one byte less, so a null byte stays.
            let code = unsafe { name(shown.as_mut_ptr(), 255, handle) };
            self.done("cuDeviceGetName", code)?;
            let part = |which| {
                let mut value = 0;
                // SAFETY: valid for the write.
                let code = unsafe { attribute(&mut value, which, handle) };
                (code == 0).then_some(value)
            };
            let capability = part(attribute::MAJOR).zip(part(attribute::MINOR));
            let mut all = 0;
            // SAFETY: valid for the write.
            let has_bytes = unsafe { bytes(&mut all, handle) } == 0;
            Ok(Listed {
                number,
                name: text(&shown),
                compute_capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
                memory_bytes: has_bytes.then_some(all as u64),
            })
        };
        (0..count).map(one).collect()
    }
}
