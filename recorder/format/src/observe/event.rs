//! One event of a ring, as far as a look at a running program needs it.

use crate::record::{Record, device_timing, extension, kind, row_id, unpair};
use crate::timeline::Timeline;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// Row of `bricks`; `number` is the iteration.
    Iteration,
    /// Row of `bricks`; `number` is the layer.
    Layer,
    /// Row of `bricks`.
    Brick,
    /// Row of `bricks`.
    Function,
    /// Row of `bricks`: work for a row of another thread.
    Task,
    /// Row of `kernels` on its thread.
    Kernel,
    /// Row of `kernels` with the device's own times.
    DeviceKernel,
    /// Row of `kernels` on a device that reported no times.
    UntimedDeviceKernel,
    /// Row of `transfers`.
    Transfer,
    /// Row of `syncs`: the thread waited.
    Wait,
    /// Row of `counters`.
    Counter,
}

impl EventKind {
    /// True of rows that lie on a host thread and take its time.
    pub fn is_on_thread(self) -> bool {
        matches!(
            self,
            Self::Iteration
                | Self::Layer
                | Self::Brick
                | Self::Function
                | Self::Task
                | Self::Kernel
                | Self::Wait
        )
    }
}

/// One event. Names are numbers, see [`Observer::name`](super::Observer::name); 0: none is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Kind of the row.
    pub kind: EventKind,
    /// Index of the thread that the row lies on; of device work, that launched it.
    pub thread: u32,
    /// Id of the row.
    pub id: u64,
    /// The row around it; of device work the brick that launched it.
    pub parent: Option<u64>,
    /// Number of its name.
    pub name: u32,
    /// Number of the category that the program gave.
    pub category: u32,
    /// Number of the backend.
    pub backend: u32,
    /// Its beginning; of a counter, the moment of the reading.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// Number of an iteration or layer.
    pub number: u64,
    /// Device of device work.
    pub device: Option<u32>,
    /// Declared floating-point operations.
    pub flops: Option<u64>,
    /// Declared bytes; of a brick read and written.
    pub bytes: Option<u64>,
    /// Value of a counter.
    pub value: f64,
    /// The row was written by a guard that any thread could end, or afterwards: its parent may have been written before,
    /// and it need not nest with other rows of its thread.
    pub is_detached: bool,
}

impl Event {
    /// The row around it, where that lies on the same thread.
    pub fn parent_on_thread(&self) -> Option<u64> {
        let of_thread = row_id(self.thread, 0) >> 32;
        self.parent.filter(|id| id >> 32 == of_thread)
    }
}

/// Decodes the event of a group of records. `None` if the group is damaged or of an ignored kind.
pub(super) fn decode(group: &[Record], thread: u32, timeline: &mut Timeline) -> Option<Event> {
    let record = group.first()?;
    let kind = match record.kind {
        kind::ITERATION => EventKind::Iteration,
        kind::LAYER => EventKind::Layer,
        kind::BRICK => EventKind::Brick,
        kind::FUNCTION => EventKind::Function,
        kind::TASK => EventKind::Task,
        kind::KERNEL => EventKind::Kernel,
        kind::WAIT | kind::DEVICE_WAIT => EventKind::Wait,
        kind::DEVICE_WORK => match record.flags & device_timing::MASK {
            device_timing::STAMPED => EventKind::DeviceKernel,
            _ => EventKind::UntimedDeviceKernel,
        },
        kind::TRANSFER => EventKind::Transfer,
        kind::COUNTER => EventKind::Counter,
        _ => return None,
    };
    let on_thread = |seq: u32| (seq != 0).then(|| row_id(thread, seq));
    let mut event = Event {
        kind,
        thread,
        id: row_id(thread, record.seq),
        parent: on_thread(record.parent),
        name: record.name,
        category: 0,
        backend: u32::from(record.backend),
        start_ns: timeline.ns(record.start),
        end_ns: 0,
        number: record.m[0],
        device: None,
        flops: None,
        bytes: None,
        value: 0.0,
        is_detached: false,
    };
    match kind {
        EventKind::Counter => {
            event.end_ns = event.start_ns;
            event.value = f64::from_bits(record.m[0]);
            return Some(event);
        }
        EventKind::Kernel => (event.flops, event.bytes) = (record.metric(1), record.metric(2)),
        EventKind::Brick | EventKind::Function | EventKind::Task => {
            event.flops = record.metric(1);
            event.bytes = match (record.metric(2), record.metric(3)) {
                (None, None) => None,
                (read, written) => Some(read.unwrap_or(0).saturating_add(written.unwrap_or(0))),
            };
        }
        EventKind::DeviceKernel | EventKind::UntimedDeviceKernel | EventKind::Transfer => {
            event.thread = record.parent;
            event.parent = (record.m[0] != 0).then_some(record.m[0]);
            let is_known = record.flags & device_timing::ON_DEVICE != 0;
            event.device = is_known.then(|| unpair(record.m[1]).0);
            event.id = match record.m[3] {
                0 => event.id,
                id => id,
            };
            if kind == EventKind::Transfer {
                event.bytes = Some(record.m[2]);
            }
        }
        EventKind::Wait if record.kind == kind::DEVICE_WAIT => event.name = 0,
        EventKind::Wait | EventKind::Iteration | EventKind::Layer => {}
    }
    for more in &group[1..] {
        match more.kind {
            extension::LABELS => {
                event.backend = u32::try_from(more.m[0]).unwrap_or(0);
                event.category = u32::try_from(more.m[1]).unwrap_or(0);
            }
            extension::PARENT => event.parent = Some(more.m[0]),
            extension::ORIGIN => {
                event.is_detached = true;
                event.thread = more.name;
                event.id = row_id(more.name, record.seq);
                event.parent = (more.m[0] != 0).then_some(more.m[0]);
            }
            extension::WORK => {
                event.flops = (more.flags & 2 != 0).then_some(more.m[1]);
                event.bytes = (more.flags & 4 != 0).then_some(more.m[2]);
            }
            _ => {}
        }
    }
    if record.start > record.end {
        return None;
    }
    event.end_ns = timeline.ns(record.end);
    Some(event)
}
