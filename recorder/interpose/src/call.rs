//! A call of BLAS or LAPACK on its way through.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use trueno_preload_rows::channel::{CALLS, Channel};
use trueno_preload_rows::event::{Event, NAME_BYTES, Request};
use trueno_preload_rows::routines::{Precision, Routine};

use crate::image;
use crate::module::{Module, file_of};
use crate::thread::{self, Thread, now_ns};

/// Number of integers and pointers that are passed on. No routine takes more, including the lengths of Fortran's
/// texts.
pub const INTEGERS: usize = 16;

/// Libraries outside the program's scope that call a function, each of which may mean a different one.
const CALLERS: usize = 4;

pub struct Symbol {
    name: &'static CStr,
    routine: Routine,
    precision: Precision,
    /// True for the C interface, which passes sizes by value.
    is_c: bool,
    /// True for 64-bit sizes.
    is_wide: bool,
    /// The function behind it, if it is the same for all callers.
    real: AtomicUsize,
    by_caller: [ByCaller; CALLERS],
}

struct ByCaller {
    from: AtomicUsize,
    bytes: AtomicUsize,
    real: AtomicUsize,
}

impl Symbol {
    pub const fn new(
        name: &'static CStr,
        routine: Routine,
        precision: Precision,
        is_c: bool,
        is_wide: bool,
    ) -> Self {
        Self {
            name,
            routine,
            precision,
            is_c,
            is_wide,
            real: AtomicUsize::new(0),
            by_caller: [const {
                ByCaller {
                    from: AtomicUsize::new(0),
                    bytes: AtomicUsize::new(0),
                    real: AtomicUsize::new(0),
                }
            }; CALLERS],
        }
    }

    #[inline(always)]
    fn real(&self, caller: usize) -> usize {
        let real = self.real.load(Ordering::Acquire);
        if real != 0 {
            return real;
        }
        let known = self.by_caller.iter().find_map(|known| {
            let real = known.real.load(Ordering::Acquire);
            let from = known.from.load(Ordering::Relaxed);
            let is_it =
                real != 0 && caller.wrapping_sub(from) < known.bytes.load(Ordering::Relaxed);
            is_it.then_some(real)
        });
        known.unwrap_or_else(|| thread::current().at_work(|| self.find(caller)))
    }

    /// Looks a function up like the loader: in the program's scope, then among the dependencies of the caller's
    /// library. The rest are functions that the program made visible later: the first with that name.
    #[cold]
    #[inline(never)]
    fn find(&self, caller: usize) -> usize {
        // SAFETY: a text.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if !next.is_null() {
            tell_library(next);
            self.real.store(next.addr(), Ordering::Release);
            return next.addr();
        }
        let module = Module::at(caller);
        let own = module
            .as_ref()
            .and_then(|module| module.function(self.name));
        let found = own.or_else(|| Module::all().find_map(|module| module.function(self.name)));
        let Some(found) = found else {
            self.end_as_the_loader_would()
        };
        tell_library(found);
        let free = |known: &&ByCaller| {
            let from = module.as_ref().map_or(0, |module| module.from);
            from != 0
                && known
                    .from
                    .compare_exchange(0, from, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
        };
        if let (Some(known), Some(module)) = (self.by_caller.iter().find(free), &module) {
            known.bytes.store(module.bytes, Ordering::Relaxed);
            known.real.store(found.addr(), Ordering::Release);
        }
        found.addr()
    }

    fn end_as_the_loader_would(&self) -> ! {
        for part in [
            b"symbol lookup error: undefined symbol: ",
            self.name.to_bytes(),
            b"\n",
        ] {
            // SAFETY: the text is that long.
            unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
        }
        // SAFETY: takes a number.
        unsafe { libc::_exit(127) }
    }

    /// Reads what is asked for. `None`: nothing but the best length of a workspace.
    ///
    /// # Safety
    /// The arguments are those of the routine.
    unsafe fn request(&self, integers: &[usize; INTEGERS], floats: [f64; 2]) -> Option<Request> {
        let shift = usize::from(self.is_c && self.routine.has_order());
        let argument = |place: u8| {
            integers
                .get(usize::from(place).wrapping_add(shift))
                .copied()
        };
        let integer = |place: u8| {
            let value = argument(place)?;
            // SAFETY: in Fortran a pointer to the number.
            Some(match (self.is_c, self.is_wide) {
                (true, true) => value as i64,
                (true, false) => i64::from(value as i32),
                _ if value == 0 => -1,
                (false, true) => unsafe { (value as *const i64).read_unaligned() },
                (false, false) => i64::from(unsafe { (value as *const i32).read_unaligned() }),
            })
        };
        if let Some(place) = self.routine.workspace()
            && integer(place)? == -1
        {
            return None;
        }
        let mut sizes = [0; 3];
        for (size, place) in sizes.iter_mut().zip(self.routine.sizes()) {
            *size = integer(*place)?;
        }
        // SAFETY: a letter, and numbers of that type; by value, where C has them so.
        let (is_right, is_beta_zero) = unsafe {
            let is_right = self
                .routine
                .side()
                .is_some_and(|place| match argument(place) {
                    Some(side) if self.is_c => side as i32 == CBLAS_RIGHT,
                    Some(side) if side != 0 => *(side as *const u8) | 0x20 == b'r',
                    _ => false,
                });
            let is_beta_zero =
                self.routine
                    .beta()
                    .is_some_and(|place| match (argument(place), self.precision) {
                        (_, Precision::S) if self.is_c => {
                            f32::from_bits(floats[1].to_bits() as u32) == 0.0
                        }
                        (_, Precision::D) if self.is_c => floats[1] == 0.0,
                        (None | Some(0), _) => false,
                        (Some(at), Precision::S) => *(at as *const f32) == 0.0,
                        (Some(at), Precision::D) => *(at as *const f64) == 0.0,
                        (Some(at), Precision::C) => *(at as *const [f32; 2]) == [0.0; 2],
                        (Some(at), Precision::Z) => *(at as *const [f64; 2]) == [0.0; 2],
                    });
            (is_right, is_beta_zero)
        };
        Some(Request {
            routine: self.routine,
            precision: self.precision,
            sizes,
            is_right,
            is_beta_zero,
        })
    }
}

const CBLAS_RIGHT: i32 = 142;

/// Reports the library of a routine, once for each function that is looked up.
fn tell_library(function: *mut c_void) {
    let (Some(channel), Some(file)) = (recording(), file_of(function)) else {
        return;
    };
    let path = file.to_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let mut kept = [0; NAME_BYTES];
    kept.iter_mut()
        .zip(name)
        .for_each(|(place, byte)| *place = *byte);
    thread::current().tell(image::number(channel), CALLS, &Event::Library(kept));
}

#[inline(always)]
fn recording() -> Option<&'static Channel> {
    let is_on = |channel: &&Channel| channel.header.calls.load(Ordering::Relaxed) == 1;
    image::channel().filter(is_on)
}

/// Calls what the program meant, and records it.
///
/// # Safety
/// The arguments are those of the routine, and `call` calls a function of its type.
#[inline(always)]
pub unsafe fn pass<T>(
    symbol: &Symbol,
    caller: f64,
    integers: &[usize; INTEGERS],
    floats: [f64; 2],
    call: impl FnOnce(usize) -> T,
) -> T {
    let real = symbol.real(caller.to_bits() as usize);
    let thread = thread::current();
    // Deeper on the stack than one that is recorded, and part of it. One that lies higher did not return: it was left
    // by a jump or an exception.
    let place = std::ptr::from_ref(integers).addr();
    let (Some(channel), false) = (recording(), place < thread.outermost.get()) else {
        return call(real);
    };
    // SAFETY: vouched for by the caller.
    let Some(request) = (unsafe { symbol.request(integers, floats) }) else {
        return call(real);
    };
    thread.outermost.set(place);
    let start_ns = now_ns();
    let out = call(real);
    let end_ns = now_ns();
    thread.outermost.set(0);
    record(thread, channel, request, start_ns, end_ns);
    out
}

#[inline(never)]
fn record(
    thread: &Thread,
    channel: &'static Channel,
    request: Request,
    start_ns: u64,
    end_ns: u64,
) {
    let event = Event::Call {
        request,
        start_ns,
        end_ns,
    };
    thread.tell(image::number(channel), CALLS, &event);
}
