//! Clean-up on interrupts.

use std::ffi::c_int;
use std::fs;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use trueno_tracer::caller_signals::is_ignored;

const SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The folder to remove when the process is interrupted. While the guard lives, interrupts wait.
pub fn hold() -> MutexGuard<'static, Option<PathBuf>> {
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread that handles interrupts of this thread and of threads started from now on.
///
/// Jobs in the background of a script are started with interrupts ignored; those stay ignored. If the thread cannot
/// be started, interrupts end the process at once, as by default, and the next call cleans up the folder.
pub fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let set = set(SIGNALS.into_iter().filter(|signal| !is_ignored(*signal)));
        mask(libc::SIG_BLOCK, &set);
        let started = std::thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || end_by(wait(&set)));
        if started.is_err() {
            mask(libc::SIG_UNBLOCK, &set);
        }
    });
}

fn set(of: impl Iterator<Item = c_int>) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` makes a valid set of it, to which signals are then added.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in of {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

fn mask(how: c_int, set: &libc::sigset_t) {
    // SAFETY: a valid set; the old one is not asked for.
    unsafe { libc::pthread_sigmask(how, set, ptr::null_mut()) };
}

fn wait(set: &libc::sigset_t) -> c_int {
    let mut signal = 0;
    // SAFETY: a valid set, and a number of this frame. It fails for sets that are none only.
    while unsafe { libc::sigwait(set, &mut signal) } != 0 {}
    signal
}

/// Removes the folder, then ends the process as the signal would have.
fn end_by(signal: c_int) {
    let folder = hold();
    if let Some(folder) = &*folder {
        let _ = fs::remove_dir_all(folder);
    }
    // SAFETY: numbers; the default action of each of them ends the process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    mask(libc::SIG_UNBLOCK, &set([signal].into_iter()));
    // SAFETY: as above.
    unsafe { libc::raise(signal) };
}
