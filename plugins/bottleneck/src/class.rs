//! The classes of bottlenecks.

/// What kind of thing holds the program back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// At the roof of the memory.
    MemoryBound,
    /// At the roof of the arithmetic.
    ComputeBound,
    /// Each step waits for the one before: neither roof is near, and no queue is full.
    LatencyBound,
    /// The device waits for the host to launch the next small piece.
    LaunchBound,
    /// Copies between host and device, beside which nothing is computed.
    TransferBound,
    /// Waits after which there is nothing to do, or that take longer than what they wait for.
    SyncBound,
    /// Work waits for its input.
    DataLoadBound,
    /// Threads, streams or ranks wait for the slowest.
    LoadImbalance,
    /// What could run side by side runs one after another.
    Serialisation,
    /// Calls too small for their fixed cost, or for the device.
    SmallBatches,
    /// Free memory in pieces.
    FragmentedMemory,
    /// Live memory grows with the iterations.
    MemoryGrowth,
    /// Very many calls of next to nothing.
    TightLoop,
    /// Far from its roof, and on the critical path.
    Unoptimised,
    /// Equal tensors computed again.
    Recomputation,
    /// The same bytes back and forth.
    RedundantTransfers,
    /// What happens once, before the work begins.
    SetUp,
}

impl Class {
    /// As tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryBound => "memory_bound",
            Self::ComputeBound => "compute_bound",
            Self::LatencyBound => "latency_bound",
            Self::LaunchBound => "launch_bound",
            Self::TransferBound => "transfer_bound",
            Self::SyncBound => "sync_bound",
            Self::DataLoadBound => "data_load_bound",
            Self::LoadImbalance => "load_imbalance",
            Self::Serialisation => "serialisation",
            Self::SmallBatches => "small_batches",
            Self::FragmentedMemory => "fragmented_memory",
            Self::MemoryGrowth => "memory_growth",
            Self::TightLoop => "tight_loop",
            Self::Unoptimised => "unoptimised",
            Self::Recomputation => "recomputation",
            Self::RedundantTransfers => "redundant_transfers",
            Self::SetUp => "set_up",
        }
    }

    /// Whether this one is a reason for that one, where both are found at one place. Gaps in which the host prepares are
    /// neither copies nor loading: those are found beside it.
    pub fn explains(self, other: Self) -> bool {
        use Class::*;
        matches!(
            (self, other),
            (SmallBatches, LaunchBound | LatencyBound | SyncBound)
                | (TightLoop, LaunchBound | SmallBatches)
                | (RedundantTransfers, TransferBound | SyncBound)
                | (DataLoadBound, TransferBound)
                | (LoadImbalance, SyncBound | Serialisation)
                | (SyncBound, LaunchBound | Serialisation)
                | (TransferBound, SyncBound)
                | (
                    Recomputation,
                    MemoryBound | ComputeBound | LatencyBound | Unoptimised
                )
                | (MemoryGrowth, FragmentedMemory)
        )
    }
}
