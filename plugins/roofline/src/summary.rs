//! The run, its bricks and its categories: innermost rows with work, weighted by time.
//!
//! Time at the roof = Σ time × efficiency of the point. Efficiency of a sum = time at the roof / time,
//! which weighs points by their time. Points above the roof are part of no efficiency.

use std::collections::BTreeMap;

use trueno_analysis::interner::Interner;
use trueno_analysis::unions::UnionLength;

use crate::label::{Group, Source};
use crate::nesting::Standing;
use crate::points::{Point, Sum, labelled_work};
use crate::rows::Rows;

/// Sums over innermost rows with work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Sum of points with a possible place.
    pub placed: Sum,
    /// Their time at the roof.
    pub at_roof_ns: f64,
    /// All with figures, whether there is a ceiling or not.
    pub figures: Sum,
}

impl Total {
    /// Time at the roof / time; `None` when nothing has a place.
    pub fn efficiency(&self) -> Option<f64> {
        (self.placed.dur_ns > 0).then(|| self.at_roof_ns / self.placed.dur_ns as f64)
    }

    /// The sum of several.
    pub fn sum(totals: &[Self]) -> Self {
        let mut out = Self::default();
        for total in totals {
            out.add(total);
        }
        out
    }

    fn add(&mut self, other: &Self) {
        for (to, from) in [
            (&mut self.placed, &other.placed),
            (&mut self.figures, &other.figures),
        ] {
            to.calls += from.calls;
            to.dur_ns = to.dur_ns.saturating_add(from.dur_ns);
            to.flops += from.flops;
            to.bytes += from.bytes;
        }
        self.at_roof_ns += other.at_roof_ns;
    }
}

/// Total of the lanes of the host, or of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneTotal {
    /// Union of bricks and kernels, lane by lane.
    pub busy_ns: i64,
    /// Union of innermost rows with figures.
    pub figures_ns: i64,
    /// Union of those whose point has a place that can be.
    pub placed_ns: i64,
    /// Sums.
    pub total: Total,
}

/// Summary of the roofline.
#[derive(Debug, Default)]
pub struct Summary {
    /// Host and devices, where there are such lanes.
    pub lanes: [Option<LaneTotal>; 2],
    /// Totals by the group that work is booked under.
    pub groups: BTreeMap<Group, Total>,
    /// Innermost rows of each point that the sums use.
    pub of_points: Vec<Sum>,
}

/// Adds up.
pub fn summary(rows: &mut Rows, standing: &[Vec<Standing>], points: &[Point]) -> Summary {
    let mut out = Summary {
        of_points: vec![Sum::default(); points.len()],
        ..Summary::default()
    };
    // By group and label first: few, and the order of rows then reaches no sum of products.
    let mut sums: BTreeMap<(u32, u32), Sum> = BTreeMap::new();
    let mut of_lanes: BTreeMap<(usize, u32), Sum> = BTreeMap::new();
    let is_sound: Vec<bool> = points.iter().map(|point| point.sound().is_some()).collect();
    let keys: Vec<_> = rows.lanes.keys().copied().collect();
    for (key, standing) in keys.iter().zip(standing) {
        let kind = usize::from(key.0 >= 0);
        // Rows come in the order of their starts.
        let (mut figures, mut placed) = (UnionLength::default(), UnionLength::default());
        let lane = &rows.lanes[key];
        let mut pairs: Interner<(u32, u32)> = Interner::default();
        let mut booked: Vec<Sum> = Vec::new();
        for (row, standing) in lane.work.iter().zip(standing) {
            if *standing != Standing::Innermost {
                continue;
            }
            let of = |work: &(u32, f64, f64)| is_sound[work.0 as usize];
            // What was counted comes last; it is preferred where it has a place.
            let Some(last) = labelled_work(rows, row).last() else {
                continue;
            };
            let best = labelled_work(rows, row).filter(of).last().unwrap_or(last);
            figures.add(row.start_ns, row.end_ns);
            if of(&best) {
                placed.add(row.start_ns, row.end_ns);
            }
            let (label, flops, bytes) = best;
            let group = rows.declared[row.declared as usize].group;
            let pair = pairs.number((group, label)) as usize;
            if pair == booked.len() {
                booked.push(Sum::default());
            }
            booked[pair].add(row.end_ns - row.start_ns, flops, bytes);
        }
        let booked: BTreeMap<_, _> = pairs.all().iter().copied().zip(booked).collect();
        for ((group, label), sum) in booked {
            merge(sums.entry((group, label)).or_default(), &sum);
            merge(of_lanes.entry((kind, label)).or_default(), &sum);
        }
        let Some(lane) = rows.lanes.get_mut(key) else {
            continue;
        };
        let total = out.lanes[kind].get_or_insert_default();
        let busy_ns = std::mem::take(&mut lane.top).finish().total_ns();
        total.busy_ns = total.busy_ns.saturating_add(busy_ns);
        total.figures_ns = total.figures_ns.saturating_add(figures.total_ns());
        total.placed_ns = total.placed_ns.saturating_add(placed.total_ns());
    }
    for ((group, label), sum) in &sums {
        let group = rows.groups.all()[*group as usize];
        let total = total(*sum, &points[*label as usize]);
        out.groups.entry(group).or_default().add(&total);
        merge(&mut out.of_points[*label as usize], sum);
    }
    for ((kind, label), sum) in &of_lanes {
        let total = total(*sum, &points[*label as usize]);
        if let Some(lane) = &mut out.lanes[*kind] {
            lane.total.add(&total);
        }
    }
    out
}

fn merge(to: &mut Sum, from: &Sum) {
    to.calls += from.calls;
    to.dur_ns = to.dur_ns.saturating_add(from.dur_ns);
    to.flops += from.flops;
    to.bytes += from.bytes;
}

fn total(sum: Sum, point: &Point) -> Total {
    let mut out = Total {
        figures: sum,
        ..Total::default()
    };
    if let Some(place) = point.sound() {
        out.placed = sum;
        out.at_roof_ns = sum.dur_ns as f64 * place.efficiency;
    }
    out
}

/// All rows of a name, and how long they would take at the roof; rows without a place as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRoof {
    /// Their table.
    pub source: Source,
    /// Their name.
    pub name: u32,
    /// Calls that have a place.
    pub calls: u64,
    /// Time of those.
    pub dur_ns: i64,
    /// Time at the roof.
    pub at_roof_ns: i64,
}

/// By name; where both exist what was counted is taken. Names without a place are not there.
pub fn at_roof(points: &[Point]) -> Vec<AtRoof> {
    let mut out: BTreeMap<(Source, u32), (Sum, f64)> = BTreeMap::new();
    let counted: Vec<_> = points
        .iter()
        .filter(|point| point.label.provenance.is_counted() && point.sound().is_some())
        .map(|point| (point.label.source, point.label.name, point.label.backend))
        .collect();
    for point in points {
        let label = &point.label;
        let is_counted = label.provenance.is_counted();
        let has_counted = counted.contains(&(label.source, label.name, label.backend));
        if let Some(place) = point.sound()
            && is_counted == has_counted
        {
            let (sum, at_roof_ns) = out.entry((label.source, label.name)).or_default();
            merge(sum, &point.sum);
            *at_roof_ns += point.sum.dur_ns as f64 * place.efficiency;
        }
    }
    out.into_iter()
        .map(|((source, name), (sum, at_roof_ns))| AtRoof {
            source,
            name,
            calls: sum.calls,
            dur_ns: sum.dur_ns,
            at_roof_ns: at_roof_ns.round() as i64,
        })
        .collect()
}
