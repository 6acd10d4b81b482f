//! Reasons why the last rank came last: more of something than the others since the collective that all had left before.
//!
//! For each kind of time, `excess = time of the last rank − median of the others`, from leaving that collective to
//! arriving at this one, each by its own clock: clocks do not matter. Excesses of compute, copies, communication and idle
//! devices add up to how much longer the last rank took (but for medians). The largest is the cause; where devices were idle, or
//! there are none, the threads say why.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::collectives::Operation;
use trueno_analysis::lanes::{Class, LaneKind, Lanes};
use trueno_analysis::quantiles::lower_median;

use crate::arrivals::{Job, JobCollective};
use crate::parts::Loaded;
use crate::segments::{Segment, Usage, usages};

/// Category of input work, of the host's rules.
const INPUT: &str = "data loading";
/// Category of kernels that communicate.
const COMMUNICATION: &str = "communication";
/// Other ranks that the last one is compared with, at most.
const MAX_OTHERS: usize = 8;
/// Least part of the lateness that a cause must hold.
const MIN_SHARE: f64 = 0.5;

/// Kind of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Its devices computed for longer; without devices its threads did.
    Compute,
    /// Its devices copied for longer.
    Copy,
    /// It was held up in other collectives.
    Communication,
    /// Its threads prepared input for longer, while its devices were idle.
    Input,
    /// Its threads launched for longer, while its devices were idle.
    Launch,
    /// Its threads did something else for longer, while its devices were idle.
    Host,
    /// Nothing recorded explains it.
    Unknown,
}

impl Kind {
    /// The word of tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Copy => "copy",
            Self::Communication => "communication",
            Self::Input => "input",
            Self::Launch => "launch",
            Self::Host => "host",
            Self::Unknown => "unknown",
        }
    }
}

/// Reason why one collective's last rank came last.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The kind.
    pub kind: Kind,
    /// Name with the largest excess, as a number of the texts of [`Lanes`]; `None`: none has one.
    pub name: Option<u32>,
    /// Excess of the kind.
    pub excess_ns: i64,
    /// Time that the rank took beyond the median of the others.
    pub late_ns: i64,
}

/// Explains the collectives that others waited for longest, at most so many; by place of the collective.
pub fn explain(loaded: &Loaded, job: &Job, most: usize) -> BTreeMap<usize, Cause> {
    let before = previous_common(job);
    let mut places: Vec<usize> = (0..job.instances.len())
        .filter(|at| job.instances[*at].last.is_some() && before[*at].is_some())
        .collect();
    places.sort_by_key(|at| (std::cmp::Reverse(job.instances[*at].caused_ns()), *at));
    places.truncate(most);
    let stretches: BTreeMap<usize, Vec<Segment>> = places
        .iter()
        .map(|at| {
            let before = &job.instances[before[*at].unwrap_or(0)];
            (*at, segments(loaded, before, &job.instances[*at]))
        })
        .collect();
    let all: BTreeSet<Segment> = stretches.values().flatten().copied().collect();
    let lanes = &loaded.lanes;
    let is_communication = |label: u32| {
        let label = lanes.labels.get(label);
        lanes.texts.text(label.category) == COMMUNICATION
            || Operation::parse(lanes.texts.text(label.name)).is_some()
    };
    let usages = usages(lanes, &all, &is_communication);
    let devices: BTreeSet<u32> = lanes
        .lanes
        .iter()
        .filter(|lane| lane.kind == LaneKind::Device)
        .map(|lane| lane.key.rank())
        .collect();
    stretches
        .into_iter()
        .map(|(at, segments)| {
            let usages: Vec<&Usage> = segments.iter().map(|segment| &usages[segment]).collect();
            let has_devices = devices.contains(&segments[0].rank);
            let lengths: Vec<i64> = segments
                .iter()
                .map(|segment| segment.to_ns.saturating_sub(segment.from_ns))
                .collect();
            (
                at,
                judge(lanes, &lengths, &usages, has_devices, &is_communication),
            )
        })
        .collect()
}

/// For each collective the one before it that all its ranks were in.
fn previous_common(job: &Job) -> Vec<Option<usize>> {
    let mut latest: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(job.instances.len());
    for (at, one) in job.instances.iter().enumerate() {
        let ranks: Vec<u32> = one.arrivals.iter().map(|of| of.rank).collect();
        let holds_all =
            |known: &&Vec<u32>| ranks.iter().all(|rank| known.binary_search(rank).is_ok());
        let before = latest.iter().filter(|(known, _)| holds_all(known));
        out.push(before.map(|(_, at)| *at).max());
        latest.insert(ranks, at);
    }
    out
}

/// From leaving one collective to arriving at the next: the last rank first, then some of the others.
fn segments(loaded: &Loaded, before: &JobCollective, at: &JobCollective) -> Vec<Segment> {
    let left_ns = |rank: u32| {
        let of = before.arrivals.iter().find(|of| of.rank == rank);
        of.map(|of| loaded.parts[of.part].end_ns)
    };
    let segment = |place: usize| {
        let of = &at.arrivals[place];
        let to_ns = loaded.parts[of.part].start_ns;
        let from_ns = left_ns(of.rank).unwrap_or(to_ns).min(to_ns);
        Segment {
            rank: of.rank,
            from_ns,
            to_ns,
        }
    };
    let last = at.last.unwrap_or(0);
    let others = (0..at.arrivals.len()).filter(|place| *place != last);
    std::iter::once(last)
        .chain(others.take(MAX_OTHERS))
        .map(segment)
        .collect()
}

/// Excess of the first over the median of the rest.
fn excess(values: impl Iterator<Item = i64>) -> i64 {
    let values: Vec<i64> = values.collect();
    let mut others = values[1..].to_vec();
    values[0].saturating_sub(lower_median(&mut others).unwrap_or(0))
}

fn judge(
    lanes: &Lanes,
    lengths: &[i64],
    usages: &[&Usage],
    has_devices: bool,
    is_communication: &dyn Fn(u32) -> bool,
) -> Cause {
    let late_ns = excess(lengths.iter().copied());
    let of = |time: &dyn Fn(&Usage) -> i64| excess(usages.iter().map(|usage| time(usage)));
    let labels: BTreeSet<u32> = usages
        .iter()
        .flat_map(|usage| usage.by_label.keys().copied())
        .collect();
    let of_label = |label: u32| of(&|usage| usage.by_label.get(&label).copied().unwrap_or(0));
    // The name with the largest excess among labels; labels of one name stand together.
    let largest = |is_one: &dyn Fn(u32) -> bool| {
        let mut by_name: BTreeMap<u32, i64> = BTreeMap::new();
        for label in labels.iter().copied().filter(|label| is_one(*label)) {
            let name = lanes.labels.get(label).name;
            let sum = by_name.entry(name).or_default();
            *sum = sum.saturating_add(of_label(label));
        }
        let found = by_name
            .into_iter()
            .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)));
        found.filter(|(_, ns)| *ns > 0)
    };
    let class = |label: u32| lanes.labels.get(label).class;
    let on_device = |label: u32| matches!(class(label), Class::Kernel | Class::Transfer);
    let on_host = |label: u32| !on_device(label) || !has_devices;
    let (compute_ns, copy_ns) = (of(&|u| u.compute_ns), of(&|u| u.copy_ns));
    let (communication_ns, idle_ns) = (of(&|u| u.communication_ns), of(&|u| u.idle_ns));
    let on_devices = [
        (compute_ns, Kind::Compute),
        (copy_ns, Kind::Copy),
        (communication_ns, Kind::Communication),
    ];
    let most = on_devices
        .into_iter()
        .max_by_key(|(ns, kind)| (*ns, std::cmp::Reverse(*kind)));
    let found = match most.filter(|(ns, _)| has_devices && *ns > idle_ns) {
        Some((excess_ns, kind)) => {
            let is_one = |label: u32| match kind {
                Kind::Compute => class(label) == Class::Kernel && !is_communication(label),
                Kind::Copy => class(label) == Class::Transfer,
                _ => class(label) == Class::Kernel && is_communication(label),
            };
            Some((kind, largest(&is_one).map(|(name, _)| name), excess_ns))
        }
        None => {
            let kind_of = |label: u32| host_kind(lanes, label, has_devices, is_communication);
            let kinds = [
                Kind::Input,
                Kind::Launch,
                Kind::Communication,
                Kind::Compute,
                Kind::Host,
            ];
            let sum = |kind: Kind| {
                let own = labels
                    .iter()
                    .copied()
                    .filter(|label| on_host(*label) && kind_of(*label) == Some(kind));
                own.map(of_label).fold(0, i64::saturating_add)
            };
            let sums = kinds.map(|kind| (sum(kind), kind));
            let most = sums
                .into_iter()
                .max_by_key(|(ns, kind)| (*ns, std::cmp::Reverse(*kind)));
            most.map(|(excess_ns, kind)| {
                let is_one = |label: u32| on_host(label) && kind_of(label) == Some(kind);
                (kind, largest(&is_one).map(|(name, _)| name), excess_ns)
            })
        }
    };
    match found {
        Some((kind, name, excess_ns))
            if excess_ns > 0 && excess_ns as f64 >= MIN_SHARE * late_ns as f64 =>
        {
            Cause {
                kind,
                name,
                excess_ns,
                late_ns,
            }
        }
        _ => Cause {
            kind: Kind::Unknown,
            name: None,
            excess_ns: 0,
            late_ns,
        },
    }
}

/// Kind of a host interval's own time; `None`: a wait, which explains nothing.
fn host_kind(
    lanes: &Lanes,
    label: u32,
    has_devices: bool,
    is_communication: &dyn Fn(u32) -> bool,
) -> Option<Kind> {
    let of = lanes.labels.get(label);
    let name = lanes.texts.text(of.name);
    match of.class {
        Class::Wait => None,
        _ if lanes.texts.text(of.category) == INPUT => Some(Kind::Input),
        Class::Call if name.contains("Launch") => Some(Kind::Launch),
        _ if is_communication(label) && !has_devices => Some(Kind::Communication),
        Class::Kernel | Class::Tile if !has_devices => Some(Kind::Compute),
        Class::Brick | Class::Task if !has_devices => Some(Kind::Compute),
        _ => Some(Kind::Host),
    }
}
