//! The output tables, and how their columns are computed.

use std::collections::BTreeMap;

use trueno_analysis::lanes::{Lane, LaneKey};
use trueno_plugin::rank::of_key;
use trueno_plugin::{Result, Run, Table, TableBuilder};

use crate::clocks::Clocks;
use crate::contradictions::{Contradiction, Contradictions};
use crate::edges::{EdgeKind, Edges};
use crate::events::{Events, begin, end};
use crate::inputs::{JOB, PROCESSES};
use crate::lane_groups::LaneGroups;

#[derive(Debug, Default)]
pub struct Places {
    processes: BTreeMap<i64, u64>,
    is_of_ranks: bool,
}

impl Places {
    /// Reads them.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let table = run.table(PROCESSES.name())?;
        let (thread, process) = (table.i64("thread")?, table.u64("process")?);
        let processes = thread.iter().zip(process.iter());
        let processes = processes.filter_map(|(thread, process)| Some((thread?, process?)));
        Ok(Self {
            processes: processes.collect(),
            is_of_ranks: !run.table(JOB.name())?.is_missing(),
        })
    }

    fn process(&self, lane: &Lane) -> Option<u64> {
        match lane.key {
            LaneKey::Thread(Some(thread)) => self.processes.get(&thread).copied(),
            _ => None,
        }
    }

    fn rank(&self, id: u64) -> Option<u64> {
        self.is_of_ranks.then(|| of_key(id))
    }
}

/// A time difference as a cell; null above 2⁶³ − 1.
fn cell(ns: u64) -> Option<i64> {
    i64::try_from(ns).ok()
}

/// Table `contradictions_by_lanes`: kinds of edges from one lane to another that contradict the recorded times, the
/// largest contradiction first.
///
/// `edges`: all edges of the kind and lanes; `contradicted`: those that contradict the times; `max_late_ns`: how
/// much later the cause was recorded than the effect, at most.
pub fn contradictions_by_lanes(
    events: &Events<'_>,
    contradictions: &Contradictions,
) -> TableBuilder {
    let rows = || contradictions.by_lanes.iter();
    let name = |lane: usize| events.lanes.lanes[lane].name.as_str();
    Table::build("contradictions_by_lanes")
        .text("kind", rows().map(|of| of.kind.name()))
        .text("from_lane", rows().map(|of| name(of.from)))
        .text("to_lane", rows().map(|of| name(of.to)))
        .u64("contradicted", rows().map(|of| of.contradicted))
        .u64("edges", rows().map(|of| of.edges))
        .i64("max_late_ns", rows().map(|of| cell(of.max_late_ns)))
}

/// Table `totals`, one row.
///
/// `rows`: rows with clocks; `events`: their begins and ends; `edges`: edges that order them; `max_lamport`: the
/// greatest clock, which is the number of events on the longest chain; `tied_lanes`: lanes with edges to other
/// lanes; `groups`: connected groups of lanes.
pub fn totals(
    events: &Events<'_>,
    edges: &Edges,
    clocks: &Clocks,
    groups: &LaneGroups,
) -> TableBuilder {
    Table::build("totals")
        .u64("rows", [events.rows() as u64])
        .u64("events", [2 * events.rows() as u64])
        .u64("edges", [edges.used.len() as u64])
        .u64("max_lamport", [u64::from(clocks.max)])
        .u64("lanes", [events.lanes.lanes.len() as u64])
        .u64("tied_lanes", [groups.tied() as u64])
        .u64("groups", [groups.groups as u64])
}

/// Table `edges`: number of edges by kind.
///
/// `relation`: which event of `from` happened before which event of `to`, null if the kind is unknown; `edges`:
/// edges that order events; `implied`: those derived from a parent or a correlation; `between_lanes`: those between
/// different lanes; `contradicted`: those that contradict the recorded times, by at most `max_late_ns`; `unused`:
/// rows of `edges` that order nothing.
pub fn edges(edges: &Edges, contradictions: &Contradictions, events: &Events<'_>) -> TableBuilder {
    let mut sums: BTreeMap<EdgeKind, [u64; 3]> = BTreeMap::new();
    for edge in &edges.used {
        let [all, implied, between] = sums.entry(edge.kind).or_default();
        *all += 1;
        *implied += u64::from(edge.is_implied);
        *between += u64::from(events.lane(edge.from) != events.lane(edge.to));
    }
    for kind in edges.unused.keys().filter_map(|name| EdgeKind::parse(name)) {
        sums.entry(kind).or_default();
    }
    let known = sums
        .iter()
        .map(|(kind, sums)| (kind.name(), Some(*kind), *sums));
    let unknown = edges.unused.keys().map(String::as_str);
    let unknown = unknown.filter(|name| EdgeKind::parse(name).is_none());
    let rows: Vec<(&str, Option<EdgeKind>, [u64; 3])> = known
        .chain(unknown.map(|name| (name, None, [0; 3])))
        .collect();
    let rows = || rows.iter();
    let contradicted = |kind: &Option<EdgeKind>| contradictions.by_kind.get(&(*kind)?);
    Table::build("edges")
        .text("kind", rows().map(|row| row.0))
        .text("relation", rows().map(|row| row.1.map(EdgeKind::relation)))
        .u64("edges", rows().map(|row| row.2[0]))
        .u64("implied", rows().map(|row| row.2[1]))
        .u64("between_lanes", rows().map(|row| row.2[2]))
        .u64(
            "contradicted",
            rows().map(|row| contradicted(&row.1).map_or(0, |of| of.0)),
        )
        .i64(
            "max_late_ns",
            rows().map(|row| cell(contradicted(&row.1)?.1)),
        )
        .u64(
            "unused",
            rows().map(|row| edges.unused.get(row.0).copied().unwrap_or(0)),
        )
}

/// Table `lanes`: each lane, with the `group` of lanes that edges connect it to.
///
/// `order_with_others`: `by edges`, or `not measurable` if it has no edges to other lanes; `incoming` and
/// `outgoing`: edges from and to other lanes; `max_lamport`: the greatest clock of its events.
pub fn lanes(events: &Events<'_>, clocks: &Clocks, groups: &LaneGroups) -> TableBuilder {
    let lanes = || events.lanes().enumerate();
    let group = |lane: usize| groups.group[lane];
    let order = |lane: usize| match group(lane) {
        Some(_) => "by edges",
        None => "not measurable",
    };
    let max = lanes().map(|(_, (first, lane))| {
        let rows = first..first + lane.spans.len() as u32;
        let known = rows.flat_map(|row| [clocks.get(begin(row)), clocks.get(end(row))]);
        known.flatten().max().map(u64::from)
    });
    Table::build("lanes")
        .text("lane", lanes().map(|(_, (_, lane))| &lane.name))
        .text("lane_kind", lanes().map(|(_, (_, lane))| lane.kind.name()))
        .text("order_with_others", lanes().map(|(at, _)| order(at)))
        .u64(
            "group",
            lanes().map(|(at, _)| group(at).map(|group| group as u64 + 1)),
        )
        .u64("incoming", lanes().map(|(at, _)| groups.incoming[at]))
        .u64("outgoing", lanes().map(|(at, _)| groups.outgoing[at]))
        .u64(
            "rows",
            lanes().map(|(_, (_, lane))| lane.spans.len() as u64),
        )
        .u64("max_lamport", max)
}

/// Table `contradictions`: the `limit` edges that contradict the recorded times most.
///
/// `from_…` is the row of the cause, `to_…` that of the effect; `…_time_ns`: recorded times of the two events;
/// `late_ns`: their difference; `…_process` and `…_rank`: null if unknown; `is_implied`: the edge was derived from
/// a parent or a correlation.
pub fn contradictions(
    events: &Events<'_>,
    places: &Places,
    contradictions: &Contradictions,
    limit: usize,
) -> TableBuilder {
    let rows = || contradictions.all.iter().take(limit);
    let lane = |row: u32| &events.lanes.lanes[events.lane(row)];
    let time = |event: u32| events.time_ns(event).saturating_add(events.lanes.origin_ns);
    type Side = fn(&Contradiction) -> (u32, u32);
    let from: Side = |of| (of.edge.from, of.edge.events().0);
    let to: Side = |of| (of.edge.to, of.edge.events().1);
    let mut table = Table::build("contradictions")
        .text("kind", rows().map(|of| of.edge.kind.name()))
        .i64("late_ns", rows().map(|of| cell(of.late_ns)));
    for (side, of_side) in [("from", from), ("to", to)] {
        let ids = || rows().map(|of| events.span(of_side(of).0).id);
        let lanes = || rows().map(|of| lane(of_side(of).0));
        let times = rows().map(|of| time(of_side(of).1));
        table = table
            .u64(&format!("{side}_id"), ids())
            .text(
                &format!("{side}_name"),
                rows().map(|of| events.name(of_side(of).0)),
            )
            .text(&format!("{side}_lane"), lanes().map(|lane| &lane.name))
            .u64(
                &format!("{side}_process"),
                lanes().map(|lane| places.process(lane)),
            )
            .u64(&format!("{side}_rank"), ids().map(|id| places.rank(id)))
            .i64(&format!("{side}_time_ns"), times);
    }
    table.bool("is_implied", rows().map(|of| of.edge.is_implied))
}

/// Table `events`: clocks of each row's begin and end, lane by lane, sorted by start. Null if an event is on a
/// cycle.
pub fn events(events: &Events<'_>, clocks: &Clocks) -> TableBuilder {
    let rows = || 0..events.rows() as u32;
    let spans = || events.lanes().flat_map(|(_, lane)| &lane.spans);
    let names = events.lanes().flat_map(|(_, lane)| {
        let name = lane.name.as_str();
        std::iter::repeat_n(name, lane.spans.len())
    });
    Table::build("events")
        .u64("id", spans().map(|span| span.id))
        .text("lane", names)
        .u64(
            "lamport_begin",
            rows().map(|row| clocks.get(begin(row)).map(u64::from)),
        )
        .u64(
            "lamport_end",
            rows().map(|row| clocks.get(end(row)).map(u64::from)),
        )
}
