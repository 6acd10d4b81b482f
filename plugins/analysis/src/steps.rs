//! Iterations of the program: training steps, decoded tokens.

use trueno_plugin::rank::of_key;
use trueno_plugin::{Input, Result, Run};

use crate::window::Window;

/// The query that [`read`] reads.
pub const INPUT: Input = Input::sql(
    "steps",
    "SELECT id, name, iteration, start_ns, dur_ns FROM bricks WHERE kind = 'iteration' AND timing <> 'bound'",
)
.optional();

/// One iteration on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// As the program called it.
    pub name: String,
    /// Its number, where that was recorded.
    pub iteration: Option<u64>,
    /// Rank of the job.
    pub rank: i64,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// All iterations that begin in the window, in order of start.
///
/// # Errors
/// The input lacks a column or has it in another type.
pub fn read(run: &mut Run, window: Option<Window>) -> Result<Vec<Step>> {
    let table = run.table("steps")?;
    let (id, name) = (table.u64("id")?, table.text("name")?);
    let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
    let iteration = table.u64("iteration")?;
    let step = |row: usize| {
        let start_ns = start.get(row)?;
        let dur_ns = dur.get(row).filter(|dur_ns| *dur_ns >= 0)?;
        Some(Step {
            name: name.get(row)?.to_owned(),
            iteration: iteration.get(row),
            rank: of_key(id.get(row)?).cast_signed(),
            start_ns,
            end_ns: start_ns.saturating_add(dur_ns),
        })
    };
    let mut steps: Vec<Step> = (0..table.rows())
        .filter_map(step)
        .filter(|step| window.is_none_or(|window| window.has(step.start_ns)))
        .collect();
    steps.sort_by(|a, b| (a.start_ns, a.end_ns, &a.name).cmp(&(b.start_ns, b.end_ns, &b.name)));
    Ok(steps)
}
