//! Whether this machine has a driver and a device, asked before cudarc is: cudarc panics without a driver.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use trueno_cupti::library::Library;

/// The names that are searched for the driver's library, in this order.
pub const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// Why nothing can be done with CUDA here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The loader finds no driver.
    #[error("no NVIDIA driver library was found (searched {}; hint: it comes with the driver, and `LD_LIBRARY_PATH` is searched too)", .searched.join("; "))]
    NoLibrary {
        /// Each name, with what the loader says about it.
        searched: Vec<String>,
    },
    /// It was found and is no driver, or one that is too old.
    #[error("{path}: has no {symbol} (expected the library of an NVIDIA driver)")]
    NoSymbol {
        /// Where it was loaded from.
        path: String,
        /// What is missing.
        symbol: String,
    },
    /// It cannot be initialised.
    #[error("the NVIDIA driver cannot be initialised: {problem}")]
    Init {
        /// In the driver's words.
        problem: String,
    },
    /// It works, and there is no device of that number.
    #[error(
        "the NVIDIA driver sees {found} devices: there is no device {asked} (hint: `CUDA_VISIBLE_DEVICES` hides devices)"
    )]
    NoDevice {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        found: usize,
    },
}

/// A driver that is there and initialised.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    library: Library,
    /// Devices it sees.
    devices: usize,
}

impl Driver {
    /// Loads and initialises the driver of this machine; never panics.
    ///
    /// # Errors
    /// What is missing. No device at all is not an error here: see [`Driver::check_device`].
    pub fn load() -> Result<Self, DriverError> {
        let library = open()?;
        let init: unsafe extern "C" fn(u32) -> c_int =
            // SAFETY: the driver's API has this function of this type since its first version.
            unsafe { std::mem::transmute(find(library, c"cuInit")?) };
        // SAFETY: 0 is the only value there is.
        match unsafe { init(0) } {
            0 => {}
            // CUDA_ERROR_NO_DEVICE: a driver with nothing to drive.
            100 => {
                return Ok(Self {
                    library,
                    devices: 0,
                });
            }
            code => {
                return Err(DriverError::Init {
                    problem: words(library, code),
                });
            }
        }
        let count: unsafe extern "C" fn(*mut c_int) -> c_int =
            // SAFETY: as above.
            unsafe { std::mem::transmute(find(library, c"cuDeviceGetCount")?) };
        let mut found = 0;
        // SAFETY: valid for the write.
        match unsafe { count(&mut found) } {
            0 => Ok(Self {
                library,
                devices: usize::try_from(found).unwrap_or(0),
            }),
            code => Err(DriverError::Init {
                problem: words(library, code),
            }),
        }
    }

    /// How many devices it sees.
    pub fn devices(self) -> usize {
        self.devices
    }

    /// Whether it has all of these functions: cudarc panics at the first call of one that is missing.
    ///
    /// # Errors
    /// The first that is missing.
    pub fn check_symbols(self, symbols: &[&CStr]) -> Result<(), DriverError> {
        for symbol in symbols {
            find(self.library, symbol)?;
        }
        Ok(())
    }

    /// Whether there is a device of that number.
    ///
    /// # Errors
    /// [`DriverError::NoDevice`].
    pub fn check_device(self, number: usize) -> Result<(), DriverError> {
        if number < self.devices {
            return Ok(());
        }
        Err(DriverError::NoDevice {
            asked: number,
            found: self.devices,
        })
    }
}

fn open() -> Result<Library, DriverError> {
    let mut searched = Vec::new();
    for name in NAMES {
        match Library::open(Path::new(name)) {
            Ok(library) => return Ok(library),
            // The loader's words begin with the name.
            Err(error) => searched.push(error.to_string()),
        }
    }
    Err(DriverError::NoLibrary { searched })
}

fn find(library: Library, symbol: &CStr) -> Result<NonNull<c_void>, DriverError> {
    library.find(symbol).ok_or_else(|| DriverError::NoSymbol {
        path: path(library),
        symbol: symbol.to_string_lossy().into_owned(),
    })
}

fn path(library: Library) -> String {
    library
        .find(c"cuInit")
        .and_then(Library::path_of)
        .unwrap_or_else(|| NAMES[0].to_owned())
}

/// A code in the driver's own words, as far as it has any.
fn words(library: Library, code: c_int) -> String {
    let Some(text) = library.find(c"cuGetErrorString") else {
        return format!("error {code}");
    };
    let text: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int =
        // SAFETY: the driver's API has this function of this type.
        unsafe { std::mem::transmute(text) };
    let mut words = std::ptr::null();
    // SAFETY: valid for the write; what it points to is a text that is never freed.
    unsafe {
        if text(code, &mut words) == 0 && !words.is_null() {
            return format!("{} (error {code})", CStr::from_ptr(words).to_string_lossy());
        }
    }
    format!("error {code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_gets_an_error_and_no_panic() {
        match Driver::load() {
            Err(DriverError::NoLibrary { searched }) => {
                assert_eq!(searched.len(), NAMES.len());
                assert!(searched[1].contains("libcuda.so.1"), "{searched:?}");
            }
            // A machine with a driver: whatever it says, it was said and did not panic.
            Err(other) => assert!(!other.to_string().is_empty()),
            Ok(driver) => assert!(driver.check_device(driver.devices()).is_err()),
        }
    }
}
