//! State of a thread.

use std::arch::{asm, global_asm};
use std::cell::Cell;

use trueno_preload_rows::channel::{Lane, USED};
use trueno_preload_rows::event::Event;
use trueno_recorder::alloc::sampling::Sampler;

use crate::image;

/// All zeros when the thread begins, and without a destructor.
pub struct Thread {
    /// True while this library is at work on the thread.
    pub inside: Cell<bool>,
    /// True while the functions behind `malloc` are being looked up.
    pub resolves: Cell<bool>,
    /// True if the lane was full for so long that the thread no longer waits for it.
    gave_up: Cell<bool>,
    /// Stack address of the outermost recorded call; 0 for none.
    pub outermost: Cell<usize>,
    image: Cell<u64>,
    lane: Cell<Option<&'static Lane>>,
    pub sampler: Sampler,
}

// The initial-exec model, which `thread_local!` has not: with any other the loader may call `malloc` to make the block,
// which would ask for the block.
global_asm!(
    ".pushsection .tbss,\"awT\",%nobits",
    ".globl trueno_interpose_thread",
    ".hidden trueno_interpose_thread",
    ".type trueno_interpose_thread, %object",
    ".size trueno_interpose_thread, {bytes}",
    ".p2align 4",
    "trueno_interpose_thread:",
    ".zero {bytes}",
    ".popsection",
    bytes = const size_of::<Thread>(),
);

#[inline(always)]
pub fn current() -> &'static Thread {
    let place: *const Thread;
    // SAFETY: adds the offset of the variable above to the thread's pointer.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + trueno_interpose_thread@GOTTPOFF]",
            out(reg) place,
            options(pure, readonly, nostack),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "mrs {0}, tpidr_el0",
            "adrp {1}, :gottprel:trueno_interpose_thread",
            "ldr {1}, [{1}, :gottprel_lo12:trueno_interpose_thread]",
            "add {0}, {0}, {1}",
            out(reg) place,
            out(reg) _,
            options(pure, readonly, nostack),
        );
        &*place
    }
}

impl Thread {
    /// The lane of the thread. `None` if all are in use or nothing is recorded.
    #[inline(always)]
    pub fn lane(&self, image: u64) -> Option<&'static Lane> {
        if self.image.get() == image {
            self.lane.get()
        } else {
            self.take_lane(image)
        }
    }

    #[cold]
    #[inline(never)]
    fn take_lane(&self, image: u64) -> Option<&'static Lane> {
        let lane = self.at_work(|| image::take_lane(image));
        self.lane.set(lane);
        self.image.set(image);
        self.gave_up.set(false);
        lane
    }

    pub fn leave(&self, lane: &Lane) {
        self.lane.set(None);
        self.image.set(0);
        image::end_lane(lane, USED);
    }

    /// Runs the library's own work: its allocations are not recorded, and `errno` is preserved.
    pub fn at_work<T>(&self, work: impl FnOnce() -> T) -> T {
        // SAFETY: the thread's own number.
        let errno = unsafe { &mut *libc::__errno_location() };
        let was = (self.inside.replace(true), *errno);
        let out = work();
        self.inside.set(was.0);
        *errno = was.1;
        out
    }

    /// Publishes an event. False if it is lost, which is counted.
    pub fn tell(&self, image: u64, kind: usize, event: &Event) -> bool {
        let Some(channel) = image::channel() else {
            return false;
        };
        let room = self.lane(image).filter(|lane| {
            let has_room = lane.has_room();
            has_room || !self.gave_up.get() && self.at_work(|| image::wait_for_room(channel, lane))
        });
        let Some(lane) = room else {
            self.gave_up.set(true);
            image::lose(channel, kind);
            return false;
        };
        self.gave_up.set(false);
        lane.push(&event.words());
        true
    }
}

#[inline(always)]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
