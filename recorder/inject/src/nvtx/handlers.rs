//! Functions without a domain.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::Ordering;

use libc::wchar_t;
use trueno_cupti::spool::{Chunk, RangeEvent, RangeKind};

use super::attributes::{self, Attributes};
use super::{Slot, levels, slot};
use crate::session::{self, Session, lock};
use crate::{clock, entry, names, threads};

pub const TABLE: &[(usize, Slot)] = &[
    (1, slot!(mark_ex as unsafe extern "C" fn(*const c_void))),
    (2, slot!(mark_a as unsafe extern "C" fn(*const c_char))),
    (3, slot!(mark_w as unsafe extern "C" fn(*const wchar_t))),
    (
        4,
        slot!(start_ex as unsafe extern "C" fn(*const c_void) -> u64),
    ),
    (
        5,
        slot!(start_a as unsafe extern "C" fn(*const c_char) -> u64),
    ),
    (
        6,
        slot!(start_w as unsafe extern "C" fn(*const wchar_t) -> u64),
    ),
    (7, slot!(end as unsafe extern "C" fn(u64))),
    (
        8,
        slot!(push_ex as unsafe extern "C" fn(*const c_void) -> c_int),
    ),
    (
        9,
        slot!(push_a as unsafe extern "C" fn(*const c_char) -> c_int),
    ),
    (
        10,
        slot!(push_w as unsafe extern "C" fn(*const wchar_t) -> c_int),
    ),
    (11, slot!(pop as unsafe extern "C" fn() -> c_int)),
    (
        12,
        slot!(category_a as unsafe extern "C" fn(u32, *const c_char)),
    ),
    (
        13,
        slot!(category_w as unsafe extern "C" fn(u32, *const wchar_t)),
    ),
    (
        14,
        slot!(thread_a as unsafe extern "C" fn(u32, *const c_char)),
    ),
    (
        15,
        slot!(thread_w as unsafe extern "C" fn(u32, *const wchar_t)),
    ),
];

pub fn event(session: &Session, kind: RangeKind, domain: u32, what: Attributes, range: u64) {
    session.range(&RangeEvent {
        kind,
        thread: threads::number(),
        realtime_ns: clock::realtime_ns(),
        domain,
        category: what.category,
        message: what.message,
        range,
    });
}

/// Runs a handler. Without a recording, returns what NVTX itself returns without a tool.
pub fn handle<T>(otherwise: T, body: impl FnOnce(&'static Session) -> T) -> T
where
    T: Copy,
{
    entry::guarded(otherwise, || session::current().map_or(otherwise, body))
}

pub fn push(session: &Session, domain: u32, what: Attributes) -> c_int {
    event(session, RangeKind::Push, domain, what, 0);
    levels::push(domain)
}

pub fn pop_in(session: &Session, domain: u32) -> c_int {
    event(session, RangeKind::Pop, domain, Attributes::default(), 0);
    levels::pop(domain)
}

/// Begins a range that may end on any thread, and returns its number.
pub fn start(session: &Session, domain: u32, what: Attributes) -> u64 {
    let range = session.next_range.fetch_add(1, Ordering::Relaxed);
    event(session, RangeKind::Start, domain, what, range);
    range
}

fn plain(message: u32) -> Attributes {
    Attributes {
        category: 0,
        message,
    }
}

pub fn category(session: &Session, domain: u32, category: u32, message: u32) {
    event(
        session,
        RangeKind::NameCategory,
        domain,
        Attributes { category, message },
        0,
    );
}

fn thread(session: &Session, number: u32, name: &[u8]) {
    // Better than what the operating system calls it.
    lock(&session.named).insert(number);
    let mut bytes = Vec::new();
    names::write(&mut bytes, number, name);
    session.write(Chunk::Thread, &[&bytes]);
}

// All of them: SAFETY of reading is NVTX's contract with the program: attributes have their stated size,
// texts end with a null.

unsafe extern "C" fn mark_ex(given: *const c_void) {
    handle((), |session| {
        // SAFETY: above.
        let what = unsafe { attributes::read(session, given) };
        event(session, RangeKind::Mark, 0, what, 0);
    });
}

unsafe extern "C" fn mark_a(text: *const c_char) {
    handle((), |session| {
        // SAFETY: above.
        let message = unsafe { attributes::ascii(session, text) };
        event(session, RangeKind::Mark, 0, plain(message), 0);
    });
}

unsafe extern "C" fn mark_w(text: *const wchar_t) {
    handle((), |session| {
        // SAFETY: above.
        let message = unsafe { attributes::wide(session, text) };
        event(session, RangeKind::Mark, 0, plain(message), 0);
    });
}

unsafe extern "C" fn start_ex(given: *const c_void) -> u64 {
    // SAFETY: above.
    handle(0, |session| {
        start(session, 0, unsafe { attributes::read(session, given) })
    })
}

unsafe extern "C" fn start_a(text: *const c_char) -> u64 {
    // SAFETY: above.
    handle(0, |session| {
        start(
            session,
            0,
            plain(unsafe { attributes::ascii(session, text) }),
        )
    })
}

unsafe extern "C" fn start_w(text: *const wchar_t) -> u64 {
    // SAFETY: above.
    handle(0, |session| {
        start(
            session,
            0,
            plain(unsafe { attributes::wide(session, text) }),
        )
    })
}

unsafe extern "C" fn end(range: u64) {
    handle((), |session| {
        event(session, RangeKind::End, 0, Attributes::default(), range)
    });
}

unsafe extern "C" fn push_ex(given: *const c_void) -> c_int {
    // SAFETY: above.
    handle(-2, |session| {
        push(session, 0, unsafe { attributes::read(session, given) })
    })
}

unsafe extern "C" fn push_a(text: *const c_char) -> c_int {
    // SAFETY: above.
    handle(-2, |session| {
        push(
            session,
            0,
            plain(unsafe { attributes::ascii(session, text) }),
        )
    })
}

unsafe extern "C" fn push_w(text: *const wchar_t) -> c_int {
    // SAFETY: above.
    handle(-2, |session| {
        push(
            session,
            0,
            plain(unsafe { attributes::wide(session, text) }),
        )
    })
}

unsafe extern "C" fn pop() -> c_int {
    handle(-2, |session| pop_in(session, 0))
}

unsafe extern "C" fn category_a(number: u32, text: *const c_char) {
    // SAFETY: above.
    handle((), |session| {
        category(session, 0, number, unsafe {
            attributes::ascii(session, text)
        })
    });
}

unsafe extern "C" fn category_w(number: u32, text: *const wchar_t) {
    // SAFETY: above.
    handle((), |session| {
        category(session, 0, number, unsafe {
            attributes::wide(session, text)
        })
    });
}

unsafe extern "C" fn thread_a(number: u32, text: *const c_char) {
    handle((), |session| {
        if !text.is_null() {
            // SAFETY: above.
            thread(
                session,
                number,
                unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes(),
            );
        }
    });
}

unsafe extern "C" fn thread_w(number: u32, text: *const wchar_t) {
    handle((), |session| {
        // SAFETY: above.
        let name = unsafe { attributes::wide_text(text) };
        thread(session, number, name.as_bytes());
    });
}
