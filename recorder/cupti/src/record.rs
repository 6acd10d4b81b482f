//! Activity records, decoded.
//!
//! Times are nanoseconds of `CLOCK_REALTIME`; 0 means that CUPTI did not collect one. Where a record holds
//! the address of a text, the recorded process has put the number of a name in its place (see
//! [`crate::spool`]).
//!
//! Records are read by offset and not cast to structs: enumerations grow, records get longer at their end, and the end
//! of a buffer is not trusted. Their lengths are asked from the library itself ([`crate::library::record_sizes`]); a kind
//! whose records are too short for what is read of them is refused by name.

use crate::driver::{mig_uuid_text, uuid_text};
use crate::kind;
use crate::layout::{Field, layout};

layout! {
    /// A kernel (`CUpti_ActivityKernel9` and later).
    Kernel of 176 {
        registers: u16 = 6,
        start: u64 = 16,
        end: u64 = 24,
        device: u32 = 40,
        context: u32 = 44,
        stream: u32 = 48,
        grid_x: u32 = 52,
        grid_y: u32 = 56,
        grid_z: u32 = 60,
        block_x: u32 = 64,
        block_y: u32 = 68,
        block_z: u32 = 72,
        smem_static: u32 = 76,
        smem_dynamic: u32 = 80,
        correlation: u32 = 92,
        name: u64 = 104,
        /// Time at which its command was created; 0 if not collected.
        queued: u64 = 120,
        /// Time at which its command was submitted to the device; 0 if not collected.
        submitted: u64 = 128,
        /// Node of a replayed graph; 0 for none.
        graph_node: u64 = 144,
        /// Graph; 0 for none.
        graph: u32 = 156,
    }
}

layout! {
    /// Fields at the same offsets in copies, copies between devices and fills.
    Moved of 44 {
        bytes: u64 = 8,
        start: u64 = 16,
        end: u64 = 24,
        device: u32 = 32,
        context: u32 = 36,
        stream: u32 = 40,
    }
}

impl Field for Moved {
    fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Self::read(bytes.get(offset..)?)
    }
}

layout! {
    /// A copy (`CUpti_ActivityMemcpy5` and later).
    Memcpy of 80 {
        /// `CUpti_ActivityMemcpyKind`.
        copy_kind: u8 = 4,
        /// `CUpti_ActivityMemoryKind`.
        src_kind: u8 = 5,
        dst_kind: u8 = 6,
        flags: u8 = 7,
        /// Bytes, times and place.
        moved: Moved = 0,
        correlation: u32 = 44,
        /// Node of a replayed graph; 0 for none.
        graph_node: u64 = 64,
    }
}

layout! {
    /// A copy between devices (`CUpti_ActivityMemcpyPtoP4`).
    MemcpyPeer of 88 {
        /// `CUpti_ActivityMemoryKind`.
        src_kind: u8 = 5,
        /// `CUpti_ActivityMemoryKind`.
        dst_kind: u8 = 6,
        flags: u8 = 7,
        moved: Moved = 0,
        correlation: u32 = 60,
        /// Node of a replayed graph; 0 for none.
        graph_node: u64 = 72,
    }
}

layout! {
    /// A fill (`CUpti_ActivityMemset4`).
    Memset of 80 {
        moved: Moved = 0,
        correlation: u32 = 44,
        flags: u16 = 48,
        /// `CUpti_ActivityMemoryKind`.
        memory_kind: u16 = 50,
        /// Node of a replayed graph; 0 for none.
        graph_node: u64 = 64,
    }
}

layout! {
    /// A call of the driver or the runtime (`CUpti_ActivityAPI`).
    Api of 40 {
        callback: u32 = 4,
        start: u64 = 8,
        end: u64 = 16,
        process: u32 = 24,
        thread: u32 = 28,
        /// Links the call to the work that it started.
        correlation: u32 = 32,
        status: u32 = 36,
    }
}

layout! {
    /// A wait (`CUpti_ActivitySynchronization` and later).
    Synchronization of 40 {
        /// `CUpti_ActivitySynchronizationType`.
        what: u32 = 4,
        start: u64 = 8,
        end: u64 = 16,
        correlation: u32 = 24,
        context: u32 = 28,
        stream: u32 = 32,
        event: u32 = 36,
    }
    later {
        /// Identifies one recording of the event.
        event_sync: u64 = 40,
    }
}

layout! {
    /// A record of an event on a stream (`CUpti_ActivityCudaEvent` and later).
    CudaEvent of 24 {
        correlation: u32 = 4,
        context: u32 = 8,
        stream: u32 = 12,
        event: u32 = 16,
    }
    later {
        device: u32 = 24,
        /// Time at which the device reached it; 0 if not collected.
        time: u64 = 40,
        /// Identifies one recording of the event.
        event_sync: u64 = 48,
    }
}

layout! {
    /// CUPTI's own overhead (`CUpti_ActivityOverhead` and later).
    Overhead of 40 {
        /// `CUpti_ActivityOverheadKind`.
        what: u32 = 4,
        /// 2: a thread.
        object: u32 = 8,
        process: u32 = 12,
        thread: u32 = 16,
        start: u64 = 24,
        end: u64 = 32,
    }
}

layout! {
    /// An id that another library assigned to a call (`CUpti_ActivityExternalCorrelation`).
    ExternalCorrelation of 24 {
        what: u32 = 4,
        external: u64 = 8,
        correlation: u32 = 16,
    }
}

layout! {
    /// Memory allocated or freed (`CUpti_ActivityMemory3` and later).
    Memory of 80 {
        /// 1 allocated, 2 freed.
        operation: u32 = 4,
        /// `CUpti_ActivityMemoryKind`.
        memory_kind: u32 = 8,
        correlation: u32 = 12,
        address: u64 = 16,
        bytes: u64 = 24,
        time: u64 = 32,
        device: u32 = 52,
        /// Number of the variable's name; 0 for none.
        name: u64 = 64,
    }
    later {
        /// `CUpti_ActivityMemoryPoolType` of its pool; 0 for none.
        pool_kind: u32 = 80,
        pool: u64 = 88,
        /// Size of the pool, if it belongs to this process.
        pool_bytes: u64 = 104,
        /// Bytes in use, if the pool belongs to this process.
        pool_used: u64 = 112,
    }
}

layout! {
    /// A memory pool that was created, trimmed or destroyed (`CUpti_ActivityMemoryPool` and later).
    MemoryPool of 64 {
        /// 1 created, 2 destroyed, 3 trimmed.
        operation: u32 = 4,
        /// `CUpti_ActivityMemoryPoolType`.
        pool_kind: u32 = 8,
        correlation: u32 = 12,
        device: u32 = 20,
        pool: u64 = 32,
        /// "The size of the operation", as CUPTI documents it.
        operation_bytes: u64 = 40,
        time: u64 = 56,
    }
    later {
        /// Bytes in use, if the pool belongs to this process.
        pool_used: u64 = 64,
    }
}

layout! {
    /// A graph that was launched as a whole (`CUpti_ActivityGraphTrace` and later).
    GraphTrace of 48 {
        correlation: u32 = 4,
        /// Start of its first node.
        start: u64 = 8,
        /// End of its last node.
        end: u64 = 16,
        device: u32 = 24,
        graph: u32 = 28,
        context: u32 = 32,
        stream: u32 = 36,
    }
}

layout! {
    /// Environment of a device (`CUpti_ActivityEnvironment`).
    Environment of 40 {
        device: u32 = 4,
        time: u64 = 8,
        /// 1 clocks, 2 temperature, 3 power, 4 cooling.
        what: u32 = 16,
        /// Clock of the multiprocessors in MHz; °C; mW; percent of the fan's full speed.
        first: u32 = 20,
        /// Clock of the memory in MHz; limit in mW.
        second: u32 = 24,
    }
}

layout! {
    /// A context (`CUpti_ActivityContext` and later).
    Context of 16 {
        context: u32 = 4,
        device: u32 = 8,
        /// Its legacy default stream.
        null_stream: u16 = 14,
    }
    later {
        /// The context that a green context is a part of.
        parent: u32 = 16,
        is_green: u8 = 20,
        /// Multiprocessors of a green context.
        multiprocessors: u16 = 22,
    }
}

layout! {
    /// Work of the driver's compiler (`CUpti_ActivityJit`).
    Jit of 64 {
        /// 1 PTX to code, 2 NVVM IR to PTX.
        entry: u32 = 4,
        /// 1 read from the cache, 2 written to it, 3 compiled.
        operation: u32 = 8,
        start: u64 = 16,
        end: u64 = 24,
        correlation: u32 = 32,
    }
    later {
        thread: u32 = 68,
    }
}

layout! {
    /// A host function that is a node of a graph (`CUpti_ActivityGraphHostNode`).
    GraphHostNode of 56 {
        correlation: u32 = 16,
        graph_node: u64 = 24,
        thread: u32 = 36,
        start: u64 = 40,
        end: u64 = 48,
    }
}

layout! {
    /// A host function that a stream called (`CUpti_ActivityHostLaunch`).
    HostLaunch of 48 {
        correlation: u32 = 16,
        thread: u32 = 24,
        start: u64 = 32,
        end: u64 = 40,
    }
}

layout! {
    /// A stream (`CUpti_ActivityStream`).
    Stream of 24 {
        context: u32 = 4,
        stream: u32 = 8,
        /// Lower numbers run first.
        priority: i32 = 12,
        /// 1 default, 2 non-blocking, 3 null. The upper half describes the per-thread default stream.
        flag: u32 = 16,
    }
}

layout! {
    /// A device (`CUpti_ActivityDevice5`).
    Device of 144 {
        memory_bytes: u64 = 16,
        l2_bytes: u32 = 28,
        multiprocessors: u32 = 44,
        compute_major: u32 = 104,
        compute_minor: u32 = 108,
        device: u32 = 112,
        /// Unique among all devices.
        uuid: [u8; 16] = 120,
        name: u64 = 136,
    }
    later {
        is_mig: u8 = 145,
        /// Unique among all MIG parts.
        mig_uuid: [u8; 16] = 160,
    }
}

impl Device {
    /// UUID as NVIDIA's tools print it, of a part that of the part; `None`: the record does not have the part's.
    pub fn own_uuid(&self) -> Option<String> {
        if self.is_mig.unwrap_or(0) == 0 {
            return Some(uuid_text(&self.uuid));
        }
        let part = self.mig_uuid.filter(|uuid| *uuid != [0; 16])?;
        Some(mig_uuid_text(&part))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Kernel(Kernel),
    Memcpy(Memcpy),
    MemcpyPeer(MemcpyPeer),
    Memset(Memset),
    Runtime(Api),
    Driver(Api),
    InternalLaunch(Api),
    Synchronization(Synchronization),
    CudaEvent(CudaEvent),
    Overhead(Overhead),
    ExternalCorrelation(ExternalCorrelation),
    Memory(Memory),
    MemoryPool(MemoryPool),
    GraphTrace(GraphTrace),
    Environment(Environment),
    Context(Context),
    Stream(Stream),
    Device(Device),
    Jit(Jit),
    GraphHostNode(GraphHostNode),
    HostLaunch(HostLaunch),
}

/// A reason why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("no kind")]
    NoKind,
    #[error("kind {0} is not known")]
    UnknownKind(u32),
    #[error("{} of {bytes} bytes, expected {least} or more", kind::name(*.kind))]
    TooShort {
        kind: u32,
        bytes: usize,
        least: usize,
    },
}

/// The kind that a record says it is of.
pub fn kind_of(bytes: &[u8]) -> Option<u32> {
    Field::at(bytes, 0)
}

/// Decodes a record.
///
/// # Errors
/// It is too short, or of a kind that is not decoded.
pub fn decode(bytes: &[u8]) -> Result<Record, Unreadable> {
    let number = kind_of(bytes).ok_or(Unreadable::NoKind)?;
    let record = match number {
        kind::CONCURRENT_KERNEL => Kernel::read(bytes).map(Record::Kernel),
        kind::MEMCPY => Memcpy::read(bytes).map(Record::Memcpy),
        kind::MEMCPY_PEER => MemcpyPeer::read(bytes).map(Record::MemcpyPeer),
        kind::MEMSET => Memset::read(bytes).map(Record::Memset),
        kind::RUNTIME => Api::read(bytes).map(Record::Runtime),
        kind::DRIVER => Api::read(bytes).map(Record::Driver),
        kind::INTERNAL_LAUNCH_API => Api::read(bytes).map(Record::InternalLaunch),
        kind::SYNCHRONIZATION => Synchronization::read(bytes).map(Record::Synchronization),
        kind::CUDA_EVENT => CudaEvent::read(bytes).map(Record::CudaEvent),
        kind::OVERHEAD => Overhead::read(bytes).map(Record::Overhead),
        kind::EXTERNAL_CORRELATION => {
            ExternalCorrelation::read(bytes).map(Record::ExternalCorrelation)
        }
        kind::MEMORY => Memory::read(bytes).map(Record::Memory),
        kind::MEMORY_POOL => MemoryPool::read(bytes).map(Record::MemoryPool),
        kind::GRAPH_TRACE => GraphTrace::read(bytes).map(Record::GraphTrace),
        kind::ENVIRONMENT => Environment::read(bytes).map(Record::Environment),
        kind::CONTEXT => Context::read(bytes).map(Record::Context),
        kind::STREAM => Stream::read(bytes).map(Record::Stream),
        kind::DEVICE => Device::read(bytes).map(Record::Device),
        kind::JIT => Jit::read(bytes).map(Record::Jit),
        kind::GRAPH_HOST_NODE => GraphHostNode::read(bytes).map(Record::GraphHostNode),
        kind::HOST_LAUNCH => HostLaunch::read(bytes).map(Record::HostLaunch),
        other => return Err(Unreadable::UnknownKind(other)),
    };
    record.ok_or(Unreadable::TooShort {
        kind: number,
        bytes: bytes.len(),
        least: kind::from_number(number).map_or(0, |kind| kind.least_bytes),
    })
}

/// Offset of the address of a text in records of a kind.
pub fn text_offset(number: u32) -> Option<usize> {
    match number {
        kind::CONCURRENT_KERNEL => Some(104),
        kind::DEVICE => Some(136),
        kind::MEMORY => Some(64),
        _ => None,
    }
}
