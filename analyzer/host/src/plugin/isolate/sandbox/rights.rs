//! Rights of an administrator, and the number of threads.

use std::io;

/// Most threads of a plugin: pools take one or two for each processor.
pub const MAX_THREADS: u64 = 4096;

/// The kernel's structs of `capset`, third version: rights have 64 bits, in two halves.
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
/// The right to read files of all users: an administrator's plugin lies where its owner alone may read.
/// What can be read at all is another part's affair.
const READ_ALL: u32 = 1 << 2;

/// Gives up all rights that a usual user has not. Such a user gets a user namespace where the system permits one: the
/// limit of threads then counts those of this process alone, for without, it counts all of the user's. An administrator's
/// threads are not counted by the system at all: the parent does that for everybody.
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
