//! Collectives that make ranks wait for each other: what leads the path from rank to rank.
//!
//! The times of each rank are put on the clock of the reference rank, as the plugin `collectives` compares them. Then, in each
//! collective of which all ranks are recorded, a rank waits from its arrival until the last has arrived:
//!
//! ```text
//! rank 0   ├─ a ┊──── wait ────┊─ transfer ─┤        a: its arrival, a nanosecond of the kernel
//! rank 1             work      ├ a ┊ transfer ┤
//! ```
//!
//! The wait joins the arrivals of all. To spare each rank an edge from each other, the lowest rank joins them and the others
//! join it, a nanosecond later. A wait that others hold up is elastic: it would be shorter if they came sooner.

use std::collections::BTreeMap;

use trueno_analysis::lanes::{Class, Label, Lane, Lanes, NO_ELEMENTS, Span, WAITING};
use trueno_analysis::start_order::sort_by_start;
use trueno_plugin::{Input, Result, Run};

use crate::infer::host_waits::FIRST_RANK_ID;
use crate::load::dependencies::{SpanAt, span};
use crate::load::device::Found;
use crate::load::edges::DependencyKind;
use crate::load::inferred::Rule;
use crate::load::row_index::row_index;

const NAME: &str = "wait for other ranks (inferred)";

/// Stays in collectives that make ranks wait, if all ranks are recorded.
pub const STAYS: Input = Input::sql(
    "rank_stays",
    "SELECT a.instance AS instance, a.id AS id FROM collectives.arrivals AS a \
     JOIN collectives.instances AS i ON a.instance = i.instance \
     WHERE i.waits AND i.not_recorded = 0 AND i.skew_ns IS NOT NULL ORDER BY instance, id",
)
.optional();
pub const CLOCKS: Input = Input::sql(
    "rank_clocks",
    "SELECT rank, clock_offset_ns, clock_uncertainty_ns, clock_at_ns, clock_drift_ppm FROM collectives.by_rank \
     WHERE clock_offset_ns IS NOT NULL ORDER BY rank",
)
.optional();

/// The clock of a rank: it is ahead by `offset_ns` at `at_ns`, and by `drift` more for each nanosecond after that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Clock {
    offset_ns: i64,
    at_ns: i64,
    drift: f64,
}

impl Clock {
    fn on_reference(&self, ns: i64) -> i64 {
        let drift_ns = (ns.saturating_sub(self.at_ns) as f64 * self.drift).round() as i64;
        ns.saturating_sub(self.offset_ns).saturating_sub(drift_ns)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    pub collectives: u64,
    pub ranks: u64,
    pub uncertainty_ns: i64,
    pub shift_ns: i64,
    /// Collectives whose times contradict each other even on one clock; they connect nothing.
    pub contradicted: u64,
}

#[derive(Debug, Default)]
pub struct Collectives {
    stays: Vec<Vec<u64>>,
    clocks: BTreeMap<u32, Clock>,
    uncertainty_ns: i64,
}

impl Collectives {
    /// Reads the inputs; empty if plugin `collectives` has no rows.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, lanes: &Lanes) -> Result<Self> {
        let mut out = Self::default();
        let table = run.table(STAYS.name())?;
        let (instance, id) = (table.u64("instance")?, table.u64("id")?);
        let mut last = None;
        for row in 0..table.rows() {
            let (Some(instance), Some(id)) = (instance.get(row), id.get(row)) else {
                continue;
            };
            if last.replace(instance) != Some(instance) {
                out.stays.push(Vec::new());
            }
            if let Some(stays) = out.stays.last_mut() {
                stays.push(id);
            }
        }
        let table = run.table(CLOCKS.name())?;
        let (rank, offset) = (table.u64("rank")?, table.i64("clock_offset_ns")?);
        let uncertainty = table.i64("clock_uncertainty_ns")?;
        let (at, drift) = (table.i64("clock_at_ns")?, table.f64("clock_drift_ppm")?);
        for row in 0..table.rows() {
            let (Some(rank), Some(offset_ns), Some(at_ns)) =
                (rank.get(row), offset.get(row), at.get(row))
            else {
                continue;
            };
            let clock = Clock {
                offset_ns,
                at_ns: at_ns.saturating_sub(lanes.origin_ns),
                drift: drift.get(row).unwrap_or(0.0) * 1e-6,
            };
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            out.clocks.insert(rank, clock);
            let uncertainty_ns = uncertainty.get(row).unwrap_or(0);
            out.uncertainty_ns = out.uncertainty_ns.max(uncertainty_ns);
        }
        Ok(out)
    }

    pub fn connect(&self, lanes: &mut Lanes, found: &mut Found) -> Ranks {
        if self.stays.is_empty() {
            return Ranks::default();
        }
        let shifts = self.clocks.values();
        let shift_ns = shifts.map(|clock| clock.offset_ns.saturating_abs()).max();
        let mut out = Ranks {
            ranks: self.clocks.len() as u64,
            uncertainty_ns: self.uncertainty_ns,
            shift_ns: shift_ns.unwrap_or(0),
            ..Ranks::default()
        };
        self.align(lanes);
        let rows = row_index(lanes);
        let mut ids = FIRST_RANK_ID..;
        let mut marks: Vec<(u32, Span)> = Vec::new();
        let label = wait_label(lanes);
        for stays in &self.stays {
            let places: Option<Vec<SpanAt>> = stays.iter().map(|id| rows.get(*id)).collect();
            let placed = places.filter(|places| places.len() > 1);
            match placed.and_then(|places| one(lanes, &places, label, &mut ids, found)) {
                Some(spans) => {
                    marks.extend(spans);
                    out.collectives += 1;
                }
                None => out.contradicted += 1,
            }
        }
        let mut changed: Vec<u32> = marks.iter().map(|(lane, _)| *lane).collect();
        changed.sort_unstable();
        changed.dedup();
        for (lane, span) in marks {
            lanes.lanes[lane as usize].spans.push(span);
        }
        for lane in changed {
            sort_by_start(&mut lanes.lanes[lane as usize].spans);
        }
        out
    }

    /// Moves all lanes to the reference clock. The first row keeps its time, and the window keeps its distance
    /// from the last row.
    fn align(&self, lanes: &mut Lanes) {
        let before = reach(lanes);
        for lane in &mut lanes.lanes {
            if let Some(clock) = self.clocks.get(&lane.key.rank()) {
                move_lane(lane, |ns| clock.on_reference(ns));
            }
        }
        let after = reach(lanes);
        let shift_ns = before.0.saturating_sub(after.0);
        for lane in &mut lanes.lanes {
            move_lane(lane, |ns| ns.saturating_add(shift_ns));
        }
        let last_ns = after.1.saturating_add(shift_ns);
        let longer_ns = last_ns.saturating_sub(before.1);
        lanes.wall_ns = lanes.wall_ns.saturating_add(longer_ns).max(0);
    }
}

fn reach(lanes: &Lanes) -> (i64, i64) {
    let spans = || lanes.lanes.iter().flat_map(|lane| &lane.spans);
    let first_ns = spans().map(|span| span.start_ns).min();
    let last_ns = spans().map(|span| span.end_ns).max();
    (first_ns.unwrap_or(0), last_ns.unwrap_or(0))
}

/// Moves all times of a lane. `to` must not change their order.
fn move_lane(lane: &mut Lane, to: impl Fn(i64) -> i64) {
    for span in &mut lane.spans {
        (span.start_ns, span.end_ns) = (to(span.start_ns), to(span.end_ns));
    }
    lane.life = lane
        .life
        .map(|(first_ns, last_ns)| (to(first_ns), to(last_ns)));
}

fn wait_label(lanes: &mut Lanes) -> u32 {
    let label = Label {
        class: Class::Wait,
        kind: lanes.texts.number("sync"),
        name: lanes.texts.number(NAME),
        category: WAITING,
    };
    lanes.labels.number(label)
}

/// Arrivals and waits of one collective as rows of its lanes; `None`: its times contradict each other even on one
/// clock.
fn one(
    lanes: &Lanes,
    places: &[SpanAt],
    wait_label: u32,
    ids: &mut impl Iterator<Item = u64>,
    found: &mut Found,
) -> Option<Vec<(u32, Span)>> {
    let stays: Vec<Span> = places.iter().map(|at| *span(lanes, *at)).collect();
    // A nanosecond each: the kernel's first, its arrival, and what the others join.
    let last_ns = stays
        .iter()
        .map(|stay| stay.start_ns)
        .max()?
        .checked_add(2)?;
    if stays
        .iter()
        .any(|stay| stay.end_ns < last_ns.saturating_add(3))
    {
        return None;
    }
    let mut out = Vec::new();
    let mut row = |place: usize, start_ns: i64, end_ns: i64, label: u32| -> Option<u64> {
        let id = ids.next()?;
        let span = Span {
            start_ns,
            end_ns,
            id,
            label,
            elements: NO_ELEMENTS,
        };
        out.push((places[place].lane, span));
        Some(id)
    };
    let mut arrivals = Vec::with_capacity(stays.len());
    for (place, stay) in stays.iter().enumerate() {
        arrivals.push(row(
            place,
            stay.start_ns + 1,
            stay.start_ns + 2,
            stay.label,
        )?);
    }
    // The first of them joins all arrivals; what it does then is what the others join.
    let first_wait = row(0, stays[0].start_ns + 2, last_ns + 1, wait_label)?;
    let rule = Rule::Collective;
    for arrival in &arrivals[1..] {
        found.infer(*arrival, first_wait, DependencyKind::Joins, rule);
    }
    let met = row(0, last_ns + 1, last_ns + 2, stays[0].label)?;
    for (place, stay) in stays.iter().enumerate().skip(1) {
        let wait = row(place, stay.start_ns + 2, last_ns + 3, wait_label)?;
        found.infer(met, wait, DependencyKind::Joins, rule);
    }
    Some(out)
}
