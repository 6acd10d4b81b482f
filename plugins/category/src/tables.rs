//! The output tables, and how their columns are computed.
//!
//! Shares are null where their denominator is zero. `wall_share` divides by
//! the window times the number of lanes of that kind, of a pool of short-lived
//! threads those that were there at once; with the rows
//! `unaccounted` and `not alive` the shares of a kind of lane add up to 1.
//! `not alive` stands apart because it is nobody's unexplained work: of many
//! threads, each alive for a moment, it is nearly all of the time. No chart has it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::lanes::{Label, LaneKind, Lanes};
use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::totals::{LabelTotal, LaneTotal, Totals};

/// Name of the row for time between the first and the last row of a lane in which nothing ran on it.
pub const UNACCOUNTED: &str = "unaccounted";
/// Name of the row for time before the first row of a lane and after its last: whether its thread was there then
/// is not recorded.
pub const NOT_ALIVE: &str = "not alive";

/// Sums over the lanes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindTotal {
    /// Σ busy.
    pub busy_ns: i64,
    /// Σ from the first row to the last, as far as that is in the window.
    pub alive_ns: i64,
    /// Number of lanes; of a pool those that were there at once.
    pub lanes: usize,
    /// Window × lanes.
    pub wall_ns: i64,
}

/// One row of `by_category`.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryRow {
    /// Host or device.
    pub lane_kind: LaneKind,
    /// Category, `uncategorised`, `outside bricks`, `unaccounted` or `not alive`.
    pub category: String,
    /// Intervals; none for the last two.
    pub calls: Option<u64>,
    /// Σ self.
    pub self_ns: i64,
    /// Union, lane by lane; none for the last two.
    pub inclusive_ns: Option<i64>,
    /// Bound rows; none for the last two.
    pub bound_calls: Option<u64>,
}

/// Sums over the lanes of one kind; `None` when the run has no such lane.
pub fn kind_total(run: &Lanes, totals: &Totals, kind: LaneKind) -> Option<KindTotal> {
    let rows = || {
        lane_rows(run, totals)
            .into_iter()
            .filter(|row| row.kind == kind)
    };
    let lanes: usize = rows().map(|row| row.lanes).sum();
    let found = KindTotal {
        busy_ns: rows().fold(0, |sum, row| sum.saturating_add(row.total.busy_ns)),
        alive_ns: rows().fold(0, |sum, row| sum.saturating_add(row.total.alive_ns)),
        lanes,
        wall_ns: run.wall_ns.saturating_mul(lanes as i64),
    };
    rows().next().map(|_| found)
}

/// A lane, or all threads of a pool.
struct LaneRow {
    name: String,
    kind: LaneKind,
    total: LaneTotal,
    /// One, or as many as were there at once.
    lanes: usize,
    /// Window × lanes.
    wall_ns: i64,
}

/// Lanes in their order; a pool stands in the place of its first thread.
fn lane_rows(run: &Lanes, totals: &Totals) -> Vec<LaneRow> {
    let mut rows = Vec::with_capacity(run.lanes.len());
    for (at, lane) in run.lanes.iter().enumerate() {
        if totals.pools.follows(at) {
            continue;
        }
        let (name, total, lanes) = match totals.pools.led_by(at) {
            None => (lane.name.clone(), totals.lanes[at], 1),
            Some(pool) => {
                let mut sum = LaneTotal::default();
                for of in pool.threads.iter().map(|at| totals.lanes[*at]) {
                    sum.busy_ns = sum.busy_ns.saturating_add(of.busy_ns);
                    sum.self_ns = sum.self_ns.saturating_add(of.self_ns);
                    sum.alive_ns = sum.alive_ns.saturating_add(of.alive_ns);
                }
                (pool.heading(), sum, pool.slots)
            }
        };
        rows.push(LaneRow {
            name,
            kind: lane.kind,
            total,
            lanes,
            wall_ns: run.wall_ns.saturating_mul(lanes as i64),
        });
    }
    rows
}

/// Labels that have rows on a kind of lane.
fn labels<'a>(
    run: &'a Lanes,
    totals: &'a Totals,
    kind: LaneKind,
) -> impl Iterator<Item = (Label, &'a LabelTotal)> {
    (0..run.labels.all().len() as u32)
        .map(move |label| (run.labels.get(label), totals.label(kind, label)))
        .filter(|(_, total)| total.calls + total.bound_calls > 0)
}

/// Rows of `by_category`: host first, then by self time, `unaccounted` and, where there is such time, `not alive`
/// last.
pub fn category_rows(run: &Lanes, totals: &Totals) -> Vec<CategoryRow> {
    let mut out = Vec::new();
    for kind in LaneKind::ALL {
        let Some(sum) = kind_total(run, totals, kind) else {
            continue;
        };
        let mut rows: BTreeMap<u32, CategoryRow> = BTreeMap::new();
        for (label, total) in labels(run, totals, kind) {
            let row = rows.entry(label.category).or_insert_with(|| CategoryRow {
                lane_kind: kind,
                category: run.texts.text(label.category).to_owned(),
                calls: Some(0),
                self_ns: 0,
                inclusive_ns: Some(totals.category_ns(kind, label.category)),
                bound_calls: Some(0),
            });
            row.calls = row.calls.map(|calls| calls + total.calls);
            row.bound_calls = row.bound_calls.map(|calls| calls + total.bound_calls);
            row.self_ns += total.self_ns;
        }
        let mut rows: Vec<CategoryRow> = rows.into_values().collect();
        rows.sort_by(|a, b| {
            (Reverse(a.self_ns), &a.category).cmp(&(Reverse(b.self_ns), &b.category))
        });
        out.append(&mut rows);
        let empty = |category: &str, self_ns| CategoryRow {
            lane_kind: kind,
            category: category.to_owned(),
            calls: None,
            self_ns,
            inclusive_ns: None,
            bound_calls: None,
        };
        out.push(empty(UNACCOUNTED, sum.alive_ns - sum.busy_ns));
        if sum.wall_ns > sum.alive_ns {
            out.push(empty(NOT_ALIVE, sum.wall_ns - sum.alive_ns));
        }
    }
    out
}

/// Table `by_category`.
///
/// `lane_kind`; `category`; `calls`: intervals, computed; `self_ns`: time in
/// which an interval of the category was the innermost of its lane, computed;
/// `inclusive_ns`: union of its intervals lane by lane, computed; `busy_share`:
/// self / Σ busy; `wall_share`: self / (window × lanes of the kind); `bound_calls`: rows
/// that only bound their work, part of no time.
pub fn by_category(run: &Lanes, totals: &Totals, rows: &[CategoryRow]) -> TableBuilder {
    let sums = LaneKind::ALL.map(|kind| kind_total(run, totals, kind).unwrap_or_default());
    let sum = |row: &CategoryRow| sums[row.lane_kind as usize];
    let busy_share =
        |row: &CategoryRow| row.calls.and_then(|_| share(row.self_ns, sum(row).busy_ns));
    Table::build("by_category")
        .text("lane_kind", rows.iter().map(|row| row.lane_kind.name()))
        .text("category", rows.iter().map(|row| &row.category))
        .u64("calls", rows.iter().map(|row| row.calls))
        .i64("self_ns", rows.iter().map(|row| row.self_ns))
        .i64("inclusive_ns", rows.iter().map(|row| row.inclusive_ns))
        .f64("busy_share", rows.iter().map(busy_share))
        .f64(
            "wall_share",
            rows.iter().map(|row| share(row.self_ns, sum(row).wall_ns)),
        )
        .u64("bound_calls", rows.iter().map(|row| row.bound_calls))
}

/// Table `by_brick`: one row for each kind, name and category, host first, then by self time.
///
/// As `by_category`, and `elements`: Σ declared, null when none is declared;
/// `elements_per_s`: those / union of the calls that declare some; `min_ns`,
/// `median_ns`, `p99_ns`, `max_ns`: of the whole durations, by nearest rank,
/// null when all calls are bound.
pub fn by_brick(run: &Lanes, totals: &Totals) -> TableBuilder {
    let sums = LaneKind::ALL.map(|kind| kind_total(run, totals, kind).unwrap_or_default());
    let mut rows: Vec<(LaneKind, Label, &LabelTotal)> = Vec::new();
    for kind in LaneKind::ALL {
        let first = rows.len();
        rows.extend(labels(run, totals, kind).map(|(label, total)| (kind, label, total)));
        let text = |number| run.texts.text(number);
        rows[first..].sort_by(|(_, a, a_total), (_, b, b_total)| {
            let a_key = (
                Reverse(a_total.self_ns),
                text(a.name),
                text(a.kind),
                text(a.category),
            );
            a_key.cmp(&(
                Reverse(b_total.self_ns),
                text(b.name),
                text(b.kind),
                text(b.category),
            ))
        });
    }
    let per_s = |total: &LabelTotal| {
        let elements = total.elements.filter(|_| total.with_elements_ns > 0)?;
        Some(elements as f64 / (total.with_elements_ns as f64 / 1e9))
    };
    let text = |number: u32| run.texts.text(number);
    Table::build("by_brick")
        .text("lane_kind", rows.iter().map(|(kind, ..)| kind.name()))
        .text("kind", rows.iter().map(|(_, label, _)| text(label.kind)))
        .text("name", rows.iter().map(|(_, label, _)| text(label.name)))
        .text(
            "category",
            rows.iter().map(|(_, label, _)| text(label.category)),
        )
        .u64("calls", rows.iter().map(|(.., total)| total.calls))
        .i64("self_ns", rows.iter().map(|(.., total)| total.self_ns))
        .i64(
            "inclusive_ns",
            rows.iter().map(|(.., total)| total.inclusive_ns),
        )
        .f64(
            "busy_share",
            rows.iter()
                .map(|(kind, _, total)| share(total.self_ns, sums[*kind as usize].busy_ns)),
        )
        .f64(
            "wall_share",
            rows.iter()
                .map(|(kind, _, total)| share(total.self_ns, sums[*kind as usize].wall_ns)),
        )
        .u64(
            "elements",
            rows.iter().map(|(.., total)| {
                total
                    .elements
                    .map(|sum| u64::try_from(sum).unwrap_or(u64::MAX))
            }),
        )
        .f64(
            "elements_per_s",
            rows.iter().map(|(.., total)| per_s(total)),
        )
        .i64(
            "min_ns",
            rows.iter()
                .map(|(.., total)| total.dur_ns.map(|dur| dur.min)),
        )
        .i64(
            "median_ns",
            rows.iter()
                .map(|(.., total)| total.dur_ns.map(|dur| dur.median)),
        )
        .i64(
            "p99_ns",
            rows.iter()
                .map(|(.., total)| total.dur_ns.map(|dur| dur.p99)),
        )
        .i64(
            "max_ns",
            rows.iter()
                .map(|(.., total)| total.dur_ns.map(|dur| dur.max)),
        )
        .u64(
            "bound_calls",
            rows.iter().map(|(.., total)| total.bound_calls),
        )
}

/// Table `by_lane`: host threads by number, then device streams; threads of a pool are one row.
///
/// `busy_ns`: union of the intervals, of a pool thread by thread; `self_ns`: sum of the self times, found
/// by another pass and equal to it; `unaccounted_ns`: without any interval, between the lane's first row and its
/// last; `not_alive_ns`: before and after those; `wall_ns`: the window, of a pool times the threads that were there at
/// once, which is busy + unaccounted + not alive.
pub fn by_lane(run: &Lanes, totals: &Totals) -> TableBuilder {
    let rows = lane_rows(run, totals);
    let total = || rows.iter().map(|row| &row.total);
    Table::build("by_lane")
        .text("lane", rows.iter().map(|row| &row.name))
        .text("lane_kind", rows.iter().map(|row| row.kind.name()))
        .i64("busy_ns", total().map(|total| total.busy_ns))
        .i64("self_ns", total().map(|total| total.self_ns))
        .i64(
            "unaccounted_ns",
            total().map(|total| total.alive_ns - total.busy_ns),
        )
        .i64("wall_ns", rows.iter().map(|row| row.wall_ns))
        .i64(
            "not_alive_ns",
            rows.iter().map(|row| row.wall_ns - row.total.alive_ns),
        )
}
