//! Scopes, and the rows that scopes and leaves make in the run.

use std::panic::Location;

use trueno_recorder::finished::{
    Brick, BrickKind, BrickPlace, Enclosing, Kernel, KernelTimes, LaunchShape, Moment, Site,
    Transfer,
};
use trueno_recorder::{Name, SpanId};

use super::{EdgeType, ExecutionGraph, ExecutionNode, ExecutionNodeId, span};
use crate::clock;

const NO_TIMES: &str = "recorded without times";

#[derive(Debug)]
pub(super) struct Scope {
    node: ExecutionNodeId,
    start: Moment,
    row: ScopeRow,
    /// Parent of rows recorded inside; `None` without a run or without a row of `bricks`.
    place: Option<BrickPlace>,
    layer: Option<u32>,
    /// For a scope that had ended when it was pushed: where its next content is laid out.
    cursor: Option<Moment>,
    holds_work: bool,
}

#[derive(Debug)]
enum ScopeRow {
    /// Already recorded, or under another name; or there is no row.
    Done,
    /// A row of `bricks`, written at the pop.
    Brick {
        kind: BrickKind,
        name: Site,
        elements: Option<u64>,
        /// Duration stated by the program; the interval had passed when the scope was pushed.
        timing_ns: Option<u64>,
    },
    /// A row of `transfers`, written at the pop.
    Transfer(ExecutionNode),
}

impl ExecutionGraph {
    /// Opens a scope: what is recorded until it is popped lies in it.
    ///
    /// A brick that was stopped just before is taken up: its row stands for the scope. Else one with a time is a row that
    /// ends now, as a kernel or transfer with a time is; one without lasts from push to pop.
    #[track_caller]
    pub fn push_scope(&mut self, node: ExecutionNode) -> ExecutionNodeId {
        let enclosing = self.enclosing();
        let (mut layer, outer) = (enclosing.layer, self.scopes.last().and_then(|s| s.place));
        let row = match &node {
            ExecutionNode::Kernel { .. } => {
                let (_, parent) = self.enclosing_of_kernel();
                let row = self.leaf_row(&node, parent);
                return self.open(node, (ScopeRow::Done, row), outer, layer);
            }
            ExecutionNode::Transfer { timing_ns, .. } => {
                let (state, row) = match timing_ns {
                    Some(_) => (ScopeRow::Done, self.leaf_row(&node, enclosing.parent)),
                    None => (ScopeRow::Transfer(node.clone()), SpanId::NONE),
                };
                return self.open(node, (state, row), outer, layer);
            }
            ExecutionNode::Brick { id, .. } => match self.take_stopped(*id) {
                Some(brick) => {
                    let row = (ScopeRow::Done, span(brick.place));
                    let id = self.open(node, row, brick.place, layer);
                    self.set_measured(id, brick.took_ns);
                    self.set_cursor(brick.start);
                    return id;
                }
                None => self.scope_row(&node),
            },
            _ => self.scope_row(&node),
        };
        if let ExecutionNode::Layer { index } = node {
            layer = Some(index);
        }
        let place = BrickPlace::take(&self.rec);
        self.attributes(&node, span(place));
        let ended_after_ns = match &row {
            ScopeRow::Brick { timing_ns, .. } => *timing_ns,
            _ => None,
        };
        let id = self.open(node, (row, span(place)), place, layer);
        if let (Some(ns), Some(scope)) = (ended_after_ns, self.scopes.last()) {
            self.set_cursor(self.before(scope.start, ns));
        }
        id
    }

    fn set_cursor(&mut self, cursor: Moment) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.cursor = Some(cursor);
        }
    }

    fn open(
        &mut self,
        node: ExecutionNode,
        (row, span): (ScopeRow, SpanId),
        place: Option<BrickPlace>,
        layer: Option<u32>,
    ) -> ExecutionNodeId {
        let id = self.insert_in_scope(node, EdgeType::Contains, span);
        self.brick = None;
        if !matches!(row, ScopeRow::Done) {
            self.stopped.clear();
        }
        self.scopes.push(Scope {
            node: id,
            start: clock::now(&self.rec),
            row,
            place,
            layer,
            cursor: None,
            holds_work: false,
        });
        id
    }

    /// Closes the innermost scope and records it.
    pub fn pop_scope(&mut self) -> Option<ExecutionNodeId> {
        let scope = self.scopes.pop()?;
        let end = clock::now(&self.rec);
        self.brick = None;
        let enclosing = self.enclosing();
        let measured_ns = end.ns_since(scope.start);
        match scope.row {
            ScopeRow::Done => return Some(scope.node),
            ScopeRow::Transfer(node) => {
                let times = (scope.start, end);
                let row = self.transfer_row(&node, times, false, enclosing);
                if let Some(facts) = self.facts.get_mut(scope.node.0 as usize) {
                    facts.row = row;
                }
            }
            ScopeRow::Brick {
                kind,
                name,
                elements,
                timing_ns,
            } => {
                let (start, end) = match timing_ns.filter(|_| !scope.holds_work) {
                    Some(ns) => (self.before(scope.start, ns), scope.start),
                    None => (scope.start, end),
                };
                if let Some(place) = scope.place {
                    let brick = Brick {
                        kind,
                        enclosing,
                        elements,
                        ..Brick::new(name, start, end)
                    };
                    self.rec.finished_brick(place, &brick);
                }
                self.set_measured(scope.node, Some(measured_ns));
            }
        }
        self.stopped.clear();
        Some(scope.node)
    }

    /// The innermost open scope.
    pub fn current_scope(&self) -> Option<ExecutionNodeId> {
        Some(self.scopes.last()?.node)
    }

    pub(crate) fn scope_place(&self) -> Option<BrickPlace> {
        self.scopes.last()?.place
    }

    pub(crate) fn enclosing(&self) -> Enclosing {
        Enclosing {
            parent: self.scope_place().map_or(0, BrickPlace::id),
            layer: self.scopes.last().and_then(|scope| scope.layer),
        }
    }

    pub(crate) fn note_work(&mut self) {
        for scope in &mut self.scopes {
            scope.holds_work = true;
        }
    }

    #[track_caller]
    fn scope_row(&self, node: &ExecutionNode) -> ScopeRow {
        let place = Location::caller();
        let (kind, name) = match node {
            ExecutionNode::Layer { index } => (BrickKind::Layer(*index), Site::at("layer", place)),
            ExecutionNode::Brick { id, .. } => (BrickKind::Brick, Site::at(*id, place)),
            ExecutionNode::AsyncTask { name, .. } => (BrickKind::Task, Site::at(name, place)),
            ExecutionNode::Function {
                name,
                file: Some(file),
                line: Some(line),
            } => (BrickKind::Function, Site::in_file(name, file, *line)),
            // A file without a line is an attribute: the columns tell of one place.
            ExecutionNode::Function {
                name,
                file: Some(_),
                ..
            } => (BrickKind::Function, Site::from(Name::new(name))),
            node => (BrickKind::Function, Site::at(node.name(), place)),
        };
        ScopeRow::Brick {
            kind,
            name,
            elements: match node {
                ExecutionNode::Brick { elements, .. } => Some(*elements),
                _ => None,
            },
            timing_ns: match node {
                ExecutionNode::Brick { .. } => node.timing_ns(),
                _ => None,
            },
        }
    }

    /// Writes a row of `bricks` for a brick that ended now. Also returns its start.
    #[track_caller]
    pub(super) fn brick_row(
        &mut self,
        node: &ExecutionNode,
    ) -> (Option<BrickPlace>, Option<Moment>) {
        let (ExecutionNode::Brick { id, elements, .. }, Some(ns)) = (node, node.timing_ns()) else {
            return (None, None);
        };
        let end = clock::now(&self.rec);
        let start = self.before(end, ns);
        let place = BrickPlace::take(&self.rec);
        if let Some(place) = place {
            let brick = Brick {
                enclosing: self.enclosing(),
                elements: Some(*elements),
                ..Brick::new(Site::at(*id, Location::caller()), start, end)
            };
            self.rec.finished_brick(place, &brick);
        }
        self.note_work();
        (place, Some(start))
    }

    /// Times of a kernel or transfer. In a brick that has ended they are laid out one after another from its
    /// start, because their real position is unknown; elsewhere they end now.
    fn leaf_times(&mut self, node: &ExecutionNode) -> (Moment, Moment) {
        let ns = node.timing_ns().unwrap_or(0);
        let of_brick = self.brick.as_ref().filter(|_| node.is_kernel());
        let of_scope = self.scopes.last().and_then(|scope| scope.cursor);
        let Some(start) = of_brick.map_or(of_scope, |brick| brick.cursor) else {
            let end = clock::now(&self.rec);
            return (self.before(end, ns), end);
        };
        let end = start.at(start.monotonic_ns().saturating_add(ns), self.made);
        match (&mut self.brick, self.scopes.last_mut()) {
            (Some(brick), _) if node.is_kernel() => brick.cursor = Some(end),
            (_, Some(scope)) => scope.cursor = Some(end),
            _ => {}
        }
        (start, end)
    }

    #[track_caller]
    pub(super) fn leaf_row(&mut self, node: &ExecutionNode, parent: u64) -> SpanId {
        let enclosing = Enclosing {
            parent,
            ..self.enclosing()
        };
        match node {
            ExecutionNode::Kernel { .. } => self.kernel_row(node, enclosing),
            ExecutionNode::Transfer { timing_ns, .. } => {
                let times = self.leaf_times(node);
                self.transfer_row(node, times, timing_ns.is_some(), enclosing)
            }
            ExecutionNode::Brick { .. } => span(self.brick_row(node).0),
            _ => SpanId::NONE,
        }
    }

    #[track_caller]
    fn kernel_row(&mut self, node: &ExecutionNode, enclosing: Enclosing) -> SpanId {
        let ExecutionNode::Kernel {
            name,
            ptx_hash,
            grid,
            block,
            shared_mem,
            timing_ns,
            arithmetic_intensity,
            achieved_tflops,
        } = node
        else {
            return SpanId::NONE;
        };
        let (start, end) = self.leaf_times(node);
        let times = match timing_ns {
            Some(_) => KernelTimes::Host,
            None => KernelTimes::Launch(NO_TIMES),
        };
        let flops = achieved_tflops.zip(*timing_ns);
        let flops = flops.and_then(|(tflops, ns)| count(f64::from(tflops) * 1e3 * ns as f64));
        let bytes = flops.zip(*arithmetic_intensity);
        let bytes = bytes.and_then(|(flops, per_byte)| count(flops as f64 / f64::from(per_byte)));
        let row = self.rec.finished_kernel(&Kernel {
            name: Site::at(name, Location::caller()),
            start,
            end,
            enclosing,
            times,
            launch: Some(LaunchShape {
                grid: *grid,
                block: *block,
                shared_memory_bytes: *shared_mem,
                ptx: self.sources.linked(&self.rec, *ptx_hash),
            }),
            flops,
            bytes,
        });
        self.attributes(node, row);
        row
    }

    fn transfer_row(
        &self,
        node: &ExecutionNode,
        (start, end): (Moment, Moment),
        is_timed: bool,
        enclosing: Enclosing,
    ) -> SpanId {
        let ExecutionNode::Transfer {
            bytes, direction, ..
        } = node
        else {
            return SpanId::NONE;
        };
        let row = self.rec.finished_transfer(&Transfer {
            direction: *direction,
            bytes: *bytes,
            start,
            end,
            is_timed,
            enclosing,
        });
        self.attributes(node, row);
        if end.ns_since(start) == 0 && !is_timed {
            self.rec.attribute(row, "reason", NO_TIMES);
        }
        row
    }

    fn attributes(&self, node: &ExecutionNode, row: SpanId) {
        if row.is_none() {
            return;
        }
        match node {
            ExecutionNode::Kernel {
                arithmetic_intensity,
                achieved_tflops,
                ..
            } => {
                if let Some(intensity) = arithmetic_intensity {
                    self.rec.attribute(row, "arithmetic_intensity", *intensity);
                }
                if let Some(tflops) = achieved_tflops {
                    self.rec.attribute(row, "achieved_tflops", *tflops);
                }
            }
            ExecutionNode::Transfer { src, dst, .. } => {
                self.rec.attribute(row, "src", src);
                self.rec.attribute(row, "dst", dst);
            }
            ExecutionNode::Function {
                file: Some(file),
                line: None,
                ..
            } => self.rec.attribute(row, "file", file),
            ExecutionNode::AsyncTask {
                poll_count,
                yield_count,
                total_poll_ns,
                ..
            } => {
                self.rec.attribute(row, "poll_count", *poll_count);
                self.rec.attribute(row, "yield_count", *yield_count);
                self.rec.attribute(row, "total_poll_ns", *total_poll_ns);
            }
            _ => {}
        }
    }

    /// `ns` before a moment, but not before the clocks were first read.
    fn before(&self, moment: Moment, ns: u64) -> Moment {
        moment.at(moment.monotonic_ns().saturating_sub(ns), self.made)
    }
}

/// `None` if the figure is not a count.
fn count(figure: f64) -> Option<u64> {
    (0.0..1e18)
        .contains(&figure)
        .then_some(figure.round() as u64)
}
