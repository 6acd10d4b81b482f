//! Device times from distances of CUDA events.
//!
//! An *anchor* is an event on a stream of its own, whose time is known as its distance to the anchor before
//! it. The time of any other event is its distance to an anchor shortly before it: the driver gives distances as
//! milliseconds in an `f32`, which is exact to 61 ns at one second and to 7.8 µs at 100.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::CudaEvent;
use cudarc::driver::sys::CUevent;

use crate::driver;

/// Time of the first anchor. Not 0, because events may be slightly earlier.
const ORIGIN_NS: u64 = 1_000_000_000;

pub(crate) struct Anchor {
    event: CudaEvent,
    time_ns: OnceLock<u64>,
    /// The previous anchor; dropped as soon as the time is known.
    before: Mutex<Option<Arc<Anchor>>>,
}

impl Anchor {
    /// An event that was recorded; after `before`, if that is given.
    pub fn new(event: CudaEvent, before: Option<Arc<Self>>) -> Self {
        let time_ns = OnceLock::new();
        if before.is_none() {
            // Set here only.
            let _ = time_ns.set(ORIGIN_NS);
        }
        Self {
            event,
            time_ns,
            before: Mutex::new(before),
        }
    }

    /// Its time; `None`: the device has not reached it, or the driver fails. Needs the context to be current.
    pub fn time_ns(&self) -> Option<u64> {
        if let Some(time) = self.time_ns.get() {
            return Some(*time);
        }
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(earlier) = before.as_ref() else {
            return self.time_ns.get().copied();
        };
        let (time, _) = earlier.time_of(&self.event)?;
        // Set under the lock only.
        let _ = self.time_ns.set(time);
        *before = None;
        Some(time)
    }

    /// The time of an event, and its distance from here in milliseconds.
    pub fn time_of(&self, event: &CudaEvent) -> Option<(u64, f32)> {
        let own = self.time_ns()?;
        let ms = distance_ms(&self.event, event)?;
        let time = own.checked_add_signed((f64::from(ms) * 1e6).round() as i64)?;
        Some((time, ms))
    }
}

type ElapsedTime = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> c_int;

/// The driver's own function. Which one cudarc calls depends on the CUDA version that the program selected.
fn elapsed_time() -> Option<ElapsedTime> {
    static FUNCTION: OnceLock<Option<ElapsedTime>> = OnceLock::new();
    *FUNCTION.get_or_init(|| {
        let address = driver::find().ok()?.function(c"cuEventElapsedTime").ok()?;
        // SAFETY: the driver's API has this function of this type; a function and a pointer are of one size.
        Some(unsafe { std::mem::transmute::<*mut c_void, ElapsedTime>(address.as_ptr()) })
    })
}

/// `None` also while one of the events has not been reached: the driver says so.
fn distance_ms(from: &CudaEvent, to: &CudaEvent) -> Option<f32> {
    let mut distance = 0.0;
    // SAFETY: valid for the write; both exist, of one context, and have times.
    let code = unsafe { elapsed_time()?(&raw mut distance, from.cu_event(), to.cu_event()) };
    (code == 0).then_some(distance)
}

/// Resolution of a distance in milliseconds: half a microsecond, or the step of an `f32` of that size if it is
/// larger.
pub(crate) fn resolution_ns(distance_ms: f32) -> u64 {
    let distance = distance_ms.abs();
    let step = distance.next_up() - distance;
    ((f64::from(step) * 1e6).ceil() as u64).max(EVENT_RESOLUTION_NS)
}

/// Resolution of `cuEventElapsedTime`, from NVIDIA's documentation.
pub(crate) const EVENT_RESOLUTION_NS: u64 = 500;

#[cfg(test)]
mod tests {
    use super::resolution_ns;

    #[test]
    fn coarser_with_distance() {
        assert_eq!(resolution_ns(0.0), 500);
        assert_eq!(resolution_ns(-1_000.0), 500);
        // An f32 from 8192 to 16384 has steps of 2^-10: 977 ns.
        assert_eq!(resolution_ns(10_000.0), 977);
        assert_eq!(resolution_ns(100_000.0), 7813);
    }
}
