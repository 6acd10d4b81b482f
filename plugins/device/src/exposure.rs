//! Time of devices by the kind of work, and how much of it other work hides.
//!
//! ```text
//! computation    ├────┤  ├──────┤
//! communication     ├──────┤                 exposed: neither of the others runs
//! copy                          ├───┤
//! split          compute|comm|compute|copy   each instant counts once: the parts and idle add up to the span
//! ```
//!
//! The split gives an instant to computation before communication before copies, which is how TraceLens's
//! `gpu_timeline` states `exposed_comm_time` and `exposed_memcpy_time`.

use std::collections::BTreeMap;

use trueno_analysis::intervals::IntervalSet;
use trueno_analysis::vendors;
use trueno_plugin::rank;

use crate::operations::{Loaded, Operation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kernel that does not communicate, or a memory fill.
    Computation,
    /// A kernel of the category `communication`.
    Communication,
    /// A copy, including one that a kernel of a runtime makes, and waiting for it.
    Copy,
}

impl Kind {
    /// All kinds. At each instant the split counts the first of them that runs.
    pub const ALL: [Self; 3] = [Self::Computation, Self::Communication, Self::Copy];

    pub fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "communication",
            Self::Copy => "copy",
        }
    }

    pub fn from_kernel_name(name: &str, category: Option<&str>) -> Self {
        match category {
            Some("communication") => Self::Communication,
            _ if vendors::is_copy_kernel(name) => Self::Copy,
            _ => Self::Computation,
        }
    }

    pub fn from_direction(direction: &str) -> Self {
        match direction {
            "memset" => Self::Computation,
            _ => Self::Copy,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindTimes {
    pub busy_ns: i64,
    /// An operation of the kind runs, and none of another kind.
    pub exposed_ns: i64,
    /// An operation of the kind runs, and none of a kind before it in [`Kind::ALL`].
    pub split_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanTimes {
    pub span_ns: i64,
    /// In the order of [`Kind::ALL`].
    pub kinds: [KindTimes; 3],
    pub idle_ns: i64,
}

impl SpanTimes {
    pub fn add(&mut self, other: &Self) {
        let sum = |a: &mut i64, b: i64| *a = a.saturating_add(b);
        sum(&mut self.span_ns, other.span_ns);
        sum(&mut self.idle_ns, other.idle_ns);
        for (of, more) in self.kinds.iter_mut().zip(&other.kinds) {
            sum(&mut of.busy_ns, more.busy_ns);
            sum(&mut of.exposed_ns, more.exposed_ns);
            sum(&mut of.split_ns, more.split_ns);
        }
    }
}

#[derive(Clone, Debug)]
pub struct Exposure {
    busy: [IntervalSet<i64>; 3],
    exposed: [IntervalSet<i64>; 3],
    split: [IntervalSet<i64>; 3],
    span: (i64, i64),
}

fn union(a: &IntervalSet<i64>, b: &IntervalSet<i64>) -> IntervalSet<i64> {
    a.ranges().iter().chain(b.ranges()).copied().collect()
}

impl Exposure {
    pub fn from_operations(loaded: &Loaded, operations: &[Operation]) -> Option<Self> {
        let of_kind = |kind: Kind| -> IntervalSet<i64> {
            let is_kind = |o: &&Operation| loaded.names[o.name as usize].kind == kind;
            let own = operations.iter().filter(is_kind);
            own.map(|o| (o.start_ns, o.end_ns)).collect()
        };
        let [computation, communication, copy] = Kind::ALL.map(of_kind);
        let rest = communication.difference(&computation);
        let copy_alone = copy.difference(&union(&computation, &communication));
        Some(Self {
            span: (
                operations.iter().map(|o| o.start_ns).min()?,
                operations.iter().map(|o| o.end_ns).max()?,
            ),
            exposed: [
                computation.difference(&union(&communication, &copy)),
                rest.difference(&copy),
                copy_alone.clone(),
            ],
            split: [computation.clone(), rest, copy_alone],
            busy: [computation, communication, copy],
        })
    }

    pub fn whole(&self) -> SpanTimes {
        self.within(self.span.0, self.span.1)
    }

    pub fn within(&self, from_ns: i64, to_ns: i64) -> SpanTimes {
        let span_ns = to_ns.saturating_sub(from_ns).max(0);
        let kinds = [0, 1, 2].map(|kind| KindTimes {
            busy_ns: self.busy[kind].within_ns(from_ns, to_ns),
            exposed_ns: self.exposed[kind].within_ns(from_ns, to_ns),
            split_ns: self.split[kind].within_ns(from_ns, to_ns),
        });
        let idle_ns = kinds.iter().fold(span_ns, |left_ns, kind| {
            left_ns.saturating_sub(kind.split_ns)
        });
        SpanTimes {
            span_ns,
            kinds,
            idle_ns,
        }
    }
}

/// A device, or all devices of a rank together.
#[derive(Clone, Debug)]
pub struct Scope {
    pub rank: i64,
    /// `None` for all devices of the rank.
    pub device: Option<i64>,
    pub exposure: Exposure,
}

/// For each rank, all devices together, then each device in order of number.
pub fn scopes(loaded: &Loaded) -> Vec<Scope> {
    let mut out = Vec::new();
    let rank = |o: &Operation| rank::of_place(o.device).0;
    for of_rank in loaded.operations.chunk_by(|a, b| rank(a) == rank(b)) {
        let devices = of_rank.chunk_by(|a, b| a.device == b.device);
        let scope = |device: Option<i64>, operations: &[Operation]| {
            let exposure = Exposure::from_operations(loaded, operations)?;
            Some(Scope {
                rank: rank(&operations[0]),
                device,
                exposure,
            })
        };
        out.extend(scope(None, of_rank));
        out.extend(devices.filter_map(|of_device| scope(Some(of_device[0].device), of_device)));
    }
    out
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    pub operations: u64,
    pub dur_ns: i64,
    pub stated: u64,
    pub bytes: u64,
    pub stated_ns: i64,
}

impl Copies {
    pub fn merge(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.dur_ns = self.dur_ns.saturating_add(other.dur_ns);
        self.stated = self.stated.saturating_add(other.stated);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.stated_ns = self.stated_ns.saturating_add(other.stated_ns);
    }

    pub fn bytes_per_s(&self) -> Option<f64> {
        (self.stated_ns > 0).then(|| self.bytes as f64 * 1e9 / self.stated_ns as f64)
    }
}

/// By device and direction.
pub fn copies(loaded: &Loaded) -> BTreeMap<(i64, String), Copies> {
    let mut out: BTreeMap<(i64, u32), Copies> = BTreeMap::new();
    let is_transfer = |o: &&Operation| loaded.names[o.name as usize].is_transfer;
    for operation in loaded.operations.iter().filter(is_transfer) {
        let of = out.entry((operation.device, operation.name)).or_default();
        let dur_ns = operation.end_ns.saturating_sub(operation.start_ns);
        of.operations += 1;
        of.dur_ns = of.dur_ns.saturating_add(dur_ns);
        if let Some(bytes) = operation.bytes {
            of.stated += 1;
            of.bytes = of.bytes.saturating_add(bytes);
            of.stated_ns = of.stated_ns.saturating_add(dur_ns);
        }
    }
    let named = out.into_iter();
    named
        .map(|((device, name), of)| ((device, loaded.names[name as usize].text.clone()), of))
        .collect()
}
