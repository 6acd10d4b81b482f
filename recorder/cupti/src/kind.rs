//! Kinds of activity records (`CUpti_ActivityKind`).

/// A kind that we ask for or can decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub number: u32,
    /// Name for people and for `run.json`.
    pub name: &'static str,
    /// Bytes of a record in CUPTI 13.0.85.
    pub bytes: usize,
    /// Bytes that a record must have to be decoded: those of CUPTI 12.0.
    pub least_bytes: usize,
}

const fn kind(number: u32, name: &'static str, bytes: usize, least_bytes: usize) -> Kind {
    Kind {
        number,
        name,
        bytes,
        least_bytes,
    }
}

pub const MEMCPY: u32 = 1;
pub const MEMSET: u32 = 2;
/// Calls of the driver.
pub const DRIVER: u32 = 4;
/// Calls of the runtime.
pub const RUNTIME: u32 = 5;
pub const DEVICE: u32 = 8;
pub const CONTEXT: u32 = 9;
/// Kernels that may run side by side.
pub const CONCURRENT_KERNEL: u32 = 10;
pub const OVERHEAD: u32 = 17;
/// Clocks, temperature and power of a device.
pub const ENVIRONMENT: u32 = 20;
pub const MEMCPY_PEER: u32 = 22;
/// Records of events on streams.
pub const CUDA_EVENT: u32 = 36;
pub const STREAM: u32 = 37;
pub const SYNCHRONIZATION: u32 = 38;
/// Ids that other libraries gave to calls.
pub const EXTERNAL_CORRELATION: u32 = 39;
/// Launches inside the driver.
pub const INTERNAL_LAUNCH_API: u32 = 48;
/// Memory taken and given back.
pub const MEMORY: u32 = 49;
/// Pools of memory made, trimmed and done away with.
pub const MEMORY_POOL: u32 = 50;
/// Whole launches of graphs.
pub const GRAPH_TRACE: u32 = 51;

/// What the driver compiled, or took from its cache.
pub const JIT: u32 = 52;
/// Functions of the host that are nodes of graphs; since 13.1 or 13.2.
pub const GRAPH_HOST_NODE: u32 = 56;
/// Functions of the host that streams call; as new.
pub const HOST_LAUNCH: u32 = 58;

pub const KINDS: &[Kind] = &[
    kind(MEMCPY, "memcpy", 96, 80),
    kind(MEMSET, "memset", 88, 80),
    kind(DRIVER, "driver", 40, 40),
    kind(RUNTIME, "runtime", 40, 40),
    kind(DEVICE, "device", 184, 144),
    kind(CONTEXT, "context", 32, 16),
    kind(CONCURRENT_KERNEL, "concurrent_kernel", 216, 176),
    kind(OVERHEAD, "overhead", 56, 40),
    kind(ENVIRONMENT, "environment", 40, 40),
    kind(MEMCPY_PEER, "memcpy_peer", 96, 88),
    kind(CUDA_EVENT, "cuda_event", 56, 24),
    kind(STREAM, "stream", 24, 24),
    kind(SYNCHRONIZATION, "synchronization", 56, 40),
    kind(EXTERNAL_CORRELATION, "external_correlation", 24, 24),
    kind(INTERNAL_LAUNCH_API, "internal_launch_api", 40, 40),
    kind(MEMORY, "memory", 128, 80),
    kind(MEMORY_POOL, "memory_pool", 80, 64),
    kind(GRAPH_TRACE, "graph_trace", 56, 48),
    kind(JIT, "jit", 72, 64),
];

/// Kinds that 13.0.85 does not have, and neither has its default sizes: those of a library say how long they are.
pub const LATER_KINDS: &[Kind] = &[
    kind(GRAPH_HOST_NODE, "graph_host_node", 56, 56),
    kind(HOST_LAUNCH, "host_launch", 48, 48),
];

pub fn from_number(number: u32) -> Option<&'static Kind> {
    let all = KINDS.iter().chain(LATER_KINDS);
    all.into_iter().find(|kind| kind.number == number)
}

/// Its name, or its number in words.
pub fn name(number: u32) -> String {
    from_number(number).map_or_else(|| format!("kind {number}"), |kind| kind.name.to_owned())
}
