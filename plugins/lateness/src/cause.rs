//! Reasons why the last rank came last: more of something than the others since the collective that all had left before.
//!
//! For each kind of time, `excess = time of the last rank − median of the others`, from leaving that collective to
//! arriving at this one, each by its own clock: clocks do not matter. Excesses of compute, copies, communication and idle
//! devices add up to how much longer the last rank took (but for medians). The largest is the cause; where devices were idle, or
//! there are none, the threads say why.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::lanes::Class;
use trueno_analysis::quantiles::lower_median;
use trueno_analysis::vendors;

use crate::usage::{Label, Stretch, Usage, Usages};

/// Category of input work on the host.
const INPUT: &str = "data loading";
/// A cause must explain at least this share of the lateness.
const MIN_SHARE: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The rank computed for longer: on its devices, or on its threads if it has none.
    Compute,
    Copy,
    /// The rank was held up in other collectives.
    Communication,
    /// The rank's threads prepared input for longer while its devices were idle.
    Input,
    /// The rank's threads launched for longer while its devices were idle.
    Launch,
    /// The rank's threads did something else for longer while its devices were idle.
    Host,
    Unknown,
}

impl Kind {
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

#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    pub kind: Kind,
    /// Name with the largest excess; `None` if no name has any.
    pub name: Option<String>,
    pub excess_ns: i64,
    /// How much longer the rank took than the median of the others.
    pub late_ns: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Number in `collectives.instances`.
    pub instance: u64,
    pub rank: u32,
    /// Sum of the others' waits for the rank.
    pub caused_ns: i64,
    pub cause: Cause,
}

/// Explains the collectives that have stretches of the last rank and of at least one other, in order of number.
pub fn explain(usages: Usages) -> Vec<Explained> {
    let mut collectives: BTreeMap<u64, Vec<(Stretch, Usage)>> = BTreeMap::new();
    // The last rank of each comes first, then the others by their number.
    for (stretch, usage) in usages.0 {
        let all = collectives.entry(stretch.instance).or_default();
        all.push((stretch, usage));
    }
    collectives
        .into_iter()
        .filter(|(_, all)| !all[0].0.is_other && all.len() > 1)
        .map(|(instance, all)| Explained {
            instance,
            rank: all[0].0.rank,
            caused_ns: all[0].0.caused_ns,
            cause: judge(&all),
        })
        .collect()
}

/// The first value minus the median of the rest.
fn excess(values: impl Iterator<Item = i64>) -> i64 {
    let values: Vec<i64> = values.collect();
    let mut others = values[1..].to_vec();
    values[0].saturating_sub(lower_median(&mut others).unwrap_or(0))
}

fn judge(all: &[(Stretch, Usage)]) -> Cause {
    let late_ns = excess(all.iter().map(|(stretch, _)| stretch.length_ns()));
    let of = |time: &dyn Fn(&Usage) -> i64| excess(all.iter().map(|(_, usage)| time(usage)));
    let has_devices = all[0].1.has_devices;
    let labels = all.iter().flat_map(|(_, usage)| usage.by_label.keys());
    let labels: BTreeSet<&Label> = labels.collect();
    let of_label = |label: &Label| of(&|usage| usage.by_label.get(label).copied().unwrap_or(0));
    // The name with the largest excess among labels; labels of one name stand together.
    let largest = |is_one: &dyn Fn(&Label) -> bool| {
        let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
        for label in labels.iter().filter(|label| is_one(label)) {
            let sum = by_name.entry(&label.name).or_default();
            *sum = sum.saturating_add(of_label(label));
        }
        let most = by_name
            .into_iter()
            .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)));
        most.filter(|(_, ns)| *ns > 0)
            .map(|(name, _)| name.to_owned())
    };
    let on_device = |label: &Label| matches!(label.class, Class::Kernel | Class::Transfer);
    let idle_ns = of(&|usage| usage.idle_ns);
    let on_devices = [
        (of(&|usage| usage.compute_ns), Kind::Compute),
        (of(&|usage| usage.copy_ns), Kind::Copy),
        (of(&|usage| usage.communication_ns), Kind::Communication),
    ];
    let (excess_ns, kind) = most(on_devices);
    let (excess_ns, kind, name) = if has_devices && excess_ns > idle_ns {
        let is_one = |label: &Label| match kind {
            Kind::Compute => label.class == Class::Kernel && !label.is_communication(),
            Kind::Copy => label.class == Class::Transfer,
            _ => label.class == Class::Kernel && label.is_communication(),
        };
        (excess_ns, kind, largest(&is_one))
    } else {
        let is_of = |label: &Label, kind: Kind| {
            (!on_device(label) || !has_devices) && host_kind(label, has_devices) == Some(kind)
        };
        let kinds = [
            Kind::Input,
            Kind::Launch,
            Kind::Communication,
            Kind::Compute,
            Kind::Host,
        ];
        let sums = kinds.map(|kind| {
            let own = labels.iter().filter(|label| is_of(label, kind));
            let sum = own.map(|label| of_label(label));
            (sum.fold(0, i64::saturating_add), kind)
        });
        let (excess_ns, kind) = most(sums);
        (excess_ns, kind, largest(&|label| is_of(label, kind)))
    };
    if excess_ns > 0 && excess_ns as f64 >= MIN_SHARE * late_ns as f64 {
        return Cause {
            kind,
            name,
            excess_ns,
            late_ns,
        };
    }
    Cause {
        kind: Kind::Unknown,
        name: None,
        excess_ns: 0,
        late_ns,
    }
}

/// The largest sum; among equal ones, the kind that sorts first.
fn most<const N: usize>(sums: [(i64, Kind); N]) -> (i64, Kind) {
    let most = sums
        .into_iter()
        .max_by_key(|(ns, kind)| (*ns, std::cmp::Reverse(*kind)));
    most.unwrap_or((0, Kind::Unknown))
}

fn is_launch(name: &str) -> bool {
    vendors::call(name) == Some(vendors::Call::Launch)
}

/// Kind of a host interval's self time; `None` for a wait, which explains nothing.
fn host_kind(label: &Label, has_devices: bool) -> Option<Kind> {
    match label.class {
        Class::Wait => None,
        _ if label.category == INPUT => Some(Kind::Input),
        Class::Call if is_launch(&label.name) => Some(Kind::Launch),
        _ if label.is_communication() && !has_devices => Some(Kind::Communication),
        Class::Kernel | Class::Tile if !has_devices => Some(Kind::Compute),
        Class::Brick | Class::Task if !has_devices => Some(Kind::Compute),
        _ => Some(Kind::Host),
    }
}
