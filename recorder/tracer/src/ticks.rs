//! A signal many times a second, so that waiting for a traced thread is interrupted.

use std::ffi::c_int;
use std::ptr;

/// Interval between signals, in microseconds.
const EVERY_US: libc::suseconds_t = 20_000;

pub(crate) struct Ticks;

impl Ticks {
    pub fn start() -> Self {
        // SAFETY: all zeros is a valid action; the handler does nothing. It does not restart calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as *const () as usize;
            libc::sigaction(libc::SIGALRM, &action, ptr::null_mut());
        }
        set(EVERY_US);
        Self
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        set(0);
    }
}

extern "C" fn ignore(_: c_int) {}

fn set(every_us: libc::suseconds_t) {
    let every = libc::timeval {
        tv_sec: 0,
        tv_usec: every_us,
    };
    let timer = libc::itimerval {
        it_interval: every,
        it_value: every,
    };
    // SAFETY: the struct is valid for the call; the old one is not asked for.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut()) };
}
