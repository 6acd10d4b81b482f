//! Queries over the run.

use std::collections::BTreeMap;

use trueno_analysis::collectives::Recorded;
use trueno_analysis::{lanes, steps};
use trueno_plugin::{Input, Result, Run};

const STATED: Input = Input::sql("stated", "SELECT COUNT(*) AS n FROM collectives").optional();
/// Dumps of PyTorch's Flight Recorder, as the importer writes them: entries, and process groups.
pub const FLIGHT: Input = Input::sql(
    "flight",
    "SELECT name, thread, time_ns, arguments FROM annotations WHERE kind = 'instant' AND \
     (arguments LIKE '{\"collective_seq_id\":%' OR arguments LIKE '{\"process_group\":%') \
     ORDER BY thread, time_ns, arguments",
)
.optional();
pub const MISSING: Input = Input::sql(
    "missing",
    "SELECT code FROM problems WHERE code = 'rank_missing'",
)
.optional();
pub const JOB: Input = Input::sql("job", "SELECT rank FROM ranks ORDER BY rank").optional();
/// Iterations of kernels that state their collective, and of calls that do.
pub const ITERATIONS_OF_KERNELS: Input = Input::sql(
    "iterations_of_kernels",
    "SELECT k.id AS id, b.iteration AS iteration FROM kernels k JOIN bricks b ON b.id = k.brick \
     WHERE b.iteration IS NOT NULL AND k.id IN (SELECT kernel FROM collectives) ORDER BY k.id",
)
.optional();
pub const ITERATIONS_OF_CALLS: Input = Input::sql(
    "iterations_of_calls",
    "SELECT id, iteration FROM bricks \
     WHERE iteration IS NOT NULL AND id IN (SELECT span FROM collectives) ORDER BY id",
)
.optional();
pub const BEGINS: Input = Input::sql(
    "begins",
    "SELECT rank, offset_ns FROM ranks WHERE offset_ns IS NOT NULL ORDER BY rank",
)
.optional();

/// Collectives that programs state, the device work begun in their calls (directly or one brick deeper), and device
/// work in ranges that PyTorch names after a collective, also around a call of NCCL.
const OWN: [Input; 13] = [
    FLIGHT,
    STATED,
    MISSING,
    JOB,
    BEGINS,
    Input::sql(
        "collectives",
        "SELECT span, kernel, time_ns, dur_ns, communicator, sequence, operation, element_type, elements_in, \
         elements_out, group_size, group_ranks, peer FROM collectives ORDER BY time_ns, span, kernel",
    )
    .optional(),
    Input::sql(
        "kernels_of_calls",
        "SELECT id, brick FROM kernels WHERE device IS NOT NULL AND brick IN (SELECT span FROM collectives) ORDER BY id",
    )
    .optional(),
    Input::sql(
        "kernels_below_calls",
        "SELECT k.id AS id, b.parent AS brick FROM kernels k JOIN bricks b ON b.id = k.brick WHERE k.device IS NOT NULL \
         AND b.parent IN (SELECT span FROM collectives) ORDER BY k.id",
    )
    .optional(),
    ITERATIONS_OF_KERNELS,
    ITERATIONS_OF_CALLS,
    Input::sql(
        "ranges_of_kernels",
        "SELECT k.id AS id, b.name AS name, b.start_ns AS start_ns FROM kernels k JOIN bricks b ON b.id = k.brick WHERE k.device IS NOT NULL \
         AND b.name LIKE 'nccl:%' ORDER BY k.id",
    )
    .optional(),
    Input::sql(
        "ranges_around_calls",
        "SELECT k.id AS id, p.name AS name, p.start_ns AS start_ns FROM kernels k JOIN bricks b ON b.id = k.brick \
         JOIN bricks p ON p.id = b.parent WHERE k.device IS NOT NULL AND p.name LIKE 'nccl:%' ORDER BY k.id",
    )
    .optional(),
    steps::INPUT,
];

pub const INPUTS: [Input; OWN.len() + lanes::INPUTS.len()] = {
    let mut all = [OWN[0]; OWN.len() + lanes::INPUTS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OWN.len() {
            OWN[at]
        } else {
            lanes::INPUTS[at - OWN.len()]
        };
        at += 1;
    }
    all
};

/// Number of collectives that programs state.
///
/// An input can be read once: [`stated`] gives this value, and those that need the number take it.
pub struct StatedCount(pub u64);

/// Counts the collectives that programs state.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn stated(run: &mut Run) -> Result<StatedCount> {
    let table = run.table(STATED.name())?;
    if table.rows() == 0 {
        return Ok(StatedCount(0));
    }
    let rows = table.i64("n")?.iter().flatten().next();
    let count = rows.and_then(|rows| u64::try_from(rows).ok());
    Ok(StatedCount(count.unwrap_or(0)))
}

/// When the recording of each rank began, on the run's timeline.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn begins(run: &mut Run) -> Result<BTreeMap<u32, i64>> {
    let table = run.table(BEGINS.name())?;
    let (rank, offset) = (table.u64("rank")?, table.i64("offset_ns")?);
    let begin = |row: usize| Some((u32::try_from(rank.get(row)?).ok()?, offset.get(row)?));
    Ok((0..table.rows()).filter_map(begin).collect())
}

/// The ranks of the job that were recorded.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn recorded(run: &mut Run) -> Result<Recorded> {
    let job = run.table(JOB.name())?;
    let ranks = job.u64("rank")?;
    let ranks = ranks.iter().flatten();
    Ok(Recorded {
        ranks: ranks.filter_map(|rank| u32::try_from(rank).ok()).collect(),
        is_whole: run.table(MISSING.name())?.rows() == 0,
    })
}
