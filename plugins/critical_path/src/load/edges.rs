//! Dependencies as recorded: pairs of ids, from several inputs.

use trueno_analysis::lanes::{Class, LaneKind, Lanes};
use trueno_plugin::{Input, Result, Run};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependencyKind {
    /// `to` begins after `from` has ended.
    DependsOn,
    /// The wait `to` cannot end before `from` has ended.
    Joins,
    /// `from` is the host call that put `to` on its stream.
    Launches,
    /// `from` started `to`, while `from` was open or after it.
    Spawns,
    /// Device work `to` could not begin before `from`, on another stream, had ended: because of a wait for an
    /// event recorded after `from`, or because of the legacy default stream.
    Follows,
    /// The host call `to` launched `from` and did not return before it had ended, except for a last part that
    /// was already staged.
    Blocks,
    /// The host call `to` only waited until `from` had ended, except for a last part that was already staged.
    /// If it launched `from` itself, it did so before it began to wait for earlier work on the stream.
    Awaits,
    /// While `from` was open, it ended the wait `to`. `from` may return only after that.
    Wakes,
}

impl DependencyKind {
    pub fn parse(kind: &str) -> Option<Self> {
        match kind {
            "depends_on" => Some(Self::DependsOn),
            "joins" => Some(Self::Joins),
            "launches" => Some(Self::Launches),
            "spawns" => Some(Self::Spawns),
            "wakes" => Some(Self::Wakes),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    pub from: u64,
    pub to: u64,
    pub kind: DependencyKind,
    /// Not a row of `edges` but concluded from a parent, a correlation or a wait.
    pub implied: bool,
}

pub const EDGES: Input = Input::sql(
    "edges",
    "SELECT \"from\" AS from_id, \"to\" AS to_id, kind FROM edges",
);
/// A task on another thread was spawned by its parent.
pub const TASKS: Input = Input::sql(
    "tasks",
    "SELECT parent AS from_id, id AS to_id FROM bricks WHERE kind = 'task' AND timing <> 'bound' AND parent IS NOT NULL",
);
pub const KERNEL_LAUNCHES: Input = Input::sql(
    "kernel_launches",
    "SELECT c.id AS from_id, k.id AS to_id FROM calls AS c JOIN kernels AS k ON c.correlation = k.correlation \
     WHERE k.device IS NOT NULL",
);
pub const TRANSFER_LAUNCHES: Input = Input::sql(
    "transfer_launches",
    "SELECT c.id AS from_id, t.id AS to_id FROM calls AS c JOIN transfers AS t ON c.correlation = t.correlation \
     WHERE t.device IS NOT NULL",
);

/// Copies with their calls. `is_stated` says that the copy blocks: it is synchronous or uses pageable memory (CUDA
/// Runtime API, "API synchronization behavior").
pub const BLOCKING: Input = Input::sql(
    "blocking",
    "SELECT t.id AS from_id, c.id AS to_id, t.direction = 'd2h' AS is_to_host, \
     COALESCE(NOT t.is_async, false) OR COALESCE(t.src_kind = 'pageable', false) OR COALESCE(t.dst_kind = 'pageable', false) AS is_stated \
     FROM calls AS c JOIN transfers AS t ON c.correlation = t.correlation WHERE t.device IS NOT NULL \
     AND t.direction <> 'memset'",
)
.optional();

/// A copy and its call, which may have waited for the end of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocking {
    pub copy: u64,
    pub call: u64,
    pub is_stated: bool,
    /// A copy from device to host, which is never staged.
    pub is_to_host: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    pub edges: Vec<Edge>,
    pub unknown_kinds: u64,
    pub blocking: Vec<Blocking>,
}

impl Read {
    pub fn of_kind(&self, kind: DependencyKind) -> Vec<Edge> {
        let edges = self.edges.iter().filter(|edge| edge.kind == kind);
        edges.copied().collect()
    }

    pub fn add(&mut self, edges: &[Edge]) {
        self.edges.extend_from_slice(edges);
        self.edges.sort_unstable();
        // Recorded comes before concluded.
        self.edges
            .dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
    }
}

/// Returns whether any row of the run is on a device, even outside of the window.
pub fn has_device(run: &Lanes) -> bool {
    run.lanes.iter().any(|lane| lane.kind == LaneKind::Device)
}

/// Reads all dependencies that are recorded or follow directly from parents and correlations.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run, run_lanes: &Lanes) -> Result<Read> {
    let mut read = Read::default();
    let mut out = Vec::new();
    let table = run.table(EDGES.name())?;
    let (from, to, kind) = (
        table.u64("from_id")?,
        table.u64("to_id")?,
        table.text("kind")?,
    );
    for row in 0..table.rows() {
        match DependencyKind::parse(kind.value(row)) {
            Some(kind) => out.push(Edge {
                from: from.value(row),
                to: to.value(row),
                kind,
                implied: false,
            }),
            None => read.unknown_kinds += 1,
        }
    }
    // What no row can belong to is not asked for: a query reads whole tables to find nothing.
    let has_class = |class: Class| {
        run_lanes
            .labels
            .all()
            .iter()
            .any(|label| label.class == class)
    };
    let launches = has_class(Class::Call) && has_device(run_lanes);
    for (input, kind, is_there) in [
        (TASKS, DependencyKind::Spawns, has_class(Class::Task)),
        (
            KERNEL_LAUNCHES,
            DependencyKind::Launches,
            launches && has_class(Class::Kernel),
        ),
        (
            TRANSFER_LAUNCHES,
            DependencyKind::Launches,
            launches && has_class(Class::Transfer),
        ),
    ] {
        if !is_there {
            continue;
        }
        let table = run.table(input.name())?;
        let (from, to) = (table.u64("from_id")?, table.u64("to_id")?);
        out.extend((0..table.rows()).map(|row| Edge {
            from: from.value(row),
            to: to.value(row),
            kind,
            implied: true,
        }));
    }
    if launches && has_class(Class::Transfer) {
        let table = run.table(BLOCKING.name())?;
        let (from, to) = (table.u64("from_id")?, table.u64("to_id")?);
        let is_stated = table.bool("is_stated")?;
        let is_to_host = table.bool("is_to_host")?;
        let blocking = (0..table.rows()).map(|row| Blocking {
            copy: from.value(row),
            call: to.value(row),
            is_stated: is_stated.value(row),
            is_to_host: is_to_host.get(row) == Some(true),
        });
        read.blocking = blocking.collect();
    }
    read.add(&out);
    Ok(read)
}
