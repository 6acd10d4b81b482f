//! The arguments that matter of each call: the file it is about, and how many bytes.

use syscalls::Sysno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    None,
    Path(usize),
    Descriptor(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    None,
    /// In the return value.
    Result,
    Argument(usize),
}

pub(crate) fn target(call: Sysno) -> Target {
    #[cfg(target_arch = "x86_64")]
    if matches!(
        call,
        Sysno::open
            | Sysno::creat
            | Sysno::stat
            | Sysno::lstat
            | Sysno::access
            | Sysno::readlink
            | Sysno::mkdir
            | Sysno::rmdir
            | Sysno::unlink
            | Sysno::rename
            | Sysno::link
            | Sysno::symlink
            | Sysno::chmod
            | Sysno::chown
            | Sysno::lchown
            | Sysno::utime
            | Sysno::utimes
            | Sysno::mknod
    ) {
        return Target::Path(0);
    }
    match call {
        Sysno::execve
        | Sysno::statfs
        | Sysno::chdir
        | Sysno::truncate
        | Sysno::chroot
        | Sysno::memfd_create => Target::Path(0),
        Sysno::openat
        | Sysno::openat2
        | Sysno::newfstatat
        | Sysno::statx
        | Sysno::faccessat
        | Sysno::faccessat2
        | Sysno::readlinkat
        | Sysno::mkdirat
        | Sysno::unlinkat
        | Sysno::renameat
        | Sysno::renameat2
        | Sysno::linkat
        | Sysno::fchmodat
        | Sysno::fchownat
        | Sysno::utimensat
        | Sysno::execveat => Target::Path(1),
        _ if moves(call) => Target::Descriptor(0),
        Sysno::close
        | Sysno::fstat
        | Sysno::fstatfs
        | Sysno::lseek
        | Sysno::getdents64
        | Sysno::fchdir
        | Sysno::fchmod
        | Sysno::fchown
        | Sysno::ftruncate
        | Sysno::fallocate
        | Sysno::fsync
        | Sysno::fdatasync
        | Sysno::sync_file_range
        | Sysno::fadvise64
        | Sysno::readahead
        | Sysno::flock
        | Sysno::fcntl
        | Sysno::dup
        | Sysno::dup3
        | Sysno::ioctl
        | Sysno::bind
        | Sysno::listen
        | Sysno::accept
        | Sysno::accept4
        | Sysno::connect
        | Sysno::sendmmsg
        | Sysno::recvmmsg
        | Sysno::setsockopt
        | Sysno::getsockopt
        | Sysno::shutdown
        | Sysno::epoll_pwait
        | Sysno::epoll_ctl => Target::Descriptor(0),
        #[cfg(target_arch = "x86_64")]
        Sysno::dup2 | Sysno::getdents | Sysno::epoll_wait => Target::Descriptor(0),
        // Memory that is no file's says -1.
        Sysno::mmap => Target::Descriptor(4),
        _ => Target::None,
    }
}

/// True for calls that move bytes to or from the file of their first argument and return their number.
fn moves(call: Sysno) -> bool {
    matches!(
        call,
        Sysno::read
            | Sysno::write
            | Sysno::pread64
            | Sysno::pwrite64
            | Sysno::readv
            | Sysno::writev
            | Sysno::preadv
            | Sysno::pwritev
            | Sysno::preadv2
            | Sysno::pwritev2
            | Sysno::sendto
            | Sysno::recvfrom
            | Sysno::sendmsg
            | Sysno::recvmsg
            | Sysno::sendfile
            | Sysno::splice
            | Sysno::tee
            | Sysno::copy_file_range
    )
}

pub(crate) fn bytes(call: Sysno) -> Bytes {
    match call {
        _ if moves(call) => Bytes::Result,
        Sysno::process_vm_readv | Sysno::process_vm_writev | Sysno::getrandom => Bytes::Result,
        Sysno::mmap | Sysno::munmap | Sysno::mprotect | Sysno::madvise | Sysno::msync => {
            Bytes::Argument(1)
        }
        Sysno::mremap => Bytes::Argument(2),
        _ => Bytes::None,
    }
}

/// True for calls in which a thread only waits for others, for time, or for events. (See `man 2` of each.)
pub(crate) fn waits(call: Sysno, arguments: &[u64; 6]) -> bool {
    match call {
        Sysno::futex => {
            // The operation, without its flags.
            let operation = arguments[1] as i32 & 0x7f;
            [
                libc::FUTEX_WAIT,
                libc::FUTEX_WAIT_BITSET,
                libc::FUTEX_LOCK_PI,
                libc::FUTEX_LOCK_PI2,
                libc::FUTEX_WAIT_REQUEUE_PI,
            ]
            .contains(&operation)
        }
        Sysno::wait4
        | Sysno::waitid
        | Sysno::nanosleep
        | Sysno::clock_nanosleep
        | Sysno::ppoll
        | Sysno::pselect6
        | Sysno::epoll_pwait
        | Sysno::epoll_pwait2
        | Sysno::rt_sigtimedwait
        | Sysno::rt_sigsuspend
        | Sysno::accept
        | Sysno::accept4
        | Sysno::flock
        | Sysno::futex_waitv
        | Sysno::io_getevents
        | Sysno::io_pgetevents
        | Sysno::semop
        | Sysno::semtimedop
        | Sysno::msgrcv
        | Sysno::mq_timedreceive => true,
        #[cfg(target_arch = "x86_64")]
        Sysno::pause | Sysno::poll | Sysno::select | Sysno::epoll_wait | Sysno::vfork => true,
        // What has begun another process waits until that has become a program.
        Sysno::clone => arguments[0] as i32 & libc::CLONE_VFORK != 0,
        _ => false,
    }
}

/// True for calls that take what another thread, process or person provides, if it comes from a pipe, a socket, a
/// terminal or an event. They wait until it is there.
pub(crate) fn takes(call: Sysno) -> bool {
    matches!(
        call,
        Sysno::read | Sysno::readv | Sysno::recvfrom | Sysno::recvmsg | Sysno::recvmmsg
    )
}
