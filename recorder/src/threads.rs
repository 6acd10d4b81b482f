//! Finds the lane of the calling thread.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::lane::Lane;
use crate::reentrancy::ReentrancyGuard;
use crate::session_state::SessionState;

/// Number of recently used lanes that a thread caches, by recorder number modulo this.
const CACHE: usize = 4;

type Slot = Cell<(u64, NonNull<Lane>)>;

thread_local! {
    // Without a destructor: reading them is a plain load. No recorder has number 0.
    static LATEST: Slot = const { Cell::new((0, NonNull::dangling())) };
    static CACHED: [Slot; CACHE] = const { [const { Cell::new((0, NonNull::dangling())) }; CACHE] };
    static OWNED: RefCell<Lanes> = const { RefCell::new(Lanes(Vec::new())) };
}

/// The lanes that this thread owns, one per recorder. They end with the thread.
struct Lanes(Vec<*mut Lane>);

/// The calling thread's lane of a recorder; null if there can be none.
#[inline(always)]
pub(crate) fn lane(shared: &Arc<SessionState>) -> *mut Lane {
    match cached(shared.number) {
        Some(lane) => lane.as_ptr(),
        None => find_or_make(shared),
    }
}

/// The calling thread's lane of the recorder with this number, if it was used recently.
#[inline(always)]
pub(crate) fn cached(number: u64) -> Option<NonNull<Lane>> {
    latest(number).or_else(|| {
        let (of, lane) = CACHED.with(|cached| cached[number as usize % CACHE].get());
        let lane = (of == number).then_some(lane)?;
        LATEST.set((number, lane));
        Some(lane)
    })
}

/// Like [`cached`], but only if the thread used this recorder last.
#[inline(always)]
pub(crate) fn latest(number: u64) -> Option<NonNull<Lane>> {
    let (of, lane) = LATEST.get();
    (of == number).then_some(lane)
}

#[cfg(feature = "perf")]
pub(crate) fn forget_finished() {
    // Err: the thread is ending and its lanes are gone. Borrowed: they are being looked through.
    let _ = OWNED.try_with(|owned| {
        if let Ok(mut owned) = owned.try_borrow_mut() {
            owned.forget_finished();
        }
    });
}

/// Runs a function on the calling thread's lane of a recorder, if it has one.
pub(crate) fn ask_lane<T>(
    shared: &Arc<SessionState>,
    question: impl FnOnce(&Lane) -> T,
) -> Option<T> {
    // Err: the thread is ending and its lanes are gone. Borrowed: they are being looked through.
    OWNED
        .try_with(|owned| {
            let owned = owned.try_borrow().ok()?;
            // SAFETY: owned lanes are valid until this list lets them go, and used by this thread
            // only, which is here: no other reference exists now.
            let mut lanes = owned.0.iter().map(|lane| unsafe { &**lane });
            let lane = lanes.find(|lane| lane.shared().number == shared.number)?;
            Some(question(lane))
        })
        .ok()
        .flatten()
}

#[cold]
#[inline(never)]
fn find_or_make(shared: &Arc<SessionState>) -> *mut Lane {
    let _reentrancy = ReentrancyGuard::enter();
    // Err: the thread is ending and its lanes are gone.
    let lane = OWNED.try_with(|owned| {
        // Borrowed: a signal handler records in the middle of this. Its event is counted as one without a ring.
        let Ok(mut owned) = owned.try_borrow_mut() else {
            return ptr::null_mut();
        };
        owned.forget_finished();
        // SAFETY: owned lanes are valid until this list lets them go.
        let known = owned
            .0
            .iter()
            .find(|lane| unsafe { &***lane }.shared().number == shared.number);
        if let Some(lane) = known {
            return *lane;
        }
        let from_ticks = shared.clock.ticks();
        let Some(ring) = shared.rings.first() else {
            return ptr::null_mut();
        };
        let thread = shared.register(&ring);
        let lane = Box::into_raw(Lane::new(shared.clone(), thread, ring));
        owned.0.push(lane);
        shared.own_time.thread_began(shared.clock, from_ticks);
        lane
    });
    let lane = lane.unwrap_or(ptr::null_mut());
    if let Some(lane) = NonNull::new(lane) {
        LATEST.set((shared.number, lane));
        CACHED.with(|cached| cached[shared.number as usize % CACHE].set((shared.number, lane)));
    }
    lane
}

impl Lanes {
    fn forget_finished(&mut self) {
        self.0.retain(|lane| {
            // SAFETY: a lane in the list is valid, and only this thread uses it.
            let (stopped, in_use) = unsafe {
                (
                    (**lane).shared().counts.stopped.load(Ordering::Acquire),
                    (**lane).in_use(),
                )
            };
            if !stopped || in_use {
                return true;
            }
            // SAFETY: no guard points to it any more, and it leaves the list here.
            unsafe { release(*lane) };
            false
        });
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        let _reentrancy = ReentrancyGuard::enter();
        for lane in std::mem::take(&mut self.0) {
            // SAFETY: valid, see above; guards that still point to it are told apart below.
            if unsafe { (*lane).in_use() } {
                // A guard lives in another thread-local that is destroyed later, or was
                // forgotten. The lane stays this thread's alone, and is never reused.
                uncache(lane);
                // SAFETY: this thread's own lane still; its counters end with it.
                #[cfg(feature = "perf")]
                unsafe {
                    (*lane).perf = None;
                }
                // SAFETY: as above.
                unsafe { (*lane).shared().abandon(lane) };
            } else {
                // SAFETY: no guard points to it, and it left the list.
                unsafe { release(lane) };
            }
        }
    }
}

fn uncache(lane: *mut Lane) {
    let forget = |slot: &Slot| {
        if slot.get().1.as_ptr() == lane {
            slot.set((0, NonNull::dangling()));
        }
    };
    LATEST.with(forget);
    CACHED.with(|cached| cached.iter().for_each(forget));
}

/// Ends a lane: its ring is drained and then reused.
///
/// # Safety
/// The lane is valid and nothing uses it afterwards.
unsafe fn release(lane: *mut Lane) {
    uncache(lane);
    // SAFETY: made by `Box::into_raw` in `find_or_make`; the caller gives it up.
    let lane = unsafe { Box::from_raw(lane) };
    let (thread, shared) = (lane.thread().clone(), lane.shared().clone());
    let from_ticks = shared.clock.ticks();
    // First the producer's hold on the ring, then the word that it is free.
    drop(lane);
    thread.closed.store(true, Ordering::Release);
    if shared.rings.thread_ended() {
        shared.mailbox.wake();
    }
    shared.own_time.thread_ended(shared.clock, from_ticks);
}
