//! The nodes and how they are kept: column by column, in the order of time.

use trueno_analysis::id_index::IdIndex;
use trueno_engine::attributes::Attributes;

use super::durations::Durations;
use super::{Detail, sums};

/// No node, or no detail.
pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// A host thread or a device stream.
    Lane,
    Run,
    /// One token, one step.
    Iteration,
    Layer,
    Brick,
    Function,
    /// Work that may have been submitted by another thread.
    Task,
    Kernel,
    Tile,
    Transfer,
    Call,
    Sync,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Class::Lane => "lane",
            Class::Run => "run",
            Class::Iteration => "iteration",
            Class::Layer => "layer",
            Class::Brick => "brick",
            Class::Function => "function",
            Class::Task => "task",
            Class::Kernel => "kernel",
            Class::Tile => "tile",
            Class::Transfer => "transfer",
            Class::Call => "call",
            Class::Sync => "wait",
        }
    }

    /// The class of a row of `bricks` by its kind. Unknown kinds are bricks.
    pub fn of_kind(kind: &str) -> Class {
        match kind {
            "run" => Class::Run,
            "iteration" => Class::Iteration,
            "layer" => Class::Layer,
            "function" => Class::Function,
            "task" => Class::Task,
            _ => Class::Brick,
        }
    }
}

/// Whether the times of a row are those of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Timing {
    Measured,
    /// The interval contains the work, but may be longer.
    Bound,
    /// The recorder marked them as unreliable.
    Invalid,
    /// A negative duration, or an end beyond the range of times.
    Impossible,
}

#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Id of the row; 0 for lanes.
    pub id: u64,
    pub start_ns: i64,
    /// Duration; for a lane its busy time. Only add it up if the timing is measured.
    pub dur_ns: i64,
    /// Self time; see the module.
    pub self_ns: i64,
    /// Device time including descendants.
    pub device_ns: i64,
    /// Index in [`Graph::names`].
    pub name: u32,
    /// The parent; [`NONE`] for lanes.
    pub parent: u32,
    /// Index in [`Graph::lanes`].
    pub lane: u32,
    /// Index in [`Graph::details`], or [`NONE`].
    pub detail: u32,
    pub class: Class,
    pub timing: Timing,
    /// Whether it or a descendant has device work with known times.
    pub has_device: bool,
    /// Whether it or a descendant has device work without known times.
    pub has_untimed_device: bool,
}

impl Node {
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.dur_ns)
    }

    pub fn is_timed(&self) -> bool {
        self.timing == Timing::Measured
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnPath {
    pub self_ns: i64,
    pub all_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneInfo {
    pub name: String,
    pub is_device: bool,
}

/// Columns of the nodes, see [`Node`]. Each is as narrow as possible, because there are as many nodes as rows in
/// the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    pub(super) ids: Vec<u64>,
    pub(super) starts_ns: Vec<i64>,
    pub(super) durs_ns: Durations,
    pub(super) selfs_ns: Durations,
    /// Empty if there are no device lanes.
    pub(super) devices_ns: Durations,
    /// [`HAS_DEVICE`] and [`HAS_UNTIMED_DEVICE`]; empty if there are no device lanes.
    pub(super) has_devices: Vec<u8>,
    pub(super) names: Vec<u32>,
    pub(super) parents: Vec<u32>,
    pub(super) lanes: Vec<u32>,
    pub(super) details: Vec<u32>,
    pub(super) classes: Vec<Class>,
    pub(super) timings: Vec<Timing>,
}

pub(super) const HAS_DEVICE: u8 = 1;
pub(super) const HAS_UNTIMED_DEVICE: u8 = 2;

impl Nodes {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    #[inline]
    pub(super) fn end_ns(&self, at: usize) -> i64 {
        self.starts_ns[at].saturating_add(self.durs_ns.ns(at))
    }

    #[inline]
    pub(super) fn is_timed(&self, at: usize) -> bool {
        self.timings[at] == Timing::Measured
    }

    pub(super) fn precede_children(&self) -> bool {
        let mut parents = self.parents.iter().enumerate();
        parents.all(|(at, parent)| *parent == NONE || (*parent as usize) < at)
    }

    fn node(&self, at: usize) -> Node {
        let has_device = self.has_devices.get(at).copied().unwrap_or_default();
        Node {
            id: self.ids[at],
            start_ns: self.starts_ns[at],
            dur_ns: self.durs_ns.ns(at),
            self_ns: self.selfs_ns.ns(at),
            device_ns: self.devices_ns.ns(at),
            name: self.names[at],
            parent: self.parents[at],
            lane: self.lanes[at],
            detail: self.details[at],
            class: self.classes[at],
            timing: self.timings[at],
            has_device: has_device & HAS_DEVICE != 0,
            has_untimed_device: has_device & HAS_UNTIMED_DEVICE != 0,
        }
    }
}

/// The execution graph. Lanes come first: node `i` is lane `i`. Other nodes follow in order of start, outer ones
/// first.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) nodes: Nodes,
    /// Declared elements by node; empty if no row has any.
    pub(super) elements: Durations,
    /// Time on the critical path by node, as in [`OnPath`]; empty if it is not marked.
    pub(super) path_self_ns: Durations,
    pub(super) path_all_ns: Durations,
    /// How much later each node may start without delaying the end of the run; empty if it was not computed.
    pub(super) slack_ns: Durations,
    pub lanes: Vec<LaneInfo>,
    pub names: Vec<String>,
    /// For each name the number of its group's name, or its own if it contains no id.
    pub(super) merged_names: Vec<u32>,
    /// By lane: the first lane of its pool and the number of the pool's name; `None` if it is in no pool.
    pub(super) pooled_lanes: Vec<Option<(u32, u32)>>,
    pub details: Vec<Detail>,
    pub attributes: Attributes,
    /// Length of the run; `None` if nothing has a time.
    pub wall_ns: Option<i64>,
    /// Recorded dependencies as (from, to, number of the kind's name), sorted.
    pub edges: Vec<(u32, u32, u32)>,
    pub edges_left_out: u64,
    /// Parent links that were cut because they formed a cycle.
    pub circles: u64,
    /// Tiles are not listed as children, so their time counts for their parent.
    pub(super) without_tiles: bool,
    pub(super) ids: IdIndex<u32>,
    pub(super) offsets: Vec<u32>,
    pub(super) children: Vec<u32>,
}

impl Graph {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn node(&self, at: u32) -> Node {
        self.nodes.node(at as usize)
    }

    pub fn timings(&self) -> &[Timing] {
        &self.nodes.timings
    }

    pub fn elements(&self, at: u32) -> Option<u64> {
        self.elements.get(at as usize).map(i64::cast_unsigned)
    }

    pub fn on_path(&self, at: u32) -> OnPath {
        OnPath {
            self_ns: self.path_self_ns.ns(at as usize),
            all_ns: self.path_all_ns.ns(at as usize),
        }
    }

    /// By how much it could start later without delaying the end of the run.
    pub fn slack_ns(&self, at: u32) -> Option<i64> {
        self.slack_ns.get(at as usize)
    }

    /// Marks rows on the critical path by id. Returns the time of rows that are in the graph.
    pub fn mark_path(&mut self, path_ns: impl Fn(u64) -> i64) -> i64 {
        let mut path_self_ns = Durations::zeros(self.len());
        let mut marked_ns = 0_i64;
        for at in self.lanes.len()..self.len() {
            let id = self.nodes.ids[at];
            let self_ns = path_ns(id);
            // Of several rows with one id, which a damaged run may hold, the first.
            if self_ns != 0 && self.find(id) == Some(at as u32) {
                path_self_ns.add(self.shown(at as u32) as usize, self_ns);
                marked_ns = marked_ns.saturating_add(self_ns);
            }
        }
        self.path_self_ns = path_self_ns;
        sums::add_up_path(self);
        marked_ns
    }

    pub fn set_slack(&mut self, at: u32, slack_ns: Option<i64>) {
        if self.slack_ns.is_empty() {
            self.slack_ns = Durations::missing(self.len());
        }
        match slack_ns {
            Some(slack_ns) => self.slack_ns.set(at as usize, slack_ns),
            None => self.slack_ns.unset(at as usize),
        }
    }

    pub fn name(&self, at: u32) -> &str {
        &self.names[self.nodes.names[at as usize] as usize]
    }

    /// The name's number in merged rows: names that differ only in ids share one.
    pub(super) fn merged_name(&self, at: u32) -> u32 {
        let name = self.nodes.names[at as usize];
        let merged = self.merged_names.get(name as usize);
        merged.copied().unwrap_or(name)
    }

    pub fn lane(&self, at: u32) -> &LaneInfo {
        &self.lanes[self.nodes.lanes[at as usize] as usize]
    }

    /// Shown after a name: the detail of a single node, or the shapes common to several.
    pub fn suffix(&self, nodes: &[u32]) -> String {
        let detail = match nodes {
            [one] => self.detail(*one),
            [first, others @ ..] => {
                let details = &self.nodes.details;
                let detail = details[*first as usize];
                let is_same = others
                    .iter()
                    .all(|other| details[*other as usize] == detail);
                let shapes = |detail: &&Detail| is_same && matches!(detail, Detail::Shapes(_));
                self.detail(*first).filter(shapes)
            }
            [] => None,
        };
        detail.map_or(String::new(), Detail::suffix)
    }

    pub fn detail(&self, at: u32) -> Option<&Detail> {
        self.details.get(self.nodes.details[at as usize] as usize)
    }

    /// Children in order of start.
    pub fn children(&self, at: u32) -> &[u32] {
        let from = self.offsets[at as usize] as usize;
        let to = self.offsets[at as usize + 1] as usize;
        &self.children[from..to]
    }

    /// The node of a row. In a damaged run with duplicate ids, the first.
    pub fn find(&self, id: u64) -> Option<u32> {
        self.ids.get(id)
    }

    pub fn roots(&self) -> Vec<u32> {
        let lanes = 0..self.lanes.len() as u32;
        lanes.filter(|at| !self.children(*at).is_empty()).collect()
    }

    pub fn hides(&self, class: Class) -> bool {
        self.without_tiles && class == Class::Tile
    }

    /// Number of rows shown.
    pub fn rows(&self) -> usize {
        self.children.len()
    }

    /// The node, or its nearest ancestor that is shown.
    pub(super) fn shown(&self, mut at: u32) -> u32 {
        while self.hides(self.nodes.classes[at as usize]) {
            at = self.nodes.parents[at as usize];
        }
        at
    }
}
