//! Callbacks of CUPTI.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use trueno_cupti::spool::Severity;

use crate::buffers::{BUFFER_BYTES, Buffer, Full};
use crate::{entry, flusher, graphs, session, shutdown};

/// `CUpti_CallbackDomain`.
pub mod domain {
    pub const DRIVER: u32 = 1;
    pub const RUNTIME: u32 = 2;
    pub const RESOURCE: u32 = 3;
    pub const STATE: u32 = 6;
}

/// `CUpti_CallbackIdResource`.
pub mod resource {
    pub const CONTEXT_CREATED: u32 = 1;
    pub const CONTEXT_DESTROY_STARTING: u32 = 2;
    pub const GRAPHNODE_CLONED: u32 = 20;
}

/// `CUpti_CallbackIdState`: fatal, error, warning.
pub const STATES: [u32; 3] = [1, 2, 3];

/// Size of the buffer for when there is no memory: older versions of CUPTI crash if they get none.
const LAST_BYTES: usize = 64 << 10;
#[repr(align(4096))]
struct Last(std::cell::UnsafeCell<[u8; LAST_BYTES]>);
// SAFETY: lent to CUPTI once, see `LAST_LENT`.
unsafe impl Sync for Last {}
static LAST: Last = Last(std::cell::UnsafeCell::new([0; LAST_BYTES]));
static LAST_LENT: AtomicBool = AtomicBool::new(false);

pub unsafe extern "C" fn buffer_requested(
    buffer: *mut *mut u8,
    bytes: *mut usize,
    most_records: *mut usize,
) {
    let (base, length) = entry::guarded(None, || {
        let pooled = session::current().and_then(|session| session.pool.take());
        pooled.map(|buffer| (buffer.base(), BUFFER_BYTES))
    })
    .or_else(|| {
        let first = !LAST_LENT.swap(true, Ordering::AcqRel);
        first.then(|| (LAST.0.get().cast::<u8>(), LAST_BYTES))
    })
    .unwrap_or((ptr::null_mut(), 0));
    // SAFETY: CUPTI's pointers, valid for these writes.
    unsafe {
        *buffer = base;
        *bytes = length;
        *most_records = 0;
    }
}

pub unsafe extern "C" fn buffer_completed(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _bytes: usize,
    valid_bytes: usize,
) {
    entry::guarded((), || {
        let Some(session) = session::current().filter(|_| !buffer.is_null()) else {
            return;
        };
        let buffer = Buffer::at(buffer);
        if !is_last(buffer) {
            session.pool.returned();
        }
        session.pool.push(Full {
            buffer,
            valid_bytes,
        });
    });
}

/// True for the fallback buffer, which is used when there is no memory.
pub fn is_last(buffer: Buffer) -> bool {
    buffer.base() == LAST.0.get().cast::<u8>()
}

pub fn last_is_back() {
    LAST_LENT.store(false, Ordering::Release);
}

pub unsafe extern "C" fn happened(
    _data: *mut c_void,
    in_domain: u32,
    number: u32,
    what: *const c_void,
) {
    entry::guarded((), || {
        // After the end CUPTI may have run its destructors.
        let recording = |session: &&session::Session| !session.ended.load(Ordering::Acquire);
        let Some(session) = session::current().filter(recording) else {
            return;
        };
        match (in_domain, number) {
            (domain::RESOURCE, resource::CONTEXT_CREATED) if !what.is_null() => {
                // SAFETY: CUpti_ResourceData begins with the context.
                session.contexts.add(unsafe { *what.cast::<*mut c_void>() });
                // CUPTI and the driver load libraries and register handlers also after `cuInit`.
                shutdown::before_destructors();
                session.got_device();
            }
            (domain::RESOURCE, resource::CONTEXT_DESTROY_STARTING) if !what.is_null() => {
                // SAFETY: as above.
                session
                    .contexts
                    .remove(unsafe { *what.cast::<*mut c_void>() });
                // Its records go with it.
                flusher::flush(session, false);
            }
            (domain::STATE, number) => {
                // SAFETY: CUpti_StateData: a code, and a text or null.
                let (code, text) = unsafe { state(what) };
                let severity = match number {
                    1 => Severity::Error,
                    _ => Severity::Warning,
                };
                if number == 1 {
                    session.device_failed.store(true, Ordering::Release);
                }
                session.note(
                    severity,
                    "cupti_state",
                    &format!("CUPTI: error {code}: {text}"),
                );
            }
            (domain::RESOURCE, resource::GRAPHNODE_CLONED) => {
                // SAFETY: CUPTI's data of this event.
                unsafe { graphs::cloned(session, what) };
            }
            (domain::DRIVER, number) if session.instantiates(number) => {
                // SAFETY: CUPTI's data of this call.
                unsafe { graphs::instantiated(session, what) };
            }
            (domain::RUNTIME | domain::DRIVER, _) => {
                // SAFETY: CUpti_CallbackData begins with the site; 0: the function is entered.
                let entered = what.is_null() || unsafe { *what.cast::<u32>() } == 0;
                if entered {
                    flusher::flush(session, false);
                }
            }
            _ => {}
        }
    });
}

/// # Safety
/// `what` is null or a `CUpti_StateData`.
unsafe fn state(what: *const c_void) -> (i32, String) {
    #[repr(C)]
    struct State {
        code: i32,
        text: *const c_char,
    }
    // SAFETY: the caller promised it.
    let Some(state) = (unsafe { what.cast::<State>().as_ref() }) else {
        return (0, String::new());
    };
    if state.text.is_null() {
        return (state.code, "no text".to_owned());
    }
    // SAFETY: a text of CUPTI's, which ends with a null byte.
    let text = unsafe { CStr::from_ptr(state.text) };
    (state.code, text.to_string_lossy().into_owned())
}
