//! A limit of file sizes (`ulimit -f`) as an error and no more: the system also sends `SIGXFSZ`, which ends a program.

use std::mem::MaybeUninit;

/// Does it with the signal held back on this thread, and forgets one that came: the write has failed with `EFBIG`.
pub fn without<T>(write: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are initialised by the calls that fill them, and live for those that read them.
    unsafe {
        let mut signal = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(signal.as_mut_ptr());
        libc::sigaddset(signal.as_mut_ptr(), libc::SIGXFSZ);
        if libc::pthread_sigmask(libc::SIG_BLOCK, signal.as_ptr(), before.as_mut_ptr()) != 0 {
            return write();
        }
        let is_held = libc::sigismember(before.as_ptr(), libc::SIGXFSZ) == 1;
        let done = write();
        if !is_held {
            libc::sigemptyset(pending.as_mut_ptr());
            libc::sigpending(pending.as_mut_ptr());
            if libc::sigismember(pending.as_ptr(), libc::SIGXFSZ) == 1 {
                let now = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                libc::sigtimedwait(signal.as_ptr(), std::ptr::null_mut(), &now);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
        done
    }
}
