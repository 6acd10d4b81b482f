//! Scopes, and the bricks and kernels in them.

use std::panic::Location;

use trueno_recorder::finished::{
    Brick, BrickKind, BrickPlace, Enclosing, Kernel, KernelTimes, LaunchShape, Moment, Site,
};
use trueno_recorder::{BrickId, Name};

use crate::clock;
use crate::profiler::BrickProfiler;
use crate::ptx::Sources;

const NO_TIMES: &str = "recorded without times";

/// Names a node, in the order of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionNodeId(pub u32);

/// Direction of a transfer; H: host, D: device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TransferDirection {
    H2D,
    D2H,
    D2D,
}

/// A scope. Layers become rows of kind `layer`, bricks `brick`, tasks `task`, all else
/// `function`, with the times of push and pop; times and figures given here are not recorded,
/// file and line are, in place of those of the push.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ExecutionNode {
    Brick {
        id: BrickId,
        timing_ns: u64,
        elements: u64,
    },
    Kernel {
        name: String,
        ptx_hash: u64,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared_mem: u32,
        timing_ns: Option<u64>,
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
    /// The name for people.
    pub fn name(&self) -> String {
        match self {
            Self::Brick { id, .. } => id.name().to_owned(),
            Self::Kernel { name, .. } | Self::Function { name, .. } => name.clone(),
            Self::AsyncTask { name, .. } => name.clone(),
            Self::Transfer { src, dst, .. } => format!("{src} to {dst}"),
            Self::Layer { .. } => "layer".to_owned(),
        }
    }
}

#[derive(Debug)]
struct Scope {
    node: ExecutionNodeId,
    kind: BrickKind,
    name: Site,
    start: Moment,
    /// `None`: no run.
    place: Option<BrickPlace>,
    elements: Option<u64>,
    /// The layer that holds inside it.
    layer: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    enabled: bool,
    nodes: u32,
    scopes: Vec<Scope>,
    /// The brick recorded last, until the graph takes it up.
    pub stopped: Option<(Name, Option<BrickPlace>)>,
    /// The brick that kernels lie in: the one the graph took up last in this scope.
    brick: Option<BrickPlace>,
    pub sources: Sources,
}

impl Graph {
    fn node(&mut self) -> ExecutionNodeId {
        let id = ExecutionNodeId(self.nodes);
        self.nodes = self.nodes.wrapping_add(1);
        id
    }

    /// The innermost scope.
    pub fn scope(&self) -> Option<BrickPlace> {
        self.scopes.last()?.place
    }

    pub fn enclosing(&self) -> Enclosing {
        Enclosing {
            parent: self.scope().map_or(0, BrickPlace::id),
            layer: self.scopes.last().and_then(|scope| scope.layer),
        }
    }
}

impl BrickProfiler {
    /// From now on scopes and kernels are recorded, whether bricks are timed or not.
    pub fn enable_graph(&mut self) {
        self.graph.enabled = true;
    }

    /// From now on scopes and kernels are not recorded.
    pub fn disable_graph(&mut self) {
        self.graph.enabled = false;
    }

    /// Returns whether scopes and kernels are recorded.
    pub fn is_graph_enabled(&self) -> bool {
        self.graph.enabled
    }

    /// Opens a scope: bricks recorded until it is popped lie in it.
    #[track_caller]
    pub fn graph_push_scope(&mut self, node: ExecutionNode) -> Option<ExecutionNodeId> {
        if !self.graph.enabled {
            return None;
        }
        let mut layer = self.graph.enclosing().layer;
        let mut given = None;
        let kind = match &node {
            ExecutionNode::Layer { index } => {
                layer = Some(*index);
                BrickKind::Layer(*index)
            }
            ExecutionNode::Brick { elements, .. } => {
                given = Some(*elements);
                BrickKind::Brick
            }
            ExecutionNode::AsyncTask { .. } => BrickKind::Task,
            _ => BrickKind::Function,
        };
        let (name, place) = (node.name(), Location::caller());
        let name = match &node {
            ExecutionNode::Function {
                file: Some(file),
                line: Some(line),
                ..
            } => Site::in_file(&name, file, *line),
            _ => Site::at(&name, place),
        };
        let id = self.graph.node();
        self.graph.brick = None;
        self.graph.stopped = None;
        self.graph.scopes.push(Scope {
            node: id,
            kind,
            name,
            start: clock::now(&self.rec),
            place: BrickPlace::take(&self.rec),
            elements: given,
            layer,
        });
        Some(id)
    }

    /// Closes the innermost scope and records it.
    pub fn graph_pop_scope(&mut self) -> Option<ExecutionNodeId> {
        if !self.graph.enabled {
            return None;
        }
        let scope = self.graph.scopes.pop()?;
        self.graph.brick = None;
        self.graph.stopped = None;
        if let Some(place) = scope.place {
            let end = clock::now(&self.rec);
            let brick = Brick {
                kind: scope.kind,
                enclosing: self.graph.enclosing(),
                elements: scope.elements,
                ..Brick::new(scope.name, scope.start, end)
            };
            self.rec.finished_brick(place, &brick);
        }
        Some(scope.node)
    }

    /// Takes the brick that was stopped just before into the graph: kernels recorded next lie in
    /// it. It is not recorded twice. Without one, a brick that ended now after `timing_ns` is.
    #[track_caller]
    pub fn graph_record_brick(
        &mut self,
        brick: BrickId,
        timing_ns: u64,
        elements: u64,
    ) -> Option<ExecutionNodeId> {
        if !self.graph.enabled {
            return None;
        }
        let known = |(name, _): &(Name, _)| BrickId::from_name(name.as_str()) == Some(brick);
        if self.graph.stopped.filter(known).is_none() {
            let (name, times) = (brick.into(), self.last(timing_ns));
            self.record_brick((name, Location::caller()), times, elements, None);
        }
        self.graph.brick = self.graph.stopped.take().and_then(|(_, place)| place);
        Some(self.graph.node())
    }

    /// Records a kernel launch in the brick taken up last, else in the scope. It has no times:
    /// its row of `kernels` is not valid and says so. `shared_mem` is in bytes; the source is
    /// linked where [`BrickProfiler::keep_ptx`] has it.
    #[track_caller]
    pub fn graph_record_kernel(
        &mut self,
        name: &str,
        ptx_hash: u64,
        grid: (u32, u32, u32),
        block: (u32, u32, u32),
        shared_mem: u32,
    ) -> Option<ExecutionNodeId> {
        if !self.graph.enabled {
            return None;
        }
        let mut enclosing = self.graph.enclosing();
        if let Some(brick) = self.graph.brick {
            enclosing.parent = brick.id();
        }
        let now = clock::now(&self.rec);
        self.rec.finished_kernel(&Kernel {
            name: Site::here(name),
            start: now,
            end: now,
            enclosing,
            times: KernelTimes::Launch(NO_TIMES),
            launch: Some(LaunchShape {
                grid,
                block,
                shared_memory_bytes: shared_mem,
                ptx: self.graph.sources.get(ptx_hash),
            }),
        });
        Some(self.graph.node())
    }

    /// Forgets open scopes; they are not recorded.
    pub fn graph_clear(&mut self) {
        self.graph.scopes.clear();
        self.graph.brick = None;
        self.graph.stopped = None;
    }

    /// Returns whether every scope was popped.
    pub fn graph_is_scope_balanced(&self) -> bool {
        self.graph.scopes.is_empty()
    }
}
