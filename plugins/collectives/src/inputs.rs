//! Queries over the run.

use std::collections::BTreeSet;

use trueno_analysis::collectives::Recorded;
use trueno_analysis::{lanes, steps};
use trueno_plugin::{Input, Result, Run};

/// Statements of programs about collectives, the device work that was begun in their calls, directly or one brick deeper,
/// and that in ranges that PyTorch names after a collective, also around a call of NCCL.
const OWN: [Input; 9] = [
    Input::sql("stated", "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM collectives").optional(),
    Input::sql("missing", "SELECT code FROM problems WHERE code = 'rank_missing'").optional(),
    Input::sql("job", "SELECT rank FROM ranks ORDER BY rank").optional(),
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

/// Inputs of the plugin: those of lanes, and its own.
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

/// The ranks of the job that were recorded; `None`: there is one and it states no collectives, so that nothing is to be told.
///
/// # Errors
/// An input cannot be read.
pub fn recorded(run: &mut Run) -> Result<Option<Recorded>> {
    let (stated, job) = (run.table("stated")?, run.table("job")?);
    let rows = stated
        .i64("n")
        .map(|n| n.iter().flatten().next().unwrap_or(0));
    let ranks = job.u64("rank")?;
    let ranks: BTreeSet<u32> = ranks
        .iter()
        .flatten()
        .filter_map(|rank| u32::try_from(rank).ok())
        .collect();
    let is_any = ranks.len() > 1 || rows.is_ok_and(|rows| rows > 0);
    let is_whole = run.table("missing")?.rows() == 0;
    Ok(is_any.then_some(Recorded { ranks, is_whole }))
}
