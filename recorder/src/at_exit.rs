//! Recorders that nobody drops, as those in a `static`: they are finished when the program calls `exit` or returns from
//! `main`.
//!
//! Not where that may hang: in a forked child, whose parent has the writer, and where the thread that ends the program
//! is inside the recorder, as in a signal handler. Such a run is left as a kill leaves it, and is read as one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, PoisonError, TryLockError, Weak};

use crate::recorder::Inner;
use crate::reentrancy::ReentrancyGuard;

static RECORDERS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

pub(crate) fn finish(recorder: Weak<Inner>) {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler takes nothing. Where there is no room for it, such runs stay as they are.
        unsafe { libc::atexit(finish_all) };
    });
    let mut recorders = RECORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    recorders.retain(|other| other.strong_count() > 0);
    recorders.push(recorder);
}

extern "C" fn finish_all() {
    if ReentrancyGuard::is_held() {
        return;
    }
    // Held: by a thread that is making a recorder, or in a forked child for ever.
    let recorders = match RECORDERS.try_lock() {
        Ok(mut recorders) => std::mem::take(&mut *recorders),
        Err(TryLockError::Poisoned(recorders)) => std::mem::take(&mut *recorders.into_inner()),
        Err(TryLockError::WouldBlock) => return,
    };
    for recorder in recorders.iter().filter_map(Weak::upgrade) {
        // The error stands in run.json; the program ends.
        let _ = catch_unwind(AssertUnwindSafe(|| recorder.finish()));
    }
}
