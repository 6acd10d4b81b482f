//! Dependencies as recorded: pairs of ids, from several inputs.

use trueno_plugin::{Input, Result, Run};

/// What a dependency means for the times of its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependencyKind {
    /// `to` began after `from` had ended.
    DependsOn,
    /// The wait `to` could not end before `from` had ended.
    Joins,
    /// `from` is the host call that put `to` on its stream.
    Launches,
    /// `to` was begun by `from`, while `from` was open or after it.
    Spawns,
}

impl DependencyKind {
    /// The kind of a row of `edges`; `None` when it means nothing here.
    pub fn of(kind: &str) -> Option<Self> {
        match kind {
            "depends_on" => Some(Self::DependsOn),
            "joins" => Some(Self::Joins),
            "launches" => Some(Self::Launches),
            "spawns" => Some(Self::Spawns),
            _ => None,
        }
    }
}

/// One dependency by ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Id of the row that comes first.
    pub from: u64,
    /// Id of the row that comes after.
    pub to: u64,
    /// What it means.
    pub kind: DependencyKind,
    /// Not a row of `edges`, but concluded from a parent or a correlation.
    pub implied: bool,
}

/// Explicit dependencies.
pub const EDGES: Input = Input::sql(
    "edges",
    "SELECT \"from\" AS from_id, \"to\" AS to_id, kind FROM edges",
);
/// The parent of a task spawned it, when it lies on another thread.
pub const TASKS: Input = Input::sql(
    "tasks",
    "SELECT parent AS from_id, id AS to_id FROM bricks WHERE kind = 'task' AND parent IS NOT NULL",
);
/// A call and a kernel of one correlation.
pub const KERNEL_LAUNCHES: Input = Input::sql(
    "kernel_launches",
    "SELECT c.id AS from_id, k.id AS to_id FROM calls AS c JOIN kernels AS k ON c.correlation = k.correlation \
     WHERE k.device IS NOT NULL",
);
/// A call and a transfer of one correlation.
pub const TRANSFER_LAUNCHES: Input = Input::sql(
    "transfer_launches",
    "SELECT c.id AS from_id, t.id AS to_id FROM calls AS c JOIN transfers AS t ON c.correlation = t.correlation \
     WHERE t.device IS NOT NULL",
);

/// All dependencies, sorted, each once; and how many rows have a kind that means nothing here.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run) -> Result<(Vec<Edge>, u64)> {
    let mut out = Vec::new();
    let mut unknown_kinds = 0;
    let table = run.table(EDGES.name())?;
    let (from, to, kind) = (
        table.u64("from_id")?,
        table.u64("to_id")?,
        table.text("kind")?,
    );
    for row in 0..table.rows() {
        match DependencyKind::of(kind.value(row)) {
            Some(kind) => out.push(Edge {
                from: from.value(row),
                to: to.value(row),
                kind,
                implied: false,
            }),
            None => unknown_kinds += 1,
        }
    }
    for (input, kind) in [
        (TASKS, DependencyKind::Spawns),
        (KERNEL_LAUNCHES, DependencyKind::Launches),
        (TRANSFER_LAUNCHES, DependencyKind::Launches),
    ] {
        let table = run.table(input.name())?;
        let (from, to) = (table.u64("from_id")?, table.u64("to_id")?);
        out.extend((0..table.rows()).map(|row| Edge {
            from: from.value(row),
            to: to.value(row),
            kind,
            implied: true,
        }));
    }
    out.sort_unstable();
    out.dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
    Ok((out, unknown_kinds))
}
