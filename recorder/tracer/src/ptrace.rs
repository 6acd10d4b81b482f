//! The system's calls for tracing, each with its errors.

use std::io;
use std::mem;
use std::ptr;

use libc::{c_int, c_long, c_uint, c_void, pid_t};

use crate::order::SignalInfo;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has ended with this exit code.
    Exited(c_int),
    Killed(c_int),
    /// It is at the beginning or end of a system call.
    Call,
    Filtered,
    Began,
    Exec,
    Ending,
    /// It was stopped by job control with this signal, and stays stopped.
    JobStop(c_int),
    /// Tracing has begun, or a job control stop has ended.
    Attached,
    /// A signal is about to be delivered.
    Signal(c_int),
}

impl Event {
    fn new(status: c_int) -> Self {
        if libc::WIFEXITED(status) {
            return Self::Exited(libc::WEXITSTATUS(status));
        }
        if libc::WIFSIGNALED(status) {
            return Self::Killed(libc::WTERMSIG(status));
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => Self::Filtered,
            libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                Self::Began
            }
            libc::PTRACE_EVENT_EXEC => Self::Exec,
            libc::PTRACE_EVENT_EXIT => Self::Ending,
            libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Self::Attached,
            libc::PTRACE_EVENT_STOP => Self::JobStop(signal),
            _ if signal == libc::SIGTRAP | 0x80 => Self::Call,
            _ => Self::Signal(signal),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Until the filter or something else stops it.
    Run,
    /// Until the next beginning or end of a call.
    UntilCall,
    /// Leaves it stopped by job control.
    Listen,
}

pub(crate) enum Waited {
    Event(pid_t, Event),
    NoneLeft,
    /// `is_over` returned true before anything else happened.
    Over,
}

/// Waits for the next event of any traced thread. Calls `is_over` whenever a signal interrupts.
pub(crate) fn wait(is_over: &dyn Fn() -> bool) -> io::Result<Waited> {
    loop {
        match wait_any(0) {
            Ok(Some((thread, event))) => return Ok(Waited::Event(thread, event)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if is_over() {
                    return Ok(Waited::Over);
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                return Ok(Waited::NoneLeft);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The next event of any traced thread, if there is one already.
pub(crate) fn poll() -> Option<(pid_t, Event)> {
    // What failed here fails again where it is waited for.
    wait_any(libc::WNOHANG).ok().flatten()
}

fn wait_any(flags: c_int) -> io::Result<Option<(pid_t, Event)>> {
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    match unsafe { libc::waitpid(-1, &mut status, libc::__WALL | flags) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        thread => Ok(Some((thread, Event::new(status)))),
    }
}

/// Waits until an untraced child has stopped itself. False if it has ended.
pub(crate) fn wait_for_stop(child: pid_t) -> io::Result<bool> {
    loop {
        let mut status = 0;
        // SAFETY: the status is valid for the call.
        if unsafe { libc::waitpid(child, &mut status, libc::WUNTRACED) } == child {
            return Ok(libc::WIFSTOPPED(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

pub(crate) fn wait_for_end(child: pid_t) -> io::Result<()> {
    loop {
        let mut status = 0;
        // SAFETY: the status is valid for the call.
        if unsafe { libc::waitpid(child, &mut status, libc::__WALL) } == child {
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                return Ok(());
            }
            // Also one that was killed says that it is about to end.
            resume(child, Resume::Run, 0)?;
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;

/// Starts tracing a process and its descendants. With a filter, it is killed when this process dies.
pub(crate) fn seize(process: pid_t, has_filter: bool) -> io::Result<()> {
    let options = if has_filter {
        OPTIONS | libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL
    } else {
        OPTIONS
    };
    // SAFETY: this request takes numbers.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0_usize, options as usize) })
}

pub(crate) fn interrupt(thread: pid_t) {
    // SAFETY: this request takes numbers.
    unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, thread, 0_usize, 0_usize) };
}

/// Detaches from a stopped thread, and delivers a pending signal. A thread stopped by job control stays stopped.
pub(crate) fn detach(thread: pid_t, signal: c_int) {
    // It may be gone meanwhile.
    // SAFETY: this request takes numbers.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, thread, 0_usize, signal as usize) };
}

/// Resumes a stopped thread. It is no error if the thread has ended.
pub(crate) fn resume(thread: pid_t, how: Resume, signal: c_int) -> io::Result<()> {
    let request: c_uint = match how {
        Resume::Run => libc::PTRACE_CONT,
        Resume::UntilCall => libc::PTRACE_SYSCALL,
        Resume::Listen => libc::PTRACE_LISTEN,
    };
    // SAFETY: these requests take numbers.
    match check(unsafe { libc::ptrace(request, thread, 0_usize, signal as usize) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        done => done,
    }
}

/// Number of the new thread or process, or, after an exec, the thread's previous number.
pub(crate) fn event_message(thread: pid_t) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the request writes one number, which is there.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, 0_usize, &raw mut message) };
    check(done).map(|()| message)
}

pub(crate) fn signal(thread: pid_t) -> Option<SignalInfo> {
    // SAFETY: all zeros is a valid value of it.
    let mut told: libc::siginfo_t = unsafe { mem::zeroed() };
    // SAFETY: the request writes one of these, which is there.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, thread, 0_usize, &raw mut told) };
    check(done).ok()?;
    // SAFETY: numbers, zero in those that have no process.
    let process = unsafe { told.si_pid() };
    Some(SignalInfo {
        signal: told.si_signo,
        code: told.si_code,
        process,
    })
}

/// Sets the first argument of the call at whose beginning a thread stopped.
pub(crate) fn set_first_argument(thread: pid_t, value: u64) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of it.
    let mut registers: libc::user_regs_struct = unsafe { mem::zeroed() };
    let mut part = libc::iovec {
        iov_base: (&raw mut registers).cast(),
        iov_len: size_of::<libc::user_regs_struct>(),
    };
    let general = libc::NT_PRSTATUS as usize;
    // SAFETY: the request writes one of these, which is there.
    let got = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread, general, &raw mut part) };
    check(got)?;
    #[cfg(target_arch = "x86_64")]
    {
        registers.rdi = value;
    }
    #[cfg(target_arch = "aarch64")]
    {
        registers.regs[0] = value;
    }
    part.iov_base = (&raw mut registers).cast();
    // SAFETY: the request reads one of these, which is there.
    check(unsafe { libc::ptrace(libc::PTRACE_SETREGSET, thread, general, &raw mut part) })
}

pub(crate) enum Call {
    /// At its beginning: number, arguments, and whether it is of the native table.
    Entry {
        number: u64,
        arguments: [u64; 6],
        /// False for a call of the 32-bit table.
        is_native: bool,
    },
    Exit {
        /// Errors are negative.
        result: i64,
        is_error: bool,
    },
}

/// The call at which a thread stopped. `None` if there is none or the thread has ended.
pub(crate) fn call(thread: pid_t) -> Option<Call> {
    // SAFETY: all zeros is a valid value of it.
    let mut info: libc::ptrace_syscall_info = unsafe { mem::zeroed() };
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the request writes at most that many bytes.
    let got = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            thread,
            size,
            ptr::from_mut(&mut info).cast::<c_void>(),
        )
    };
    if got <= 0 {
        return None;
    }
    let is_native = info.arch == NATIVE;
    match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY | libc::PTRACE_SYSCALL_INFO_SECCOMP => {
            // SAFETY: the kernel has filled this member in; a stop of the filter begins with the same.
            let entry = unsafe { info.u.entry };
            Some(Call::Entry {
                number: entry.nr,
                arguments: entry.args,
                is_native,
            })
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: the kernel has filled this member in.
            let exit = unsafe { info.u.exit };
            Some(Call::Exit {
                result: exit.sval,
                is_error: exit.is_error != 0,
            })
        }
        _ => None,
    }
}

/// Audit architecture of native calls.
#[cfg(target_arch = "x86_64")]
pub(crate) const NATIVE: u32 = 0xC000_003E;
/// Audit architecture of native calls.
#[cfg(target_arch = "aarch64")]
pub(crate) const NATIVE: u32 = 0xC000_00B7;

fn check(done: c_long) -> io::Result<()> {
    match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
