//! The graph of a profiler.

use crate::graph::{ExecutionGraph, ExecutionNode, ExecutionNodeId};
use crate::profiler::BrickProfiler;
use crate::ptx::PtxRegistry;
use trueno_recorder::BrickId;

impl BrickProfiler {
    /// From now on scopes and kernels are recorded, whether bricks are timed or not.
    pub fn enable_graph(&mut self) {
        self.graph_enabled = true;
    }

    /// From now on scopes and kernels are not recorded.
    pub fn disable_graph(&mut self) {
        self.graph_enabled = false;
    }

    /// Returns whether scopes and kernels are recorded.
    pub fn is_graph_enabled(&self) -> bool {
        self.graph_enabled
    }

    /// The graph of what was recorded.
    pub fn execution_graph(&self) -> &ExecutionGraph {
        &self.graph
    }

    /// The graph, to record in it: it takes more than the methods of the profiler, enabled or not.
    pub fn execution_graph_mut(&mut self) -> &mut ExecutionGraph {
        &mut self.graph
    }

    /// Opens a scope; see [`ExecutionGraph::push_scope`].
    #[track_caller]
    pub fn graph_push_scope(&mut self, node: ExecutionNode) -> Option<ExecutionNodeId> {
        self.graph_enabled.then_some(())?;
        Some(self.graph.push_scope(node))
    }

    /// Closes the innermost scope and records it.
    pub fn graph_pop_scope(&mut self) -> Option<ExecutionNodeId> {
        self.graph_enabled.then_some(())?;
        self.graph.pop_scope()
    }

    /// Takes the brick that was stopped just before into the graph: kernels recorded next lie in it. It is not recorded
    /// twice. Without one, a brick that ended now after `timing_ns` is.
    #[track_caller]
    pub fn graph_record_brick(
        &mut self,
        brick: BrickId,
        timing_ns: u64,
        elements: u64,
    ) -> Option<ExecutionNodeId> {
        self.graph_enabled.then_some(())?;
        let node = ExecutionNode::Brick {
            id: brick,
            timing_ns,
            elements,
        };
        Some(self.graph.add_node_in_scope(node))
    }

    /// Records a kernel launch; see [`ExecutionGraph::record_kernel_launch`]. `shared_mem` is in bytes; `ptx_hash` is
    /// [`PtxRegistry::hash_ptx`](crate::PtxRegistry::hash_ptx) of the source.
    #[track_caller]
    pub fn graph_record_kernel(
        &mut self,
        name: &str,
        ptx_hash: u64,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared_mem: u32,
    ) -> Option<ExecutionNodeId> {
        self.graph_enabled.then_some(())?;
        let graph = &mut self.graph;
        Some(graph.record_kernel_launch(name, ptx_hash, grid, block, shared_mem))
    }

    /// The graph in the language of Graphviz; see [`ExecutionGraph::to_dot`].
    pub fn graph_to_dot(&self) -> String {
        self.graph.to_dot()
    }

    /// Forgets the graph and its open scopes; these are not recorded.
    pub fn graph_clear(&mut self) {
        self.graph.clear();
    }

    /// Returns whether every scope was popped.
    pub fn graph_is_scope_balanced(&self) -> bool {
        self.graph.is_scope_balanced()
    }
}

impl BrickProfiler {
    /// Keeps all sources of a registry in the run, those that no kernel names as well.
    pub fn keep_ptx(&mut self, registry: &PtxRegistry) {
        for hash in registry.hashes() {
            self.graph.sources.keep(&self.rec, hash);
        }
    }
}

/// Writes sources that were registered after their kernels.
impl Drop for BrickProfiler {
    fn drop(&mut self) {
        self.graph.sources.keep_missing(&self.rec);
    }
}
