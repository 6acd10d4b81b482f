//! Ends that a process puts off, brings about, or hides.

use std::time::Duration;

use trueno_plugin::{Error, Result, Run, Table};

use crate::sin;

pub fn ignore_signals() -> Result<()> {
    // SAFETY: calls with numbers and a set that lives for the calls.
    unsafe {
        for signal in 1..65 {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    for_ever()
}

/// Forks until no more processes can be created. Each child does the same.
pub fn fork_without_end() -> Result<()> {
    loop {
        // SAFETY: the child runs on in a copy of this process.
        if unsafe { libc::fork() } < 0 {
            return Err(Error::failed("no more forks"));
        }
    }
}

/// Leaves a grandchild in its own session, which would hold the pipes open.
pub fn leave_a_daemon(run: &mut Run) -> Result<()> {
    // SAFETY: children end, or sleep, without coming back here.
    unsafe {
        match libc::fork() {
            -1 => return Err(Error::failed("no daemon can be had")),
            0 => {
                libc::setsid();
                if libc::fork() == 0 {
                    libc::sleep(3600);
                }
                libc::_exit(0)
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
    sin::behave(run)
}

/// Returns twice from one call.
pub fn return_twice(run: &mut Run) -> Result<()> {
    // SAFETY: the child runs on in a copy of this process.
    if unsafe { libc::fork() } < 0 {
        return Err(Error::failed("nobody comes back twice"));
    }
    sin::behave(run)
}

/// Kills the process that waits for it.
pub fn kill_parent() -> Result<()> {
    // SAFETY: calls with numbers.
    unsafe {
        let parent = libc::getppid();
        libc::kill(parent, libc::SIGKILL);
        libc::syscall(libc::SYS_tgkill, parent, parent, libc::SIGKILL);
        libc::syscall(libc::SYS_tkill, parent, libc::SIGKILL);
        let parent = libc::syscall(libc::SYS_pidfd_open, parent, 0);
        libc::syscall(libc::SYS_pidfd_send_signal, parent, libc::SIGKILL, 0, 0);
    }
    Err(Error::failed("it lives"))
}

/// Kills its process group. Without a group of its own, that would be the analyzer's.
pub fn kill_group() -> Result<()> {
    // SAFETY: a call with numbers.
    unsafe { libc::kill(0, libc::SIGKILL) };
    Err(Error::failed("it lives"))
}

/// Ends its first thread while another one continues.
pub fn lose_the_first_thread() -> Result<()> {
    std::thread::spawn(for_ever);
    // SAFETY: ends this thread alone, whose stack stays.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    Ok(())
}

pub fn deadlock() -> Result<()> {
    // SAFETY: both calls get a lock that lives for them; the second never comes back.
    unsafe {
        let mut lock = libc::PTHREAD_MUTEX_INITIALIZER;
        libc::pthread_mutex_lock(&raw mut lock);
        libc::pthread_mutex_lock(&raw mut lock);
    }
    Ok(())
}

pub fn close_and_sleep() -> Result<()> {
    for file in 0..1024 {
        // SAFETY: deliberately not: the files are the host's.
        unsafe { libc::close(file) };
    }
    sleep_for_ever()
}

pub fn sleep_for_ever() -> Result<()> {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Loops on eight threads, which may be more than there are cores.
pub fn burn() -> Result<()> {
    for _ in 0..7 {
        std::thread::spawn(for_ever);
    }
    for_ever()
}

fn for_ever() -> Result<()> {
    loop {
        std::hint::spin_loop();
    }
}

pub fn raise(signal: i32) -> Result<()> {
    // SAFETY: calls with numbers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    Err(Error::failed("it lives"))
}

/// Ends by an alarm that it set itself.
pub fn set_an_alarm() -> Result<()> {
    // SAFETY: a call with a number.
    unsafe { libc::alarm(1) };
    sleep_for_ever()
}

pub fn loop_at_exit(run: &mut Run) -> Result<()> {
    extern "C" fn endless() {
        let _ = for_ever();
    }
    // SAFETY: a function of a library that is never unloaded.
    unsafe { libc::atexit(endless) };
    sin::behave(run)
}

/// Exits from another thread, after a good table.
pub fn exit_from_a_thread(run: &mut Run) -> Result<()> {
    run.emit(Table::build("before").i64("x", [1]))?;
    std::thread::spawn(|| std::process::exit(3));
    sleep_for_ever()
}

/// Leaves a thread running after the run.
pub fn leave_a_thread(run: &mut Run) -> Result<()> {
    std::thread::spawn(for_ever);
    sin::behave(run)
}

/// Leaves a thread that keeps writing after the run. It waits for the first write, since the analyzer may end
/// before the next.
pub fn write_late(run: &mut Run) -> Result<()> {
    sin::behave(run)?;
    let (say_begun, begun) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        loop {
            eprint!("late{}", sin::ESCAPES);
            let _ = say_begun.send(());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    begun
        .recv()
        .map_err(|error| Error::failed(error.to_string()))
}

/// Makes a 32-bit system call. A filter that only knows 64-bit numbers would take it for another call.
pub fn call_as_32_bits() -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `getpid` in the numbers of 32 bits, which changes the result register alone.
    unsafe {
        std::arch::asm!("int 0x80", inout("eax") 20 => _);
    }
    Err(Error::failed("the kernel took it"))
}
