//! The programs that are recorded: each makes calls that nothing else makes, so that they can be counted.

use std::ffi::CString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::turns;

/// Environment variable that selects the program that the test binary becomes.
pub const ROLE: &str = "TRUENO_TEST_CALLS";
pub const THREADS: usize = 4;
pub const WRITES: usize = 500;
pub const BYTES: usize = 10;
pub const TURNS: usize = 100;
pub const CODE: i32 = 7;

/// Entry point of the programs; does nothing in a normal test run.
#[test]
fn does_its_part() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    // A program that hangs is ended, and that is a fault.
    // SAFETY: a call with a number.
    unsafe { libc::alarm(1200) };
    match role.as_str() {
        "writes" => writes(),
        "becomes" => becomes(),
        "children" => children(),
        "errors" => errors(),
        "signals" => signals(),
        "is killed" => raise(libc::SIGTERM),
        "job control" => job_control(),
        "untraced child" => untraced_child(),
        "strict seccomp" => strict_seccomp(),
        "goes on" => goes_on(),
        "takes turns" => turns::locks(),
        "joins" => turns::joins(),
        "plays ball" => turns::pipes(),
        "speaks" => turns::sockets(),
        "sends signals" => turns::signals(),
        "waits in vain" => turns::waits_in_vain(),
        other => panic!("{other}"),
    }
    std::process::exit(CODE);
}

fn raise(signal: i32) {
    // SAFETY: a call with a number.
    unsafe { libc::raise(signal) };
}

fn write(descriptor: i32) {
    // SAFETY: the bytes are there.
    let written = unsafe { libc::write(descriptor, [0_u8; BYTES].as_ptr().cast(), BYTES) };
    assert_eq!(written, BYTES as isize);
}

fn open(path: &str) -> i32 {
    let path = CString::new(path).unwrap();
    // SAFETY: the path ends with a zero.
    unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT, 0o644) }
}

fn writes() {
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                let file = open(&format!("file {number}"));
                (0..WRITES).for_each(|_| write(file));
                // The same number is another file then.
                // SAFETY: it is open.
                unsafe { libc::close(file) };
            });
        }
    });
}

/// Runs another program by `exec`, from a thread other than the first, while others run.
fn becomes() {
    thread::spawn(|| {
        loop {
            thread::sleep(Duration::from_millis(1));
        }
    });
    let begun = thread::spawn(|| {
        let error = Command::new("sh")
            .args(["-c", "echo became; exit 9"])
            .exec();
        panic!("{error}");
    });
    let _ = begun.join();
}

fn children() {
    for _ in 0..3 {
        let status = Command::new("sh")
            .args(["-c", "sh -c 'exit 5'; exit $?"])
            .status();
        assert_eq!(status.unwrap().code(), Some(5));
    }
}

fn errors() {
    assert!(fs::metadata("not there").is_err());
    assert!(fs::read_dir("not there either").is_err());
    // SAFETY: no file is open under this number.
    assert_eq!(unsafe { libc::close(999) }, -1);
    // SAFETY: there is no such call.
    assert_eq!(unsafe { libc::syscall(4000) }, -1);
    // SAFETY: an address that is none is no fault of the caller's memory.
    let read = unsafe { libc::access(8 as *const libc::c_char, 0) };
    assert_eq!(read, -1);
}

extern "C" fn count(_: i32) {
    // SAFETY: allowed in a handler.
    unsafe { libc::write(1, b"signal\n".as_ptr().cast(), 7) };
}

fn signals() {
    // SAFETY: the handler does only what is allowed in one.
    unsafe { libc::signal(libc::SIGUSR1, count as *const () as libc::sighandler_t) };
    (0..5).for_each(|_| raise(libc::SIGUSR1));
}

fn job_control() {
    let mut child = Command::new("sh")
        .args(["-c", "kill -STOP $$; exit 5"])
        .spawn()
        .unwrap();
    let process = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    let found = unsafe { libc::waitpid(process, &mut status, libc::WUNTRACED) };
    assert_eq!(found, process);
    assert!(libc::WIFSTOPPED(status));
    assert_eq!(libc::WSTOPSIG(status), libc::SIGSTOP);
    assert!(child.try_wait().unwrap().is_none(), "it stays stopped");
    // SAFETY: a call with numbers.
    unsafe { libc::kill(process, libc::SIGCONT) };
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// A child that no tracer would follow.
fn untraced_child() {
    let flags = libc::CLONE_UNTRACED | libc::SIGCHLD;
    // SAFETY: as `fork`; the child makes system calls only.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if child == 0 {
        write(1);
        // SAFETY: ends the child.
        unsafe { libc::_exit(CODE) };
    }
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    let found = unsafe { libc::waitpid(child as libc::pid_t, &mut status, libc::__WALL) };
    assert_eq!(i64::from(found), child);
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == CODE,
        "{status}"
    );
}

/// Exits with 1 if its child cannot enter strict seccomp.
fn strict_seccomp() {
    // SAFETY: the child makes system calls only. In the end it may read, write and exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes numbers.
        unsafe {
            let got = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT);
            libc::syscall(libc::SYS_exit, i32::from(got != 0));
        }
    }
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WEXITSTATUS(status) != 0 {
        std::process::exit(1);
    }
}

/// Writes until the file `enough` exists; its recorder may be killed meanwhile.
fn goes_on() {
    let file = open("written");
    let mut writes = 0_u64;
    while !fs::exists("enough").unwrap() {
        write(file);
        writes += 1;
        fs::write("writes.new", writes.to_string()).unwrap();
        fs::rename("writes.new", "writes").unwrap();
    }
    fs::write("ended", "").unwrap();
}
