//! Has CUPTI deliver what it holds, several times a second, from a thread of its own: what CUPTI does by
//! itself is not to be relied upon, and a program may end without notice.

use std::ptr;
use std::sync::atomic::Ordering;

use trueno_cupti::spool::{Chunk, Severity};

use crate::session::Session;
use crate::{clock, shutdown, subscribe, threads};

/// Runs until the program ends, then closes the recording.
pub fn run(session: &'static Session) {
    let own = threads::number();
    session.own_thread.store(own, Ordering::Release);
    let (mut has_device, mut is_complete) = (false, false);
    loop {
        let ends = session.wait_for_next(session.settings.flush, has_device);
        has_device = session.has_device.load(Ordering::Acquire);
        // Also at the end: a program of a few milliseconds has one reading then.
        if has_device && !is_complete {
            is_complete = subscribe::start_with_device(session);
        }
        if ends {
            break;
        }
        flush(session, false);
        count_dropped(session);
        stop_if_lost(session);
    }
    shutdown::finish(session);
}

/// Stops recording once most kernels have no times: going on would cost the program memory without any benefit.
fn stop_if_lost(session: &Session) {
    if session.times_lost.swap(false, Ordering::AcqRel)
        && !session.stopped.swap(true, Ordering::AcqRel)
    {
        subscribe::stop_all(session);
        session.note(
            Severity::Error,
            "times_lost",
            "most kernels came without valid times, so recording of CUDA work stopped before the program ended (hint: record a shorter part of it)",
        );
    }
}

/// Delivers buffers. `all` includes those that are not full, with work that is still running.
pub fn flush(session: &Session, all: bool) {
    if let Some(cupti) = session.cupti.get() {
        // No lock of ours is held: buffers come back on this very thread.
        // SAFETY: takes a number.
        let _ = unsafe { cupti.flush_all(u32::from(all)) };
    }
}

/// Writes how many records CUPTI has dropped. CUPTI resets its count when it is read.
pub fn count_dropped(session: &Session) {
    let Some(cupti) = session.cupti.get() else {
        return;
    };
    let mut dropped = 0usize;
    // SAFETY: valid for the write; no context and stream 0: all of them.
    let asked = unsafe { cupti.get_dropped(ptr::null_mut(), 0, &mut dropped) };
    if asked.is_ok() && dropped > 0 {
        session.write(Chunk::Dropped, &[&(dropped as u64).to_le_bytes()]);
    }
}

pub fn read_clocks(session: &Session) {
    session.write(Chunk::Clock, &[&clock::reading().bytes()]);
}
