//! Looks at a child from outside: its processor time, threads and end.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Child;
use std::time::Duration;

pub enum State {
    Runs,
    /// Stopped by a signal, which only the plugin itself would send.
    Stopped,
    Ended,
}

/// Asks the system for the state of a child, without reaping it.
///
/// # Errors
/// It does not know the child.
pub fn state(child: &Child) -> io::Result<State> {
    // SAFETY: the struct lives for the call; all zeros is a valid one.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
        match libc::waitid(libc::P_PID, child.id(), &mut info, flags) {
            0 if info.si_pid() == 0 => Ok(State::Runs),
            0 if info.si_code == libc::CLD_STOPPED => Ok(State::Stopped),
            0 => Ok(State::Ended),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A file that becomes readable once the child has ended; `None` on kernels before 5.3.
pub fn end(child: &Child) -> Option<OwnedFd> {
    // SAFETY: a call with numbers; the new descriptor is nobody else's.
    unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, child.id(), 0_u32);
        let file = i32::try_from(file).ok().filter(|file| *file >= 0)?;
        Some(OwnedFd::from_raw_fd(file))
    }
}

/// Processor time of all threads of the child, including ended ones; 0 if unknown.
pub fn cpu_time(child: &Child) -> Duration {
    let Ok(process) = libc::pid_t::try_from(child.id()) else {
        return Duration::ZERO;
    };
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both variables live for the calls. The child has not been waited for, so its number is still its own.
    let is_known = unsafe {
        let mut clock = 0;
        libc::clock_getcpuclockid(process, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    if is_known {
        Duration::new(seconds, nanoseconds)
    } else {
        Duration::ZERO
    }
}

/// Number of threads of the child; 0 if unknown.
pub fn threads(child: &Child) -> u64 {
    let read = || -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        // The name stands in brackets and may be anything. Threads are the 20th number, the state the third.
        let (_, rest) = text.rsplit_once(')')?;
        rest.split_whitespace().nth(17)?.parse().ok()
    };
    read().unwrap_or(0)
}

/// Makes reads from a pipe non-blocking.
///
/// # Errors
/// The system refuses.
pub fn without_waiting(file: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: calls with the number of an open file.
    let set = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    match set {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Creates an in-memory file that is closed at `exec`.
///
/// # Errors
/// The system refuses.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string; the new descriptor is nobody else's.
    unsafe {
        match libc::memfd_create(c"trueno-plugin-job".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            file => Ok(File::from_raw_fd(file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_is_seen_to_work_and_to_end() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while cpu_time(&child) < Duration::from_millis(20) {
            assert!(matches!(state(&child).unwrap(), State::Runs));
            std::thread::yield_now();
        }
        assert_eq!(threads(&child), 1);
        child.kill().unwrap();
        while !matches!(state(&child).unwrap(), State::Ended) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
