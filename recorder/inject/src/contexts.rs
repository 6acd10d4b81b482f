//! Contexts of the program, so that their work can be waited for at its end.

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use trueno_cupti::driver::Driver;

use crate::session::lock;

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

    /// Waits until the work of all contexts is over and returns their number. On failure, describes what was
    /// refused.
    pub fn synchronize(&self) -> Result<usize, String> {
        let all = lock(&self.0).clone();
        if all.is_empty() {
            return Ok(0);
        }
        let driver = Driver::loaded().ok_or("the driver is gone")?;
        let find = |name: &CStr| driver.function(name).map_err(|error| error.to_string());
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
        let count = all.len();
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
        Ok(count)
    }
}
