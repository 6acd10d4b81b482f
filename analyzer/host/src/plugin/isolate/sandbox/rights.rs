//! Rights of an administrator, and the number of threads.

use std::io;

/// Limit on threads of a plugin. Thread pools use one or two per processor.
pub const MAX_THREADS: u64 = 4096;

/// Kernel structs of `capset`, version 3: 64-bit capabilities in two halves.
#[repr(C)]
struct Header {
    version: u32,
    process: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;
/// `CAP_DAC_READ_SEARCH`. An administrator's plugin may lie where only its owner can read. Landlock limits what can
/// be read at all.
const READ_ALL: u32 = 1 << 2;

/// Drops all capabilities that a normal user does not have. A normal user also gets a user namespace if the system
/// allows it: the limit of threads then counts only this process, and otherwise all processes of the user. The
/// system never counts threads of an administrator, so the parent counts them for everybody.
///
/// # Errors
/// The system refuses what it never does.
pub fn give_up() -> io::Result<()> {
    // SAFETY: calls without arguments or with a number. This process has one thread.
    let is_own = unsafe { libc::geteuid() != 0 && libc::unshare(libc::CLONE_NEWUSER) == 0 };
    if is_own {
        let limit = libc::rlimit {
            rlim_cur: MAX_THREADS,
            rlim_max: MAX_THREADS,
        };
        // SAFETY: the struct lives for the call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let mut header = Header {
        version: VERSION_3,
        process: 0,
    };
    let mut rights = [Half::default(); 2];
    // SAFETY: both structs live for the call and are laid out as this version has them.
    unsafe {
        if libc::syscall(libc::SYS_capget, &raw mut header, rights.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let kept = rights[0].permitted & if is_own { 0 } else { READ_ALL };
        let kept = Half {
            effective: kept,
            permitted: kept,
            inheritable: 0,
        };
        rights = [kept, Half::default()];
        match libc::syscall(libc::SYS_capset, &raw mut header, rights.as_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
