//! The run, its bricks and its categories: innermost rows with work, weighted by time.
//!
//! Time at the roof = Σ time × efficiency of the point. Efficiency of a sum = time at the roof / time,
//! which weighs points by their time. Points above the roof are part of no efficiency.

use std::collections::BTreeMap;

use crate::label::{Group, Source};
use crate::points::Point;
use crate::rows::NONE;
use crate::sums::{Sum, Sums};

/// A sum with floating-point figures, for results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub calls: u64,
    pub dur_ns: i64,
    pub flops: f64,
    pub bytes: f64,
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.dur_ns = self.dur_ns.saturating_add(other.dur_ns);
        self.flops += other.flops;
        self.bytes += other.bytes;
    }
}

impl From<&Sum> for Figures {
    fn from(sum: &Sum) -> Self {
        Self {
            calls: sum.calls,
            dur_ns: sum.dur_ns,
            flops: sum.flops as f64,
            bytes: sum.bytes as f64,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Work of points with a plausible place.
    pub placed: Figures,
    pub at_roof_ns: f64,
    /// All work with figures, with or without a ceiling.
    pub figures: Figures,
}

impl Total {
    /// Time at the roof / time; `None` if nothing has a place.
    pub fn efficiency(&self) -> Option<f64> {
        (self.placed.dur_ns > 0).then(|| self.at_roof_ns / self.placed.dur_ns as f64)
    }

    pub fn sum(totals: &[Self]) -> Self {
        let mut out = Self::default();
        for total in totals {
            out.add(total);
        }
        out
    }

    fn add(&mut self, other: &Self) {
        self.placed.add(&other.placed);
        self.figures.add(&other.figures);
        self.at_roof_ns += other.at_roof_ns;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneTotal {
    pub busy_ns: i64,
    /// Time of innermost rows with figures, which do not overlap.
    pub figures_ns: i64,
    /// The part whose point has a plausible place.
    pub placed_ns: i64,
    pub total: Total,
}

#[derive(Debug, Default)]
pub struct Summary {
    pub lanes: [Option<LaneTotal>; 2],
    pub groups: BTreeMap<Group, Total>,
}

pub fn summary(sums: &Sums, points: &[Point]) -> Summary {
    let mut out = Summary {
        lanes: sums.busy_ns.map(|busy_ns| {
            Some(LaneTotal {
                busy_ns: busy_ns?,
                ..LaneTotal::default()
            })
        }),
        ..Summary::default()
    };
    let is_sound: Vec<bool> = points.iter().map(|point| point.sound().is_some()).collect();
    // By group and label first: FLOPs are rounded once for each.
    let mut of_groups: BTreeMap<(Group, u32), Sum> = BTreeMap::new();
    let mut of_lanes: BTreeMap<(usize, u32), Sum> = BTreeMap::new();
    for (key, innermost) in &sums.innermost {
        let both = [
            (key.declared, &innermost.declared),
            (key.counted, &innermost.counted),
        ];
        let labelled = || both.into_iter().filter(|(label, _)| *label != NONE);
        let is_placed = |label: u32| is_sound[label as usize];
        // What was counted comes last; it is preferred where it has a place.
        let Some(last) = labelled().next_back() else {
            continue;
        };
        let best = labelled().rfind(|(label, _)| is_placed(*label));
        let (label, sum) = best.unwrap_or(last);
        let lane = out.lanes[key.lane_kind].get_or_insert_default();
        lane.figures_ns = lane.figures_ns.saturating_add(sum.dur_ns);
        if is_placed(label) {
            lane.placed_ns = lane.placed_ns.saturating_add(sum.dur_ns);
        }
        of_groups.entry((key.group, label)).or_default().merge(sum);
        of_lanes
            .entry((key.lane_kind, label))
            .or_default()
            .merge(sum);
    }
    for ((group, label), sum) in &of_groups {
        let total = total(sum, &points[*label as usize]);
        out.groups.entry(*group).or_default().add(&total);
    }
    for ((kind, label), sum) in &of_lanes {
        let total = total(sum, &points[*label as usize]);
        if let Some(lane) = &mut out.lanes[*kind] {
            lane.total.add(&total);
        }
    }
    out
}

fn total(sum: &Sum, point: &Point) -> Total {
    let mut out = Total {
        figures: sum.into(),
        ..Total::default()
    };
    if let Some(place) = point.sound() {
        out.placed = sum.into();
        out.at_roof_ns = sum.dur_ns as f64 * place.efficiency;
    }
    out
}

/// All placed rows of a name, and how long they would take at the roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRoof {
    pub source: Source,
    pub name: u32,
    pub calls: u64,
    pub dur_ns: i64,
    pub at_roof_ns: i64,
}

/// By name, without names that have no place. Counted work takes precedence over declared work.
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
            sum.merge(&point.sum);
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
