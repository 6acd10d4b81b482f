//! The end of processes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use libc::{c_int, pid_t};

/// Notes in the values of a run that its program went on when the recording ended.
pub fn note_that_it_went_on(values: &mut BTreeMap<String, String>) {
    values.insert(
        "program_end".to_owned(),
        "not recorded: it went on".to_owned(),
    );
}

const ROUND: Duration = Duration::from_millis(20);

/// True if the wait should end although the process continues. Called many times a second.
pub fn is_over(end: Option<&dyn Fn() -> bool>) -> bool {
    end.is_some_and(|end| end())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Process,
    /// The process continues.
    Asked,
}

/// A process whose end can be waited for, even if it is not a child. A later process with the same id is not
/// confused with it.
#[derive(Debug)]
pub struct ProcessEnd(OwnedFd);

impl ProcessEnd {
    /// # Errors
    /// There is no such process, or the kernel is older than Linux 5.3.
    pub fn of(process: pid_t) -> io::Result<Self> {
        // SAFETY: takes numbers.
        let number = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        match c_int::try_from(number) {
            // SAFETY: just made, and nobody else has it.
            Ok(number) if number >= 0 => Ok(Self(unsafe { OwnedFd::from_raw_fd(number) })),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits until the process has ended or `end` returns true.
    pub fn wait(&self, end: Option<&dyn Fn() -> bool>) -> Ended {
        loop {
            if is_over(end) {
                return Ended::Asked;
            }
            let timeout = if end.is_some() {
                ROUND.as_millis() as c_int
            } else {
                -1
            };
            let mut poll = libc::pollfd {
                fd: self.0.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one of these, valid for the call.
            if unsafe { libc::poll(&mut poll, 1, timeout) } > 0 {
                return Ended::Process;
            }
        }
    }
}

/// Waits for the end of a child.
///
/// # Errors
/// It is not a child, or has already been waited for.
pub fn wait_for_child(child: pid_t) -> io::Result<ExitStatus> {
    loop {
        let mut status = 0;
        // SAFETY: the status is valid for the call.
        if unsafe { libc::waitpid(child, &mut status, 0) } == child {
            return Ok(ExitStatus::from_raw(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
