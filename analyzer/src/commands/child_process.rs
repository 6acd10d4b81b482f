//! Children of a server: this program, as a person would call it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Terminates the child when this thread ends, even if the server is killed. The thread must wait for the child.
pub(super) fn end_with_this_thread(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let parent = std::process::id().cast_signed();
        let in_child = move || {
            // SAFETY: calls of the system that take numbers, between fork and exec.
            unsafe {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0 {
                    return Err(io::Error::last_os_error());
                }
                // The server may have ended before.
                if libc::getppid() != parent {
                    libc::_exit(1);
                }
            }
            Ok(())
        };
        // SAFETY: the closure makes calls of the system, and allocates nothing.
        unsafe { command.pre_exec(in_child) };
    }
}
