//! Handles that we give to NVTX: of domains and of registered texts.
//!
//! A handle is the number of a name as a pointer, with a bit that makes it no null pointer.

use std::ffi::c_void;

/// Larger than all numbers of names.
const MARK: usize = 1 << 32;

pub fn handle(number: u32) -> *mut c_void {
    (MARK | number as usize) as *mut c_void
}

/// The name behind a domain handle; 0 for the default domain or a foreign handle.
pub fn domain_of(handle: *const c_void) -> u32 {
    number_of(handle)
}

pub fn message_of(handle: *const c_void) -> u32 {
    number_of(handle)
}

fn number_of(handle: *const c_void) -> u32 {
    let address = handle as usize;
    if address >> 32 == 1 {
        address as u32
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_leads_back_to_its_name() {
        assert_eq!(domain_of(handle(7)), 7);
        assert!(!handle(0).is_null());
        assert_eq!(message_of(std::ptr::null()), 0);
        assert_eq!(message_of(0x7fff_1234_5678usize as *const c_void), 0);
    }
}
