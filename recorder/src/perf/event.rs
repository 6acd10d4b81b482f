//! Events that can be counted.

/// An event that can be counted; [`PerfEvent::name`] is the name of its rows in `counters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PerfEvent {
    /// Core cycles.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Requests to the L2 cache, if the CPU counts them (Intel from Broadwell on, including prefetches; AMD
    /// Zen).
    L2Accesses,
    /// Misses of the L2 cache.
    L2Misses,
    /// Requests to the L3 cache, if each core counts its own (Intel from Broadwell on).
    L3Accesses,
    /// Misses of the L3 cache.
    L3Misses,
    /// Floating-point operations of all precisions, if the CPU counts them together (AMD Zen).
    Flops,
    /// Floating-point operations in single precision, if the CPU counts them (Intel from Broadwell on, Zen 1).
    FlopsF32,
    /// Floating-point operations in double precision, likewise.
    FlopsF64,
    /// Time on a CPU, in nanoseconds: less than the brick's duration if the thread had to wait for one.
    TaskClock,
    /// Page faults.
    PageFaults,
}

impl PerfEvent {
    /// All events. Those that a machine lacks cost nothing.
    pub const ALL: [Self; 11] = [
        Self::Cycles,
        Self::Instructions,
        Self::L2Accesses,
        Self::L2Misses,
        Self::L3Accesses,
        Self::L3Misses,
        Self::Flops,
        Self::FlopsF32,
        Self::FlopsF64,
        Self::TaskClock,
        Self::PageFaults,
    ];

    /// Text in the column `name`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::L2Accesses => "l2_accesses",
            Self::L2Misses => "l2_misses",
            Self::L3Accesses => "l3_accesses",
            Self::L3Misses => "l3_misses",
            Self::Flops => "flops",
            Self::FlopsF32 => "flops_f32",
            Self::FlopsF64 => "flops_f64",
            Self::TaskClock => "task_clock",
            Self::PageFaults => "page_faults",
        }
    }

    /// Text in the column `unit`.
    #[cfg(feature = "perf")]
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::TaskClock => "ns",
            _ => "",
        }
    }
}
