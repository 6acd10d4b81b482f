//! The driver's library: where it is, whether it starts, and which functions it has.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::NonNull;

use super::error::{DriverError, ErrorText, done};
use crate::library::Library;

/// The name by which CUDA itself looks for the library that comes with the driver.
pub const LIBRARY: &str = "libcuda.so.1";

type Init = unsafe extern "C" fn(c_uint) -> c_int;
type OutNumber = unsafe extern "C" fn(*mut c_int) -> c_int;

/// A driver whose library is in this process. Finding it starts nothing.
#[derive(Clone, Copy, Debug)]
pub struct Driver(Library);

impl Driver {
    /// Finds the driver of this machine.
    ///
    /// # Errors
    /// [`DriverError::NoLibrary`].
    pub fn find() -> Result<Self, DriverError> {
        Self::find_as(&[LIBRARY])
    }

    /// The same, under the first of these names that there is: for those who must have the library that others
    /// will open.
    ///
    /// # Errors
    /// [`DriverError::NoLibrary`].
    pub fn find_as(names: &[&str]) -> Result<Self, DriverError> {
        let mut searched = Vec::new();
        for name in names {
            match Library::open(Path::new(name)) {
                Ok(library) => return Ok(Self(library)),
                // The loader's words begin with the name.
                Err(error) => searched.push(error.to_string()),
            }
        }
        Err(DriverError::NoLibrary { searched })
    }

    /// The driver that this process has already; never loads one.
    pub fn loaded() -> Option<Self> {
        Library::loaded(Path::new(LIBRARY)).map(Self)
    }

    /// File it was loaded from.
    pub fn path(self) -> Option<String> {
        self.0.find(c"cuInit").and_then(Library::path_of)
    }

    /// The address of one of its functions.
    ///
    /// # Errors
    /// [`DriverError::NoFunction`].
    pub fn function(self, name: &CStr) -> Result<NonNull<c_void>, DriverError> {
        self.0.find(name).ok_or_else(|| DriverError::NoFunction {
            path: self.path().unwrap_or_else(|| LIBRARY.to_owned()),
            function: name.to_string_lossy().into_owned(),
        })
    }

    /// Returns whether it has all of these functions.
    ///
    /// # Errors
    /// The first that is missing.
    pub fn check_functions(self, names: &[&CStr]) -> Result<(), DriverError> {
        names
            .iter()
            .try_for_each(|name| self.function(name).map(drop))
    }

    /// Its version: 13000 is 13.0. It need not be initialised.
    pub fn version(self) -> Option<u32> {
        let address = self.function(c"cuDriverGetVersion").ok()?;
        let mut version = 0;
        // SAFETY: the driver's API has this function of this type, and the pointer is valid for the write.
        let code = unsafe {
            std::mem::transmute::<*mut c_void, OutNumber>(address.as_ptr())(&mut version)
        };
        (code == 0).then(|| u32::try_from(version).ok())?
    }

    /// Starts it in this process; again is nothing. No context is made.
    ///
    /// # Errors
    /// [`DriverError::NoDevice`], or in the driver's words.
    pub fn init(self) -> Result<(), DriverError> {
        let address = self.function(c"cuInit")?;
        // SAFETY: of this type since the API's first version; 0 is the only value there is.
        let code = unsafe { std::mem::transmute::<*mut c_void, Init>(address.as_ptr())(0) };
        self.done("cuInit", code)
    }

    /// Starts it, and counts its devices: one at least.
    ///
    /// # Errors
    /// [`DriverError::NoDevice`], or in the driver's words.
    pub fn devices(self) -> Result<u32, DriverError> {
        self.init()?;
        let address = self.function(c"cuDeviceGetCount")?;
        let mut count = 0;
        // SAFETY: of this type since the API's first version; valid for the write.
        let code =
            unsafe { std::mem::transmute::<*mut c_void, OutNumber>(address.as_ptr())(&mut count) };
        self.done("cuDeviceGetCount", code)?;
        match u32::try_from(count) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(DriverError::NoDevice),
        }
    }

    /// Starts it; whether there is a device of that number.
    ///
    /// # Errors
    /// [`DriverError::NoSuchDevice`], and what [`devices`](Self::devices) has.
    pub fn check_device(self, number: usize) -> Result<(), DriverError> {
        let found = self.devices()?;
        if u32::try_from(number).is_ok_and(|number| number < found) {
            return Ok(());
        }
        Err(DriverError::NoSuchDevice {
            asked: number,
            found,
        })
    }

    /// Turns a function's return code into a result, in the driver's words if it failed.
    ///
    /// # Errors
    /// [`DriverError::NoDevice`] or [`DriverError::Failed`].
    pub fn done(self, function: &'static str, code: c_int) -> Result<(), DriverError> {
        let text = self.0.find(c"cuGetErrorString").map(|address| {
            // SAFETY: the driver's API has this function of this type.
            unsafe { std::mem::transmute::<*mut c_void, ErrorText>(address.as_ptr()) }
        });
        done(text, function, code)
    }
}

pub(super) fn text(bytes: &[c_char]) -> String {
    // SAFETY: a `c_char` is an i8 or, as on aarch64, a u8: one byte of any value.
    let bytes: &[u8] = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) };
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}
