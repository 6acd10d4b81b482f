//! Waits until one of several descriptors is ready.

use libc::{c_short, pid_t};

use super::Role;
use crate::memory;

/// Bytes of an entry of `poll`.
const ENTRY_BYTES: u64 = 8;
/// Longer lists are not read.
const MAX_ENTRIES: u64 = 256;

/// A call of `poll`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    at: u64,
    entries: u64,
}

/// The list of a call that begins.
pub(crate) fn poll(arguments: &[u64; 6]) -> Role {
    let entries = arguments[1];
    match (1..=MAX_ENTRIES).contains(&entries) {
        true => Role::Polls(Poll {
            at: arguments[0],
            entries,
        }),
        false => Role::None,
    }
}

/// The only descriptor that is ready, if there is something to read.
pub(crate) fn only_ready(process: pid_t, poll: &Poll, result: i64) -> Option<i32> {
    if result != 1 {
        return None;
    }
    (0..poll.entries).find_map(|entry| {
        let entry = memory::number(process, poll.at + entry * ENTRY_BYTES)?;
        let found = (entry >> 48) as c_short;
        (found & libc::POLLIN != 0).then_some(entry as i32)
    })
}
