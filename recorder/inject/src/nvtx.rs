//! NVTX: ranges that a program states.
//!
//! Each shared object that uses NVTX has a copy of it, and each copy hands over tables of slots for
//! functions at its first use. Ids of the slots are those of NVTX's own headers, version 3.

mod attributes;
mod domain_handlers;
mod domains;
mod handlers;
mod levels;

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::session::{self, Session};

pub use handlers::handle;

pub fn push(session: &Session, text: &[u8]) {
    let what = attributes::Attributes {
        category: 0,
        message: session.name(text),
    };
    handlers::push(session, 0, what);
}

pub fn pop(session: &Session) {
    handlers::pop_in(session, 0);
}

pub type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

type Function = unsafe extern "C" fn();
/// Pointers to slots; each may be null.
type Table = *mut *mut Option<Function>;

#[repr(C)]
struct Callbacks {
    struct_size: usize,
    module_table: Option<unsafe extern "C" fn(c_int, *mut Table, *mut u32) -> c_int>,
}

const CALLBACKS: u32 = 1;
/// Functions without a domain.
const CORE: c_int = 1;
/// Functions with a domain.
const CORE2: c_int = 5;

/// Puts our functions into a copy of NVTX; whether ranges are recorded.
///
/// # Safety
/// As NVTX's injection interface says.
pub unsafe fn install(get: GetExportTable) -> bool {
    if session::current_or_new().is_none() {
        return false;
    }
    // SAFETY: null, or a struct that begins with its size.
    let Some(callbacks) = (unsafe { get(CALLBACKS).cast::<Callbacks>().as_ref() }) else {
        return false;
    };
    let (Some(module_table), true) = (
        callbacks.module_table,
        callbacks.struct_size >= size_of::<Callbacks>(),
    ) else {
        return false;
    };
    let mut any = false;
    for (module, functions) in [(CORE, handlers::TABLE), (CORE2, domain_handlers::TABLE)] {
        let (mut table, mut slots): (Table, u32) = (ptr::null_mut(), 0);
        // SAFETY: valid for the writes.
        if unsafe { module_table(module, &mut table, &mut slots) } == 0 || table.is_null() {
            continue;
        }
        for (id, function) in functions {
            if *id < slots as usize {
                // SAFETY: inside the table, whose slots are null or may be written to now.
                unsafe {
                    let slot = *table.add(*id);
                    if !slot.is_null() {
                        *slot = Some(function.0);
                        any = true;
                    }
                }
            }
        }
    }
    any
}

#[derive(Clone, Copy)]
struct Slot(Function);

/// Erases the type of a function for a slot.
macro_rules! slot {
    ($function:path as $ty:ty) => {
        // SAFETY: a slot holds functions of many types as one; NVTX calls it by its own.
        crate::nvtx::Slot(unsafe { std::mem::transmute::<$ty, unsafe extern "C" fn()>($function) })
    };
}
use slot;
