//! Operations of devices, and the calls that asked for them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::category_rules;
use trueno_analysis::window::Window;
use trueno_plugin::{Batch, I64Slice, Result, Run};

use crate::exposure::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub id: u64,
    pub name: u32,
    pub device: i64,
    pub stream: Option<i64>,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Start and end of the launching call. `None` if it was not recorded, or began after the work.
    pub call: Option<(i64, i64)>,
    pub correlation: Option<u64>,
    pub bytes: Option<u64>,
    /// Of a kernel: its launch, as an index into `Loaded::shapes`.
    pub shape: Option<u32>,
    /// True if an earlier operation has the same call, as nodes of a graph have.
    pub shares_call: bool,
}

impl Operation {
    pub fn dur_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// A kernel name or a transfer direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub is_transfer: bool,
    pub kind: Kind,
}

/// Blocks of a grid, threads of a block, registers of a thread, shared memory of a block in bytes.
pub type Shape = [Option<u64>; 4];

#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Sorted by device, stream and start.
    pub operations: Vec<Operation>,
    pub names: Vec<Name>,
    pub shapes: Vec<Shape>,
    /// Rows that are only bounds, invalid, or have impossible times.
    pub left_out: u64,
    pub before_call: u64,
    pub not_linked: u64,
    pub window: Option<Window>,
}

impl Loaded {
    /// Reads the inputs.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let mut out = Self {
            window: Window::read(run)?,
            ..Self::default()
        };
        let categories = category_rules(run)?;
        let calls = Calls::read(run)?;
        let mut shapes = FastMap::default();
        for (input, is_transfer) in [("kernels", false), ("transfers", true)] {
            // A kernel may be called like a direction: each kind has names of its own.
            let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
            let mut batches = run.batches(input)?;
            while let Some(batch) = batches.next_batch()? {
                out.rows(
                    &batch,
                    is_transfer,
                    &calls,
                    &categories,
                    (&mut numbers, &mut shapes),
                )?;
            }
        }
        out.operations
            .sort_unstable_by_key(|o| (o.device, o.stream, o.start_ns, o.end_ns, o.id));
        out.mark_shared_calls();
        Ok(out)
    }

    fn rows(
        &mut self,
        batch: &Batch<'_>,
        is_transfer: bool,
        calls: &Calls,
        categories: &BTreeMap<String, String>,
        (numbers, shapes): (&mut BTreeMap<String, u32>, &mut FastMap<Shape, u32>),
    ) -> Result<()> {
        let (id, name) = (batch.u64("id")?, batch.text("name")?);
        let (device, stream) = (batch.i64("device")?, batch.i64("stream")?);
        let (start, dur) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
        let (bound, correlation) = (batch.bool("is_bound")?, batch.u64("correlation")?);
        let bytes = is_transfer.then(|| batch.u64("bytes")).transpose()?;
        let valid = (!is_transfer).then(|| batch.bool("valid")).transpose()?;
        let launch = (!is_transfer)
            .then(|| LaunchColumns::of(batch))
            .transpose()?;
        for row in 0..batch.rows() {
            let is_valid = valid.and_then(|valid| valid.get(row)) != Some(false);
            let (Some(id), Some(text), Some(device), Some(start_ns), Some(dur_ns), true, true) = (
                id.get(row),
                name.get(row),
                device.get(row),
                start.get(row),
                dur.get(row).filter(|dur_ns| *dur_ns >= 0),
                is_valid,
                bound.get(row) != Some(true),
            ) else {
                self.left_out += 1;
                continue;
            };
            if self.window.is_some_and(|window| !window.has(start_ns)) {
                continue;
            }
            let name = match numbers.get(text) {
                Some(name) => *name,
                None => {
                    let name = self.names.len() as u32;
                    self.names.push(Name {
                        text: text.to_owned(),
                        is_transfer,
                        kind: if is_transfer {
                            Kind::from_direction(text)
                        } else {
                            Kind::from_kernel_name(text, categories.get(text).map(String::as_str))
                        },
                    });
                    numbers.insert(text.to_owned(), name);
                    name
                }
            };
            let correlation = correlation.get(row);
            let call = correlation.and_then(|of| calls.get(of));
            let call = call.or_else(|| calls.by_work.get(&id).copied());
            let is_before = call.is_some_and(|call| call.0 > start_ns);
            self.before_call += u64::from(is_before);
            self.not_linked += u64::from(call.is_none());
            self.operations.push(Operation {
                id,
                name,
                device,
                stream: stream.get(row),
                start_ns,
                end_ns: start_ns.saturating_add(dur_ns),
                call: call.filter(|_| !is_before),
                correlation,
                bytes: bytes.and_then(|bytes| bytes.get(row)),
                shape: launch.as_ref().map(|launch| {
                    let shape = launch.shape(row);
                    *shapes.entry(shape).or_insert_with(|| {
                        self.shapes.push(shape);
                        (self.shapes.len() - 1) as u32
                    })
                }),
                shares_call: false,
            });
        }
        Ok(())
    }

    /// Sets `shares_call` on all operations of a call but the first.
    fn mark_shared_calls(&mut self) {
        let all = &mut self.operations;
        let of_call = |o: &Operation| o.call.and(o.correlation);
        let mut linked: Vec<usize> = (0..all.len())
            .filter(|&at| of_call(&all[at]).is_some())
            .collect();
        linked.sort_unstable_by_key(|&at| (of_call(&all[at]), all[at].start_ns, all[at].id));
        for pair in linked.windows(2) {
            all[pair[1]].shares_call = of_call(&all[pair[0]]) == of_call(&all[pair[1]]);
        }
    }

    /// The operations of each stream, by device and stream. For each device, operations without a known stream
    /// come first.
    pub fn streams(&self) -> impl Iterator<Item = &[Operation]> {
        self.operations
            .chunk_by(|a, b| (a.device, a.stream) == (b.device, b.stream))
    }

    pub fn devices(&self) -> impl Iterator<Item = &[Operation]> {
        self.operations.chunk_by(|a, b| a.device == b.device)
    }
}

/// The columns that say how a kernel was launched.
struct LaunchColumns<'a> {
    grid: [I64Slice<'a>; 3],
    block: [I64Slice<'a>; 3],
    registers: I64Slice<'a>,
    smem: [I64Slice<'a>; 3],
}

impl<'a> LaunchColumns<'a> {
    fn of(batch: &Batch<'a>) -> Result<Self> {
        let columns = |[a, b, c]: [&str; 3]| -> Result<_> {
            Ok([batch.i64(a)?, batch.i64(b)?, batch.i64(c)?])
        };
        Ok(Self {
            grid: columns(["grid_x", "grid_y", "grid_z"])?,
            block: columns(["block_x", "block_y", "block_z"])?,
            registers: batch.i64("registers")?,
            smem: columns(["smem_static", "smem_dynamic", "smem"])?,
        })
    }

    fn shape(&self, row: usize) -> Shape {
        let cell = |column: &I64Slice<'_>| u64::try_from(column.get(row)?).ok();
        let product = |of: &[I64Slice<'_>; 3]| {
            let mut sizes = of.iter().map(cell);
            sizes.try_fold(1_u64, |product, size| product.checked_mul(size?))
        };
        let [fixed, dynamic, sum] = self.smem.each_ref().map(cell);
        let parts = fixed.zip(dynamic);
        [
            product(&self.grid),
            product(&self.block),
            cell(&self.registers),
            sum.or_else(|| parts.map(|(fixed, dynamic)| fixed.saturating_add(dynamic))),
        ]
    }
}

struct Calls {
    /// Correlation, start and end of the outermost call.
    by_correlation: Vec<(u64, i64, i64)>,
    /// Start and end of the call that an edge leads from, by the work's id.
    by_work: FastMap<u64, (i64, i64)>,
}

impl Calls {
    fn read(run: &mut Run) -> Result<Self> {
        let mut out: Vec<(u64, i64, i64)> = Vec::new();
        let mut batches = run.batches("calls")?;
        while let Some(batch) = batches.next_batch()? {
            let correlation = batch.u64("correlation")?;
            let (start, dur) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
            let row = |row: usize| {
                let dur_ns = dur.get(row).filter(|dur_ns| *dur_ns >= 0)?;
                let start_ns = start.get(row)?;
                let of = correlation.get(row)?;
                Some((of, start_ns, start_ns.saturating_add(dur_ns)))
            };
            out.extend((0..batch.rows()).filter_map(row));
        }
        // Of two that begin together the longer is the outer one.
        out.sort_unstable_by_key(|&(of, start_ns, end_ns)| (of, start_ns, Reverse(end_ns)));
        out.dedup_by_key(|call| call.0);
        Ok(Self {
            by_correlation: out,
            by_work: Self::by_work(run)?,
        })
    }

    /// Of several calls that launched one operation, the one that began first.
    fn by_work(run: &mut Run) -> Result<FastMap<u64, (i64, i64)>> {
        let mut out: FastMap<u64, (i64, i64)> = FastMap::default();
        let table = run.table("launches")?;
        let (work, start) = (table.u64("work")?, table.i64("start_ns")?);
        let dur = table.i64("dur_ns")?;
        for row in 0..table.rows() {
            let (Some(work), Some(start_ns), Some(dur_ns)) =
                (work.get(row), start.get(row), dur.get(row))
            else {
                continue;
            };
            let call = (start_ns, start_ns.saturating_add(dur_ns.max(0)));
            let first = out.entry(work).or_insert(call);
            *first = call.min(*first);
        }
        Ok(out)
    }

    fn get(&self, correlation: u64) -> Option<(i64, i64)> {
        let calls = &self.by_correlation;
        let at = calls
            .binary_search_by_key(&correlation, |call| call.0)
            .ok()?;
        Some((calls[at].1, calls[at].2))
    }
}

/// The device as tables show it: `gpu0`, or `rank 1 gpu0` on any rank but 0.
pub fn device_name(device: i64) -> String {
    match trueno_plugin::rank::of_place(device) {
        (0, device) => format!("gpu{device}"),
        (rank, device) => format!("rank {rank} gpu{device}"),
    }
}
