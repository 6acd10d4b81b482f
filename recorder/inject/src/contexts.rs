//! Contexts of the program, so that their work can be waited for at its end.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::sync::Mutex;

use trueno_cupti::library::Library;

use crate::session::lock;

/// Those that are there, by address.
#[derive(Debug, Default)]
pub struct Contexts(Mutex<Vec<usize>>);

type OnContext = unsafe extern "C" fn(*mut c_void) -> i32;
type OutContext = unsafe extern "C" fn(*mut *mut c_void) -> i32;
type Plain = unsafe extern "C" fn() -> i32;

impl Contexts {
    pub fn add(&self, context: *mut c_void) {
        let mut all = lock(&self.0);
        if !all.contains(&(context as usize)) {
            all.push(context as usize);
        }
    }

    pub fn remove(&self, context: *mut c_void) {
        lock(&self.0).retain(|other| *other != context as usize);
    }

    /// Waits until their work is over. What was refused, in words.
    pub fn synchronize(&self) -> Result<(), String> {
        let all = lock(&self.0).clone();
        if all.is_empty() {
            return Ok(());
        }
        let driver = driver().ok_or("the driver is gone")?;
        let find = |name: &CStr| {
            let address = driver.find(name);
            address.ok_or_else(|| format!("the driver has no {}", name.to_string_lossy()))
        };
        // SAFETY: these functions of the driver are of these types; a function and a pointer are of one size.
        let (push, pop, wait) = unsafe {
            (
                std::mem::transmute::<*mut c_void, OnContext>(
                    find(c"cuCtxPushCurrent_v2")?.as_ptr(),
                ),
                std::mem::transmute::<*mut c_void, OutContext>(
                    find(c"cuCtxPopCurrent_v2")?.as_ptr(),
                ),
                std::mem::transmute::<*mut c_void, Plain>(find(c"cuCtxSynchronize")?.as_ptr()),
            )
        };
        for context in all {
            // SAFETY: a context that the driver made and did not begin to destroy; what is pushed is popped.
            let code = unsafe {
                match push(context as *mut c_void) {
                    0 => {
                        let code = wait();
                        let mut popped = std::ptr::null_mut();
                        pop(&mut popped);
                        code
                    }
                    code => code,
                }
            };
            if code != 0 {
                return Err(format!("the driver says {code}"));
            }
        }
        Ok(())
    }
}

/// The driver's library, which the process has.
pub fn driver() -> Option<Library> {
    Library::loaded(Path::new("libcuda.so.1"))
}

/// What the driver says of its version: 13000 is 13.0.
pub fn driver_version() -> Option<u32> {
    type Version = unsafe extern "C" fn(*mut i32) -> i32;
    let address = driver()?.find(c"cuDriverGetVersion")?;
    let mut version = 0;
    // SAFETY: the function is of this type, needs no initialisation, and the pointer is valid for the write.
    let code =
        unsafe { std::mem::transmute::<*mut c_void, Version>(address.as_ptr())(&mut version) };
    (code == 0).then(|| u32::try_from(version).ok())?
}
