//! The recorder that gets the allocations of the process: one at a time.

use std::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::{Allocations, addresses};
use crate::error::Error;
use crate::names::Name;
use crate::reentrancy::ReentrancyGuard;
use crate::session_state::SessionState;
use trueno_format::schema::TableId;

/// The value of [`ACTIVE`] before the first call of a [`super::Recording`].
pub(super) const NOT_ASKED: u64 = u64::MAX;

/// The number of the recorder; 0 for none.
pub(super) static ACTIVE: AtomicU64 = AtomicU64::new(NOT_ASKED);
pub(super) static MEAN: AtomicU64 = AtomicU64::new(0);
pub(super) static TAG: AtomicU32 = AtomicU32::new(0);
/// Number of lost rows; written when the recording ends.
pub(super) static LOST: AtomicU64 = AtomicU64::new(0);

const TAKEN: &str = "another recorder of this process records them (hint: end it first)";

/// The recorder behind [`ACTIVE`]. Not a `Mutex`, because a forked child must be able to unlock it.
struct Holder {
    locked: AtomicBool,
    shared: std::cell::UnsafeCell<Option<Arc<SessionState>>>,
}

// SAFETY: `shared` is touched only by who holds `locked`.
unsafe impl Sync for Holder {}

static HOLDER: Holder = Holder {
    locked: AtomicBool::new(false),
    shared: std::cell::UnsafeCell::new(None),
};

impl Holder {
    fn with<T>(&self, work: impl FnOnce(&mut Option<Arc<SessionState>>) -> T) -> T {
        let _reentrancy = ReentrancyGuard::enter();
        while self.locked.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: locked; `work` is one of those below, and none comes back here.
        let out = work(unsafe { &mut *self.shared.get() });
        self.locked.store(false, Ordering::Release);
        out
    }
}

pub(super) fn shared(number: u64) -> Option<Arc<SessionState>> {
    HOLDER.with(|held| held.clone().filter(|shared| shared.number == number))
}

fn wrong(problem: &str) -> Error {
    Error::Option {
        option: "allocations",
        problem: problem.to_owned(),
    }
}

/// Checks whether [`start`] will succeed, before anything is created.
pub(crate) fn check(which: Allocations) -> Result<(), Error> {
    if !is_installed() {
        return Err(wrong(
            "the program's allocator is not `alloc::Recording` (hint: #[global_allocator] static MEMORY: Recording<System> = Recording(System);)",
        ));
    }
    if which == (Allocations::Sampled { mean_bytes: 0 }) {
        return Err(wrong(
            "mean_bytes is 0 (expected at least 1; hint: `Allocations::Every` records all)",
        ));
    }
    if HOLDER.with(|held| held.is_some()) {
        return Err(wrong(TAKEN));
    }
    Ok(())
}

pub(crate) fn start(shared: &Arc<SessionState>, which: Allocations) -> Result<(), Error> {
    let _reentrancy = ReentrancyGuard::enter();
    let mean_bytes = match which {
        Allocations::Every => 0,
        Allocations::Sampled { mean_bytes } => mean_bytes,
    };
    let tag = Name::new("heap").number();
    HOLDER.with(|held| {
        if held.is_some() {
            return Err(wrong(TAKEN));
        }
        if mean_bytes > 0 && !addresses::clear() {
            return Err(wrong("no memory for the addresses of samples"));
        }
        *held = Some(shared.clone());
        TAG.store(tag, Ordering::Relaxed);
        LOST.store(0, Ordering::Relaxed);
        MEAN.store(mean_bytes, Ordering::Relaxed);
        // Pairs with the load in every hook: who sees the number sees what goes with it.
        ACTIVE.store(shared.number, Ordering::Release);
        Ok(())
    })
}

pub(crate) fn stop(shared: &Arc<SessionState>) {
    let _reentrancy = ReentrancyGuard::enter();
    let held = HOLDER.with(|held| {
        let ours = held
            .as_ref()
            .is_some_and(|held| held.number == shared.number);
        if ours {
            ACTIVE.store(0, Ordering::Release);
            held.take()
        } else {
            None
        }
    });
    if held.is_some() {
        shared
            .counts
            .no_ring(TableId::Allocations, LOST.swap(0, Ordering::Relaxed));
    }
}

/// Runs in a forked child before any code of the program: only async-signal-safe calls.
pub(crate) fn forked() {
    if ACTIVE.load(Ordering::Relaxed) != NOT_ASKED {
        ACTIVE.store(0, Ordering::SeqCst);
    }
    // Whoever held it in the parent is not here. What it did was to copy or to move a pointer: a
    // reference may be counted that nobody has, which frees nothing too early.
    HOLDER.locked.store(false, Ordering::SeqCst);
    // SAFETY: the child has one thread, this one. The parent's recorder is not dropped here:
    // that would free memory, and it is turned off anyway.
    unsafe { HOLDER.shared.get().write(None) };
}

/// True if the program's allocator is a [`super::Recording`]: its first call has replaced [`NOT_ASKED`] by 0.
fn is_installed() -> bool {
    let layout = Layout::new::<u64>();
    // Through the same door as `Box`, and not optimised away as an unused box may be.
    // SAFETY: the layout has a size; the block is given back as it was taken.
    unsafe {
        let block = std::hint::black_box(std::alloc::alloc(layout));
        if !block.is_null() {
            std::alloc::dealloc(block, layout);
        }
    }
    ACTIVE.load(Ordering::Acquire) != NOT_ASKED
}
