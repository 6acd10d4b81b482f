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
use trueno_plugin::rank;

use crate::operations::{Loaded, Operation};

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kernel that does not communicate, or a fill of memory.
    Computation,
    /// A kernel whose name a rule calls `communication`.
    Communication,
    /// A copy, also one that a kernel of the ROCm runtime makes.
    Copy,
}

impl Kind {
    /// All, in the order in which the split prefers them.
    pub const ALL: [Self; 3] = [Self::Computation, Self::Communication, Self::Copy];

    /// The word of the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "communication",
            Self::Copy => "copy",
        }
    }

    /// Kind of a kernel of this name.
    pub fn from_kernel_name(name: &str, category: Option<&str>) -> Self {
        match category {
            Some("communication") => Self::Communication,
            _ if name.starts_with("__amd_rocclr_copy") => Self::Copy,
            _ => Self::Computation,
        }
    }

    /// Kind of a transfer of this direction.
    pub fn from_direction(direction: &str) -> Self {
        match direction {
            "memset" => Self::Computation,
            _ => Self::Copy,
        }
    }
}

/// Times of one kind within a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindTimes {
    /// Some operation of the kind runs.
    pub busy_ns: i64,
    /// And none of another kind.
    pub exposed_ns: i64,
    /// Neither does one of a kind before it in [`Kind::ALL`].
    pub split_ns: i64,
}

/// Times of all kinds within a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanTimes {
    pub span_ns: i64,
    /// In the order of [`Kind::ALL`].
    pub kinds: [KindTimes; 3],
    /// No operation runs.
    pub idle_ns: i64,
}

impl SpanTimes {
    /// Adds those of another rank.
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

/// Busy times of devices by kind.
#[derive(Clone, Debug)]
pub struct Exposure {
    busy: [IntervalSet<i64>; 3],
    exposed: [IntervalSet<i64>; 3],
    split: [IntervalSet<i64>; 3],
    /// First start and last end.
    span: (i64, i64),
}

fn union(a: &IntervalSet<i64>, b: &IntervalSet<i64>) -> IntervalSet<i64> {
    a.ranges().iter().chain(b.ranges()).copied().collect()
}

impl Exposure {
    /// Times of some operations; `None` of none.
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

    /// Times from its first start to its last end.
    pub fn whole(&self) -> SpanTimes {
        self.within(self.span.0, self.span.1)
    }

    /// Times within a part.
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

/// Devices whose operations are looked at together.
#[derive(Clone, Debug)]
pub struct Scope {
    pub rank: i64,
    /// The device; `None`: all of the rank.
    pub device: Option<i64>,
    pub exposure: Exposure,
}

/// Of each rank all devices together, then each: by the number of the device.
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

/// Copies of one direction on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Number of copies or fills.
    pub operations: u64,
    pub dur_ns: i64,
    /// Those that state how many bytes they moved.
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

    /// Bytes a second of those that state their bytes.
    pub fn bytes_per_s(&self) -> Option<f64> {
        (self.stated_ns > 0).then(|| self.bytes as f64 * 1e9 / self.stated_ns as f64)
    }
}

/// Transfers by device and direction.
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
