//! Use of time by rank: time of devices by kind of work, self time of threads, by name.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::collectives::Operation;
use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::lanes::{self, Class, Lane, LaneKind, Lanes};
use trueno_analysis::sweep::self_times;
use trueno_plugin::{Input, Result, Run};

const COMMUNICATION: &str = "communication";

pub const STRETCHES: Input = Input::sql(
    "stretches",
    "SELECT instance, rank, is_last, start_ns, dur_ns, caused_ns FROM collectives.stretches",
)
.optional();

/// The time of one rank before a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    pub instance: u64,
    /// False for the last rank, whose row comes first.
    pub is_other: bool,
    pub rank: u32,
    pub times_ns: (i64, i64),
    /// Sum of the others' waits for the last rank.
    pub caused_ns: i64,
}

impl Stretch {
    pub fn length_ns(&self) -> i64 {
        self.times_ns.1.saturating_sub(self.times_ns.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    pub class: Class,
    pub name: String,
    pub category: String,
}

impl Label {
    pub fn is_communication(&self) -> bool {
        let operation = if self.class == Class::Kernel {
            Operation::of_kernel(&self.name)
        } else {
            Operation::parse(&self.name)
        };
        self.category == COMMUNICATION || operation.is_some()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub has_devices: bool,
    pub compute_ns: i64,
    /// A device copies, and none computes.
    pub copy_ns: i64,
    /// A device communicates, and none computes or copies.
    pub communication_ns: i64,
    pub idle_ns: i64,
    /// Time of device work, and self time of host intervals.
    pub by_label: BTreeMap<Label, i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usages(pub BTreeMap<Stretch, Usage>);

impl Usages {
    /// Reads the stretches of the ranks whose lanes the run has, and how they were spent.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let stretches = stretches(run)?;
        if stretches.is_empty() {
            return Ok(Self::default());
        }
        let lanes = lanes::load(run)?;
        let ranks: BTreeSet<u32> = lanes.lanes.iter().map(|lane| lane.key.rank()).collect();
        let mut out = BTreeMap::new();
        for rank in ranks {
            let own = stretches.iter().filter(|stretch| stretch.rank == rank);
            let mut own: Vec<Stretch> = own.copied().collect();
            own.sort_by_key(|stretch| (stretch.times_ns, *stretch));
            if !own.is_empty() {
                out.extend(of_one(&lanes, rank, &own));
            }
        }
        Ok(Self(out))
    }
}

fn stretches(run: &mut Run) -> Result<Vec<Stretch>> {
    let table = run.table(STRETCHES.name())?;
    let (instance, rank) = (table.u64("instance")?, table.u64("rank")?);
    let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
    let (last, caused) = (table.bool("is_last")?, table.i64("caused_ns")?);
    let stretch = |row: usize| {
        let start_ns = start.get(row)?;
        Some(Stretch {
            instance: instance.get(row)?,
            is_other: !last.get(row)?,
            rank: u32::try_from(rank.get(row)?).ok()?,
            times_ns: (start_ns, start_ns.saturating_add(dur.get(row)?)),
            caused_ns: caused.get(row)?,
        })
    };
    Ok((0..table.rows()).filter_map(stretch).collect())
}

/// How the stretches of one rank were spent. They are sorted by start.
fn of_one(lanes: &Lanes, rank: u32, stretches: &[Stretch]) -> Vec<(Stretch, Usage)> {
    let label = |number: u32| {
        let of = lanes.labels.get(number);
        Label {
            class: of.class,
            name: lanes.texts.text(of.name).to_owned(),
            // Labels that no row has in the end may have none.
            category: lanes.texts.get(of.category).unwrap_or_default().to_owned(),
        }
    };
    let labels: Vec<Label> = (0..lanes.labels.all().len() as u32).map(label).collect();
    let times = DeviceTimes::new(lanes, rank, &|number| {
        labels[number as usize].is_communication()
    });
    // On the clock of lanes.
    let counted = |(from_ns, to_ns): (i64, i64)| {
        let origin_ns = lanes.origin_ns;
        (
            from_ns.saturating_sub(origin_ns),
            to_ns.saturating_sub(origin_ns),
        )
    };
    let spans: Vec<(i64, i64)> = stretches.iter().map(|of| counted(of.times_ns)).collect();
    let mut by_label: Vec<BTreeMap<u32, i64>> = spans.iter().map(|_| BTreeMap::new()).collect();
    for lane in of_rank(lanes, rank, LaneKind::Host) {
        let mut into = Spent::new(&spans, &mut by_label);
        self_times(&lane.spans, |span, from_ns, to_ns| {
            into.add(span.label, from_ns, to_ns);
        });
    }
    for lane in of_rank(lanes, rank, LaneKind::Device) {
        let mut into = Spent::new(&spans, &mut by_label);
        for span in &lane.spans {
            into.add(span.label, span.start_ns, span.end_ns);
        }
    }
    let has_devices = of_rank(lanes, rank, LaneKind::Device).next().is_some();
    let mut out = Vec::with_capacity(stretches.len());
    for ((stretch, (from_ns, to_ns)), sums) in stretches.iter().zip(&spans).zip(by_label) {
        let within = |set: &IntervalSet<i64>| set.within_ns(*from_ns, *to_ns);
        let (compute_ns, copy_ns) = (within(&times.compute), within(&times.copy));
        let communication_ns = within(&times.communication);
        let busy_ns = [compute_ns, copy_ns, communication_ns].into_iter();
        let mut usage = Usage {
            has_devices,
            compute_ns,
            copy_ns,
            communication_ns,
            idle_ns: busy_ns.fold(stretch.length_ns(), i64::saturating_sub),
            by_label: BTreeMap::new(),
        };
        for (number, ns) in sums {
            // Labels that differ in their kind alone are one.
            let label = labels[number as usize].clone();
            let sum = usage.by_label.entry(label).or_default();
            *sum = sum.saturating_add(ns);
        }
        out.push((*stretch, usage));
    }
    out
}

/// Device time by kind. Each set excludes the ones before it.
struct DeviceTimes {
    compute: IntervalSet<i64>,
    copy: IntervalSet<i64>,
    communication: IntervalSet<i64>,
}

impl DeviceTimes {
    fn new(lanes: &Lanes, rank: u32, is_communication: &dyn Fn(u32) -> bool) -> Self {
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
        Self {
            compute,
            copy,
            communication,
        }
    }
}

fn of_rank(lanes: &Lanes, rank: u32, kind: LaneKind) -> impl Iterator<Item = &Lane> {
    let all = lanes.lanes.iter();
    all.filter(move |lane| lane.kind == kind && lane.key.rank() == rank)
}

/// Adds intervals of one lane, sorted by start, to the stretches that they lie in.
struct Spent<'a> {
    stretches: &'a [(i64, i64)],
    sums: &'a mut [BTreeMap<u32, i64>],
    /// Length of the longest stretch. Stretches that began longer ago than this need not be searched.
    longest_ns: i64,
}

impl<'a> Spent<'a> {
    fn new(stretches: &'a [(i64, i64)], sums: &'a mut [BTreeMap<u32, i64>]) -> Self {
        let lengths = stretches
            .iter()
            .map(|(from_ns, to_ns)| to_ns.saturating_sub(*from_ns));
        Self {
            longest_ns: lengths.max().unwrap_or(0),
            stretches,
            sums,
        }
    }

    fn add(&mut self, label: u32, from_ns: i64, to_ns: i64) {
        let earliest_ns = from_ns.saturating_sub(self.longest_ns);
        let first = self
            .stretches
            .partition_point(|(start_ns, _)| *start_ns < earliest_ns);
        for ((start_ns, end_ns), sums) in
            self.stretches[first..].iter().zip(&mut self.sums[first..])
        {
            if *start_ns >= to_ns {
                break;
            }
            let common_ns = to_ns.min(*end_ns).saturating_sub(from_ns.max(*start_ns));
            if common_ns > 0 {
                let sum = sums.entry(label).or_default();
                *sum = sum.saturating_add(common_ns);
            }
        }
    }
}
