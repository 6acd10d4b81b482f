//! Ranks in collectives, as the plugin `collectives` matched them and put them on one clock.

use trueno_plugin::{Result, Run};

/// Largest relative error between re-timed and recorded steps at which re-timing is trusted.
const MAX_ERROR: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub instance: u64,
    pub rank: u64,
    pub id: u64,
    pub arrive_ns: i64,
    pub leave_ns: i64,
    /// Time it waited for the last rank; `None`: the last rank is unknown.
    pub waited_ns: Option<i64>,
    /// The last rank to arrive; `None`: unknown.
    pub last: Option<u64>,
    /// No communicator was recorded, so the collective was matched by names and order.
    pub is_inferred: bool,
}

#[derive(Debug, Default)]
pub struct Ranks {
    pub arrivals: Vec<Arrival>,
    /// Rank, cause and the name that contributes most; longest waits first.
    pub causes: Vec<(u64, String, Option<String>)>,
    pub is_pipeline: bool,
    /// Re-timing reproduces the recorded steps, so its gains can be used.
    pub is_retimed: bool,
    /// Re-timed gain if no transfer took time.
    pub without_transfers_ns: Option<i64>,
    /// Re-timed gain if all ranks of a stage took equally long.
    pub alike_ns: Option<i64>,
    pub job_causes: Vec<JobCause>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCause {
    pub name: String,
    pub gain_ns: i64,
    pub detail: String,
    pub fix: String,
    pub suggestion: String,
}

impl Ranks {
    /// Reads the inputs.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let table = run.table("arrivals")?;
        let (instance, rank) = (table.u64("instance")?, table.u64("rank")?);
        let (id, last) = (table.u64("id")?, table.u64("last_rank")?);
        let (arrive, dur) = (table.i64("arrive_ns")?, table.i64("dur_ns")?);
        let (waited, inferred) = (table.i64("waited_ns")?, table.bool("inferred")?);
        let row = |row: usize| {
            let arrive_ns = arrive.get(row)?;
            Some(Arrival {
                instance: instance.get(row)?,
                rank: rank.get(row)?,
                id: id.get(row)?,
                arrive_ns,
                leave_ns: arrive_ns.saturating_add(dur.get(row)?.max(0)),
                waited_ns: waited.get(row),
                last: last.get(row),
                is_inferred: inferred.get(row) == Some(true),
            })
        };
        let arrivals = (0..table.rows()).filter_map(row).collect();
        let table = run.table("late_causes")?;
        let (rank, cause, name) = (
            table.u64("rank")?,
            table.text("cause")?,
            table.text("name")?,
        );
        let cause = |row: usize| {
            let name = name.get(row).map(str::to_owned);
            Some((rank.get(row)?, cause.get(row)?.to_owned(), name))
        };
        let causes = (0..table.rows()).filter_map(cause).collect();
        let table = run.table("retimed_job")?;
        let (stages, step) = (table.u64("stages")?, table.i64("step_ns")?);
        let retimed = table.i64("retimed_ns")?;
        let is_near = |row: usize| {
            let (step_ns, retimed_ns) = (step.get(row)? as f64, retimed.get(row)? as f64);
            Some((retimed_ns - step_ns).abs() <= MAX_ERROR * step_ns)
        };
        let without = run.table("retimed_without")?;
        let (scope, gain) = (without.text("scope")?, without.i64("gain_ns")?);
        let gain_ns = |name: &str| {
            let row = (0..without.rows()).find(|row| scope.get(*row) == Some(name));
            gain.get(row?)
        };
        Ok(Self {
            is_retimed: table.rows() > 0 && is_near(0) == Some(true),
            without_transfers_ns: gain_ns("transfers"),
            alike_ns: gain_ns("ranks"),
            arrivals,
            causes,
            is_pipeline: (0..table.rows()).any(|row| stages.get(row) > Some(1)),
            job_causes: job_causes(run)?,
        })
    }
}

fn job_causes(run: &mut Run) -> Result<Vec<JobCause>> {
    let table = run.table("job_causes")?;
    let (name, gain) = (table.text("name")?, table.i64("gain_ns")?);
    let (detail, fix) = (table.text("detail")?, table.text("fix")?);
    let suggestion = table.text("suggestion")?;
    let cause = |row: usize| {
        Some(JobCause {
            name: name.get(row)?.to_owned(),
            gain_ns: gain.get(row)?,
            detail: detail.get(row)?.to_owned(),
            fix: fix.get(row)?.to_owned(),
            suggestion: suggestion.get(row)?.to_owned(),
        })
    };
    Ok((0..table.rows()).filter_map(cause).collect())
}
