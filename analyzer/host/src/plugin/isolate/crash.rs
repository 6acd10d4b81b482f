//! The last word of a dying child: which signal, at which address, with how much memory.
//!
//! Everything here runs inside a signal handler: no allocation, no lock, only
//! calls that POSIX allows there.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::exit_reason::Crash;
use super::message::{Kind, head};

const SIGNALS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
];

/// The previous handlers. The standard library's one reports stack overflows.
struct Before(UnsafeCell<[MaybeUninit<libc::sigaction>; SIGNALS.len()]>);

// SAFETY: written once before any handler is set, read only afterwards.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new([MaybeUninit::uninit(); SIGNALS.len()]));
static TO: AtomicI32 = AtomicI32::new(-1);
static FRESH_BYTES: AtomicU64 = AtomicU64::new(0);

/// Installs handlers that write a `Crash` to `to`, an open file.
pub fn watch(to: c_int, fresh_bytes: u64) {
    TO.store(to, Ordering::Release);
    FRESH_BYTES.store(fresh_bytes, Ordering::Release);
    for (at, signal) in SIGNALS.iter().enumerate() {
        // SAFETY: both structs live for the call; the handler has the type that SA_SIGINFO asks for.
        // A handler that runs while later ones are being set finds its own place already written.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            let before = BEFORE.0.get().cast::<libc::sigaction>().add(at);
            libc::sigaction(*signal, std::ptr::null(), before);
            libc::sigaction(*signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the system passes a valid struct.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as u64) };
    let sent = code <= 0;
    let crash = Crash {
        signal,
        // One that was sent, by abort or kill, is about no address.
        address: if sent { u64::MAX } else { address },
        memory_bytes: memory_bytes().saturating_sub(FRESH_BYTES.load(Ordering::Acquire)),
    };
    let says = crash.to_bytes();
    let mut message = [0; super::message::HEAD + Crash::BYTES];
    let (start, rest) = message.split_at_mut(super::message::HEAD);
    start.copy_from_slice(&head(Kind::Crash, &says));
    rest.copy_from_slice(&says);
    // SAFETY: write is allowed in handlers; the bytes live for the call. What was in force before
    // is put back: a fault then happens once more and meets it; one that was sent is sent again.
    unsafe {
        libc::write(
            TO.load(Ordering::Acquire),
            message.as_ptr().cast(),
            message.len(),
        );
        if let Some(at) = SIGNALS.iter().position(|other| *other == signal) {
            let before = BEFORE.0.get().cast::<libc::sigaction>().add(at);
            libc::sigaction(signal, before, std::ptr::null_mut());
        }
        if sent {
            libc::raise(signal);
        }
    }
}

/// Address space of this process; 0 if unknown. Does not allocate.
pub fn memory_bytes() -> u64 {
    let mut text = [0_u8; 64];
    // SAFETY: all three calls are allowed in handlers; the buffer is as long as is said.
    let read = unsafe {
        let file = libc::open(
            c"/proc/self/statm".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        if file < 0 {
            return 0;
        }
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    let read = usize::try_from(read).unwrap_or(0);
    let digits = text[..read].iter().take_while(|byte| byte.is_ascii_digit());
    let pages = digits.fold(0_u64, |pages, digit| pages * 10 + u64::from(digit - b'0'));
    // SAFETY: allowed in handlers, and without preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * u64::try_from(page).unwrap_or(4096)
}
