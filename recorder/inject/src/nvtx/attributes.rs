//! Attributes of a range (`nvtxEventAttributes_v2`).

use std::ffi::{CStr, c_char, c_void};

use crate::session::Session;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    pub category: u32,
    /// Number of the message; 0 for none.
    pub message: u32,
}

const SIZE: usize = 2;
const CATEGORY: usize = 4;
const MESSAGE_TYPE: usize = 32;
const MESSAGE: usize = 40;

/// `nvtxMessageType_t`.
const ASCII: i32 = 1;
const WIDE: i32 = 2;
const REGISTERED: i32 = 3;

/// Reads what the program gave, and no more bytes than it says there are.
///
/// # Safety
/// Null, or attributes whose stated size is there; texts end with a null.
pub unsafe fn read(session: &Session, given: *const c_void) -> Attributes {
    if given.is_null() {
        return Attributes::default();
    }
    let base = given.cast::<u8>();
    // SAFETY: version and size are always there.
    let size = usize::from(unsafe { base.add(SIZE).cast::<u16>().read_unaligned() });
    let word = |offset: usize| {
        // SAFETY: inside the stated size.
        (offset + 4 <= size).then(|| unsafe { base.add(offset).cast::<u32>().read_unaligned() })
    };
    let message = if MESSAGE + 8 <= size {
        // SAFETY: inside the stated size.
        unsafe { base.add(MESSAGE).cast::<*const c_void>().read_unaligned() }
    } else {
        std::ptr::null()
    };
    let message = match word(MESSAGE_TYPE).map(|ty| ty as i32) {
        // SAFETY: the caller promised it.
        Some(ASCII) => unsafe { ascii(session, message.cast()) },
        // SAFETY: as above.
        Some(WIDE) => unsafe { wide(session, message.cast()) },
        Some(REGISTERED) => super::domains::message_of(message),
        _ => 0,
    };
    Attributes {
        category: word(CATEGORY).unwrap_or(0),
        message,
    }
}

/// Number of a text.
///
/// # Safety
/// Null, or it ends with a null byte.
pub unsafe fn ascii(session: &Session, text: *const c_char) -> u32 {
    if text.is_null() {
        return 0;
    }
    // SAFETY: the caller promised it.
    session.name(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Number of a text of wide characters.
///
/// # Safety
/// Null, or it ends with a null.
pub unsafe fn wide(session: &Session, text: *const libc::wchar_t) -> u32 {
    // SAFETY: the caller promised it.
    session.name(unsafe { wide_text(text) }.as_bytes())
}

/// A text of wide characters; empty for null.
///
/// # Safety
/// Null, or it ends with a null.
pub unsafe fn wide_text(text: *const libc::wchar_t) -> String {
    let mut characters = String::new();
    if text.is_null() {
        return characters;
    }
    for at in 0.. {
        // SAFETY: not beyond the null, which the caller promised.
        let character = unsafe { text.add(at).read_unaligned() };
        if character == 0 {
            break;
        }
        let known = u32::try_from(character).ok().and_then(char::from_u32);
        characters.push(known.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    characters
}
