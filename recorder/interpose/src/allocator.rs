//! `malloc` and its like, and the functions behind them.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::memory::{given_back, still_there, taken};
use crate::thread;

type Pointer = *mut c_void;

/// The functions that the program would have called, in the order of [`NAMES`].
static REAL: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; NAMES.len()];
const NAMES: [&CStr; 7] = [
    c"malloc",
    c"calloc",
    c"realloc",
    c"free",
    c"posix_memalign",
    c"aligned_alloc",
    c"memalign",
];
const MALLOC: usize = 0;
const CALLOC: usize = 1;
const REALLOC: usize = 2;
const FREE: usize = 3;
const POSIX_MEMALIGN: usize = 4;
const ALIGNED_ALLOC: usize = 5;
const MEMALIGN: usize = 6;

/// The function behind a name; `None` while this thread is looking it up.
#[inline(always)]
fn real(which: usize) -> Option<Pointer> {
    let known = REAL[which].load(Ordering::Acquire);
    if known.is_null() {
        look(which)
    } else {
        Some(known)
    }
}

#[cold]
#[inline(never)]
fn look(which: usize) -> Option<Pointer> {
    let thread = thread::current();
    if thread.resolves.replace(true) {
        return None;
    }
    for (place, name) in REAL.iter().zip(NAMES) {
        // SAFETY: a text.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        place.store(found, Ordering::Release);
    }
    thread.resolves.set(false);
    let found = REAL[which].load(Ordering::Acquire);
    if found.is_null() {
        // SAFETY: ends a process in which nothing allocates.
        unsafe { libc::abort() };
    }
    Some(found)
}

const ARENA_BYTES: usize = 1 << 16;
const ALIGNMENT: usize = 16;

/// Memory for `dlsym` while it looks up `malloc`. It is never freed.
#[repr(align(16))]
struct Arena(UnsafeCell<[u8; ARENA_BYTES]>);

// SAFETY: each part of it is handed out once.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; ARENA_BYTES]));
static ARENA_USED: AtomicUsize = AtomicUsize::new(0);

fn from_arena(bytes: usize) -> Pointer {
    let whole = bytes.min(ARENA_BYTES).next_multiple_of(ALIGNMENT);
    let at = ARENA_USED.fetch_add(whole, Ordering::Relaxed);
    if bytes > ARENA_BYTES || at.saturating_add(whole) > ARENA_BYTES {
        return ptr::null_mut();
    }
    ARENA.0.get().cast::<u8>().wrapping_add(at).cast()
}

#[inline(always)]
fn is_of_arena(block: Pointer) -> bool {
    block.addr().wrapping_sub(ARENA.0.get().addr()) < ARENA_BYTES
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(bytes: usize) -> Pointer {
    let Some(real) = real(MALLOC) else {
        return from_arena(bytes);
    };
    // SAFETY: a function of that type; the caller's promise is its own.
    let block =
        unsafe { transmute::<Pointer, unsafe extern "C" fn(usize) -> Pointer>(real)(bytes) };
    taken(block, bytes);
    block
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, bytes: usize) -> Pointer {
    let Some(real) = real(CALLOC) else {
        return from_arena(count.saturating_mul(bytes));
    };
    // SAFETY: as above.
    let block = unsafe {
        transmute::<Pointer, unsafe extern "C" fn(usize, usize) -> Pointer>(real)(count, bytes)
    };
    taken(block, count.wrapping_mul(bytes));
    block
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: Pointer, bytes: usize) -> Pointer {
    let (Some(real), false) = (real(REALLOC), is_of_arena(block)) else {
        // SAFETY: blocks of the arena have this many bytes up to its end, and the new one is another.
        return unsafe {
            let moved = malloc(bytes);
            if is_of_arena(block) && !moved.is_null() {
                let rest = (ARENA.0.get().addr() + ARENA_BYTES).wrapping_sub(block.addr());
                ptr::copy(block.cast::<u8>(), moved.cast::<u8>(), bytes.min(rest));
            }
            moved
        };
    };
    let was = given_back(block);
    // SAFETY: as above.
    let moved = unsafe {
        transmute::<Pointer, unsafe extern "C" fn(Pointer, usize) -> Pointer>(real)(block, bytes)
    };
    match was {
        Some(was) if moved.is_null() && bytes > 0 => still_there(block, was),
        _ => taken(moved, bytes),
    }
    moved
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: Pointer) {
    let (Some(real), false) = (real(FREE), is_of_arena(block)) else {
        return;
    };
    // Before it is free: another thread may get the address at once.
    given_back(block);
    // SAFETY: as above.
    unsafe { transmute::<Pointer, unsafe extern "C" fn(Pointer)>(real)(block) }
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(block: *mut Pointer, alignment: usize, bytes: usize) -> c_int {
    type Real = unsafe extern "C" fn(*mut Pointer, usize, usize) -> c_int;
    let Some(real) = real(POSIX_MEMALIGN) else {
        return libc::ENOMEM;
    };
    // SAFETY: as above; where it succeeded, the place holds the block.
    unsafe {
        let error = transmute::<Pointer, Real>(real)(block, alignment, bytes);
        if error == 0 {
            taken(*block, bytes);
        }
        error
    }
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> Pointer {
    // SAFETY: the caller's promise.
    unsafe { aligned(ALIGNED_ALLOC, alignment, bytes) }
}

/// # Safety
/// As of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> Pointer {
    // SAFETY: the caller's promise.
    unsafe { aligned(MEMALIGN, alignment, bytes) }
}

/// # Safety
/// As of the C library's functions of that kind.
unsafe fn aligned(which: usize, alignment: usize, bytes: usize) -> Pointer {
    let Some(real) = real(which) else {
        return ptr::null_mut();
    };
    // SAFETY: as above.
    let block = unsafe {
        transmute::<Pointer, unsafe extern "C" fn(usize, usize) -> Pointer>(real)(alignment, bytes)
    };
    taken(block, bytes);
    block
}
