//! Parts of ranks in collectives, as the recordings of the ranks have them.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::collectives::{Operation, Part, element_bytes};
use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::Texts;
use trueno_analysis::lanes::{self, Class, LaneKind, Lanes};
use trueno_analysis::steps::{self, Step};
use trueno_plugin::rank::of_key;
use trueno_plugin::{Result, Run};

use crate::inputs::{ITERATIONS_OF_CALLS, ITERATIONS_OF_KERNELS, StatedCount};

const COMMUNICATION: &str = "communication";

/// Facts of a part that are not needed to match it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartFacts {
    /// Bytes as [`Operation::size`] counts them; `None` if not stated.
    pub bytes: Option<u64>,
    /// Row of the kernel, or of the brick if no device took part.
    pub id: u64,
    /// Start of the call, or of PyTorch's range around it. If neither is recorded, the arrival.
    pub called_ns: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Time on the run's timeline that all times here are relative to.
    pub origin_ns: i64,
    /// Length of the run, or of the report's window.
    pub wall_ns: i64,
    pub stated: u64,
    /// Stated calls without recorded device work.
    pub without_work: u64,
    /// Parts that began or ended outside the report's window.
    pub cut: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Parts; each rank's stated ones come first.
    pub parts: Vec<(Part, PartFacts)>,
    pub texts: Texts,
    /// Ranks of communicators as the programs state them, as JSON lists.
    pub groups: Texts,
    pub steps: Vec<Step>,
    pub around: Around,
}

struct Work {
    start_ns: i64,
    end_ns: i64,
    name: u32,
    operation: Operation,
    called_ns: Option<i64>,
    lane: u32,
}

struct Stated {
    span: Option<u64>,
    kernel: Option<u64>,
    start_ns: i64,
    end_ns: i64,
    communicator: Option<u32>,
    sequence: Option<u64>,
    operation: Operation,
    peer: Option<u32>,
    size: Option<u64>,
    bytes: Option<u64>,
    group_size: Option<u32>,
    group: Option<u32>,
}

fn rank_of_id(id: u64) -> u32 {
    of_key(id) as u32
}

impl Rows {
    /// Reads the rows of a run.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, stated: StatedCount) -> Result<Self> {
        let lanes = lanes::load(run)?;
        let mut out = Self {
            around: Around {
                origin_ns: lanes.origin_ns,
                wall_ns: lanes.wall_ns,
                stated: stated.0,
                ..Around::default()
            },
            steps: steps::read(run, None)?,
            ..Self::default()
        };
        let mut work = communication(&lanes, &mut out.texts);
        for input in ["ranges_around_calls", "ranges_of_kernels"] {
            name_by_ranges(run, input, &mut work, lanes.origin_ns)?;
        }
        let of_calls = work_of_calls(run)?;
        let iterations = iterations(run)?;
        let on_device: BTreeSet<u32> = work.keys().map(|id| rank_of_id(*id)).collect();
        for stated in out.read_stated(run)? {
            let ids: Vec<u64> = match (stated.kernel, stated.span) {
                (Some(kernel), _) => vec![kernel],
                (None, Some(span)) => of_calls.get(&span).cloned().unwrap_or_default(),
                (None, None) => Vec::new(),
            };
            let own: Vec<(u64, Work)> = ids
                .iter()
                .filter_map(|id| Some((*id, work.remove(id)?)))
                .collect();
            let Some(id) = ids.first().copied().or(stated.span) else {
                continue;
            };
            let rank = rank_of_id(id);
            let times = match own.len() {
                0 if on_device.contains(&rank) => {
                    out.around.without_work += 1;
                    continue;
                }
                0 => (stated.start_ns, stated.end_ns),
                _ => (
                    own.iter().map(|(_, work)| work.start_ns).min().unwrap_or(0),
                    own.iter().map(|(_, work)| work.end_ns).max().unwrap_or(0),
                ),
            };
            let part = Part {
                rank,
                communicator: stated.communicator,
                group: stated.group,
                group_size: stated.group_size,
                sequence: stated.sequence,
                iteration: stated
                    .kernel
                    .or(stated.span)
                    .and_then(|id| iterations.get(&id).copied()),
                operation: stated.operation,
                peer: stated.peer,
                lane: own.first().map_or(0, |(_, work)| work.lane),
                size: stated.size,
                name: own.first().map(|(_, work)| work.name),
                start_ns: times.0,
                end_ns: times.1,
            };
            let facts = PartFacts {
                bytes: stated.bytes,
                id: own.first().map_or(id, |(id, _)| *id),
                called_ns: stated.start_ns,
            };
            out.add(&lanes, part, facts);
        }
        // What nobody states, by its name.
        for (id, work) in work {
            let part = Part {
                rank: rank_of_id(id),
                communicator: None,
                group: None,
                group_size: None,
                sequence: None,
                iteration: None,
                operation: work.operation,
                peer: None,
                lane: work.lane,
                size: None,
                name: Some(work.name),
                start_ns: work.start_ns,
                end_ns: work.end_ns,
            };
            let facts = PartFacts {
                bytes: None,
                id,
                called_ns: work.called_ns.unwrap_or(work.start_ns),
            };
            out.add(&lanes, part, facts);
        }
        Ok(out)
    }

    fn add(&mut self, lanes: &Lanes, part: Part, facts: PartFacts) {
        // Times are cut at the ends of a part of a run: how long it lasted is not known then.
        if lanes.is_part && (part.start_ns <= 0 || part.end_ns >= lanes.wall_ns) {
            self.around.cut += 1;
            return;
        }
        self.parts.push((part, facts));
    }

    fn read_stated(&mut self, run: &mut Run) -> Result<Vec<Stated>> {
        let table = run.table("collectives")?;
        let (span, kernel) = (table.u64("span")?, table.u64("kernel")?);
        let (start, dur) = (table.i64("time_ns")?, table.i64("dur_ns")?);
        let sequence = table.u64("sequence")?;
        let (communicator, operation) = (table.text("communicator")?, table.text("operation")?);
        let element_type = table.text("element_type")?;
        let (given, got) = (table.u64("elements_in")?, table.u64("elements_out")?);
        let (group_size, group_ranks) = (table.i64("group_size")?, table.text("group_ranks")?);
        let peer = table.i64("peer")?;
        let mut out = Vec::new();
        for row in 0..table.rows() {
            let (Some(start_ns), Some(dur_ns)) = (start.get(row), dur.get(row)) else {
                continue;
            };
            let operation = operation.get(row).and_then(Operation::parse);
            let operation = operation.unwrap_or(Operation::Other);
            let size = operation.size(given.get(row), got.get(row));
            let of_element = element_type.get(row).and_then(element_bytes);
            let start_ns = start_ns.saturating_sub(self.around.origin_ns);
            out.push(Stated {
                span: span.get(row),
                kernel: kernel.get(row),
                start_ns,
                end_ns: start_ns.saturating_add(dur_ns.max(0)),
                communicator: communicator.get(row).map(|text| self.texts.number(text)),
                sequence: sequence.get(row),
                operation,
                peer: peer.get(row).and_then(|rank| u32::try_from(rank).ok()),
                size,
                bytes: size
                    .zip(of_element)
                    .and_then(|(n, bytes)| n.checked_mul(bytes)),
                group_size: group_size.get(row).and_then(|n| u32::try_from(n).ok()),
                group: group_ranks.get(row).map(|text| self.groups.number(text)),
            });
        }
        Ok(out)
    }
}

fn communication(lanes: &Lanes, texts: &mut Texts) -> BTreeMap<u64, Work> {
    let mut known: FastMap<u32, Option<(u32, Operation)>> = FastMap::default();
    let mut out = BTreeMap::new();
    let of_devices = (0..).zip(&lanes.lanes);
    for (number, lane) in of_devices.filter(|(_, lane)| lane.kind == LaneKind::Device) {
        for span in &lane.spans {
            let of_label = *known.entry(span.label).or_insert_with(|| {
                let label = lanes.labels.get(span.label);
                let name = lanes.texts.text(label.name);
                let is_own = lanes.texts.text(label.category) == COMMUNICATION;
                let operation = Operation::of_kernel(name);
                let is_communication =
                    label.class == Class::Kernel && (is_own || operation.is_some());
                is_communication
                    .then(|| (texts.number(name), operation.unwrap_or(Operation::Other)))
            });
            if let Some((name, operation)) = of_label {
                let work = Work {
                    start_ns: span.start_ns,
                    end_ns: span.end_ns,
                    name,
                    operation,
                    called_ns: None,
                    lane: number,
                };
                out.insert(span.id, work);
            }
        }
    }
    out
}

/// Sets the operation of kernels whose names do not tell it, from the range that launched them. NCCL, for example,
/// builds an all-to-all of sends and receives.
fn name_by_ranges(
    run: &mut Run,
    input: &str,
    work: &mut BTreeMap<u64, Work>,
    origin_ns: i64,
) -> Result<()> {
    let table = run.table(input)?;
    let (id, name) = (table.u64("id")?, table.text("name")?);
    let start = table.i64("start_ns")?;
    for row in 0..table.rows() {
        let work = id.get(row).and_then(|id| work.get_mut(&id));
        let of_range = name.get(row).and_then(Operation::parse);
        let (Some(work), Some(operation)) = (work, of_range) else {
            continue;
        };
        work.called_ns = start.get(row).map(|ns| ns.saturating_sub(origin_ns));
        if matches!(work.operation, Operation::SendRecv | Operation::Other) {
            work.operation = operation;
        }
    }
    Ok(())
}

/// Iterations of kernels and calls that state collectives.
fn iterations(run: &mut Run) -> Result<FastMap<u64, u64>> {
    let mut out: FastMap<u64, u64> = FastMap::default();
    for input in [ITERATIONS_OF_KERNELS, ITERATIONS_OF_CALLS] {
        let table = run.table(input.name())?;
        let (id, iteration) = (table.u64("id")?, table.u64("iteration")?);
        let rows = (0..table.rows()).filter_map(|row| id.get(row).zip(iteration.get(row)));
        out.extend(rows);
    }
    Ok(out)
}

/// Ids of device work by the call that started it.
fn work_of_calls(run: &mut Run) -> Result<FastMap<u64, Vec<u64>>> {
    let mut out: FastMap<u64, Vec<u64>> = FastMap::default();
    for input in ["kernels_of_calls", "kernels_below_calls"] {
        let table = run.table(input)?;
        let (id, brick) = (table.u64("id")?, table.u64("brick")?);
        for row in 0..table.rows() {
            if let (Some(id), Some(brick)) = (id.get(row), brick.get(row)) {
                out.entry(brick).or_default().push(id);
            }
        }
    }
    Ok(out)
}
