//! Threads of this library, and numbers of the program's.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::thread;

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

pub fn number() -> u32 {
    NUMBER.with(|known| {
        if known.get() == 0 {
            // SAFETY: takes nothing.
            known.set(unsafe { libc::gettid() } as u32);
        }
        known.get()
    })
}

/// For a forked child, whose thread has another id.
pub fn forget_number() {
    NUMBER.with(|known| known.set(0));
}

/// Starts a thread with all signals blocked, so that the program's handlers run on its own threads.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // SAFETY: all zeros is a valid set; the pointers are valid for the calls.
    let before = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    };
    let body = move || crate::entry::guarded((), body);
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(body);
    // SAFETY: the set that was there before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) };
    spawned.map(drop)
}
