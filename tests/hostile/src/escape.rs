//! Ways out of a process, each tried: a sandboxed plugin finds none.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use trueno_plugin::{Result, Run, Table};

/// Name of a way, and the try: true if it is open.
type Way = (&'static str, fn() -> bool);

/// Tries all, and tells which are open.
pub fn try_all(run: &mut Run) -> Result<()> {
    let ways: [Way; 14] = [
        ("read a file of the system", || {
            std::fs::read("/etc/passwd").is_ok()
        }),
        ("list the root", || std::fs::read_dir("/").is_ok()),
        ("make a file", || {
            let path = std::env::temp_dir().join(format!("trueno-escape-{}", std::process::id()));
            let made = File::create(&path).is_ok();
            let _ = std::fs::remove_file(path);
            made
        }),
        ("write to a device", || {
            OpenOptions::new().write(true).open("/dev/null").is_ok()
        }),
        ("change the mode of a file", || {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions("/tmp/trueno-escape", mode)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        }),
        ("see the environment", || {
            std::env::vars_os().any(|(name, _)| name != "LD_LIBRARY_PATH")
        }),
        ("make a socket", || UdpSocket::bind("127.0.0.1:0").is_ok()),
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
        ("signal its parent", || {
            // SAFETY: signal 0 only asks whether it could be sent.
            unsafe { libc::kill(libc::getppid(), 0) == 0 }
        }),
        ("look into its parent", || {
            // SAFETY: attaches without stopping it; undone by this process's end.
            unsafe { libc::ptrace(libc::PTRACE_SEIZE, libc::getppid(), 0, 0) == 0 }
        }),
        ("outlive its parent", || {
            // SAFETY: calls with numbers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) == 0 || libc::setsid() >= 0 }
        }),
        ("find a file of whoever started the analyzer", || {
            // SAFETY: asks for the flags of a number that may be no open file.
            (3..16).any(|file| unsafe { libc::fcntl(file, libc::F_GETFD) } >= 0)
        }),
    ];
    let open: Vec<bool> = ways.iter().map(|(_, way)| way()).collect();
    let thread = std::thread::spawn(|| 1).join().is_ok();
    run.emit(
        Table::build("ways")
            .text(
                "way",
                ways.iter().map(|(name, _)| *name).chain(["start a thread"]),
            )
            .bool("open", open.into_iter().chain([thread])),
    )
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
