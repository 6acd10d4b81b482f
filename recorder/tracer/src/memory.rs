//! Memory of a traced process.

use std::io;

use libc::{c_void, iovec, pid_t};

/// Longest text that is read: the longest path.
const MAX_TEXT_BYTES: usize = 4096;
/// Bytes that are read at once: most paths are shorter.
const AT_ONCE: usize = 256;

/// A text that ends with a zero. `None`: it cannot be read, is too long, or there is none.
pub(crate) fn text(process: pid_t, address: u64) -> Option<String> {
    if address == 0 {
        return None;
    }
    let mut bytes = Vec::with_capacity(AT_ONCE);
    while bytes.len() < MAX_TEXT_BYTES {
        let from = address.checked_add(bytes.len() as u64)?;
        // Not across the end of a page: the next may not be there.
        let wanted = AT_ONCE.min(4096 - (from % 4096) as usize);
        let mut piece = [0_u8; AT_ONCE];
        let got = read(process, from, &mut piece[..wanted]).ok()?;
        let piece = &piece[..got];
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            bytes.extend_from_slice(&piece[..end]);
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        if got == 0 {
            return None;
        }
        bytes.extend_from_slice(piece);
    }
    None
}

fn read(process: pid_t, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let local = iovec {
        iov_base: into.as_mut_ptr().cast::<c_void>(),
        iov_len: into.len(),
    };
    let remote = iovec {
        iov_base: address as *mut c_void,
        iov_len: into.len(),
    };
    // SAFETY: the local part is memory of this slice; the other process's is only read, by the kernel.
    let got = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}
