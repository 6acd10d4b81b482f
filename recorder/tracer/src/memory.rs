//! Memory of a traced process.

use std::fs;
use std::io;

use libc::{c_void, iovec, pid_t};

/// Limit on texts that are read: the longest possible path.
const MAX_TEXT_BYTES: usize = 4096;
/// Size of the first read: most paths are shorter.
const AT_ONCE: usize = 256;

/// Reads a text that ends with a zero byte. `None` if it cannot be read, is too long, or the address is null.
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

/// Reads a 64-bit number. `None` if it cannot be read.
pub(crate) fn number(process: pid_t, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let got = read(process, address, &mut bytes).ok()?;
    (got == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

/// Identity of a byte of memory: equal for two addresses of the same byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Own,
    /// In a file, or in anonymous memory that several processes can map.
    Shared {
        device: u64,
        number: u64,
        offset: u64,
    },
}

/// The place of an address. `None` if nothing is mapped there or it cannot be determined.
pub(crate) fn place(process: pid_t, address: u64) -> Option<Place> {
    let text = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    text.lines().find_map(|line| place_in(line, address))
}

fn place_in(line: &str, address: u64) -> Option<Place> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let (from, to) = (number(from)?, number(to)?);
    if !(from..to).contains(&address) {
        return None;
    }
    let is_shared = words.next()?.ends_with('s');
    let offset = number(words.next()?)?;
    let (major, minor) = words.next()?.split_once(':')?;
    let (major, minor) = (number(major)?, number(minor)?);
    let file: u64 = words.next()?.parse().ok()?;
    Some(if is_shared {
        Place::Shared {
            device: major << 32 | minor,
            number: file,
            offset: offset + (address - from),
        }
    } else {
        Place::Own
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_of_an_address_says_whose_it_is() {
        let line = "7f0000001000-7f0000003000 rw-s 00001000 00:01 4711   /dev/shm/x";
        let shared = |offset| Place::Shared {
            device: 1,
            number: 4711,
            offset,
        };
        assert_eq!(place_in(line, 0x7f00_0000_1008), Some(shared(0x1008)));
        assert_eq!(place_in(line, 0x7f00_0000_2000), Some(shared(0x2000)));
        assert_eq!(place_in(line, 0x7f00_0000_3000), None);
        let own = "7f0000001000-7f0000003000 rw-p 00000000 00:00 0 ";
        assert_eq!(place_in(own, 0x7f00_0000_1000), Some(Place::Own));
    }
}
