//! Pages that somebody else has cut from a mapped file: a store there is a fatal `SIGBUS` to the recorded program.
//!
//! A handler of that signal puts a page of zeros in the place of one that is gone, and the program goes on. Faults
//! anywhere else go to the handler that was there before. What is kept from then on is in memory only, and
//! [`any`] says so.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Limit on watched mappings; further ones are not protected.
const MAX_MAPPINGS: usize = 8192;

/// A mapped range; unused if the base is 0.
struct Range {
    base: AtomicUsize,
    bytes: AtomicUsize,
}

static RANGES: [Range; MAX_MAPPINGS] = [const {
    Range {
        base: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
    }
}; MAX_MAPPINGS];
/// All used ranges are below this index.
static USED: AtomicUsize = AtomicUsize::new(0);
static CUT: AtomicBool = AtomicBool::new(false);

struct Before(std::cell::UnsafeCell<MaybeUninit<libc::sigaction>>);
// SAFETY: written once, before the handler is set, which alone reads it.
unsafe impl Sync for Before {}
static BEFORE: Before = Before(std::cell::UnsafeCell::new(MaybeUninit::zeroed()));

/// Returns whether pages of a mapped file of this process were cut.
pub fn any() -> bool {
    CUT.load(Ordering::Relaxed)
}

/// Protects this range from now on: losing its pages no longer ends the process.
pub(super) fn watch(base: usize, bytes: usize) {
    static SET: Once = Once::new();
    SET.call_once(set_handler);
    for (at, range) in RANGES.iter().enumerate() {
        // The length first: a range counts once it has a base.
        if range.base.load(Ordering::Relaxed) == 0
            && range
                .bytes
                .compare_exchange(0, bytes, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            USED.fetch_max(at + 1, Ordering::AcqRel);
            range.base.store(base, Ordering::Release);
            return;
        }
    }
}

/// Must be called before the range is unmapped.
pub(super) fn forget(base: usize) {
    let used = USED.load(Ordering::Acquire);
    let of = |range: &&Range| range.base.load(Ordering::Acquire) == base;
    if let Some(range) = RANGES[..used].iter().find(of) {
        range.base.store(0, Ordering::Release);
        range.bytes.store(0, Ordering::Release);
    }
}

fn set_handler() {
    // SAFETY: both structs live for the call, and the handler has the type that SA_SIGINFO asks for. What was in force
    // is stored before the new handler can run.
    unsafe {
        let before = BEFORE.0.get().cast::<libc::sigaction>();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), before);
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

/// Must not allocate or lock: the signal can arrive anywhere.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid struct. A code above 0: it tells of a fault, and the address is that.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code > 0 && is_watched(address) && put_zeros(address) {
        CUT.store(true, Ordering::Relaxed);
        return;
    }
    // SAFETY: what was in force before, called as it asks to be.
    unsafe {
        let before = &*BEFORE.0.get().cast::<libc::sigaction>();
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // The fault happens once more and meets it; one that was sent is sent again.
                libc::sigaction(signal, before, std::ptr::null_mut());
                if code <= 0 {
                    libc::raise(signal);
                }
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

fn is_watched(address: usize) -> bool {
    let used = USED.load(Ordering::Acquire);
    RANGES[..used].iter().any(|range| {
        let base = range.base.load(Ordering::Acquire);
        let bytes = range.bytes.load(Ordering::Acquire);
        base != 0 && address.wrapping_sub(base) < bytes
    })
}

fn put_zeros(address: usize) -> bool {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else {
        return false;
    };
    let at = (address / page * page) as *mut c_void;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: replaces one page of a mapping of ours, whose content is gone. `errno` is the interrupted code's.
    unsafe {
        let errno = *libc::__errno_location();
        let mapped = libc::mmap(at, page, access, flags, -1, 0);
        *libc::__errno_location() = errno;
        mapped != libc::MAP_FAILED
    }
}
