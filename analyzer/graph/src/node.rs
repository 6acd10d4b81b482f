//! The nodes and how they are kept: column by column, in the order of time.

use trueno_analysis::id_index::IdIndex;
use trueno_engine::attributes::Attributes;

use super::durations::Durations;
use super::{Detail, sums};

/// No node, no detail.
pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// A host thread or a device stream.
    Lane,
    /// The whole program, as it said.
    Run,
    /// One token, one step.
    Iteration,
    /// One layer of a model.
    Layer,
    Brick,
    Function,
    /// Work that may have been given from another thread.
    Task,
    /// A kernel, of the host or of a device.
    Kernel,
    /// A tile of a blocked algorithm.
    Tile,
    /// A copy or a fill.
    Transfer,
    /// A call of a host API.
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

    /// Of a row of `bricks`, by its kind; what is not known is an operation.
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

/// Tells whether the times of a row are those of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Timing {
    Measured,
    /// The interval is known to contain the work, and no more.
    Bound,
    /// The recorder says that they cannot be trusted.
    Invalid,
    /// They cannot be: a negative duration, or an end beyond the range of times.
    Impossible,
}

/// One row of the run, or a lane.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Id of the row; 0 for lanes.
    pub id: u64,
    pub start_ns: i64,
    /// Duration; of a lane the busy time. Not to be added up unless the timing is measured.
    pub dur_ns: i64,
    /// Self time; see the module.
    pub self_ns: i64,
    /// Device time of the node and of all below it.
    pub device_ns: i64,
    /// Number of its name.
    pub name: u32,
    /// The node it hangs below; [`NONE`] for lanes.
    pub parent: u32,
    /// Number of its lane.
    pub lane: u32,
    /// Number of what else is known of it, or [`NONE`].
    pub detail: u32,
    pub class: Class,
    /// Tells whether its times can be used.
    pub timing: Timing,
    /// Tells whether there is device work in it or below it whose times are known.
    pub has_device: bool,
    /// Tells whether there is device work in it or below it whose times are not.
    pub has_untimed_device: bool,
}

impl Node {
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.dur_ns)
    }

    /// Tells whether its times can be added up.
    pub fn is_timed(&self) -> bool {
        self.timing == Timing::Measured
    }
}

/// Pieces of the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnPath {
    /// Those of the node itself.
    pub self_ns: i64,
    /// Those of the node and of all below it.
    pub all_ns: i64,
}

/// A host thread or a device stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneInfo {
    pub name: String,
    /// Tells whether a device ran it.
    pub is_device: bool,
}

/// Columns of the nodes, see [`Node`]. There are as many as rows of the run, so each is as narrow as it may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    pub(super) ids: Vec<u64>,
    pub(super) starts_ns: Vec<i64>,
    pub(super) durs_ns: Durations,
    pub(super) selfs_ns: Durations,
    /// Empty: no lane is a device's.
    pub(super) devices_ns: Durations,
    /// As [`HAS_DEVICE`] and [`HAS_UNTIMED_DEVICE`]; empty: no lane is a device's.
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

    /// Tells whether every node stands before those that hang below it.
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

/// The execution graph. Nodes stand in the order of their starts, the outer
/// first; the first ones are the lanes, and node `i` of them is lane `i`.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) nodes: Nodes,
    /// Declared elements by node; empty: no row has any.
    pub(super) elements: Durations,
    /// Pieces of the critical path by node, as in [`OnPath`]; empty: it is not marked.
    pub(super) path_self_ns: Durations,
    pub(super) path_all_ns: Durations,
    /// By how much each node may begin later without moving the end of the run; empty: it was not computed.
    pub(super) slack_ns: Durations,
    /// Lanes that [`Node::lane`] refers to.
    pub lanes: Vec<LaneInfo>,
    /// Names that [`Node::name`] refers to.
    pub names: Vec<String>,
    /// Number of its group's name for each name: its own where it holds no id.
    pub(super) merged_names: Vec<u32>,
    /// By lane: the first one of its pool and the number of the pool's name; `None`: it is of no pool.
    pub(super) pooled_lanes: Vec<Option<(u32, u32)>>,
    /// Details that [`Node::detail`] refers to.
    pub details: Vec<Detail>,
    /// Attributes that the program gave rows.
    pub attributes: Attributes,
    /// Length of the run; `None`: it holds nothing with a time.
    pub wall_ns: Option<i64>,
    /// Recorded dependencies as pairs of nodes, sorted: from, to, number of the kind's name.
    pub edges: Vec<(u32, u32, u32)>,
    /// Edges that name a row that is not here.
    pub edges_left_out: u64,
    /// Links that would have led in a circle, and were cut.
    pub circles: u64,
    /// Tells whether tiles are on no list of children; their time is then that of what they lie in.
    pub(super) without_tiles: bool,
    /// Nodes by the ids of their rows.
    pub(super) ids: IdIndex<u32>,
    pub(super) offsets: Vec<u32>,
    pub(super) children: Vec<u32>,
}

impl Graph {
    /// Nodes, lanes among them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn node(&self, at: u32) -> Node {
        self.nodes.node(at as usize)
    }

    /// The timings of all nodes, lanes first.
    pub fn timings(&self) -> &[Timing] {
        &self.nodes.timings
    }

    /// Declared elements of a node.
    pub fn elements(&self, at: u32) -> Option<u64> {
        self.elements.get(at as usize).map(i64::cast_unsigned)
    }

    /// Its pieces of the critical path; none where that is not marked.
    pub fn on_path(&self, at: u32) -> OnPath {
        OnPath {
            self_ns: self.path_self_ns.ns(at as usize),
            all_ns: self.path_all_ns.ns(at as usize),
        }
    }

    /// By how much it may begin later without moving the end of the run.
    pub fn slack_ns(&self, at: u32) -> Option<i64> {
        self.slack_ns.get(at as usize)
    }

    /// Marks the time of rows on the critical path, by their ids. Returns that of the rows that are here.
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

    /// Its name, as recorded.
    pub fn name(&self, at: u32) -> &str {
        &self.names[self.nodes.names[at as usize] as usize]
    }

    /// The number of its name among merged rows: all names that differ in ids only have one.
    pub(super) fn merged_name(&self, at: u32) -> u32 {
        let name = self.nodes.names[at as usize];
        let merged = self.merged_names.get(name as usize);
        merged.copied().unwrap_or(name)
    }

    pub fn lane(&self, at: u32) -> &LaneInfo {
        &self.lanes[self.nodes.lanes[at as usize] as usize]
    }

    /// Text behind a name: the detail of the one node, or the shapes that all of several have.
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

    /// Its detail, if it has one.
    pub fn detail(&self, at: u32) -> Option<&Detail> {
        self.details.get(self.nodes.details[at as usize] as usize)
    }

    /// The nodes right below one, in the order of their starts.
    pub fn children(&self, at: u32) -> &[u32] {
        let from = self.offsets[at as usize] as usize;
        let to = self.offsets[at as usize + 1] as usize;
        &self.children[from..to]
    }

    /// The node of a row; of several with one id, which a damaged run may hold, the first.
    pub fn find(&self, id: u64) -> Option<u32> {
        self.ids.get(id)
    }

    /// The lanes that something hangs below.
    pub fn roots(&self) -> Vec<u32> {
        let lanes = 0..self.lanes.len() as u32;
        lanes.filter(|at| !self.children(*at).is_empty()).collect()
    }

    /// Tells whether rows of a class are on no list.
    pub fn hides(&self, class: Class) -> bool {
        self.without_tiles && class == Class::Tile
    }

    /// Rows of the run that are shown.
    pub fn rows(&self) -> usize {
        self.children.len()
    }

    /// The node, or the first one above it that is shown.
    pub(super) fn shown(&self, mut at: u32) -> u32 {
        while self.hides(self.nodes.classes[at as usize]) {
            at = self.nodes.parents[at as usize];
        }
        at
    }
}
