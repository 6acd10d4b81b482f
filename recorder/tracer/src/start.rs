//! The start of a traced program.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

use libc::{c_char, pid_t, sock_filter};

use crate::{Error, caller_signals, filter, ptrace};

/// Starts a traced program that is stopped before its first instruction. With a filter, only the selected calls
/// stop it, and it is killed when this process dies, because those calls would fail without a tracer.
pub(crate) fn start(command: &[OsString], calls: Option<&[u32]>) -> Result<Started, Error> {
    let program = command.first().ok_or(Error::NoProgram)?;
    let words: Vec<CString> = command
        .iter()
        .map(|word| CString::new(word.as_bytes()))
        .collect::<Result<_, _>>()
        .map_err(|_| not_started(program, io::ErrorKind::InvalidInput.into()))?;
    let mut arguments: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    arguments.push(std::ptr::null());
    let program_of_filter = calls.map(filter::program);
    // Closed by the exec; until then it carries the reason why there is none.
    let (mut reason, child_reason) = io::pipe().map_err(Error::Trace)?;
    // SAFETY: this process has one thread; the child calls nothing but system calls, and exec's search of the path.
    let process = match unsafe { libc::fork() } {
        -1 => return Err(Error::Trace(io::Error::last_os_error())),
        0 => {
            let (error, step) = child(&arguments, program_of_filter.as_deref());
            let number = error.raw_os_error().unwrap_or(libc::EIO);
            let told = [number, step as i32].map(i32::to_ne_bytes);
            let _ = (&child_reason).write_all(told.as_flattened());
            // SAFETY: ends the child without what the parent has left to do.
            unsafe { libc::_exit(127) }
        }
        process => process,
    };
    drop(child_reason);
    let stopped = ptrace::wait_for_stop(process).map_err(Error::Trace)?;
    if !stopped {
        return Err(Error::Trace(io::ErrorKind::UnexpectedEof.into()));
    }
    if let Err(error) = ptrace::seize(process, calls.is_some()) {
        // SAFETY: takes numbers. It waits, stopped, for nothing.
        unsafe { libc::kill(process, libc::SIGKILL) };
        let _ = ptrace::wait_for_end(process);
        return Err(Error::Forbidden(error));
    }
    // SAFETY: takes numbers.
    unsafe { libc::kill(process, libc::SIGCONT) };
    set_nonblocking(&reason);
    let program = program.clone();
    let why = move || {
        let mut told = [[0; 4]; 2];
        reason.read_exact(told.as_flattened_mut()).ok()?;
        let [number, step] = told.map(i32::from_ne_bytes);
        let error = io::Error::from_raw_os_error(number);
        Some(if step == Step::Filter as i32 {
            Error::NoFilter(error)
        } else {
            not_started(&program, error)
        })
    };
    Ok(Started {
        process,
        why: Box::new(why),
    })
}

/// Checks whether programs can be traced here, with a process that ends at once.
///
/// # Errors
/// [`Error::Forbidden`]: they cannot.
pub fn check() -> Result<(), Error> {
    // SAFETY: the child calls nothing but system calls.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(Error::Trace(io::Error::last_os_error())),
        // SAFETY: take numbers; the second ends the child without what the parent has left to do.
        0 => unsafe {
            libc::raise(libc::SIGSTOP);
            libc::_exit(0)
        },
        child => child,
    };
    let stopped = ptrace::wait_for_stop(child).map_err(Error::Trace)?;
    let traced = ptrace::seize(child, true).map_err(Error::Forbidden);
    // SAFETY: takes numbers.
    unsafe { libc::kill(child, libc::SIGKILL) };
    if stopped {
        ptrace::wait_for_end(child).map_err(Error::Trace)?;
    }
    traced
}

pub(crate) struct Started {
    pub process: pid_t,
    pub why: Box<dyn FnMut() -> Option<Error>>,
}

fn not_started(program: &OsStr, error: io::Error) -> Error {
    Error::NotStarted {
        program: program.to_owned(),
        error,
    }
}

#[derive(Clone, Copy)]
enum Step {
    Filter,
    Program,
}

/// Runs in the child. Returns why the program did not start.
fn child(arguments: &[*const c_char], filter: Option<&[sock_filter]>) -> (io::Error, Step) {
    // SAFETY: takes numbers; the parent lets it go on.
    unsafe { libc::raise(libc::SIGSTOP) };
    if let Some(Err(error)) = filter.map(filter::install) {
        return (error, Step::Filter);
    }
    caller_signals::restore();
    // SAFETY: texts and the list end with zeros.
    unsafe { libc::execvp(arguments[0], arguments.as_ptr()) };
    (io::Error::last_os_error(), Step::Program)
}

fn set_nonblocking(pipe: &io::PipeReader) {
    // SAFETY: takes numbers; the descriptor is open.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
}
