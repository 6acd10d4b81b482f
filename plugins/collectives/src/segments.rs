//! Use of the time between two collectives by rank: time of devices by kind of work, self time of threads, by name.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::lanes::{Class, Lane, LaneKind, Lanes};
use trueno_analysis::sweep::self_times;

/// A stretch of time of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    /// The rank.
    pub rank: u32,
    /// Start.
    pub from_ns: i64,
    /// End.
    pub to_ns: i64,
}

/// Use of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Some device computes.
    pub compute_ns: i64,
    /// Some device copies, and none computes.
    pub copy_ns: i64,
    /// Some device communicates, and none computes or copies.
    pub communication_ns: i64,
    /// The rest.
    pub idle_ns: i64,
    /// By label of [`Lanes::labels`]: time of device work, self time of host intervals.
    pub by_label: BTreeMap<u32, i64>,
}

/// Kinds of device work, each without those before it.
struct DeviceTimes {
    compute: IntervalSet<i64>,
    copy: IntervalSet<i64>,
    communication: IntervalSet<i64>,
}

fn device_times(lanes: &Lanes, rank: u32, is_communication: &dyn Fn(u32) -> bool) -> DeviceTimes {
    let mut sets: [IntervalSetBuilder<i64>; 3] =
        std::array::from_fn(|_| IntervalSetBuilder::default());
    for lane in of_rank(lanes, rank, LaneKind::Device) {
        for span in &lane.spans {
            let kind = match lanes.labels.get(span.label).class {
                Class::Wait => continue,
                Class::Transfer => 1,
                _ if is_communication(span.label) => 2,
                _ => 0,
            };
            sets[kind].add(span.start_ns, span.end_ns);
        }
    }
    let [compute, copy, communication] = sets.map(IntervalSetBuilder::finish);
    let copy = copy.difference(&compute);
    let communication = communication.difference(&compute).difference(&copy);
    DeviceTimes {
        compute,
        copy,
        communication,
    }
}

fn of_rank(lanes: &Lanes, rank: u32, kind: LaneKind) -> impl Iterator<Item = &Lane> {
    let all = lanes.lanes.iter();
    all.filter(move |lane| lane.kind == kind && lane.key.rank() == rank)
}

/// Finds out how segments were spent; `is_communication` tells labels of kernels that communicate.
pub fn usages(
    lanes: &Lanes,
    segments: &BTreeSet<Segment>,
    is_communication: &dyn Fn(u32) -> bool,
) -> BTreeMap<Segment, Usage> {
    let mut out: BTreeMap<Segment, Usage> = BTreeMap::new();
    let ranks: BTreeSet<u32> = segments.iter().map(|segment| segment.rank).collect();
    for rank in ranks {
        let own: Vec<Segment> = segments
            .iter()
            .copied()
            .filter(|segment| segment.rank == rank)
            .collect();
        let times = device_times(lanes, rank, is_communication);
        let mut usages: Vec<Usage> = own
            .iter()
            .map(|segment| {
                let within = |set: &IntervalSet<i64>| set.within_ns(segment.from_ns, segment.to_ns);
                let (compute_ns, copy_ns) = (within(&times.compute), within(&times.copy));
                let communication_ns = within(&times.communication);
                let length_ns = segment.to_ns.saturating_sub(segment.from_ns);
                Usage {
                    compute_ns,
                    copy_ns,
                    communication_ns,
                    idle_ns: length_ns
                        .saturating_sub(compute_ns)
                        .saturating_sub(copy_ns)
                        .saturating_sub(communication_ns),
                    by_label: BTreeMap::new(),
                }
            })
            .collect();
        for lane in of_rank(lanes, rank, LaneKind::Host) {
            let mut into = Spent::new(&own, &mut usages);
            self_times(&lane.spans, |span, from_ns, to_ns| {
                into.add(span.label, from_ns, to_ns);
            });
        }
        for lane in of_rank(lanes, rank, LaneKind::Device) {
            let mut into = Spent::new(&own, &mut usages);
            for span in &lane.spans {
                into.add(span.label, span.start_ns, span.end_ns);
            }
        }
        out.extend(own.into_iter().zip(usages));
    }
    out
}

/// Adds pieces of one lane, in the order of their starts, to the segments that they lie in.
struct Spent<'a> {
    segments: &'a [Segment],
    usages: &'a mut [Usage],
    /// Longest segment: none that began so much before a piece can hold it.
    longest_ns: i64,
}

impl<'a> Spent<'a> {
    /// Segments by their starts.
    fn new(segments: &'a [Segment], usages: &'a mut [Usage]) -> Self {
        let lengths = segments
            .iter()
            .map(|segment| segment.to_ns.saturating_sub(segment.from_ns));
        Self {
            longest_ns: lengths.max().unwrap_or(0),
            segments,
            usages,
        }
    }

    fn add(&mut self, label: u32, from_ns: i64, to_ns: i64) {
        let earliest_ns = from_ns.saturating_sub(self.longest_ns);
        let first = self
            .segments
            .partition_point(|segment| segment.from_ns < earliest_ns);
        for (segment, usage) in self.segments[first..].iter().zip(&mut self.usages[first..]) {
            if segment.from_ns >= to_ns {
                break;
            }
            let common_ns = to_ns
                .min(segment.to_ns)
                .saturating_sub(from_ns.max(segment.from_ns));
            if common_ns > 0 {
                let sum = usage.by_label.entry(label).or_default();
                *sum = sum.saturating_add(common_ns);
            }
        }
    }
}
