//! The end of the program.

use std::sync::Once;
use std::time::Duration;

use trueno_cupti::spool::{Chunk, End, Severity};

use crate::buffers::BUFFER_BYTES;
use crate::flusher::{count_dropped, flush, read_clocks};
use crate::session::{self, Phase, Session};
use crate::{clock, entry, subscribe};
use std::sync::atomic::{AtomicU32, Ordering};

/// Limit on the delay of the program's end, because a kernel may never return. Counted in parts, so that a machine
/// that is suspended for a while uses up only one of them.
const MAX_WAIT: Duration = Duration::from_secs(10);
const PARTS: u32 = 100;

pub fn at_exit() {
    static ONCE: Once = Once::new();
    // SAFETY: a function that takes nothing and never unwinds.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(forked));
    });
    before_destructors();
}

/// Registers the end once more. Handlers and destructors run in the reverse order of their registration, and CUPTI 13 (seen
/// with 13.0 and 13.2) crashes when it is called after its own destructors: the end has to be registered after CUPTI was loaded.
pub fn before_destructors() {
    /// The C library keeps each registration: a program may make any number of contexts.
    const MOST: u32 = 16;
    static REGISTERED: AtomicU32 = AtomicU32::new(0);
    if REGISTERED.fetch_add(1, Ordering::Relaxed) < MOST {
        // SAFETY: a function that takes nothing and never unwinds.
        unsafe { libc::atexit(ending) };
    }
}

extern "C" fn ending() {
    entry::guarded((), || {
        // A child of vfork or clone shares or copies the parent's memory, and runs no handler of fork.
        let mine = |session: &&Session| session.pid == std::process::id();
        let Some(session) = session::current().filter(mine) else {
            return;
        };
        if session.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        session.enter(Phase::Closing);
        session.pool.wake();
        if !(0..PARTS).any(|_| session.wait_for(Phase::Closed, MAX_WAIT / PARTS)) {
            session.note(
                Severity::Warning,
                "closing_took_too_long",
                "devices or CUPTI did not finish within 10 s: the latest records may be missing",
            );
        }
    });
}

unsafe extern "C" fn forked() {
    session::forked();
}

/// Collects what CUPTI still has. Runs on the flusher's thread, or on the pump's if CUPTI does not record.
pub fn finish(session: &'static Session) {
    if session.phase() == Phase::Closed {
        return;
    }
    let synchronized = settle(session);
    session.pool.wake();
    crate::pump::drain(session);
    read_clocks(session);
    let reading = clock::reading();
    let end = End {
        realtime_ns: reading.realtime_ns,
        monotonic_ns: reading.monotonic_ns,
        synchronized,
    };
    if let Ok(json) = serde_json::to_vec(&end) {
        session.write(Chunk::End, &[&json]);
    }
    session.enter(Phase::Closed);
}

/// Waits for the work of devices. True once all of it is over and recorded.
fn settle(session: &Session) -> bool {
    if session.cupti.get().is_none() {
        return true;
    }
    // What is over already, first: what follows may take too long.
    flush(session, false);
    crate::pump::drain(session);
    // What follows is not the program's.
    let is_watched = session.is_own_call_recorded();
    subscribe::stop_calls(session, is_watched);
    let waited = if session.device_failed.load(Ordering::Acquire) {
        Err("the device met a fault before".to_owned())
    } else {
        session.contexts.synchronize()
    };
    if let Err(problem) = &waited {
        session.note(
            Severity::Info,
            "not_synchronized",
            &format!("work of devices was not waited for at the end: {problem}"),
        );
    }
    flush(session, true);
    subscribe::stop_all(session);
    count_dropped(session);
    crate::pump::drain(session);
    let has_called = matches!(waited, Ok(count) if count > 0);
    let is_seen = session.own_call_seen.load(Ordering::Acquire);
    if !note_kept_buffers(session) && is_watched && has_called && !is_seen {
        session.note(Severity::Warning, "records_taken_over", TAKEN_OVER);
    }
    waited.is_ok()
}

/// A profiler that starts later replaces our functions by its own and gets all records from then on. If CUPTI had
/// none of our buffers at that time, this is the only sign: the calls with which we wait for devices have records,
/// too.
const TAKEN_OVER: &str = "a call that this library made at the program's end has no record: another profiler in the \
    program, such as torch.profiler, receives CUPTI's records, and those since then are missing (hint: run one profiler at \
    a time)";

/// Reports missing buffers, and returns whether there are any. A forced flush returns every buffer, unless another
/// tool has replaced our functions by its own.
fn note_kept_buffers(session: &Session) -> bool {
    let lent = session.pool.lent();
    if lent == 0 {
        return false;
    }
    session.note(
        Severity::Warning,
        "buffers_not_returned",
        &format!(
            "CUPTI did not return {lent} {} of up to {} KiB of records: another profiler in the program, such as \
             torch.profiler, may have taken over, and records since then are missing (hint: run one profiler at a time)",
            if lent == 1 { "buffer" } else { "buffers" },
            BUFFER_BYTES >> 10,
        ),
    );
    true
}
