//! Operations of ranks: what their devices did, as rows of parts.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::collectives::Operation;
use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_plugin::rank::{of_key, of_place};
use trueno_plugin::{Error, Input, Result, Run, Table, table_row};

const MEETINGS: Input = Input::sql(
    "meetings",
    "SELECT a.instance AS instance, a.rank AS rank, a.id AS id, a.arrive_ns AS arrive_ns, \
     a.uncertainty_ns AS uncertainty_ns, i.operation AS operation, i.bytes AS bytes, i.communicator AS communicator, i.receiver AS receiver \
     FROM collectives.arrivals AS a JOIN collectives.instances AS i ON a.instance = i.instance ORDER BY instance, rank",
)
.optional();
/// The ranks, with their positions in the job if stated.
const RANKS: Input = Input::sql(
    "ranks",
    "SELECT rank, host_name, pipeline, data, tensor FROM ranks ORDER BY rank",
)
.optional();
const BEGINS: Input = Input::sql(
    "begins",
    "SELECT rank, offset_ns FROM ranks WHERE offset_ns IS NOT NULL ORDER BY rank",
)
.optional();
const MISSING: Input = Input::sql(
    "missing",
    "SELECT text FROM problems WHERE code = 'rank_missing'",
)
.optional();

pub const INPUTS: [Input; 8] = [
    Window::INPUT,
    MEETINGS,
    RANKS,
    BEGINS,
    MISSING,
    Input::sql(
        "kernels",
        "SELECT k.id AS id, k.name AS name, k.device AS device, k.stream AS stream, k.start_ns AS start_ns, \
         k.dur_ns AS dur_ns, b.iteration AS step, c.start_ns AS called_ns \
         FROM kernels AS k LEFT JOIN bricks AS b ON k.brick = b.id LEFT JOIN calls AS c ON k.correlation = c.correlation \
         WHERE k.device IS NOT NULL AND k.valid AND k.timing <> 'bound' ORDER BY start_ns, id, called_ns",
    )
    .optional(),
    Input::sql(
        "stated",
        "SELECT kernel, operation FROM collectives WHERE kernel IS NOT NULL",
    )
    .optional(),
    Input::sql(
        "micro_batches",
        "SELECT span, integer AS micro_batch FROM attributes WHERE name = 'micro_batch'",
    )
    .optional(),
];

pub const MERGE_INPUTS: [Input; 6] = [
    Input::sql(
        "operations",
        "SELECT rank, lane, name, is_communication, is_send, step, micro_batch, start_ns, end_ns, busy_ns, kernels, id \
         FROM stragglers.operations ORDER BY rank, start_ns, id",
    ),
    Window::INPUT,
    MEETINGS,
    RANKS,
    BEGINS,
    MISSING,
];

pub const COMPUTATION: &str = "computation";
/// Times at most this far apart count as equal.
pub const SAME_NS: i64 = 20_000;

table_row! {
    struct OperationRow<'a> {
        rank: u64,
        lane: u64,
        name: &'a str,
        is_communication: bool,
        is_send: Option<bool>,
        step: Option<u64>,
        micro_batch: Option<i64>,
        start_ns: i64,
        end_ns: i64,
        busy_ns: i64,
        kernels: u64,
        id: u64,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Send,
    Receive,
}

impl Direction {
    fn of(operation: Operation) -> Option<Self> {
        match operation {
            Operation::Send => Some(Self::Send),
            Operation::Recv => Some(Self::Receive),
            _ => None,
        }
    }
}

/// An operation of one rank: a kernel, or the joined computing kernels between two communications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub rank: u32,
    /// Device and stream.
    pub lane: u64,
    pub name: u32,
    pub is_communication: bool,
    /// Of a send or receive, if the program states it.
    pub direction: Option<Direction>,
    pub step: Option<u64>,
    pub micro_batch: Option<i64>,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Time in which its kernels ran.
    pub busy_ns: i64,
    pub kernels: u64,
    /// Row of its first kernel.
    pub id: u64,
}

/// Operations of one rank or of several, sorted by rank and start.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub rows: Vec<Row>,
    pub names: Texts,
}

impl Rows {
    /// Reads the kernels of a run.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let window = Window::read(run)?;
        let stated = run.table("stated")?;
        let (kernel, operation) = (stated.u64("kernel")?, stated.text("operation")?);
        let direction = |row: usize| {
            let operation = operation.get(row).and_then(Operation::parse);
            Some((kernel.get(row)?, operation.and_then(Direction::of)))
        };
        let stated: BTreeMap<u64, Option<Direction>> =
            (0..stated.rows()).filter_map(direction).collect();
        let table = run.table("micro_batches")?;
        let (span, number) = (table.u64("span")?, table.i64("micro_batch")?);
        let micro_batches: BTreeMap<u64, i64> = (0..table.rows())
            .filter_map(|row| span.get(row).zip(number.get(row)))
            .collect();
        let table = run.table("kernels")?;
        let (id, name) = (table.u64("id")?, table.text("name")?);
        let (device, stream) = (table.i64("device")?, table.i64("stream")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let (step, called) = (table.u64("step")?, table.i64("called_ns")?);
        let mut out = Self::default();
        let mut launches: BTreeMap<u64, i64> = BTreeMap::new();
        let mut communicates: Vec<bool> = Vec::new();
        let row = |row: usize| {
            let (start_ns, dur_ns) = (start.get(row)?, dur.get(row)?.max(0));
            let (id, name) = (id.get(row)?, name.get(row)?);
            let (_, device) = of_place(device.get(row)?);
            Some((id, name, device, start_ns, dur_ns, row))
        };
        for (id, name, device, start_ns, dur_ns, row) in (0..table.rows()).filter_map(row) {
            if window.is_some_and(|window| !window.has(start_ns)) {
                continue;
            }
            // A kernel has a row for each call of its number.
            if out.rows.last().is_some_and(|last| last.id == id) {
                continue;
            }
            launches.extend(called.get(row).map(|called_ns| (id, called_ns)));
            let number = out.names.number(name);
            if number as usize == communicates.len() {
                communicates.push(Operation::of_kernel(name).is_some());
            }
            let stream = stream
                .get(row)
                .map_or(0, |stream| stream.cast_unsigned().wrapping_add(1));
            out.rows.push(Row {
                rank: of_key(id) as u32,
                lane: device.cast_unsigned() << 32 | stream & 0xFFFF_FFFF,
                name: number,
                is_communication: communicates[number as usize] || stated.contains_key(&id),
                direction: stated.get(&id).copied().flatten(),
                step: step.get(row),
                micro_batch: micro_batches.get(&id).copied(),
                start_ns,
                end_ns: start_ns.saturating_add(dur_ns),
                busy_ns: dur_ns,
                kernels: 1,
                id,
            });
        }
        out.rows.sort_by_key(|row| (row.rank, row.start_ns, row.id));
        out.join(&launches);
        Ok(out)
    }

    /// Joins computing kernels of a lane if no communication of their rank lies between them. That leaves some
    /// thousand operations of a job with millions of kernels. What lies between is decided by the order of
    /// launches, which is the same on all ranks of a stage, or by device times if launches were not recorded.
    /// If a rank states micro batches, its operations are not joined.
    fn join(&mut self, launches: &BTreeMap<u64, i64>) {
        let computation = self.names.number(COMPUTATION);
        let mut joined = Vec::new();
        for of_rank in self.rows.chunk_by(|a, b| a.rank == b.rank) {
            if of_rank.iter().any(|row| row.micro_batch.is_some()) {
                joined.extend_from_slice(of_rank);
                continue;
            }
            let ends = |of: fn(&Row) -> i64| {
                let all = of_rank.iter().filter(|row| row.is_communication);
                let mut all: Vec<i64> = all.map(of).collect();
                all.sort_unstable();
                all
            };
            let (starts, ends) = (ends(|row| row.start_ns), ends(|row| row.end_ns));
            let between = |all: &[i64], from_ns: i64, to_ns: i64| {
                let at = all.partition_point(|ns| *ns <= from_ns);
                all.get(at).is_some_and(|ns| *ns <= to_ns)
            };
            let launched = launches_of_communication(of_rank, launches);
            let mut open: BTreeMap<u64, usize> = BTreeMap::new();
            let mut last: BTreeMap<u64, &Row> = BTreeMap::new();
            for row in of_rank {
                if row.is_communication {
                    open.remove(&row.lane);
                    joined.push(*row);
                    continue;
                }
                let before = open
                    .get(&row.lane)
                    .copied()
                    .zip(last.get(&row.lane).copied());
                let is_apart = |last: &Row| match &launched {
                    Some(all) => {
                        let launches_before =
                            |row: &Row| all.partition_point(|ns| *ns < launches[&row.id]);
                        launches_before(last) != launches_before(row)
                            || between(&ends, last.end_ns, row.start_ns.saturating_add(SAME_NS))
                    }
                    None => {
                        between(
                            &starts,
                            last.end_ns.saturating_sub(SAME_NS),
                            row.end_ns.saturating_sub(SAME_NS),
                        ) || between(&ends, last.start_ns, row.start_ns.saturating_add(SAME_NS))
                    }
                };
                match before.filter(|(_, last)| last.step == row.step && !is_apart(last)) {
                    Some((at, _)) => {
                        let earlier: &mut Row = &mut joined[at];
                        earlier.end_ns = earlier.end_ns.max(row.end_ns);
                        earlier.busy_ns = earlier.busy_ns.saturating_add(row.busy_ns);
                        earlier.kernels += row.kernels;
                    }
                    None => {
                        open.insert(row.lane, joined.len());
                        joined.push(Row {
                            name: computation,
                            ..*row
                        });
                    }
                }
                last.insert(row.lane, row);
            }
        }
        self.rows = joined;
    }

    /// Emits a part.
    ///
    /// # Errors
    /// The host refuses the table.
    pub fn emit(&self, run: &mut Run) -> Result<()> {
        let rows = self.rows.iter().map(|row| OperationRow {
            rank: u64::from(row.rank),
            lane: row.lane,
            name: self.names.text(row.name),
            is_communication: row.is_communication,
            is_send: row.direction.map(|of| of == Direction::Send),
            step: row.step,
            micro_batch: row.micro_batch,
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            busy_ns: row.busy_ns,
            kernels: row.kernels,
            id: row.id,
        });
        run.emit(Table::build("operations").rows(rows))
    }

    /// Reads all parts there are.
    ///
    /// # Errors
    /// An input lacks a column, or has it in another type or null.
    pub fn read_parts(run: &mut Run) -> Result<Self> {
        let mut out = Self::default();
        for row in run.table("operations")?.read::<OperationRow>()? {
            let row = row?;
            let rank = u32::try_from(row.rank);
            out.rows.push(Row {
                rank: rank.map_err(|_| Error::bad_input("a rank of a part is too large"))?,
                lane: row.lane,
                name: out.names.number(row.name),
                is_communication: row.is_communication,
                direction: row.is_send.map(|is_send| {
                    if is_send {
                        Direction::Send
                    } else {
                        Direction::Receive
                    }
                }),
                step: row.step,
                micro_batch: row.micro_batch,
                start_ns: row.start_ns,
                end_ns: row.end_ns,
                busy_ns: row.busy_ns,
                kernels: row.kernels,
                id: row.id,
            });
        }
        out.rows.sort_by_key(|row| (row.rank, row.start_ns, row.id));
        Ok(out)
    }
}

/// Launch times of a rank's communication, sorted. `None` if the launch of a kernel is unknown, or if one call
/// launched both communication and computing.
fn launches_of_communication(of_rank: &[Row], launches: &BTreeMap<u64, i64>) -> Option<Vec<i64>> {
    let mut out = BTreeSet::new();
    for row in of_rank.iter().filter(|row| row.is_communication) {
        out.insert(*launches.get(&row.id)?);
    }
    let mut computing = of_rank.iter().filter(|row| !row.is_communication);
    let is_apart = computing.all(|row| {
        let called_ns = launches.get(&row.id);
        called_ns.is_some_and(|called_ns| !out.contains(called_ns))
    });
    is_apart.then(|| out.into_iter().collect())
}
