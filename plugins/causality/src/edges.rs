//! Edges between rows: recorded, or implied by a parent or a correlation.

use std::collections::BTreeMap;

use trueno_analysis::id_index::IdIndex;
use trueno_analysis::lanes::{Class, LaneKind};
use trueno_plugin::{Batch, Input, Result, Run};

use crate::events::{Event, Events, begin, end};
use crate::inputs::{
    EDGE_KINDS, EDGES, KERNEL_LAUNCHES, KINDS_OF_BRICKS, NAMES_OF_CALLS, TASKS, TRANSFER_LAUNCHES,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// `to` could not begin before `from` had ended.
    DependsOn,
    /// The wait `to` could not end before `from` had ended.
    Joins,
    /// The call `from` put `to` on its stream.
    Launches,
    /// `from` created `to`, which begins after the begin of `from`, possibly after its end.
    Spawns,
    /// `from` ended the wait `to` while `from` was open.
    Wakes,
}

impl EdgeKind {
    pub const ALL: [Self; 5] = [
        Self::DependsOn,
        Self::Joins,
        Self::Launches,
        Self::Spawns,
        Self::Wakes,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::DependsOn => "depends_on",
            Self::Joins => "joins",
            Self::Launches => "launches",
            Self::Spawns => "spawns",
            Self::Wakes => "wakes",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Which event of `from` happened before which event of `to`, as text.
    pub fn relation(self) -> &'static str {
        match self {
            Self::DependsOn => "end before begin",
            Self::Joins => "end before end",
            Self::Launches | Self::Spawns => "begin before begin",
            Self::Wakes => "begin before end",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The row of the effect.
    pub to: u32,
    /// The row of the cause.
    pub from: u32,
    pub kind: EdgeKind,
    /// Derived from a parent or a correlation, not a row of `edges`.
    pub is_implied: bool,
}

impl Edge {
    #[inline]
    pub fn events(&self) -> (Event, Event) {
        match self.kind {
            EdgeKind::DependsOn => (end(self.from), begin(self.to)),
            EdgeKind::Joins => (end(self.from), end(self.to)),
            EdgeKind::Launches | EdgeKind::Spawns => (begin(self.from), begin(self.to)),
            EdgeKind::Wakes => (begin(self.from), end(self.to)),
        }
    }
}

#[derive(Debug, Default)]
pub struct Edges {
    /// Edges that order events, by target, without duplicates.
    pub used: Vec<Edge>,
    /// Rows of `edges` that order nothing, counted by kind: an end is not a row with events, `joins` or `wakes`
    /// does not lead to a wait, or the kind is unknown.
    pub unused: BTreeMap<String, u64>,
}

/// Whether the run may have edges: it has some, or tasks, or calls. Reads no rows.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn may_be_any(run: &mut Run) -> Result<bool> {
    let mut has = |input: Input, is_cause: fn(&str) -> bool| -> Result<bool> {
        let table = run.table(input.name())?;
        Ok(!table.is_missing() && table.text("text")?.iter().flatten().any(is_cause))
    };
    Ok(has(EDGE_KINDS, |_| true)?
        || has(KINDS_OF_BRICKS, |kind| kind == "task")?
        || has(NAMES_OF_CALLS, |_| true)?)
}

/// Reads all edges.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run, events: &Events<'_>) -> Result<Edges> {
    let mut reader = Reader {
        events,
        rows: rows_by_id(events),
        edges: Edges::default(),
    };
    let mut batches = run.batches(EDGES.name())?;
    if !batches.is_missing() {
        while let Some(batch) = batches.next_batch()? {
            reader.recorded(&batch)?;
        }
    }
    // What no row can belong to is not asked for: a query reads whole tables to find nothing.
    let labels = events.lanes.labels.all();
    let has_class = |class: Class| labels.iter().any(|label| label.class == class);
    let lanes = events.lanes.lanes.iter();
    let has_calls = has_class(Class::Call);
    let launches = has_calls && lanes.clone().any(|lane| lane.kind == LaneKind::Device);
    for (input, kind, is_there) in [
        (TASKS, EdgeKind::Spawns, has_class(Class::Task)),
        (
            KERNEL_LAUNCHES,
            EdgeKind::Launches,
            launches && has_class(Class::Kernel),
        ),
        (
            TRANSFER_LAUNCHES,
            EdgeKind::Launches,
            launches && has_class(Class::Transfer),
        ),
    ] {
        if is_there {
            reader.implied(run, input, kind)?;
        }
    }
    let mut edges = reader.edges;
    // Recorded comes before implied.
    edges.used.sort_unstable();
    edges
        .used
        .dedup_by_key(|edge| (edge.to, edge.from, edge.kind));
    Ok(edges)
}

/// Rows by id. If two share an id, the first wins.
fn rows_by_id(events: &Events<'_>) -> IdIndex<u32> {
    // From the back, since of one id the last value counts.
    IdIndex::new(|| {
        let lanes = events.lanes.lanes.iter().rev();
        let ids = lanes.flat_map(|lane| lane.spans.iter().rev().map(|span| span.id));
        ids.zip((0..events.rows() as u32).rev())
    })
}

struct Reader<'a> {
    events: &'a Events<'a>,
    rows: IdIndex<u32>,
    edges: Edges,
}

impl Reader<'_> {
    fn recorded(&mut self, batch: &Batch<'_>) -> Result<()> {
        let (from, to) = (batch.u64("from_id")?, batch.u64("to_id")?);
        let kinds = batch.text("kind")?;
        for row in 0..batch.rows() {
            let name = kinds.get(row).unwrap_or_default();
            let kind = EdgeKind::parse(name);
            let edge = kind.and_then(|kind| self.edge(from.get(row)?, to.get(row)?, kind, false));
            match edge {
                Some(edge) => self.edges.used.push(edge),
                None => match self.edges.unused.get_mut(name) {
                    Some(count) => *count += 1,
                    None => _ = self.edges.unused.insert(name.to_owned(), 1),
                },
            }
        }
        Ok(())
    }

    fn implied(&mut self, run: &mut Run, input: Input, kind: EdgeKind) -> Result<()> {
        let mut batches = run.batches(input.name())?;
        if batches.is_missing() {
            return Ok(());
        }
        while let Some(batch) = batches.next_batch()? {
            let (from, to) = (batch.u64("from_id")?, batch.u64("to_id")?);
            for row in 0..batch.rows() {
                let ends = from.get(row).zip(to.get(row));
                let edge = ends.and_then(|(from, to)| self.edge(from, to, kind, true));
                // On one lane nesting says it.
                let lane = |row| self.events.lane(row);
                let edge = edge.filter(|edge| lane(edge.from) != lane(edge.to));
                self.edges.used.extend(edge);
            }
        }
        Ok(())
    }

    fn edge(&self, from: u64, to: u64, kind: EdgeKind, is_implied: bool) -> Option<Edge> {
        let (from, to) = (self.rows.get(from)?, self.rows.get(to)?);
        if matches!(kind, EdgeKind::Joins | EdgeKind::Wakes) {
            let label = self.events.span(to).label;
            let class = self.events.lanes.labels.get(label).class;
            (class == Class::Wait).then_some(())?;
        }
        Some(Edge {
            to,
            from,
            kind,
            is_implied,
        })
    }
}
