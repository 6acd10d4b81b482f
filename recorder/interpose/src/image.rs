//! The program's image in this process: from the start of a program, or a fork, to the next one.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use trueno_preload_rows::channel::{
    CHANNEL_VARIABLE, Channel, ENDED, FREE, Header, Lane, TAKEN, USED, pid_namespace,
};
use trueno_recorder::alloc::sampling as addresses;

use crate::thread;

static CHANNEL: AtomicPtr<Channel> = AtomicPtr::new(ptr::null_mut());
/// A page that the kernel zeroes in a forked child. Its first word is the number of the image; 0 if not assigned
/// yet.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// Its destructor runs when a thread with a lane ends.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The number of an image that records nothing.
const OUTSIDE: u64 = u64::MAX;
const PAGE_BYTES: usize = 4096;
/// Limit on waiting for a full lane. After that it is assumed to have no reader.
const MAX_WAIT_NS: u64 = 1_000_000_000;
const NAP_NS: libc::c_long = 100_000;

// SAFETY: the loader calls what stands in this section before the program begins; it takes its arguments, and ignores them.
#[used]
#[unsafe(link_section = ".init_array")]
static ATTACH: extern "C" fn() = attach;

extern "C" fn attach() {
    thread::current().at_work(|| {
        // SAFETY: a text; what it gives stays valid while nobody changes the variable, and the program has not begun.
        let path = unsafe {
            let path = libc::getenv(CHANNEL_VARIABLE.as_ptr());
            if path.is_null() {
                return;
            }
            std::ffi::CStr::from_ptr(path)
        };
        let (Some(channel), Some(page)) = (Channel::open(path), wiped_page()) else {
            return;
        };
        let mut key = 0;
        // SAFETY: the number is valid for the call.
        if unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) } != 0 {
            return;
        }
        KEY.store(key, Ordering::Relaxed);
        PAGE.store(page, Ordering::Release);
        begin(channel, page);
        CHANNEL.store(ptr::from_ref(channel).cast_mut(), Ordering::Release);
    });
}

fn wiped_page() -> Option<*mut AtomicU64> {
    // SAFETY: a new mapping of its own.
    unsafe {
        let page = libc::mmap(
            ptr::null_mut(),
            PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        let is_wiped =
            page != libc::MAP_FAILED && libc::madvise(page, PAGE_BYTES, libc::MADV_WIPEONFORK) == 0;
        is_wiped.then_some(page.cast())
    }
}

#[inline(always)]
pub fn channel() -> Option<&'static Channel> {
    // SAFETY: null, or mapped for as long as the process runs.
    unsafe { CHANNEL.load(Ordering::Acquire).as_ref() }
}

#[inline(always)]
pub fn number(channel: &'static Channel) -> u64 {
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: there is a page where there is a channel.
    match unsafe { &*page }.load(Ordering::Relaxed) {
        0 => begin(channel, page),
        number => number,
    }
}

/// Begins an image, at its first event or in a forked child.
#[cold]
#[inline(never)]
fn begin(channel: &'static Channel, page: *mut AtomicU64) -> u64 {
    thread::current().at_work(|| {
        // SAFETY: as above.
        let page = unsafe { &*page };
        let header = &channel.header;
        if header.pid_namespace.load(Ordering::Relaxed) != pid_namespace() {
            page.store(OUTSIDE, Ordering::Relaxed);
            return OUTSIDE;
        }
        // What was before an `execve`, or in another process of that number.
        let process = process();
        let before = channel.lanes.iter().filter(|lane| {
            lane.state.load(Ordering::Acquire) == USED
                && lane.process.load(Ordering::Relaxed) == process
        });
        before.for_each(|lane| end_lane(lane, USED));
        // Of a forked child: the blocks of its parent.
        if header.mean_bytes.load(Ordering::Relaxed) != 0 && !addresses::clear() {
            header.mean_bytes.store(0, Ordering::Relaxed);
        }
        let number = header
            .images
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        page.store(number, Ordering::Relaxed);
        number
    })
}

fn process() -> u32 {
    // SAFETY: takes nothing.
    unsafe { libc::getpid() }.cast_unsigned()
}

pub fn take_lane(image: u64) -> Option<&'static Lane> {
    let channel = channel().filter(|_| image != OUTSIDE)?;
    // SAFETY: takes nothing.
    let thread = unsafe { libc::gettid() }.cast_unsigned();
    let free = |lane: &&Lane| {
        lane.state
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    };
    let lane = channel.lanes.iter().find(free)?;
    lane.thread.store(thread, Ordering::Relaxed);
    lane.process.store(process(), Ordering::Relaxed);
    let mut name = [0_u64; 2];
    // SAFETY: writes 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    for (place, word) in lane.name.iter().zip(name) {
        place.store(word, Ordering::Relaxed);
    }
    lane.image.store(image, Ordering::Relaxed);
    lane.allocations.store(0, Ordering::Relaxed);
    lane.allocated_bytes.store(0, Ordering::Relaxed);
    lane.state.store(USED, Ordering::Release);
    // SAFETY: a key of this library; the lane stays where it is.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), ptr::from_ref(lane).cast()) };
    Some(lane)
}

pub fn end_lane(lane: &Lane, from: u32) {
    let _ = lane
        .state
        .compare_exchange(from, ENDED, Ordering::Release, Ordering::Relaxed);
}

extern "C" fn thread_ends(lane: *mut c_void) {
    let Some(channel) = channel() else { return };
    // SAFETY: what `take_lane` stored.
    let lane = unsafe { &*lane.cast::<Lane>() };
    // In a forked child it may be its parent's.
    if lane.image.load(Ordering::Relaxed) == number(channel) {
        thread::current().leave(lane);
    }
}

pub fn wait_for_room(channel: &Channel, lane: &Lane) -> bool {
    let nap = libc::timespec {
        tv_sec: 0,
        tv_nsec: NAP_NS,
    };
    let began_ns = thread::now_ns();
    while !lane.has_room() {
        // SAFETY: takes numbers; the struct is valid for the call.
        let is_gone = unsafe {
            libc::nanosleep(&nap, ptr::null_mut());
            let reader = channel.header.reader.load(Ordering::Relaxed).cast_signed();
            libc::kill(reader, 0) != 0 && *libc::__errno_location() == libc::ESRCH
        };
        if is_gone {
            stop(&channel.header);
        }
        if is_gone || thread::now_ns().wrapping_sub(began_ns) > MAX_WAIT_NS {
            return false;
        }
    }
    true
}

fn stop(header: &Header) {
    header.calls.store(0, Ordering::Relaxed);
    header.mean_bytes.store(0, Ordering::Relaxed);
}

pub fn lose(channel: &Channel, kind: usize) {
    if let Some(lost) = channel.header.lost.get(kind) {
        lost.fetch_add(1, Ordering::Relaxed);
    }
}
