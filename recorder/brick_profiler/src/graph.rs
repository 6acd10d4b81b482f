//! The execution graph: scopes, and the bricks, kernels and transfers in them.

mod ascii_tree;
mod critical_path;
mod dot;
mod node;
mod ping_pong;
mod query;
mod roofline;
mod rows;
mod schedule;

use std::collections::HashMap;

use trueno_recorder::finished::{BrickPlace, Moment};
use trueno_recorder::{BrickId, Name, Recorder, SpanId};

use crate::clock;
use rows::Scope;

pub use node::{EdgeType, ExecutionEdge, ExecutionNode, ExecutionNodeId, TransferDirection};
pub use roofline::UnplacedKernel;

/// Limit on nodes. Nodes beyond it are in the run, but not in the analyses here.
const MAX_NODES: usize = 1 << 20;
const MAX_STOPPED: usize = 64;

/// A recorded execution as nodes and edges: for questions while the program runs.
///
/// A profiler's graph writes rows of its run as well, whichever way it is told: [`ExecutionGraph::push_scope`] as
/// [`BrickProfiler::graph_push_scope`](crate::BrickProfiler::graph_push_scope). It keeps its nodes until
/// [`ExecutionGraph::clear`].
///
/// Times of nodes are those that the program states. Where it states none, a scope has the time from push to pop.
#[derive(Debug)]
pub struct ExecutionGraph {
    nodes: Vec<ExecutionNode>,
    edges: Vec<ExecutionEdge>,
    facts: Vec<NodeFacts>,
    names: HashMap<String, ExecutionNodeId>,
    unkept: u32,
    refused_edges: usize,
    scopes: Vec<Scope>,
    /// The brick recorded last in this scope. It contains the kernels that follow.
    brick: Option<RecordedBrick>,
    stopped: Vec<StoppedBrick>,
    rec: Recorder,
    made: Moment,
    pub(crate) sources: crate::ptx::Sources,
}

#[derive(Clone, Copy, Debug)]
struct RecordedBrick {
    node: ExecutionNodeId,
    /// `None` without a run.
    place: Option<BrickPlace>,
    cursor: Option<Moment>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StoppedBrick {
    pub name: Name,
    /// `None`: no run.
    pub place: Option<BrickPlace>,
    pub start: Moment,
    /// `None`: deferred.
    pub took_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct NodeFacts {
    parent: Option<ExecutionNodeId>,
    /// True if it was recorded where it ran, so it comes after the node before it in its scope.
    is_in_order: bool,
    /// Time from push to pop.
    measured_ns: Option<u64>,
    row: SpanId,
}

impl Default for ExecutionGraph {
    fn default() -> Self {
        Self::new()
    }
}

impl ExecutionGraph {
    /// An empty graph without a run.
    pub fn new() -> Self {
        Self::of_run(Recorder::disabled())
    }

    pub(crate) fn of_run(rec: Recorder) -> Self {
        Self {
            nodes: Vec::new(),
            edges: Vec::new(),
            facts: Vec::new(),
            names: HashMap::new(),
            unkept: 0,
            refused_edges: 0,
            scopes: Vec::new(),
            brick: None,
            stopped: Vec::new(),
            made: clock::now(&rec),
            sources: crate::ptx::Sources::default(),
            rec,
        }
    }

    /// Adds a node that lies nowhere until edges say so. Its row, where it has one, ends now: a kernel, a transfer, a
    /// brick with a time; a layer, function or task has times only as a scope.
    #[track_caller]
    pub fn add_node(&mut self, node: ExecutionNode) -> ExecutionNodeId {
        let row = self.leaf_row(&node, 0);
        self.insert(node, None, row)
    }

    /// Adds a node to the innermost scope; see [`ExecutionGraph::add_node`]. A brick that was stopped just before is
    /// taken up, and not recorded twice. Kernels that are recorded next lie in the brick.
    #[track_caller]
    pub fn add_node_in_scope(&mut self, node: ExecutionNode) -> ExecutionNodeId {
        let taken = match &node {
            ExecutionNode::Brick { id, .. } => self.take_stopped(*id),
            _ => None,
        };
        let (place, cursor, row) = match (&node, taken) {
            (_, Some(brick)) => (brick.place, Some(brick.start), span(brick.place)),
            (ExecutionNode::Brick { .. }, None) => {
                let (place, start) = self.brick_row(&node);
                (place, start, span(place))
            }
            _ => (None, None, self.leaf_row(&node, self.enclosing().parent)),
        };
        let is_brick = node.is_brick();
        let id = self.insert_in_scope(node, EdgeType::Contains, row);
        self.set_measured(id, taken.and_then(|brick| brick.took_ns));
        if is_brick {
            let node = id;
            self.brick = Some(RecordedBrick {
                node,
                place,
                cursor,
            });
        }
        id
    }

    /// Records a kernel launch in the brick recorded last in this scope, else in the scope. It has no times: its row of
    /// `kernels` is not valid and says so.
    #[track_caller]
    pub fn record_kernel_launch(
        &mut self,
        name: &str,
        ptx_hash: u64,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared_mem: u32,
    ) -> ExecutionNodeId {
        self.kernel(ExecutionNode::Kernel {
            name: name.to_owned(),
            ptx_hash,
            grid,
            block,
            shared_mem,
            timing_ns: None,
            arithmetic_intensity: None,
            achieved_tflops: None,
        })
    }

    /// Records a kernel that ended now, with its time and what it reached, as the program states them.
    #[track_caller]
    #[expect(clippy::too_many_arguments, reason = "as in the original")]
    pub fn record_kernel_launch_with_metrics(
        &mut self,
        name: &str,
        ptx_hash: u64,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared_mem: u32,
        timing_ns: u64,
        arithmetic_intensity: f32,
        achieved_tflops: f32,
    ) -> ExecutionNodeId {
        self.kernel(ExecutionNode::Kernel {
            name: name.to_owned(),
            ptx_hash,
            grid,
            block,
            shared_mem,
            timing_ns: Some(timing_ns),
            arithmetic_intensity: Some(arithmetic_intensity),
            achieved_tflops: Some(achieved_tflops),
        })
    }

    #[track_caller]
    fn kernel(&mut self, node: ExecutionNode) -> ExecutionNodeId {
        let (parent, row) = self.enclosing_of_kernel();
        let row = self.leaf_row(&node, row);
        let id = self.insert(node, parent, row);
        self.set_in_order(id);
        if let Some(parent) = parent {
            self.edge(parent, id, EdgeType::Launches, 1.0);
        }
        id
    }

    /// Records a transfer that ended now, in the innermost scope.
    #[track_caller]
    pub fn record_transfer(
        &mut self,
        src: &str,
        dst: &str,
        bytes: u64,
        direction: TransferDirection,
        timing_ns: Option<u64>,
    ) -> ExecutionNodeId {
        self.add_node_in_scope(ExecutionNode::Transfer {
            src: src.to_owned(),
            dst: dst.to_owned(),
            bytes,
            direction,
            timing_ns,
        })
    }

    /// Adds an edge; one from or to a node that is not there is left out, and [`ExecutionGraph::critical_path_summary`]
    /// counts it. Of two nodes with rows, one that orders them is a row of `edges` as well.
    pub fn add_edge(&mut self, src: ExecutionNodeId, dst: ExecutionNodeId, edge_type: EdgeType) {
        self.add_weighted_edge(src, dst, edge_type, 1.0);
    }

    /// The same with a weight.
    pub fn add_weighted_edge(
        &mut self,
        src: ExecutionNodeId,
        dst: ExecutionNodeId,
        edge_type: EdgeType,
        weight: f32,
    ) {
        if self.node(src).is_none() || self.node(dst).is_none() {
            self.refused_edges += 1;
            return;
        }
        let (from, to) = (src.0 as usize, dst.0 as usize);
        if !edge_type.is_nesting() {
            self.rec.depends(self.facts[from].row, self.facts[to].row);
        } else if self.facts[to].parent.is_none() {
            self.facts[to].parent = Some(src);
        }
        self.edge(src, dst, edge_type, weight);
    }

    /// States that `to` needs what `from` makes.
    pub fn add_dependency(&mut self, from: ExecutionNodeId, to: ExecutionNodeId) {
        self.add_edge(from, to, EdgeType::DependsOn);
    }

    /// Forgets nodes, edges and open scopes; these are not recorded.
    pub fn clear(&mut self) {
        let sources = std::mem::take(&mut self.sources);
        *self = Self {
            sources,
            made: self.made,
            ..Self::of_run(self.rec.clone())
        };
    }

    /// Returns whether every scope was popped.
    pub fn is_scope_balanced(&self) -> bool {
        self.scopes.is_empty()
    }

    fn edge(
        &mut self,
        src: ExecutionNodeId,
        dst: ExecutionNodeId,
        edge_type: EdgeType,
        weight: f32,
    ) {
        if (src.0.max(dst.0) as usize) < self.nodes.len() {
            self.edges.push(ExecutionEdge {
                src,
                dst,
                edge_type,
                weight,
            });
        }
    }

    fn insert(
        &mut self,
        node: ExecutionNode,
        parent: Option<ExecutionNodeId>,
        row: SpanId,
    ) -> ExecutionNodeId {
        let id = ExecutionNodeId((self.nodes.len() as u32).wrapping_add(self.unkept));
        if self.nodes.len() == MAX_NODES {
            self.unkept = self.unkept.wrapping_add(1);
            return id;
        }
        self.names.insert(node.name(), id);
        self.nodes.push(node);
        self.facts.push(NodeFacts {
            parent,
            is_in_order: false,
            measured_ns: None,
            row,
        });
        id
    }

    fn insert_in_scope(
        &mut self,
        node: ExecutionNode,
        edge_type: EdgeType,
        row: SpanId,
    ) -> ExecutionNodeId {
        let parent = self.current_scope();
        let id = self.insert(node, parent, row);
        self.set_in_order(id);
        if let Some(parent) = parent {
            self.edge(parent, id, edge_type, 1.0);
        }
        id
    }

    fn set_in_order(&mut self, id: ExecutionNodeId) {
        if let Some(facts) = self.facts.get_mut(id.0 as usize) {
            facts.is_in_order = true;
        }
    }

    fn set_measured(&mut self, id: ExecutionNodeId, measured_ns: Option<u64>) {
        if let Some(facts) = self.facts.get_mut(id.0 as usize) {
            facts.measured_ns = measured_ns;
        }
    }

    pub(crate) fn stopped(&mut self, brick: StoppedBrick) {
        if self.stopped.len() == MAX_STOPPED {
            self.stopped.remove(0);
        }
        self.stopped.push(brick);
    }

    /// Marks the latest stopped brick as deferred: its end is unknown.
    pub(crate) fn stopped_is_deferred(&mut self) {
        if let Some(brick) = self.stopped.last_mut() {
            brick.took_ns = None;
        }
    }

    fn take_stopped(&mut self, id: BrickId) -> Option<StoppedBrick> {
        let is_it = |brick: &StoppedBrick| BrickId::from_name(brick.name.as_str()) == Some(id);
        let at = self.stopped.iter().rposition(is_it)?;
        Some(self.stopped.remove(at))
    }

    /// The node that contains a kernel, and its row in the run (0 for none).
    fn enclosing_of_kernel(&self) -> (Option<ExecutionNodeId>, u64) {
        let scope = self.enclosing().parent;
        match self.brick {
            Some(RecordedBrick { node, place, .. }) => {
                (Some(node), place.map_or(scope, BrickPlace::id))
            }
            None => (self.current_scope(), scope),
        }
    }
}

fn span(place: Option<BrickPlace>) -> SpanId {
    place.map_or(SpanId::NONE, BrickPlace::span)
}
