//! Calls by their names: the file each is about, its bytes, and if it waits.
//!
//! The same as the tracer of this project knows by their numbers. Names are enough here, and a file may come from another
//! machine, whose numbers differ.

use super::arguments;
use super::outcome::number;

/// Bits of `clone`'s flags, for numeric arguments.
const CLONE_VFORK: i64 = 0x4000;
const CLONE_THREAD: i64 = 0x0001_0000;
/// Operations of `futex` that wait: `FUTEX_WAIT`, `LOCK_PI`, `WAIT_BITSET`, `WAIT_REQUEUE_PI`, `LOCK_PI2`.
const FUTEX_WAITS: [i64; 5] = [0, 6, 9, 11, 13];

pub fn target(name: &str, arguments: &[&str]) -> Option<String> {
    let argument = |at: usize| arguments.get(at).copied();
    if let Some(at) = path_place(name) {
        let path = argument(at).and_then(arguments::quoted);
        return match path {
            // Of the descriptor before it, where it is the second argument.
            Some(path) if path.is_empty() && at == 1 => argument(0).and_then(arguments::descriptor),
            None => arguments.iter().find_map(|text| arguments::quoted(text)),
            path => path,
        };
    }
    let place = if name == "mmap" || name == "mmap2" {
        4
    } else if moves(name) || takes_descriptor(name) {
        0
    } else {
        return None;
    };
    argument(place).and_then(arguments::descriptor)
}

fn path_place(name: &str) -> Option<usize> {
    match name {
        "open" | "creat" | "stat" | "stat64" | "lstat" | "lstat64" | "access" | "readlink"
        | "mkdir" | "rmdir" | "unlink" | "rename" | "link" | "symlink" | "symlinkat" | "chmod"
        | "chown" | "lchown" | "utime" | "utimes" | "mknod" | "execve" | "statfs" | "statfs64"
        | "chdir" | "truncate" | "truncate64" | "chroot" | "memfd_create" | "mount" | "umount2"
        | "swapon" | "swapoff" | "getxattr" | "lgetxattr" | "setxattr" | "lsetxattr"
        | "listxattr" | "llistxattr" | "removexattr" | "lremovexattr" => Some(0),
        "openat" | "openat2" | "newfstatat" | "fstatat64" | "statx" | "faccessat"
        | "faccessat2" | "readlinkat" | "mkdirat" | "mknodat" | "unlinkat" | "renameat"
        | "renameat2" | "linkat" | "fchmodat" | "fchmodat2" | "fchownat" | "utimensat"
        | "futimesat" | "execveat" | "inotify_add_watch" | "name_to_handle_at" | "open_tree" => {
            Some(1)
        }
        _ => None,
    }
}

/// Calls that move bytes from or to the file of their first argument and return how many.
fn moves(name: &str) -> bool {
    matches!(
        name,
        "read"
            | "write"
            | "pread64"
            | "pwrite64"
            | "readv"
            | "writev"
            | "preadv"
            | "pwritev"
            | "preadv2"
            | "pwritev2"
            | "send"
            | "recv"
            | "sendto"
            | "recvfrom"
            | "sendmsg"
            | "recvmsg"
            | "sendfile"
            | "sendfile64"
            | "splice"
            | "tee"
            | "vmsplice"
            | "copy_file_range"
    )
}

/// Other calls whose first argument is a descriptor.
fn takes_descriptor(name: &str) -> bool {
    matches!(
        name,
        "close"
            | "fstat"
            | "fstat64"
            | "fstatfs"
            | "lseek"
            | "_llseek"
            | "getdents"
            | "getdents64"
            | "fchdir"
            | "fchmod"
            | "fchown"
            | "ftruncate"
            | "fallocate"
            | "fsync"
            | "fdatasync"
            | "sync_file_range"
            | "fadvise64"
            | "readahead"
            | "flock"
            | "fcntl"
            | "fcntl64"
            | "dup"
            | "dup2"
            | "dup3"
            | "ioctl"
            | "bind"
            | "listen"
            | "accept"
            | "accept4"
            | "connect"
            | "sendmmsg"
            | "recvmmsg"
            | "setsockopt"
            | "getsockopt"
            | "getsockname"
            | "getpeername"
            | "shutdown"
            | "epoll_wait"
            | "epoll_pwait"
            | "epoll_pwait2"
            | "epoll_ctl"
    )
}

/// Bytes moved, or mapped into memory.
pub fn bytes(name: &str, arguments: &[&str], status: Option<i64>) -> Option<u64> {
    let in_argument = |at: usize| {
        let number = arguments.get(at).and_then(|text| number(text));
        number.and_then(|number| u64::try_from(number).ok())
    };
    match name {
        "process_vm_readv" | "process_vm_writev" | "getrandom" => {
            status.and_then(|status| u64::try_from(status).ok())
        }
        _ if moves(name) => status.and_then(|status| u64::try_from(status).ok()),
        "mmap" | "mmap2" | "munmap" | "mprotect" | "madvise" | "msync" => in_argument(1),
        "mremap" => in_argument(2),
        _ => None,
    }
}

/// Calls in which a thread only waits for others, for time, or for events. Source: `man 2` of each.
pub fn waits(name: &str, arguments: &[&str], target: Option<&str>) -> bool {
    match name {
        "futex" | "futex_time64" => {
            let operation = arguments.get(1).copied().unwrap_or_default();
            match number(operation) {
                // Without its flags.
                Some(number) => FUTEX_WAITS.contains(&(number & 0x7f)),
                None => {
                    operation.starts_with("FUTEX_WAIT") || operation.starts_with("FUTEX_LOCK_PI")
                }
            }
        }
        "wait4" | "waitpid" | "waitid" | "nanosleep" | "clock_nanosleep" | "poll" | "ppoll"
        | "select" | "_newselect" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2"
        | "pause" | "rt_sigtimedwait" | "rt_sigsuspend" | "accept" | "accept4" | "flock"
        | "futex_wait" | "futex_waitv" | "io_getevents" | "io_pgetevents" | "semop"
        | "semtimedop" | "msgrcv" | "mq_timedreceive" | "vfork" => true,
        // What has begun another process waits until that has become a program.
        "clone" | "clone3" => has_clone_flag(arguments, "CLONE_VFORK", CLONE_VFORK),
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg" => {
            target.is_some_and(is_given)
        }
        _ => false,
    }
}

/// Files whose data must come from somebody else, so that reading may wait.
fn is_given(target: &str) -> bool {
    let terminals = ["/dev/tty", "/dev/pts/", "/dev/console"];
    !target.starts_with('/') || terminals.iter().any(|path| target.starts_with(path))
}

/// Calls that return the id of a thread or process that they started.
pub fn spawns(name: &str) -> bool {
    matches!(name, "clone" | "clone3" | "fork" | "vfork")
}

/// Calls that return the id of a process that has ended.
pub fn joins(name: &str) -> bool {
    matches!(name, "wait4" | "waitpid")
}

/// A `clone` whose child belongs to the same process.
pub fn begins_thread(arguments: &[&str]) -> bool {
    has_clone_flag(arguments, "CLONE_THREAD", CLONE_THREAD)
}

fn has_clone_flag(arguments: &[&str], flag: &str, bits: i64) -> bool {
    let first = arguments.first().and_then(|text| number(text));
    first.is_some_and(|flags| flags & bits != 0)
        || arguments.iter().any(|argument| argument.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_calls_that_wait_do() {
        for (call, expected) in [
            ("futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL", true),
            ("futex(0x1, FUTEX_WAKE_PRIVATE, 1", false),
            ("futex(0x1, 0x89, 0x0", true),
            ("futex(0x1, 0x81, 0x1", false),
            ("poll([{fd=3, events=POLLIN}], 1, -1", true),
            (
                "clone(child_stack=0x7f, flags=CLONE_VM|CLONE_VFORK|SIGCHLD",
                true,
            ),
            ("clone(child_stack=NULL, flags=SIGCHLD", false),
            ("clone(0x4100, 0x0, 0x0", true),
            ("read(3<pipe:[7]>, \"\", 1", true),
            ("read(3</etc/passwd>, \"\", 1", false),
            ("read(3, \"\", 1", false),
            ("close(3", false),
        ] {
            let (name, text) = call.split_once('(').unwrap();
            let arguments = arguments::split(text);
            let target = target(name, &arguments);
            assert_eq!(
                waits(name, &arguments, target.as_deref()),
                expected,
                "{call}"
            );
        }
    }

    #[test]
    fn bytes_come_from_the_result_or_an_argument() {
        for (name, text, status, expected) in [
            ("read", "3, \"x\", 5", Some(1), Some(1)),
            ("read", "3, 0x7f, 5", Some(-1), None),
            ("mmap", "NULL, 8192, PROT_READ", Some(0x7f00), Some(8192)),
            ("munmap", "0x7f, 0x2000", None, Some(8192)),
            ("mremap", "0x7f, 8, 16, 0", None, Some(16)),
            ("close", "3", Some(0), None),
        ] {
            let arguments = arguments::split(text);
            assert_eq!(bytes(name, &arguments, status), expected, "{name}({text})");
        }
    }
}
