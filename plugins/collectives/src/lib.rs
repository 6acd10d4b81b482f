//! Collective operations over the ranks of a job: which parts are one, who came last, and what that cost.
//!
//! A rank *arrives* when its part begins and *leaves* when it ends: its kernel on the device, or, where no device took
//! part, its call. Parts are matched by communicator and number ([`trueno_analysis::collectives`]), clocks of ranks are
//! compared by the collectives themselves ([`trueno_analysis::clock_offsets`]), and every figure across ranks carries the
//! uncertainty of that comparison: smaller differences have no order.

pub mod arrivals;
pub mod clock_steps;
pub mod findings;
pub mod flight;
pub mod incomplete;
pub mod inputs;
pub mod over_ranks;
pub mod parts;
pub mod rows;
pub mod steps;
pub mod stretches;
pub mod tables;
pub mod totals;

use serde::Deserialize;
use trueno_plugin::{Chart, Input, Parts, Plugin, Result, Run, export};

use crate::arrivals::Job;
use crate::parts::Loaded;
use crate::rows::Rows;
use crate::steps::OfSteps;
use crate::totals::Totals;

pub struct Collectives;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Number of collectives that `stretches` covers, those with the longest waits.
    pub explained: usize,
    /// Bandwidth of the link between ranks in bytes per second, for `bus_share`; 0 if not set.
    pub link_bytes_per_s: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            explained: 300,
            link_bytes_per_s: 0.0,
        }
    }
}

impl Plugin for Collectives {
    const ID: &'static str = "collectives";
    const SUMMARY: &'static str = "Collectives of several ranks: which rank arrived last, who waited for whom, clocks, bandwidth.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let (job, stated) = (inputs::recorded(run)?, inputs::stated(run)?);
        let dumps = flight::Dumps::new(&flight::Instants::recorded(run)?, &job);
        incomplete::emit(run, &dumps)?;
        let begins = inputs::begins(run)?;
        // One rank that states no collectives has nothing to show.
        if job.ranks.len() < 2 && stated.0 == 0 {
            return Ok(());
        }
        let rows = Rows::read(run, stated)?;
        run.check_cancelled()?;
        emit(run, &Loaded::new(rows, job, begins), &options)
    }
}

impl Parts for Collectives {
    const MERGE_INPUTS: &'static [Input] = &over_ranks::MERGE_INPUTS;

    fn part(run: &mut Run, _options: Options) -> Result<()> {
        let instants = flight::Instants::recorded(run)?;
        run.emit(instants.table())?;
        let stated = inputs::stated(run)?;
        let rows = Rows::read(run, stated)?;
        over_ranks::emit(run, &rows)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let rows = over_ranks::read(run)?;
        let instants = flight::Instants::merged(run)?;
        if !run.is_final() {
            run.emit(instants.table())?;
            return over_ranks::emit(run, &rows);
        }
        let (job, begins) = (inputs::recorded(run)?, inputs::begins(run)?);
        incomplete::emit(run, &flight::Dumps::new(&instants, &job))?;
        if job.ranks.len() < 2 && rows.around.stated == 0 {
            return Ok(());
        }
        emit(run, &Loaded::new(rows, job, begins), &options)
    }
}

fn emit(run: &mut Run, loaded: &Loaded, options: &Options) -> Result<()> {
    if loaded.parts.is_empty() {
        return Ok(());
    }
    let job = Job::compare(loaded);
    run.check_cancelled()?;
    let totals = Totals::new(&job);
    if !job.instances.is_empty() {
        run.emit(tables::by_rank(loaded, &job, &totals))?;
        run.emit(tables::waits(&totals))?;
    }
    run.emit(tables::by_operation(loaded, &job, options.link_bytes_per_s))?;
    if loaded.recorded.ranks.len() > 1 && !job.matched.unmatched.is_empty() {
        run.emit(tables::unmatched(loaded, &job))?;
    }
    let steps = OfSteps::new(loaded, &job);
    if !steps.rows.is_empty() {
        run.emit(steps.table())?;
    }
    if !job.instances.is_empty() {
        run.emit(tables::instances(loaded, &job))?;
        run.emit(tables::arrivals(loaded, &job))?;
        let stretches = stretches::stretches(loaded, &job, options.explained);
        run.emit(stretches::table(loaded, &stretches))?;
    }
    for finding in findings::findings(loaded, &job, &totals, &steps) {
        run.finding(finding)?;
    }
    if steps.rows.iter().filter(|row| row.with_last > 0).count() > 1 {
        let title = "Time that ranks waited for the last rank, by step";
        // Points: nothing is known of the steps between.
        run.chart(Chart::scatter(title, "by_step", "iteration", "waited_ns"))?;
    }
    if totals.waits.len() > 1 {
        let title = "Time that ranks waited (rows) for the last rank (columns)";
        run.chart(Chart::heatmap(
            title,
            "waits",
            "last_rank",
            "waiting_rank",
            "waited_ns",
        ))?;
    }
    Ok(())
}

export!(Collectives, parts, as trueno_plugin_v1_collectives);
