//! Opens shared libraries, and finds functions in them.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// An open library; never closed, as CUPTI and the driver keep threads.
#[derive(Clone, Copy, Debug)]
pub struct Library(NonNull<c_void>);

// SAFETY: a handle of dlopen may be used from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(String);

impl Library {
    /// Opens a library by name or path.
    ///
    /// # Errors
    /// The loader's error.
    pub fn open(name: &Path) -> Result<Self, OpenError> {
        // Not RTLD_GLOBAL: nobody else is to find its functions by accident.
        Self::with(name, libc::RTLD_NOW | libc::RTLD_LOCAL)
    }

    /// The library of that name, if the process has it already.
    pub fn loaded(name: &Path) -> Option<Self> {
        Self::with(name, libc::RTLD_NOW | libc::RTLD_NOLOAD).ok()
    }

    fn with(name: &Path, flags: i32) -> Result<Self, OpenError> {
        let name = CString::new(name.as_os_str().as_bytes())
            .map_err(|_| OpenError("a path with a null byte".to_owned()))?;
        // SAFETY: the name ends with a null byte; initialisers of the library run, as for any that links it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self).ok_or_else(last_error)
    }

    /// The address of a function.
    pub fn find(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, the name ends with a null byte.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// File from which the library that holds an address was loaded.
    pub fn path_of(address: NonNull<c_void>) -> Option<String> {
        // SAFETY: all zeros is a valid Dl_info.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: valid for the write; any address may be asked for.
        let found = unsafe { libc::dladdr(address.as_ptr(), &mut info) } != 0;
        if !found || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: a text that lives as long as the library, which is not closed.
        let name = unsafe { CStr::from_ptr(info.dli_fname) };
        Some(name.to_string_lossy().into_owned())
    }
}

fn last_error() -> OpenError {
    // SAFETY: null, or a text that is valid until the next call on this thread.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    OpenError(text.unwrap_or_else(|| "the loader does not say why".to_owned()))
}
