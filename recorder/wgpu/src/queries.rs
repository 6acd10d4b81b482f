//! Time stamps: query sets, from the command that writes one to the time that is read.
//!
//! A [`Batch`] is a query set with the buffers that its values go through. An encoder takes batches, and resolves them
//! when it is finished; when the device has done so, the values are copied out and the batch is free again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sizes of an encoder's first batch and of its other batches.
const SLOTS: [u32; 2] = [64, 1024];
const STAMP_BYTES: u64 = wgpu::QUERY_SIZE as u64;
const POOL: usize = 256;
/// Number of bits of a mark for the slot in its batch.
const SLOT_BITS: u32 = 16;
/// Number of fraction bits of a tick's nanoseconds.
const PERIOD_BITS: u32 = 32;

struct Buffers {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
}

pub(crate) struct Batch {
    number: u64,
    size: usize,
    buffers: Buffers,
    used: u32,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.used == SLOTS[self.size]
    }

    pub fn set(&self) -> &wgpu::QuerySet {
        &self.buffers.set
    }

    /// The next slot.
    pub fn slot(&self) -> u32 {
        self.used
    }

    /// Name of the next slot's time.
    pub fn mark(&self) -> u64 {
        self.number << SLOT_BITS | u64::from(self.used)
    }

    /// The next slot is written by a command.
    pub fn advance(&mut self) {
        self.used += 1;
    }

    /// Copies the values to where the host can read them, behind all that writes them.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let Buffers {
            set,
            resolved,
            readable,
        } = &self.buffers;
        if self.used > 0 {
            encoder.resolve_query_set(set, 0..self.used, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, readable, 0, self.bytes());
        }
    }

    fn bytes(&self) -> u64 {
        u64::from(self.used) * STAMP_BYTES
    }
}

#[derive(Default)]
struct Values {
    /// `None` if they are not available yet or cannot be read.
    ticks: Option<Vec<u64>>,
    /// Number of marks; `None` if not submitted.
    marks: Option<u32>,
    released: u32,
}

#[derive(Default)]
struct State {
    next: u64,
    values: HashMap<u64, Values>,
    free: [Vec<Buffers>; SLOTS.len()],
}

pub(crate) struct Queries {
    device: wgpu::Device,
    /// Nanoseconds per tick, in the form of [`fixed_point`].
    period: u128,
    state: Mutex<State>,
}

impl Queries {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Arc<Self> {
        Arc::new(Self {
            device: device.clone(),
            period: fixed_point(queue.get_timestamp_period()),
            state: Mutex::default(),
        })
    }

    // Never held while wgpu is called.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free batch; `later`: an encoder has filled one already.
    pub fn take(&self, later: bool) -> Batch {
        let size = usize::from(later);
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let free = state.free[size].pop();
        drop(state);
        Batch {
            number,
            size,
            buffers: free.unwrap_or_else(|| self.create(SLOTS[size])),
            used: 0,
        }
    }

    fn create(&self, slots: u32) -> Buffers {
        let buffer = |usage| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("time stamps"),
                size: u64::from(slots) * STAMP_BYTES,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        Buffers {
            set: self.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("time stamps"),
                ty: wgpu::QueryType::Timestamp,
                count: slots,
            }),
            resolved: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            readable: buffer(wgpu::BufferUsages::MAP_READ),
        }
    }

    /// Takes back a batch that was not submitted, and whose marks were released.
    pub fn discard(&self, batch: Batch) {
        self.state().values.remove(&batch.number);
        self.recycle(batch);
    }

    fn recycle(&self, batch: Batch) {
        let mut state = self.state();
        let free = &mut state.free[batch.size];
        if free.len() < POOL {
            free.push(batch.buffers);
        }
    }

    /// Reads the values of a batch that was resolved and submitted, as soon as they are there.
    pub fn read(self: &Arc<Self>, batch: Batch) {
        if batch.used == 0 {
            return self.discard(batch);
        }
        let marks = Some(batch.used);
        self.change(batch.number, |values| values.marks = marks);
        // The device keeps the callback, and would keep itself.
        let queries = Arc::downgrade(self);
        let readable = batch.buffers.readable.clone();
        let range = 0..batch.bytes();
        readable.map_async(wgpu::MapMode::Read, range, move |mapped| {
            if let (Ok(()), Some(queries)) = (mapped, queries.upgrade()) {
                queries.arrived(batch);
            }
        });
    }

    fn arrived(&self, batch: Batch) {
        let bytes = batch.buffers.readable.get_mapped_range(0..batch.bytes());
        let (stamps, _) = bytes.as_chunks::<{ STAMP_BYTES as usize }>();
        let ticks: Vec<u64> = stamps.iter().copied().map(u64::from_ne_bytes).collect();
        drop(bytes);
        batch.buffers.readable.unmap();
        if let Some(values) = self.state().values.get_mut(&batch.number) {
            values.ticks = Some(ticks);
        }
        self.recycle(batch);
    }

    /// Changes the values of a batch, and removes them once all its marks are released.
    fn change(&self, number: u64, change: impl FnOnce(&mut Values)) {
        let mut state = self.state();
        let values = state.values.entry(number).or_default();
        change(values);
        if values.marks == Some(values.released) {
            state.values.remove(&number);
        }
    }

    /// Time of a mark; `None`: not known, or the device wrote none.
    pub fn time_ns(&self, mark: u64) -> Option<u64> {
        let slot = usize::try_from(mark & ((1 << SLOT_BITS) - 1)).ok()?;
        let state = self.state();
        let values = state.values.get(&(mark >> SLOT_BITS))?;
        let ticks = *values.ticks.as_ref()?.get(slot)?;
        (ticks != 0).then(|| to_ns(ticks, self.period))
    }

    /// The mark is not needed any more.
    pub fn release(&self, mark: u64) {
        self.change(mark >> SLOT_BITS, |values| values.released += 1);
    }

    /// Gives the step of the device's clock, rounded up.
    pub fn resolution_ns(&self) -> u64 {
        (self.period.div_ceil(1 << PERIOD_BITS) as u64).max(1)
    }
}

/// Converts ticks to nanoseconds with integers, because an `f64` would be imprecise after some months of uptime.
fn to_ns(ticks: u64, period: u128) -> u64 {
    ((u128::from(ticks) * period) >> PERIOD_BITS) as u64
}

/// Nanoseconds per tick as a fixed-point number. Exact, because an `f32` has 24 bits.
fn fixed_point(period: f32) -> u128 {
    (f64::from(period) * (1u64 << PERIOD_BITS) as f64) as u128
}

#[cfg(test)]
mod tests {
    use super::{fixed_point, to_ns};

    #[test]
    fn ticks_of_months_keep_their_nanoseconds() {
        let months = 9_007_199_254_740_993;
        assert_eq!(to_ns(months, fixed_point(1.0)), months);
        assert_eq!(to_ns(months, fixed_point(0.5)), months / 2);
        let period = fixed_point(52.083_332);
        assert_eq!(to_ns(1_000, period), 52_083);
        let step = to_ns(months + 3, period) - to_ns(months, period);
        assert!(step == 156 || step == 157, "{step}");
    }
}
