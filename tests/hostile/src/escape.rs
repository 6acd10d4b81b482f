//! Ways out of a process, each tried: a sandboxed plugin finds none.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;

use trueno_plugin::{Result, Run, Table};

/// Name of an escape route, and an attempt that returns true if it is open.
type Way = (&'static str, fn() -> bool);

/// Tries every route, and emits which are open.
pub fn try_all(run: &mut Run) -> Result<()> {
    let all = [&FILES[..], &PROCESSES, &NETWORK, &RIGHTS, &KERNEL].concat();
    let open: Vec<bool> = all.iter().map(|(_, way)| way()).collect();
    let thread = std::thread::spawn(|| 1).join().is_ok();
    run.emit(
        Table::build("ways")
            .text(
                "way",
                all.iter().map(|(name, _)| *name).chain(["start a thread"]),
            )
            .bool("open", open.into_iter().chain([thread])),
    )
}

const FILES: [Way; 15] = [
    ("read a file of the system", || {
        std::fs::read("/etc/passwd").is_ok()
    }),
    ("list the root", || std::fs::read_dir("/").is_ok()),
    ("read the mounts", || {
        std::fs::read("/proc/self/mountinfo").is_ok()
    }),
    ("make a file", || {
        let folders = [
            "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/run", ".",
        ];
        folders.iter().any(|folder| {
            let name = format!("trueno-escape-{}", std::process::id());
            let path = PathBuf::from(folder).join(name);
            let made = File::create(&path).is_ok();
            let _ = std::fs::remove_file(path);
            made
        })
    }),
    ("write to a device", || {
        OpenOptions::new().write(true).open("/dev/null").is_ok()
    }),
    ("change the mode of a file", || {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions("/tmp/trueno-escape", mode)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }),
    ("make a folder", || {
        std::fs::create_dir("/tmp/trueno-escape/none/none")
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }),
    ("remove a file", || {
        std::fs::remove_file("/tmp/trueno-escape/none")
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }),
    ("make a link", || {
        std::os::unix::fs::symlink("/etc", "/tmp/trueno-escape/none")
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }),
    ("cut a file", || {
        // SAFETY: a path that is not there.
        unsafe { libc::truncate(c"/tmp/trueno-escape/none".as_ptr(), 0) };
        last_error() == libc::ENOENT
    }),
    ("go to another folder", || {
        std::env::set_current_dir("/tmp").is_ok()
    }),
    ("watch a folder", || {
        // SAFETY: makes a file, which is closed again.
        unsafe {
            let file = libc::inotify_init1(0);
            file >= 0 && libc::close(file) == 0
        }
    }),
    ("make a file of memory", || {
        // SAFETY: a name ended by a null byte.
        unsafe {
            let file = libc::memfd_create(c"escape".as_ptr(), 0);
            file >= 0 && libc::close(file) == 0
        }
    }),
    ("find a file of whoever started the analyzer", || {
        // SAFETY: asks for the flags of a number that may be no open file.
        (3..16).any(|file| unsafe { libc::fcntl(file, libc::F_GETFD) } >= 0)
    }),
    ("make an open file longer", || {
        (16..64).any(|file| {
            // SAFETY: a number that may be no open file; one byte is added at its end.
            unsafe {
                let end = libc::lseek(file, 0, libc::SEEK_END);
                end > 0 && libc::ftruncate(file, end + 1) == 0
            }
        })
    }),
];

const PROCESSES: [Way; 16] = [
    ("see the environment", || {
        std::env::vars_os().any(|(name, _)| name != "LD_LIBRARY_PATH")
    }),
    ("see the environment of its parent", || {
        of_parent("environ").is_ok()
    }),
    ("see the command line of its parent", || {
        of_parent("cmdline").is_ok()
    }),
    ("open the memory of its parent", || of_parent("mem").is_ok()),
    ("list the files of its parent", || {
        // SAFETY: a call without arguments.
        let parent = unsafe { libc::getppid() };
        std::fs::read_dir(format!("/proc/{parent}/fd")).is_ok()
    }),
    ("read the memory of its parent", || {
        let mut byte = 0_u8;
        let into = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let from = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(4096),
            iov_len: 1,
        };
        // SAFETY: one byte is read into a variable, from an address that is not there.
        unsafe {
            libc::process_vm_readv(libc::getppid(), &raw const into, 1, &raw const from, 1, 0)
        };
        last_error() == libc::EFAULT
    }),
    ("start a program", || {
        Command::new("/bin/true").status().is_ok()
    }),
    ("become a program", || {
        let path = CString::new("/bin/does-not-exist").unwrap_or_default();
        // SAFETY: a path and an empty list, both ended by a null pointer or byte.
        unsafe { libc::execv(path.as_ptr(), [std::ptr::null()].as_ptr()) };
        last_error() != libc::EPERM
    }),
    ("fork", || {
        // SAFETY: the child ends at once.
        unsafe {
            match libc::fork() {
                0 => libc::_exit(0),
                child => child > 0 && libc::waitpid(child, std::ptr::null_mut(), 0) == child,
            }
        }
    }),
    ("fork by its older name", || forks(57)),
    // Numbers of another interface of the same processor, which filters by number forget.
    ("fork by a number of x32", || forks(57 | 0x4000_0000)),
    ("signal its parent", || {
        // SAFETY: signal 0 only asks whether it could be sent.
        unsafe { libc::kill(libc::getppid(), 0) == 0 }
    }),
    ("signal everybody", || {
        // SAFETY: as before.
        unsafe { libc::kill(-1, 0) == 0 }
    }),
    ("hold its parent", || {
        // SAFETY: the new file, if there is one, is closed again.
        unsafe {
            let file = libc::syscall(libc::SYS_pidfd_open, libc::getppid(), 0);
            file >= 0 && libc::close(i32::try_from(file).unwrap_or(-1)) == 0
        }
    }),
    ("look into its parent", || {
        // SAFETY: attaches without stopping it; undone by this process's end.
        unsafe { libc::ptrace(libc::PTRACE_SEIZE, libc::getppid(), 0, 0) == 0 }
    }),
    ("outlive its parent", || {
        let mut signal = 0;
        // SAFETY: calls with numbers, and a variable that lives for the call.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, 0) == 0
                || libc::setsid() >= 0
                || libc::setpgid(0, 0) == 0
                || (libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) == 0
                    && signal != libc::SIGKILL)
        }
    }),
];

const NETWORK: [Way; 5] = [
    ("make a socket", || UdpSocket::bind("127.0.0.1:0").is_ok()),
    ("make a local socket", || UnixDatagram::unbound().is_ok()),
    ("ask the kernel by a socket", || {
        opens(libc::SYS_socket, [16, 3, 0])
    }),
    ("share memory with others", || {
        // SAFETY: asks for a piece of one page, which is marked to go.
        unsafe {
            let piece = libc::shmget(libc::IPC_PRIVATE, 4096, 0o600);
            piece >= 0 && libc::shmctl(piece, libc::IPC_RMID, std::ptr::null_mut()) == 0
        }
    }),
    ("make a queue", || {
        // SAFETY: asks for a queue, which is taken away again.
        unsafe {
            let queue = libc::msgget(libc::IPC_PRIVATE, 0o600);
            queue >= 0 && libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut()) == 0
        }
    }),
];

const RIGHTS: [Way; 9] = [
    ("raise its memory limit", || {
        sets_limit(0, libc::RLIMIT_AS, u64::MAX)
    }),
    ("raise its limit of processor time", || {
        sets_limit(0, libc::RLIMIT_CPU, u64::MAX)
    }),
    ("work without a limit of processor time", || {
        limit(libc::RLIMIT_CPU) == u64::MAX
    }),
    ("open files without end", || {
        limit(libc::RLIMIT_NOFILE) > 256
    }),
    ("set limits of its parent", || {
        // SAFETY: a call without arguments.
        sets_limit(unsafe { libc::getppid() }, libc::RLIMIT_CORE, 0)
    }),
    ("become another user", || {
        // SAFETY: a call with a number. Nobody else's thread sees it.
        unsafe { libc::syscall(libc::SYS_setresuid, -1, -1, -1) == 0 }
    }),
    ("make a namespace", || {
        // SAFETY: a call with a number.
        unsafe { libc::unshare(libc::CLONE_NEWUTS) == 0 }
    }),
    ("have rights of an administrator", || {
        let status = std::fs::read_to_string("/proc/thread-self/status")
            .or_else(|_| std::fs::read_to_string("/proc/self/status"));
        let rights = status.iter().flat_map(|text| text.lines());
        let rights = rights.filter_map(|line| line.strip_prefix("CapEff:"));
        // The right to read is kept: the files are another part's affair.
        rights
            .filter_map(|rights| u64::from_str_radix(rights.trim(), 16).ok())
            .any(|rights| rights & !(1 << 2) != 0)
    }),
    ("slow its user's processes down", || {
        // SAFETY: a call with numbers; the value is the one that they have.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, libc::getppid().cast_unsigned(), 0) == 0 }
    }),
];

const KERNEL: [Way; 9] = [
    ("set up io_uring", || {
        let mut parameters = [0_u64; 32];
        let at = parameters.as_mut_ptr() as usize as i64;
        opens(libc::SYS_io_uring_setup, [1, at, 0])
    }),
    ("count events of the processor", || {
        // A counter of software: the time of the task.
        let mut event = [0_u64; 16];
        event[0] = 1 | 128 << 32;
        event[1] = 1;
        let at = event.as_mut_ptr() as usize as i64;
        // SAFETY: a struct of 128 bytes that lives for the call; the new file is closed again.
        unsafe {
            let file = libc::syscall(libc::SYS_perf_event_open, at, 0, -1, -1, 0);
            file >= 0 && libc::close(i32::try_from(file).unwrap_or(-1)) == 0
        }
    }),
    ("use the kernel's keys", || {
        // The id of the process's own ring, not made where it is not there.
        // SAFETY: calls with numbers.
        unsafe { libc::syscall(libc::SYS_keyctl, 0, -2, 0) >= 0 || last_error() == libc::ENOKEY }
    }),
    ("load a program into the kernel", || {
        // SAFETY: a call with numbers and nothing to read.
        unsafe { libc::syscall(libc::SYS_bpf, 0, 0, 0) };
        last_error() == libc::EINVAL || last_error() == libc::EFAULT
    }),
    ("handle its own page faults", || {
        opens(libc::SYS_userfaultfd, [1, 0, 0])
    }),
    ("compare processes", || {
        // SAFETY: calls with numbers.
        unsafe {
            let (me, parent) = (libc::getpid(), libc::getppid());
            libc::syscall(libc::SYS_kcmp, me, parent, 1, 0, 0) >= 0
        }
    }),
    ("be told by the kernel of its parent", || {
        // SAFETY: calls with the number of a file that is open.
        unsafe { libc::fcntl(0, libc::F_SETOWN, libc::getppid()) == 0 }
    }),
    ("type into a terminal", || {
        // SAFETY: one byte that lives for the call; file 0 is no terminal.
        unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) };
        last_error() != libc::EPERM
    }),
    ("read the kernel's log", || {
        // SAFETY: asks for a size.
        unsafe { libc::klogctl(10, std::ptr::null_mut(), 0) >= 0 }
    }),
];

fn of_parent(file: &str) -> std::io::Result<File> {
    // SAFETY: a call without arguments.
    let parent = unsafe { libc::getppid() };
    File::open(format!("/proc/{parent}/{file}"))
}

fn forks(number: i64) -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    // SAFETY: a fork, whose child ends at once.
    unsafe {
        match libc::syscall(number) {
            0 => libc::_exit(0),
            child => {
                let child = i32::try_from(child).unwrap_or(-1);
                child > 0 && libc::waitpid(child, std::ptr::null_mut(), 0) == child
            }
        }
    }
}

/// True if a system call succeeds in opening a file, which is then closed.
fn opens(call: i64, [a, b, c]: [i64; 3]) -> bool {
    // SAFETY: the callers give numbers, or places that live for the call.
    unsafe {
        let file = libc::syscall(call, a, b, c);
        file >= 0 && libc::close(i32::try_from(file).unwrap_or(-1)) == 0
    }
}

fn limit(what: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct lives for the call.
    unsafe { libc::getrlimit(what, &raw mut limit) };
    limit.rlim_max
}

/// Tries to set a limit. Another process keeps the limit it has.
fn sets_limit(process: i32, what: libc::__rlimit_resource_t, value: u64) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: value,
        rlim_max: value,
    };
    // SAFETY: the struct lives for the calls.
    unsafe {
        if process != 0 && libc::prlimit(process, what, std::ptr::null(), &raw mut limit) != 0 {
            return false;
        }
        libc::prlimit(process, what, &raw const limit, std::ptr::null_mut()) == 0
    }
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
