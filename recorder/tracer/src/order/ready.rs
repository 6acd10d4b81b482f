//! Waits until one of several descriptors is ready.

use std::fs::File;
use std::io::Read;

use libc::{c_short, pid_t};
use syscalls::Sysno;

use crate::memory;

const ENTRY_BYTES: u64 = 8;
/// Longer lists are not read.
const MAX_ENTRIES: u64 = 256;
const MAX_LIST_BYTES: u64 = 1 << 16;
/// Offset of the program's data in an event, which is packed on x86-64 only.
const DATA_AT: u64 = if cfg!(target_arch = "x86_64") { 4 } else { 8 };

#[derive(Clone, Copy, Debug)]
pub(crate) enum Poll {
    /// `poll`: address of the list and its length.
    List(u64, u64),
    /// `epoll_wait`: the descriptor, and the address of the returned events.
    Epoll(i32, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub descriptor: i32,
    /// True if it is edge-triggered: earlier data does not count.
    pub is_edge: bool,
}

pub(crate) fn poll(call: Sysno, arguments: &[u64; 6]) -> Option<Poll> {
    match call {
        #[cfg(target_arch = "x86_64")]
        Sysno::poll => list(arguments),
        Sysno::ppoll => list(arguments),
        #[cfg(target_arch = "x86_64")]
        Sysno::epoll_wait => Some(Poll::Epoll(arguments[0] as i32, arguments[1])),
        Sysno::epoll_pwait | Sysno::epoll_pwait2 => {
            Some(Poll::Epoll(arguments[0] as i32, arguments[1]))
        }
        _ => None,
    }
}

fn list(arguments: &[u64; 6]) -> Option<Poll> {
    let entries = arguments[1];
    let is_short = (1..=MAX_ENTRIES).contains(&entries);
    is_short.then_some(Poll::List(arguments[0], entries))
}

pub(crate) fn only_ready(process: pid_t, poll: &Poll, result: i64) -> Option<Ready> {
    if result != 1 {
        return None;
    }
    match *poll {
        Poll::List(at, entries) => (0..entries).find_map(|entry| {
            let entry = memory::number(process, at + entry * ENTRY_BYTES)?;
            let found = (entry >> 48) as c_short;
            (found & libc::POLLIN != 0).then_some(Ready {
                descriptor: entry as i32,
                is_edge: false,
            })
        }),
        Poll::Epoll(descriptor, at) => {
            let events = memory::number(process, at)? as i32;
            let data = memory::number(process, at + DATA_AT)?;
            let mut text = String::new();
            let file = File::open(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
            file.take(MAX_LIST_BYTES).read_to_string(&mut text).ok()?;
            let is_to_read = events & libc::EPOLLIN != 0;
            is_to_read.then(|| of_data(&text, data)).flatten()
        }
    }
}

/// The descriptor to which the program has assigned this data, if it is unique.
fn of_data(list: &str, data: u64) -> Option<Ready> {
    let mut all = list.lines().filter_map(|line| {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        let found = u64::from_str_radix(words.nth(1)?, 16).ok()?;
        (found == data).then_some(Ready {
            descriptor,
            is_edge: events & libc::EPOLLET as u32 != 0,
        })
    });
    let only = all.next()?;
    all.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_found_by_what_the_program_calls_it() {
        let list = "pos:\t0\nflags:\t02\n\
                    tfd:        5 events: 80000019 data:               1f  pos:0 ino:9 sdev:8\n\
                    tfd:        6 events:       19 data:               20  pos:0 ino:9 sdev:8\n\
                    tfd:        7 events:       19 data:               20  pos:0 ino:9 sdev:8\n";
        let found = Ready {
            descriptor: 5,
            is_edge: true,
        };
        assert_eq!(of_data(list, 0x1f), Some(found));
        assert_eq!(of_data(list, 0x20), None);
    }
}
