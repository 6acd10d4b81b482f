//! Signals as the caller of this process set them: the standard library ignores SIGPIPE before `main`, and a program
//! that is started here must not notice.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

#[derive(Clone, Copy)]
struct CallerSignals {
    ignored: u64,
    blocked: libc::sigset_t,
}

static CALLER: OnceLock<CallerSignals> = OnceLock::new();

/// Runs before the standard library does.
#[used]
// SAFETY: a pointer to a function that a loader may call: it takes nothing and does not unwind.
#[unsafe(link_section = ".init_array")]
static READ: extern "C" fn() = read;

extern "C" fn read() {
    let mut blocked = MaybeUninit::zeroed();
    // SAFETY: takes numbers and fills the set; a set of zeros is valid too.
    let blocked = unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), blocked.as_mut_ptr());
        blocked.assume_init()
    };
    let ignored = signals().filter(|signal| is_ignored(*signal));
    let _ = CALLER.set(CallerSignals {
        ignored: ignored.fold(0, |bits, signal| bits | 1 << (signal - 1)),
        blocked,
    });
}

fn signals() -> impl Iterator<Item = c_int> {
    (1..=64).filter(|signal| !matches!(*signal, libc::SIGKILL | libc::SIGSTOP))
}

pub fn is_ignored(signal: c_int) -> bool {
    // SAFETY: an all-zero `sigaction` is a valid value of a plain C struct, and a null new action only asks.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Restores the caller's ignored and blocked signals. For a child between fork and exec, which resets handlers
/// itself: only makes system calls.
pub fn restore() {
    let Some(caller) = CALLER.get() else { return };
    for signal in signals() {
        let was_ignored = caller.ignored & 1 << (signal - 1) != 0;
        let action = match (was_ignored, is_ignored(signal)) {
            (true, false) => libc::SIG_IGN,
            (false, true) => libc::SIG_DFL,
            _ => continue,
        };
        // SAFETY: takes numbers; the two that the C library keeps for itself are refused.
        unsafe { libc::signal(signal, action) };
    }
    // SAFETY: a valid set; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &caller.blocked, std::ptr::null_mut()) };
}
