//! Events that are marks on streams, and where they come from.
//!
//! Marks lie around the launch and inside the waits: memory that another stream uses is waited for before the first mark,
//! so that a row is the work and not the wait for it. Times are distances to an anchor at most about a second before, as
//! the driver's `f32` milliseconds get coarser with distance.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};

use crate::clock::{Anchor, resolution_ns};

/// A new anchor is recorded after this time, to keep distances below a second.
const ANCHOR_EVERY: Duration = Duration::from_millis(500);
/// Limit on anchors kept for late events.
const ANCHORS: usize = 128;
/// For distances above this, a later anchor is looked up.
const FAR_MS: f32 = 1000.0;
/// Limit on events kept for reuse.
const POOL: usize = 4096;

#[derive(Clone)]
struct Mark {
    event: Arc<CudaEvent>,
    anchor: Arc<Anchor>,
}

struct State {
    /// In the order of time; never empty.
    anchors: VecDeque<Arc<Anchor>>,
    anchored: Instant,
    marks: HashMap<u64, Mark>,
    next: u64,
    pool: Vec<Arc<CudaEvent>>,
}

pub(crate) struct Events {
    context: Arc<CudaContext>,
    /// Used for anchors only; no work of the program goes through it.
    stream: Arc<CudaStream>,
    state: Mutex<State>,
    /// The longest distance among the returned times (bits of an `f32`).
    farthest_ms: AtomicU32,
}

impl Events {
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        let stream = context.new_stream()?;
        let event = timed(context)?;
        event.record(&stream)?;
        event.synchronize()?;
        Ok(Self {
            context: context.clone(),
            stream,
            state: Mutex::new(State {
                anchors: VecDeque::from([Arc::new(Anchor::new(event, None))]),
                anchored: Instant::now(),
                marks: HashMap::new(),
                next: 0,
                pool: Vec::new(),
            }),
            farthest_ms: AtomicU32::new(0),
        })
    }

    // Never held while the driver is called: a call may wait for the device.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a mark behind what a stream was given so far.
    pub fn mark(&self, stream: &CudaStream) -> Result<u64, DriverError> {
        let anchor = self.anchor()?;
        let event = self.take()?;
        event.record(stream)?;
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.marks.insert(number, Mark { event, anchor });
        Ok(number)
    }

    /// Time at which a mark was reached; `None`: not yet.
    pub fn time_ns(&self, mark: u64) -> Option<u64> {
        self.context.bind_to_thread().ok()?;
        let mark = self.state().marks.get(&mark)?.clone();
        let (time, far_ms) = mark.anchor.time_of(&mark.event)?;
        let (time, far_ms) = if far_ms > FAR_MS {
            self.nearer(&mark.event, time).unwrap_or((time, far_ms))
        } else {
            (time, far_ms)
        };
        // Distances are positive or tiny, and so ordered as their bits.
        self.farthest_ms
            .fetch_max(far_ms.abs().to_bits(), Ordering::Relaxed);
        Some(time)
    }

    fn nearer(&self, event: &CudaEvent, about_ns: u64) -> Option<(u64, f32)> {
        let anchors: Vec<Arc<Anchor>> = self.state().anchors.iter().cloned().collect();
        let before = |anchor: &&Arc<Anchor>| anchor.time_ns().is_some_and(|at| at <= about_ns);
        anchors.iter().rev().find(before)?.time_of(event)
    }

    /// The mark is not needed any more.
    pub fn release(&self, mark: u64) {
        let mut state = self.state();
        let mark = state.marks.remove(&mark);
        if let Some(mark) = mark {
            if state.pool.len() < POOL {
                state.pool.push(mark.event);
                return;
            }
            drop(state);
            // Destroyed here, after the lock was released.
            drop(mark);
        }
    }

    /// The device's clock, now: an event on a stream that has nothing else to do.
    pub fn now_ns(&self) -> Option<u64> {
        let anchor = self.anchor().ok()?;
        let event = self.take().ok()?;
        event.record(&self.stream).ok()?;
        event.synchronize().ok()?;
        let time = anchor.time_of(&event)?.0;
        let mut state = self.state();
        if state.pool.len() < POOL {
            state.pool.push(event);
        }
        Some(time)
    }

    fn anchor(&self) -> Result<Arc<Anchor>, DriverError> {
        let mut state = self.state();
        let last = state.anchors[state.anchors.len() - 1].clone();
        if state.anchored.elapsed() < ANCHOR_EVERY {
            return Ok(last);
        }
        // One thread makes it; the others go on with the last one.
        state.anchored = Instant::now();
        drop(state);
        let event = timed(&self.context)?;
        event.record(&self.stream)?;
        // So that the last one can drop the one before it.
        let _ = last.time_ns();
        let fresh = Arc::new(Anchor::new(event, Some(last)));
        let mut state = self.state();
        state.anchors.push_back(fresh.clone());
        let oldest = if state.anchors.len() > ANCHORS {
            state.anchors.pop_front()
        } else {
            None
        };
        drop(state);
        drop(oldest);
        Ok(fresh)
    }

    fn take(&self) -> Result<Arc<CudaEvent>, DriverError> {
        let pooled = self.state().pool.pop();
        match pooled {
            Some(event) => Ok(event),
            None => timed(&self.context).map(Arc::new),
        }
    }

    /// Gives the resolution of the times given out so far.
    pub fn resolution_ns(&self) -> u64 {
        resolution_ns(f32::from_bits(self.farthest_ms.load(Ordering::Relaxed)))
    }
}

/// An event with timing, which cudarc's default lacks.
fn timed(context: &Arc<CudaContext>) -> Result<CudaEvent, DriverError> {
    context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
}
