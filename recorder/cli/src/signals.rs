//! Signals while a program runs: those of the terminal reach it by themselves, others are passed on.

use std::ffi::{OsStr, c_int};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use clap::ValueEnum;
use trueno_tracer::caller_signals;

static CHILD: AtomicI32 = AtomicI32::new(0);
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);
static CONTROL_SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Signals that the terminal also sends to the program. We handle them instead of ignoring them, because a child
/// inherits ignored signals but not handlers.
const OF_TERMINAL: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];
const PASSED_ON: [c_int; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// Call before the program starts. Signals that the caller ignores stay ignored: `nohup trueno-record run …`
/// outlives its terminal.
pub fn prepare() {
    for signal in OF_TERMINAL {
        handle(signal, remember);
    }
    for signal in PASSED_ON {
        handle(signal, pass_on);
    }
}

/// Call before attaching to a process: signals end the recording, and the process goes on.
pub fn prepare_attached() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        handle(signal, remember);
    }
}

/// Signal that begins and ends a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlSignal {
    #[value(name = "USR1")]
    Usr1,
    #[value(name = "USR2")]
    Usr2,
}

impl ControlSignal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Usr1 => "USR1",
            Self::Usr2 => "USR2",
        }
    }

    fn number(self) -> c_int {
        match self {
            Self::Usr1 => libc::SIGUSR1,
            Self::Usr2 => libc::SIGUSR2,
        }
    }
}

/// Counts a signal from now on, even if the caller ignores it, instead of passing it on.
pub fn count(signal: ControlSignal) {
    set_handler(signal.number(), count_one);
}

/// How many have come.
pub fn control_signals() -> u32 {
    CONTROL_SIGNALS.load(Ordering::Acquire)
}

/// A command that starts with the signal dispositions that this process inherited.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let before = || {
        caller_signals::restore();
        Ok(())
    };
    // SAFETY: it makes system calls only.
    unsafe { command.pre_exec(before) };
    command
}

pub fn child(pid: u32) {
    CHILD.store(pid as i32, Ordering::Release);
}

/// Waits for the end of the program after its recording has ended.
pub fn wait_for(program: i32) -> Option<ExitStatus> {
    let status = trueno_processes::wait_for_child(program).ok();
    child(0);
    status
}

fn handle(signal: c_int, by: extern "C" fn(c_int)) {
    if !caller_signals::is_ignored(signal) {
        set_handler(signal, by);
    }
}

fn set_handler(signal: c_int, by: extern "C" fn(c_int)) {
    // SAFETY: all zeros is a valid action; the handlers do only what is allowed in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = by as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

pub fn was_asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Acquire)
}

extern "C" fn remember(_: c_int) {
    ASKED_TO_END.store(true, Ordering::Release);
}

extern "C" fn count_one(_: c_int) {
    CONTROL_SIGNALS.fetch_add(1, Ordering::Release);
}

extern "C" fn pass_on(signal: c_int) {
    if signal == libc::SIGTERM || signal == libc::SIGHUP {
        ASKED_TO_END.store(true, Ordering::Release);
    }
    let child = CHILD.load(Ordering::Acquire);
    if child > 0 {
        // SAFETY: allowed in a handler; takes numbers.
        unsafe { libc::kill(child, signal) };
    }
}

/// The exit code of a program. If a signal ended the program, the same signal ends this process.
pub fn end_as(status: ExitStatus) -> u8 {
    if let Some(code) = status.code() {
        return code as u8;
    }
    let signal = status.signal().unwrap_or(libc::SIGKILL);
    // SAFETY: takes numbers and a struct that is valid for the call. Its core is the interesting one.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    128u8.saturating_add(signal as u8)
}
