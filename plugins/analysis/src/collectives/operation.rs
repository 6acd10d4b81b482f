//! Operations of collectives: their names in PyTorch and NCCL, whether they synchronise, and their bandwidths.

use crate::vendors;

/// A collective operation, or one of two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Every rank gets the sum (or another reduction) of all ranks' data.
    AllReduce,
    /// Every rank gets the data of all ranks.
    AllGather,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every rank.
    AllToAll,
    /// Every rank gets the data of one rank.
    Broadcast,
    /// One rank gets the sum.
    Reduce,
    /// One rank gets the data of all ranks.
    Gather,
    /// Every rank gets a part of one rank's data.
    Scatter,
    /// No rank continues before all have arrived.
    Barrier,
    /// Sends data to one other rank.
    Send,
    /// Receives data from one other rank.
    Recv,
    /// Sends and receives in one kernel; the peers are unknown.
    SendRecv,
    /// A collective of unknown kind.
    Other,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Broadcast,
        Self::Reduce,
        Self::Gather,
        Self::Scatter,
        Self::Barrier,
        Self::Send,
        Self::Recv,
        Self::SendRecv,
        Self::Other,
    ];

    /// The word of tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::SendRecv => "send_recv",
            Self::Other => "other",
        }
    }

    /// The operation that a program, or the name of a kernel, means: `allreduce`, `_allgather_base`, `all_to_allv`,
    /// `ncclDevKernel_ReduceScatter_Sum_f32_RING_LL`. `None`: the text names no collective.
    pub fn parse(text: &str) -> Option<Self> {
        let kernel = ["ncclDevKernel_", "ncclKernel_", "ncclDevKernelDebug_"];
        let is_kernel = kernel.iter().any(|prefix| text.contains(prefix));
        let mut word: String = text.to_ascii_lowercase();
        if is_kernel {
            // The operation comes first; what follows is the reduction (`Sum`), type and algorithm.
            let start = word.find("kernel_").or(word.find("kerneldebug_"))?;
            word = word[start..].split('_').nth(1)?.to_owned();
        }
        word.retain(|c| c.is_ascii_alphanumeric());
        let starts = |words: &[&str]| {
            let mut libraries = ["nccl", "c10d", "hcom", "hccl"].into_iter();
            let of = libraries
                .find_map(|library| word.strip_prefix(library))
                .unwrap_or(&word);
            words.iter().any(|start| of.starts_with(start))
        };
        // The longer ones first: `reduce` begins `reducescatter`.
        Some(match () {
            () if starts(&["allreduce"]) => Self::AllReduce,
            () if starts(&["allgather"]) => Self::AllGather,
            () if starts(&["reducescatter"]) => Self::ReduceScatter,
            () if starts(&["alltoall"]) => Self::AllToAll,
            () if starts(&["broadcast"]) => Self::Broadcast,
            () if starts(&["reduce"]) => Self::Reduce,
            () if starts(&["gather"]) => Self::Gather,
            () if starts(&["scatter"]) => Self::Scatter,
            () if starts(&["barrier"]) => Self::Barrier,
            () if starts(&["sendrecv"]) => Self::SendRecv,
            () if starts(&["send", "isend"]) => Self::Send,
            () if starts(&["recv", "irecv", "receive"]) => Self::Recv,
            () if is_kernel || starts(&["coalesced"]) => Self::Other,
            () => return None,
        })
    }

    /// The same for the name of a kernel. Kernels also broadcast, reduce, gather and scatter the data of their own
    /// device: of these only names that [belong to communication](vendors::is_communication) are collectives.
    pub fn of_kernel(name: &str) -> Option<Self> {
        let operation = Self::parse(name).or_else(|| Self::of_own_collective(name))?;
        let may_be_local = matches!(
            operation,
            Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter
        );
        (!may_be_local || vendors::is_communication(name)).then_some(operation)
    }

    /// The operation of a kernel that a framework or server brings along, by the function's own name:
    /// `multimem_all_reduce_kernel` and `two_shot_all_reduce_kernel` of PyTorch's symmetric memory, `cross_device_reduce_1stage` of
    /// vLLM, which is an all-reduce.
    fn of_own_collective(name: &str) -> Option<Self> {
        if !vendors::is_communication(name) {
            return None;
        }
        let name = name.replace("(anonymous namespace)::", "");
        let function = name.split(['<', '(']).next()?;
        let mut function = function.rsplit([' ', ':']).next()?;
        while let Some(rest) = ["multimem_", "one_shot_", "two_shot_", "symm_mem_"]
            .iter()
            .find_map(|prefix| function.strip_prefix(prefix))
        {
            function = rest;
        }
        if function.starts_with("cross_device_reduce") {
            return Some(Self::AllReduce);
        }
        Self::parse(function).filter(|operation| operation.synchronises())
    }

    /// True if no rank leaves before the last has arrived. A broadcast lets its root go, a reduction all others.
    pub fn synchronises(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::AllGather
                | Self::ReduceScatter
                | Self::AllToAll
                | Self::Barrier
        )
    }

    /// Elements that nccl-tests counts as the size of the operation, of those that one rank gives and gets. For
    /// all-gather what is got, for reduce-scatter what is given: the whole; else what is given.
    ///
    /// Source: nccl-tests, `doc/PERFORMANCE.md` and the functions `…GetCollByteCount` of `src/*.cu`.
    pub fn size(self, given: Option<u64>, got: Option<u64>) -> Option<u64> {
        match self {
            Self::AllGather | Self::Recv => got,
            Self::Barrier | Self::Other | Self::SendRecv => None,
            _ => given,
        }
    }

    /// Bus bandwidth over algorithm bandwidth among so many ranks; `None`: there is no such definition.
    ///
    /// Source: nccl-tests, `doc/PERFORMANCE.md`: 2 (n − 1) / n for all-reduce, (n − 1) / n for all-gather,
    /// reduce-scatter and all-to-all, 1 for broadcast, reduce, send and receive.
    pub fn bus_factor(self, ranks: u32) -> Option<f64> {
        let n = f64::from(ranks);
        (ranks > 0).then_some(match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (n - 1.0) / n,
            Self::Gather | Self::Scatter => (n - 1.0) / n,
            Self::Broadcast | Self::Reduce | Self::Send | Self::Recv => 1.0,
            Self::Barrier | Self::Other | Self::SendRecv => return None,
        })
    }
}

/// Bytes of an element of a type, as PyTorch and NCCL name it; `None`: not known.
pub fn element_bytes(element_type: &str) -> Option<u64> {
    let name = element_type.to_ascii_lowercase();
    // As PyTorch has them from C++ (`c10::BFloat16`, `long int`) and from Python (`torch.bfloat16`).
    let name = name.strip_prefix("c10::").unwrap_or(&name);
    Some(match name.strip_prefix("torch.").unwrap_or(name) {
        "bool" | "byte" | "char" | "int8" | "uint8" | "i8" | "u8" | "int8_t" | "uint8_t"
        | "unsigned char" | "signed char" | "float8_e4m3fn" | "float8_e5m2" | "f8e4m3"
        | "f8e5m2" => 1,
        "half" | "bfloat16" | "float16" | "short" | "short int" | "int16" | "i16" | "f16"
        | "bf16" => 2,
        "float" | "float32" | "int" | "int32" | "uint32" | "i32" | "u32" | "f32" => 4,
        "double" | "float64" | "long" | "long int" | "int64" | "uint64" | "i64" | "u64" | "f64" => {
            8
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_move_data_of_their_own_device_are_no_collectives() {
        for (name, operation) in [
            ("BroadcastTo44", None),
            ("ReduceSumD12", None),
            ("GatherV2", None),
            ("hcom_broadcast__307_0_1", Some(Operation::Broadcast)),
            (
                "ncclDevKernel_Reduce_Sum_f32_RING_LL",
                Some(Operation::Reduce),
            ),
            ("all-reduce.12", Some(Operation::AllReduce)),
            (
                "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
                Some(Operation::AllReduce),
            ),
            (
                "void c10d::two_shot_all_reduce_kernel<float>(float**)",
                Some(Operation::AllReduce),
            ),
            (
                "multimem_one_shot_all_reduce_kernel",
                Some(Operation::AllReduce),
            ),
            ("multimem_all_gather_kernel", Some(Operation::AllGather)),
            (
                "void vllm::cross_device_reduce_1stage<half, 2>(vllm::RankData*)",
                Some(Operation::AllReduce),
            ),
            ("void app::reduce_kernel<float>(float*)", None),
        ] {
            assert_eq!(Operation::of_kernel(name), operation, "{name}");
        }
    }

    #[test]
    fn names_of_programs_and_kernels() {
        for (text, operation) in [
            ("allreduce", Some(Operation::AllReduce)),
            ("allreduce_coalesced", Some(Operation::AllReduce)),
            ("_allgather_base", Some(Operation::AllGather)),
            ("all_gather_into_tensor", Some(Operation::AllGather)),
            ("_reduce_scatter_base", Some(Operation::ReduceScatter)),
            ("all_to_allv", Some(Operation::AllToAll)),
            ("nccl:all_reduce", Some(Operation::AllReduce)),
            ("c10d::broadcast_", Some(Operation::Broadcast)),
            ("send", Some(Operation::Send)),
            (
                "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)",
                Some(Operation::AllReduce),
            ),
            (
                "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
                Some(Operation::ReduceScatter),
            ),
            (
                "ncclDevKernel_Reduce_Sum_f32_RING_LL",
                Some(Operation::Reduce),
            ),
            (
                "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)",
                Some(Operation::SendRecv),
            ),
            (
                "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096>)",
                Some(Operation::Other),
            ),
            ("hcom_allReduce__307_0_1", Some(Operation::AllReduce)),
            ("hcom_receive__307_0_1", Some(Operation::Recv)),
            ("wait", None),
            ("void at::native::reduce_kernel<512, 1>()", None),
            ("sgemm", None),
        ] {
            assert_eq!(Operation::parse(text), operation, "{text}");
        }
        for operation in Operation::ALL {
            if operation != Operation::Other {
                assert_eq!(Operation::parse(operation.name()), Some(operation));
            }
        }
    }

    #[test]
    fn bandwidths_are_those_of_nccl_tests() {
        assert_eq!(Operation::AllReduce.bus_factor(8), Some(1.75));
        assert_eq!(Operation::AllGather.bus_factor(8), Some(0.875));
        assert_eq!(Operation::Broadcast.bus_factor(8), Some(1.0));
        assert_eq!(Operation::Barrier.bus_factor(8), None);
        assert_eq!(Operation::AllGather.size(Some(4), Some(32)), Some(32));
        assert_eq!(Operation::ReduceScatter.size(Some(32), Some(4)), Some(32));
        for (name, bytes) in [
            ("BFloat16", 2),
            ("c10::Half", 2),
            ("long int", 8),
            ("unsigned char", 1),
            ("torch.float32", 4),
        ] {
            assert_eq!(element_bytes(name), Some(bytes), "{name}");
        }
        assert_eq!(element_bytes("complex"), None);
    }
}
