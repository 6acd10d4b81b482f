//! What is there of a program before it is sampled.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

use trueno_processes::{Selection, Status, family, threads};

use crate::counters::{Counters, now_ns};
use crate::event::{Mapped, ThreadOf};
use crate::opening::Subject;
use crate::{Error, Sampling};

pub(crate) struct Running {
    pub since_ns: u64,
    pub threads: Vec<RunningThread>,
    /// Executable mappings, with their process.
    pub mapped: Vec<(u32, Mapped)>,
    pub left_out: u64,
}

pub(crate) struct RunningThread {
    pub of: ThreadOf,
    pub name: OsString,
    pub met_ns: u64,
    pub waits: bool,
}

/// Time that the kernel may take to report a thread that `/proc` already lists.
const TOLD_AFTER: Duration = Duration::from_millis(1);

/// Limit on scans for new threads. A program that keeps starting threads is covered by then.
const MAX_LOOKS: usize = 20;

/// Starts counting all threads of a process and, depending on the selection, of its children.
pub(crate) fn attach_to(
    process: i32,
    sampling: Sampling,
    processes: &Selection,
) -> Result<(Counters, Running), Error> {
    let mut seen = HashSet::new();
    let mut left_out = HashSet::new();
    let all = threads_of(process, processes);
    let Some((first, rest)) = all.split_first() else {
        let error = io::Error::from_raw_os_error(libc::ESRCH);
        return Err(Error::NotAttached { process, error });
    };
    let subject = Subject::Running(first.thread.cast_signed());
    let mut counters = Counters::open(subject, all.len(), sampling)?;
    seen.insert(first.thread);
    for of in rest {
        seen.insert(of.thread);
        match counters.add(of.thread.cast_signed()) {
            Err(_) if of.process != first.process => drop(left_out.insert(of.process)),
            done => done?,
        }
    }
    // Threads that began meanwhile are counted already if they were begun by one that was.
    for _ in 0..MAX_LOOKS {
        let all = threads_of(process, processes);
        let new: Vec<&ThreadOf> = all.iter().filter(|of| !seen.contains(&of.thread)).collect();
        if new.is_empty() {
            break;
        }
        thread::sleep(TOLD_AFTER);
        for of in new {
            seen.insert(of.thread);
            if !counters.has_inherited(of.thread) {
                counters.add(of.thread.cast_signed())?;
            }
        }
    }
    let since_ns = now_ns();
    let all = threads_of(process, processes);
    let all = all.into_iter().filter(|of| !left_out.contains(&of.process));
    let threads: Vec<RunningThread> = all.filter_map(RunningThread::find).collect();
    let own: HashSet<u32> = threads.iter().map(|thread| thread.of.process).collect();
    let mut mapped = Vec::new();
    for process in own {
        mapped.extend(code_of(process).into_iter().map(|code| (process, code)));
    }
    let running = Running {
        since_ns,
        threads,
        mapped,
        left_out: left_out.len() as u64,
    };
    Ok((counters, running))
}

/// The process's own threads come first.
fn threads_of(process: i32, processes: &Selection) -> Vec<ThreadOf> {
    let of = match processes {
        Selection::First => vec![process],
        Selection::All | Selection::Named(_) => family(process),
    };
    let mut all = Vec::new();
    for process in of {
        let threads = threads(process).unwrap_or_default().into_iter();
        all.extend(threads.map(|thread| ThreadOf {
            process: process.unsigned_abs(),
            thread: thread.unsigned_abs(),
        }));
    }
    all
}

impl RunningThread {
    /// `None` if it has ended.
    fn find(of: ThreadOf) -> Option<Self> {
        let (process, thread) = (of.process.cast_signed(), of.thread.cast_signed());
        let met_ns = now_ns();
        let status = Status::of_thread(process, thread).ok()?;
        Some(Self {
            of,
            name: status.name.into(),
            met_ns,
            waits: status.state != 'R',
        })
    }
}

fn code_of(process: u32) -> Vec<Mapped> {
    let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(mapping).collect()
}

/// Parses a line of `maps`: range, permissions, offset, device, inode, file.
fn mapping(line: &[u8]) -> Option<Mapped> {
    let mut rest = line;
    let mut next = || {
        let end = rest.iter().position(|byte| *byte == b' ')?;
        let (word, after) = rest.split_at(end);
        rest = &after[1..];
        std::str::from_utf8(word).ok()
    };
    let (range, permissions, offset) = (next()?, next()?, next()?);
    let (_device, _inode) = (next()?, next()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    if !permissions.contains('x') {
        return None;
    }
    let file = rest.trim_ascii_start();
    Some(Mapped {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        // As the kernel names memory without a file when it tells of it.
        file: OsStr::from_bytes(if file.is_empty() { b"//anon" } else { file }).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_its_place_in_memory_and_in_its_file() {
        let line =
            b"7f10-7f20 r-xp 00000300 fe:01 42                         /opt/a b/lib.so (deleted)";
        let found = mapping(line).unwrap();
        assert_eq!(
            (found.start, found.end, found.offset),
            (0x7f10, 0x7f20, 0x300)
        );
        assert_eq!(found.file, "/opt/a b/lib.so (deleted)");
        let made = mapping(b"7f10-7f20 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!(made.file, "//anon");
        assert_eq!(mapping(b"7f10-7f20 r--p 00000000 fe:01 42 /lib.so"), None);
        assert_eq!(mapping(b""), None);
    }

    #[test]
    fn this_process_has_code() {
        let own = std::env::current_exe().unwrap();
        let code = code_of(std::process::id());
        assert!(code.iter().any(|mapped| mapped.file == own));
    }
}
