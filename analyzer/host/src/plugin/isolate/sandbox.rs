//! The sandbox of a child: it reads libraries and asks for memory and threads, and that is all.
//!
//! Landlock keeps it from files, the network and the signals of others; a seccomp filter lets only those calls through
//! that an analysis needs, so that what a newer kernel adds is closed until somebody opens it; rights of an administrator
//! are given up. What is refused fails with `EPERM` or `EACCES`, as it does for a user without rights: nothing is ended
//! for having tried.

mod calls;
mod files;
mod rights;

use std::ffi::CStr;
use std::io;
use std::path::{Path, PathBuf};

pub use files::LIBRARY_PATH;
pub use rights::MAX_THREADS;

pub fn missing() -> Option<&'static str> {
    match (files::are_guarded(), calls::are_filtered()) {
        (true, true) => None,
        (false, true) => Some("Landlock: plugins can read your files"),
        (true, false) => Some(
            "seccomp: plugins can start programs that outlive them, and change modes of your files",
        ),
        (false, false) => Some("Landlock and no seccomp: plugins can do all that you can"),
    }
}

/// Closes all files but the first three and `kept`, so that a plugin cannot use files of the analyzer.
///
/// # Errors
/// The system refuses.
pub fn close_others(mut kept: [i32; 2]) -> io::Result<()> {
    kept.sort_unstable();
    let mut from = 3_u32;
    for end in kept.map(i32::cast_unsigned).into_iter().chain([u32::MAX]) {
        let last = if end == u32::MAX { end } else { end - 1 };
        // SAFETY: a call with numbers; nothing of this process owns one of these files.
        if from <= last && unsafe { libc::syscall(libc::SYS_close_range, from, last, 0_u32) } != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // Kernels before 5.9, and filters of containers that are older.
                Some(libc::ENOSYS | libc::EPERM) => close_listed(kept),
                _ => Err(error),
            };
        }
        from = end.saturating_add(1);
    }
    Ok(())
}

fn close_listed(kept: [i32; 2]) -> io::Result<()> {
    let list = std::fs::read_dir("/proc/self/fd")?;
    let numbers = list.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    // The list itself is closed by then.
    for number in numbers.collect::<Vec<_>>() {
        if number > 2 && !kept.contains(&number) {
            // SAFETY: a call with a number; nothing of this process owns this file.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}

pub struct Program<'a> {
    /// Its path. Only an `execve` with this address is allowed.
    pub path: &'a CStr,
    /// The program and its dynamic loader. No other file can be executed, so overwriting the path in memory
    /// gains nothing.
    pub executable: &'a [PathBuf],
    pub readable: &'a [PathBuf],
}

/// Confines this thread, and everything that it starts, to the sandbox of the plugin in `library`. Only `program`
/// can be executed in it. Features that the kernel lacks are left out: see [`missing`].
///
/// # Errors
/// The kernel has it and refuses.
pub fn enter(library: &Path, program: Option<&Program<'_>>) -> Result<(), String> {
    rights::give_up().map_err(|error| format!("rights of the process: {error}"))?;
    if files::are_guarded() {
        files::guard(library, program).map_err(|error| format!("Landlock: {error}"))?;
    }
    if calls::are_filtered() {
        calls::filter(program.map(|program| program.path))
            .map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}
