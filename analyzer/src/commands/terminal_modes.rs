//! The terminal without lines and echo, and bytes typed there.

use std::io::{self, IsTerminal};

/// Time to wait for the remaining bytes of an escape sequence.
const REST_MS: i32 = 30;

/// Turns off line mode and echo. Returns the modes for [`restore`].
///
/// # Errors
/// Standard input is not a terminal.
pub(super) fn raw() -> io::Result<libc::termios> {
    // SAFETY: all zeroes is a value of this plain structure, and it is filled in below.
    let mut before: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut raw = before;
    // SAFETY: changes the structure alone.
    unsafe { libc::cfmakeraw(&mut raw) };
    // What was typed ahead stays.
    // SAFETY: the structure is ours.
    match unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSADRAIN, &raw) } {
        0 => Ok(before),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn has_keys() -> bool {
    io::stdin().is_terminal()
}

pub(super) fn restore(before: &libc::termios) {
    // SAFETY: the structure is ours, and was filled in by the system. With the terminal gone there is nobody to tell.
    unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSADRAIN, before) };
}

/// Bytes typed within that time, negative to wait for ever. Empty after a timeout or signal, `None` if the terminal
/// is gone.
///
/// # Errors
/// The system cannot wait.
pub(super) fn typed(mut wait_ms: i32) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while readable(wait_ms)? {
        let mut part = [0_u8; 512];
        // SAFETY: the buffer is ours and as long as said.
        let read = unsafe { libc::read(libc::STDIN_FILENO, part.as_mut_ptr().cast(), part.len()) };
        match usize::try_from(read) {
            Ok(0) => return Ok(None),
            Ok(read) => bytes.extend_from_slice(&part[..read]),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => break,
                _ => return Ok(None),
            },
        }
        // Arrow keys begin with the byte of Escape; over a slow line the rest comes later.
        if bytes.last() != Some(&0x1b) {
            break;
        }
        wait_ms = REST_MS;
    }
    Ok(Some(bytes))
}

fn readable(wait_ms: i32) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: libc::STDIN_FILENO,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, ours.
    match unsafe { libc::poll(&mut poll, 1, wait_ms) } {
        -1 => match io::Error::last_os_error() {
            // A signal: its flag is looked at next.
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        found => Ok(found > 0),
    }
}
