//! Kernels by name and launch: grid, registers, shared memory, and how much of the device they can fill.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::share;
use trueno_plugin::{Result, Run, Table, TableBuilder};

use crate::occupancy::{Launch, Limits, Occupancy};
use crate::operations::Loaded;

/// A launch as it is recorded, and the device that it ran on. All but the blocks is the same for a kernel of a
/// program, as a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    pub blocks: Option<u64>,
    pub threads: Option<u64>,
    pub registers: Option<u64>,
    pub shared_bytes: Option<u64>,
    pub model: Model,
}

/// What occupancy takes from a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    pub multiprocessors: Option<u64>,
    pub compute_capability: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    pub launches: u64,
    pub dur_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
}

impl Totals {
    pub fn one(dur_ns: i64) -> Self {
        Self {
            launches: 1,
            dur_ns,
            min_ns: dur_ns,
            max_ns: dur_ns,
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.launches = self.launches.saturating_add(other.launches);
        self.dur_ns = self.dur_ns.saturating_add(other.dur_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Kernel name and launch.
pub type Key = (String, Shape);
pub type Kernels = BTreeMap<Key, Totals>;

pub fn add(kernels: &mut Kernels, key: Key, of: Totals) {
    kernels
        .entry(key)
        .and_modify(|sum| sum.merge(&of))
        .or_insert(of);
}

/// Devices by number, from input `devices`.
///
/// # Errors
/// The table lacks a column or has it in another type.
pub fn models(run: &mut Run) -> Result<BTreeMap<i64, Model>> {
    let table = run.table("devices")?;
    let (places, capability) = (table.text("device")?, table.text("compute_capability")?);
    let multiprocessors = table.i64("multiprocessors")?;
    let model = |row: usize| {
        let number = places.get(row)?.strip_prefix("gpu:")?.parse().ok()?;
        let model = Model {
            multiprocessors: multiprocessors
                .get(row)
                .and_then(|count| u64::try_from(count).ok()),
            compute_capability: capability.get(row).map(str::to_owned),
        };
        Some((number, model))
    };
    Ok((0..table.rows()).filter_map(model).collect())
}

pub fn by_launch(loaded: &Loaded, models: &BTreeMap<i64, Model>) -> Kernels {
    // Names and shapes are numbers until all are counted.
    let mut sums: BTreeMap<(u32, u32, i64), Totals> = BTreeMap::new();
    for operation in &loaded.operations {
        let Some(shape) = operation.shape else {
            continue;
        };
        let of = Totals::one(operation.end_ns.saturating_sub(operation.start_ns));
        let key = (operation.name, shape, operation.device);
        sums.entry(key)
            .and_modify(|sum| sum.merge(&of))
            .or_insert(of);
    }
    let mut out = Kernels::new();
    for ((name, shape, device), of) in sums {
        let [blocks, threads, registers, shared_bytes] = loaded.shapes[shape as usize];
        let shape = Shape {
            blocks,
            threads,
            registers,
            shared_bytes,
            model: models.get(&device).cloned().unwrap_or_default(),
        };
        let name = loaded.names[name as usize].text.clone();
        add(&mut out, (name, shape), of);
    }
    out
}

impl Shape {
    pub fn occupancy(&self) -> Option<Occupancy> {
        let launch = Launch {
            blocks: self.blocks?,
            threads: self.threads?,
            registers: self.registers?,
            shared_bytes: self.shared_bytes?,
        };
        let limits = Limits::of(self.model.compute_capability.as_deref()?)?;
        Occupancy::of(launch, limits, self.model.multiprocessors?)
    }
}

/// Table `kernels`: each kernel and launch, by time.
///
/// `share`: of the time of all kernels; `occupancy`: warps that the launch can have on a multiprocessor, of those
/// that it can hold; `limited_by`: all that keep it below 1: `grid`, or of `warps`, `blocks`, `registers` and `shared
/// memory` those that allow no more;
/// `waves`: blocks over the blocks that the device holds at once; `blocks`, `threads`: of the grid and of a block;
/// `registers`: of a thread; `shared_memory_bytes`: of a block. Null: not recorded.
pub fn table(kernels: &Kernels) -> TableBuilder {
    let all_ns = kernels
        .values()
        .fold(0_i64, |sum, of| sum.saturating_add(of.dur_ns));
    let mut rows: Vec<_> = kernels
        .iter()
        .map(|((name, shape), of)| (name, shape, of, shape.occupancy()))
        .collect();
    // The map is in order of names and launches, and the sort is stable.
    rows.sort_by_key(|row| Reverse(row.2.dur_ns));
    let limits = |of: &Option<Occupancy>| {
        let limits = of.as_ref()?.limits();
        (!limits.is_empty()).then_some(limits)
    };
    Table::build("kernels")
        .text("name", rows.iter().map(|row| row.0))
        .u64("launches", rows.iter().map(|row| row.2.launches))
        .i64("dur_ns", rows.iter().map(|row| row.2.dur_ns))
        .f64("share", rows.iter().map(|row| share(row.2.dur_ns, all_ns)))
        .f64(
            "occupancy",
            rows.iter().map(|row| row.3.as_ref().map(|of| of.share)),
        )
        .text("limited_by", rows.iter().map(|row| limits(&row.3)))
        .f64(
            "waves",
            rows.iter().map(|row| row.3.as_ref().map(|of| of.waves)),
        )
        .u64("blocks", rows.iter().map(|row| row.1.blocks))
        .u64("threads", rows.iter().map(|row| row.1.threads))
        .u64("registers", rows.iter().map(|row| row.1.registers))
        .u64(
            "shared_memory_bytes",
            rows.iter().map(|row| row.1.shared_bytes),
        )
        .f64(
            "mean_ns",
            rows.iter()
                .map(|row| row.2.dur_ns as f64 / row.2.launches as f64),
        )
        .i64("min_ns", rows.iter().map(|row| row.2.min_ns))
        .i64("max_ns", rows.iter().map(|row| row.2.max_ns))
}
