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

use trueno_analysis::lanes::LaneKind;
use trueno_analysis::quantiles::Quantiles;
use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::sums::{LabelKey, LabelSum, Sums};
use crate::totals::{LabelTotal, LaneTotal};

/// Name of the row for time between the first and the last row of a lane in which nothing ran on it.
pub const UNACCOUNTED: &str = "unaccounted";
/// Name of the row for time before the first and after the last row of a lane. The recording does not say whether
/// the thread existed then.
pub const NOT_ALIVE: &str = "not alive";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindTotal {
    pub busy_ns: i64,
    /// Sum of the lanes' time from first row to last within the window.
    pub alive_ns: i64,
    /// Number of lanes; a pool counts its threads alive at once.
    pub lanes: u64,
    pub wall_ns: i64,
}

pub type KindTotals = [Option<KindTotal>; 2];

#[derive(Clone, Debug, PartialEq)]
pub struct CategoryRow {
    pub lane_kind: LaneKind,
    /// Category, `uncategorised`, `outside bricks`, `unaccounted` or `not alive`.
    pub category: String,
    /// Number of intervals; `None` for `unaccounted` and `not alive`.
    pub calls: Option<u64>,
    pub self_ns: i64,
    /// Union of the intervals, summed over lanes; `None` for `unaccounted` and `not alive`.
    pub inclusive_ns: Option<i64>,
    /// Number of bound rows; `None` for `unaccounted` and `not alive`.
    pub bound_calls: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRow<'a> {
    pub name: &'a str,
    pub kind: LaneKind,
    /// Busy and self time; for a pool, summed over its threads.
    pub total: LaneTotal,
    pub most: Option<(&'a str, i64)>,
    /// Time from the first row to the last within the window; for a pool, summed over its threads.
    pub alive_ns: i64,
    /// 1, or for a pool the number of its threads alive at once.
    pub lanes: u64,
    pub wall_ns: i64,
}

/// Rows in the order of lanes. A pool takes the position of its first thread.
pub fn lane_rows<D>(sums: &Sums<D>) -> Vec<LaneRow<'_>> {
    let mut rows: Vec<LaneRow<'_>> = Vec::with_capacity(sums.lanes.len());
    let mut pools: BTreeMap<i64, usize> = BTreeMap::new();
    for lane in &sums.lanes {
        let alive_ns = lane.alive_ns(sums.wall_ns);
        if let Some(pool) = lane.pool {
            if let Some(row) = pools.get(&pool).and_then(|at| rows.get_mut(*at)) {
                row.total.busy_ns = row.total.busy_ns.saturating_add(lane.total.busy_ns);
                row.total.self_ns = row.total.self_ns.saturating_add(lane.total.self_ns);
                row.total.waiting_ns = row.total.waiting_ns.saturating_add(lane.total.waiting_ns);
                // A name that is the longest of one thread need not be that of the pool.
                row.most = match (row.most, &lane.most) {
                    (Some((name, ns)), Some((same, more_ns))) if name == same => {
                        Some((name, ns.saturating_add(*more_ns)))
                    }
                    _ => None,
                };
                row.alive_ns = row.alive_ns.saturating_add(alive_ns);
                continue;
            }
            pools.insert(pool, rows.len());
        }
        rows.push(LaneRow {
            name: &lane.name,
            kind: lane.key.kind(),
            total: lane.total,
            most: lane.most.as_ref().map(|(name, ns)| (name.as_str(), *ns)),
            alive_ns,
            lanes: lane.lanes,
            wall_ns: wall_of(lane.lanes, sums.wall_ns),
        });
    }
    rows
}

fn wall_of(lanes: u64, wall_ns: i64) -> i64 {
    wall_ns.saturating_mul(i64::try_from(lanes).unwrap_or(i64::MAX))
}

pub fn kind_totals(lanes: &[LaneRow<'_>], wall_ns: i64) -> KindTotals {
    let mut kinds = KindTotals::default();
    for row in lanes {
        let sum = kinds[row.kind as usize].get_or_insert_default();
        sum.busy_ns = sum.busy_ns.saturating_add(row.total.busy_ns);
        sum.alive_ns = sum.alive_ns.saturating_add(row.alive_ns);
        sum.lanes = sum.lanes.saturating_add(row.lanes);
        sum.wall_ns = wall_of(sum.lanes, wall_ns);
    }
    kinds
}

/// Rows of `by_category`: host first, then by self time. `unaccounted` and, if there is any, `not alive` come last.
pub fn category_rows<D>(sums: &Sums<D>, kinds: &KindTotals) -> Vec<CategoryRow> {
    let mut out = Vec::new();
    for kind in LaneKind::ALL {
        let Some(sum) = kinds[kind as usize] else {
            continue;
        };
        let mut rows: BTreeMap<&str, CategoryRow> = BTreeMap::new();
        for (label, of) in sums
            .labels
            .iter()
            .filter(|(label, _)| label.lane_kind == kind)
        {
            let row = rows.entry(&label.category).or_insert_with(|| CategoryRow {
                lane_kind: kind,
                category: label.category.clone(),
                calls: Some(0),
                self_ns: 0,
                inclusive_ns: Some(sums.category_ns(kind, &label.category)),
                bound_calls: Some(0),
            });
            let total = &of.total;
            row.calls = row.calls.map(|calls| calls.saturating_add(total.calls));
            row.bound_calls = row
                .bound_calls
                .map(|calls| calls.saturating_add(total.bound_calls));
            row.self_ns = row.self_ns.saturating_add(total.self_ns);
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
/// `calls`: number of intervals; `self_ns`: time in which an interval of the category was the innermost of its
/// lane; `inclusive_ns`: union of its intervals, summed over lanes; `busy_share`: self / Σ busy; `wall_share`: self
/// / (window × lanes of the kind); `bound_calls`: rows that only bound their work and count towards no time.
pub fn by_category(rows: &[CategoryRow], kinds: &KindTotals) -> TableBuilder {
    let sum = |row: &CategoryRow| kinds[row.lane_kind as usize].unwrap_or_default();
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
/// The columns of `by_category`, and `elements`: sum of the declared elements, null if none are declared;
/// `elements_per_s`: elements / union of the calls that declare some; `min_ns`, `median_ns`, `p99_ns`, `max_ns`: of
/// the whole durations, by nearest rank, null if all calls are bound.
pub fn by_brick(sums: &Sums<Option<Quantiles>>, kinds: &KindTotals) -> TableBuilder {
    type Row<'a> = (&'a LabelKey, &'a LabelSum<Option<Quantiles>>);
    let mut rows: Vec<Row<'_>> = sums.labels.iter().collect();
    // What ties stays in the order of keys.
    rows.sort_by_key(|(label, of)| (label.lane_kind, Reverse(of.total.self_ns)));
    let labels = || rows.iter().map(|(label, _)| *label);
    let totals = || rows.iter().map(|(_, of)| &of.total);
    let dur_ns = || rows.iter().map(|(_, of)| of.durations);
    let share_of = |(label, of): &Row<'_>, whole: fn(KindTotal) -> i64| {
        let kind = kinds[label.lane_kind as usize].unwrap_or_default();
        share(of.total.self_ns, whole(kind))
    };
    let per_s = |total: &LabelTotal| {
        let elements = total.elements.filter(|_| total.with_elements_ns > 0)?;
        Some(elements as f64 / (total.with_elements_ns as f64 / 1e9))
    };
    let elements = |total: &LabelTotal| {
        let sum = total.elements?;
        Some(u64::try_from(sum).unwrap_or(u64::MAX))
    };
    Table::build("by_brick")
        .text("lane_kind", labels().map(|label| label.lane_kind.name()))
        .text("kind", labels().map(|label| &label.kind))
        .text("name", labels().map(|label| &label.name))
        .text("category", labels().map(|label| &label.category))
        .u64("calls", totals().map(|total| total.calls))
        .i64("self_ns", totals().map(|total| total.self_ns))
        .i64("inclusive_ns", totals().map(|total| total.inclusive_ns))
        .f64(
            "busy_share",
            rows.iter().map(|row| share_of(row, |kind| kind.busy_ns)),
        )
        .f64(
            "wall_share",
            rows.iter().map(|row| share_of(row, |kind| kind.wall_ns)),
        )
        .u64("elements", totals().map(elements))
        .f64("elements_per_s", totals().map(per_s))
        .i64("min_ns", dur_ns().map(|dur| dur.map(|dur| dur.min)))
        .i64("median_ns", dur_ns().map(|dur| dur.map(|dur| dur.median)))
        .i64("p99_ns", dur_ns().map(|dur| dur.map(|dur| dur.p99)))
        .i64("max_ns", dur_ns().map(|dur| dur.map(|dur| dur.max)))
        .u64("bound_calls", totals().map(|total| total.bound_calls))
}

/// Table `by_lane`: host threads by number, then device streams. The threads of a pool share one row.
///
/// `busy_ns`: union of the intervals, for a pool summed over threads; `self_ns`: sum of the self times, computed
/// separately and equal to `busy_ns`; `waiting_ns`: its part in rows that only wait; `most_name`, `most_ns`: the
/// name with the most self time of those that neither wait nor are a run, an iteration or a layer, for a pool only
/// where it is that of all its threads; `unaccounted_ns`: time without an interval between the lane's first row and
/// its last; `not_alive_ns`: time before and after those; `wall_ns`: the window, for a pool times the threads alive
/// at once. It equals busy + unaccounted + not alive.
pub fn by_lane(rows: &[LaneRow<'_>]) -> TableBuilder {
    let total = || rows.iter().map(|row| &row.total);
    Table::build("by_lane")
        .text("lane", rows.iter().map(|row| row.name))
        .text("lane_kind", rows.iter().map(|row| row.kind.name()))
        .i64("busy_ns", total().map(|total| total.busy_ns))
        .i64("self_ns", total().map(|total| total.self_ns))
        .i64("waiting_ns", total().map(|total| total.waiting_ns))
        .text(
            "most_name",
            rows.iter().map(|row| row.most.map(|most| most.0)),
        )
        .i64(
            "most_ns",
            rows.iter().map(|row| row.most.map(|most| most.1)),
        )
        .i64(
            "unaccounted_ns",
            rows.iter().map(|row| row.alive_ns - row.total.busy_ns),
        )
        .i64("wall_ns", rows.iter().map(|row| row.wall_ns))
        .i64(
            "not_alive_ns",
            rows.iter().map(|row| row.wall_ns - row.alive_ns),
        )
}
