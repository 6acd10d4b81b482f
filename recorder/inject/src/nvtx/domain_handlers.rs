//! Functions with a domain.

use std::ffi::{c_char, c_int, c_void};

use libc::wchar_t;
use trueno_cupti::spool::RangeKind;

use super::attributes::{self, Attributes};
use super::domains::{domain_of, handle as handle_of};
use super::handlers::{category, event, handle, pop_in, push, start};
use super::{Slot, slot};

type Handle = *mut c_void;

pub const TABLE: &[(usize, Slot)] = &[
    (
        1,
        slot!(mark as unsafe extern "C" fn(Handle, *const c_void)),
    ),
    (
        2,
        slot!(start_range as unsafe extern "C" fn(Handle, *const c_void) -> u64),
    ),
    (3, slot!(end as unsafe extern "C" fn(Handle, u64))),
    (
        4,
        slot!(push_range as unsafe extern "C" fn(Handle, *const c_void) -> c_int),
    ),
    (5, slot!(pop as unsafe extern "C" fn(Handle) -> c_int)),
    (
        8,
        slot!(category_a as unsafe extern "C" fn(Handle, u32, *const c_char)),
    ),
    (
        9,
        slot!(category_w as unsafe extern "C" fn(Handle, u32, *const wchar_t)),
    ),
    (
        10,
        slot!(register_a as unsafe extern "C" fn(Handle, *const c_char) -> Handle),
    ),
    (
        11,
        slot!(register_w as unsafe extern "C" fn(Handle, *const wchar_t) -> Handle),
    ),
    (
        12,
        slot!(create_a as unsafe extern "C" fn(*const c_char) -> Handle),
    ),
    (
        13,
        slot!(create_w as unsafe extern "C" fn(*const wchar_t) -> Handle),
    ),
    (14, slot!(destroy as unsafe extern "C" fn(Handle))),
];

// All of them: SAFETY of reading is NVTX's contract with the program: attributes have their stated size,
// texts end with a null.

unsafe extern "C" fn mark(domain: Handle, given: *const c_void) {
    handle((), |session| {
        // SAFETY: above.
        let what = unsafe { attributes::read(session, given) };
        event(session, RangeKind::Mark, domain_of(domain), what, 0);
    });
}

unsafe extern "C" fn start_range(domain: Handle, given: *const c_void) -> u64 {
    // SAFETY: above.
    handle(0, |session| {
        start(session, domain_of(domain), unsafe {
            attributes::read(session, given)
        })
    })
}

unsafe extern "C" fn end(domain: Handle, range: u64) {
    handle((), |session| {
        event(
            session,
            RangeKind::End,
            domain_of(domain),
            Attributes::default(),
            range,
        );
    });
}

unsafe extern "C" fn push_range(domain: Handle, given: *const c_void) -> c_int {
    // SAFETY: above.
    handle(-2, |session| {
        push(session, domain_of(domain), unsafe {
            attributes::read(session, given)
        })
    })
}

unsafe extern "C" fn pop(domain: Handle) -> c_int {
    handle(-2, |session| pop_in(session, domain_of(domain)))
}

unsafe extern "C" fn category_a(domain: Handle, number: u32, text: *const c_char) {
    handle((), |session| {
        // SAFETY: above.
        category(session, domain_of(domain), number, unsafe {
            attributes::ascii(session, text)
        });
    });
}

unsafe extern "C" fn category_w(domain: Handle, number: u32, text: *const wchar_t) {
    handle((), |session| {
        // SAFETY: above.
        category(session, domain_of(domain), number, unsafe {
            attributes::wide(session, text)
        });
    });
}

unsafe extern "C" fn register_a(_domain: Handle, text: *const c_char) -> Handle {
    let null = std::ptr::null_mut();
    // SAFETY: above.
    handle(null, |session| {
        handle_of(unsafe { attributes::ascii(session, text) })
    })
}

unsafe extern "C" fn register_w(_domain: Handle, text: *const wchar_t) -> Handle {
    let null = std::ptr::null_mut();
    // SAFETY: above.
    handle(null, |session| {
        handle_of(unsafe { attributes::wide(session, text) })
    })
}

unsafe extern "C" fn create_a(name: *const c_char) -> Handle {
    let null = std::ptr::null_mut();
    // SAFETY: above.
    handle(null, |session| {
        handle_of(unsafe { attributes::ascii(session, name) })
    })
}

unsafe extern "C" fn create_w(name: *const wchar_t) -> Handle {
    let null = std::ptr::null_mut();
    // SAFETY: above.
    handle(null, |session| {
        handle_of(unsafe { attributes::wide(session, name) })
    })
}

unsafe extern "C" fn destroy(_domain: Handle) {}
