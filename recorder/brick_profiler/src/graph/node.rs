//! Nodes and edges of an execution graph.

use trueno_recorder::BrickId;
pub use trueno_recorder::finished::TransferDirection;

/// Names a node, in the order of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExecutionNodeId(pub u32);

/// A scope or a leaf. Layers become rows of `bricks` of kind `layer`, bricks `brick`, tasks `task`, functions
/// `function`; kernels rows of `kernels`, transfers of `transfers`. What is stated here and has no column is an attribute
/// of the row.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ExecutionNode {
    Brick {
        id: BrickId,
        /// 0 if not known yet.
        timing_ns: u64,
        elements: u64,
    },
    Kernel {
        name: String,
        ptx_hash: u64,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        /// Bytes.
        shared_mem: u32,
        timing_ns: Option<u64>,
        /// FLOPs per byte.
        arithmetic_intensity: Option<f32>,
        achieved_tflops: Option<f32>,
    },
    Transfer {
        src: String,
        dst: String,
        bytes: u64,
        direction: TransferDirection,
        timing_ns: Option<u64>,
    },
    Function {
        name: String,
        file: Option<String>,
        line: Option<u32>,
    },
    Layer {
        index: u32,
    },
    AsyncTask {
        name: String,
        poll_count: u64,
        yield_count: u64,
        total_poll_ns: u64,
    },
}

impl ExecutionNode {
    /// The name, by which [`ExecutionGraph::node_by_name`](super::ExecutionGraph::node_by_name) finds it.
    pub fn name(&self) -> String {
        match self {
            Self::Brick { id, .. } => id.name().to_owned(),
            Self::Kernel { name, .. } | Self::Function { name, .. } => name.clone(),
            Self::AsyncTask { name, .. } => name.clone(),
            Self::Transfer {
                src,
                dst,
                direction,
                ..
            } => format!("{direction:?}:{src}->{dst}"),
            Self::Layer { index } => format!("Layer{index}"),
        }
    }

    /// Returns whether it is a kernel.
    pub fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel { .. })
    }

    /// Returns whether it is a brick.
    pub fn is_brick(&self) -> bool {
        matches!(self, Self::Brick { .. })
    }

    /// Returns whether it is a transfer.
    pub fn is_transfer(&self) -> bool {
        matches!(self, Self::Transfer { .. })
    }

    /// The time that the program states; `None`: it states none.
    pub fn timing_ns(&self) -> Option<u64> {
        match self {
            Self::Brick { timing_ns, .. } => Some(*timing_ns).filter(|ns| *ns > 0),
            Self::Kernel { timing_ns, .. } | Self::Transfer { timing_ns, .. } => *timing_ns,
            Self::AsyncTask {
                poll_count,
                total_poll_ns,
                ..
            } => (*poll_count > 0).then_some(*total_poll_ns),
            Self::Function { .. } | Self::Layer { .. } => None,
        }
    }

    /// The hash of a kernel's source.
    pub fn ptx_hash(&self) -> Option<u64> {
        match self {
            Self::Kernel { ptx_hash, .. } => Some(*ptx_hash),
            _ => None,
        }
    }

    /// FLOPs a byte of a kernel, as the program states them.
    pub fn arithmetic_intensity(&self) -> Option<f32> {
        match self {
            Self::Kernel {
                arithmetic_intensity,
                ..
            } => *arithmetic_intensity,
            _ => None,
        }
    }

    /// 10^12 FLOPs a second of a kernel, as the program states them.
    pub fn achieved_tflops(&self) -> Option<f32> {
        match self {
            Self::Kernel {
                achieved_tflops, ..
            } => *achieved_tflops,
            _ => None,
        }
    }

    /// The bytes of a transfer.
    pub fn transfer_bytes(&self) -> Option<u64> {
        match self {
            Self::Transfer { bytes, .. } => Some(*bytes),
            _ => None,
        }
    }
}

/// Relation of two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeType {
    /// The source calls the destination, which is nested in it.
    Calls,
    /// The source contains the destination.
    Contains,
    /// The source launches the destination, a kernel, and waits for it: the kernel is nested in the source.
    Launches,
    /// The destination begins after the source has ended.
    Sequence,
    /// The destination needs what the source produces.
    DependsOn,
    /// The destination needs the data that the source transfers.
    #[expect(missing_docs, reason = "the names say it")]
    Transfer {
        bytes: u64,
        direction: TransferDirection,
    },
}

impl EdgeType {
    /// True if the destination is nested in the source, false if it comes after it.
    pub(super) fn is_nesting(&self) -> bool {
        matches!(self, Self::Calls | Self::Contains | Self::Launches)
    }
}

/// An edge.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ExecutionEdge {
    pub src: ExecutionNodeId,
    pub dst: ExecutionNodeId,
    pub edge_type: EdgeType,
    /// As the program gave it, else 1; no analysis reads it.
    pub weight: f32,
}
