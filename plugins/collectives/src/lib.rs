//! Collective operations over the ranks of a job: which parts are one, who came last, why, and what that cost.
//!
//! A rank *arrives* when its part begins and *leaves* when it ends: its kernel on the device, or, where no device took
//! part, its call. Parts are matched by communicator and number ([`trueno_analysis::collectives`]), clocks of ranks are
//! compared by the collectives themselves ([`trueno_analysis::clock_offsets`]), and every figure across ranks carries the
//! uncertainty of that comparison: what is smaller than it cannot be told.

pub mod arrivals;
pub mod cause;
pub mod findings;
pub mod inputs;
pub mod parts;
pub mod segments;
pub mod steps;
pub mod tables;
pub mod totals;

use serde::Deserialize;
use trueno_plugin::{Chart, Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Collectives;

/// Options of the plugin.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Collectives whose last rank is looked into, those that others waited for longest.
    pub explained: usize,
    /// Bandwidth of the link between ranks, in bytes a second, that `bus_share` is of; 0: not given.
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
    const SUMMARY: &'static str =
        "Collectives of several ranks: who came last and why, clocks, bandwidth.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let Some(recorded) = inputs::recorded(run)? else {
            return Ok(());
        };
        let loaded = parts::Loaded::load(run, recorded)?;
        if loaded.parts.is_empty() {
            return Ok(());
        }
        run.check_cancelled()?;
        let job = arrivals::Job::compare(&loaded);
        let causes = cause::explain(&loaded, &job, options.explained);
        run.check_cancelled()?;
        let totals = totals::Totals::new(&loaded, &job, &causes);
        if !job.instances.is_empty() {
            run.emit(tables::by_rank(&loaded, &job, &totals))?;
            run.emit(tables::causes(&totals))?;
            run.emit(tables::waits(&totals))?;
        }
        run.emit(tables::by_operation(
            &loaded,
            &job,
            options.link_bytes_per_s,
        ))?;
        if loaded.recorded.ranks.len() > 1 && !job.matched.unmatched.is_empty() {
            run.emit(tables::unmatched(&loaded, &job))?;
        }
        let steps = steps::OfSteps::new(run, &loaded, &job)?;
        if !steps.rows.is_empty() {
            run.emit(steps.table())?;
        }
        if !job.instances.is_empty() {
            run.emit(tables::instances(&loaded, &job, &causes))?;
            run.emit(tables::arrivals(&loaded, &job))?;
        }
        for finding in findings::findings(&loaded, &job, &totals, &steps) {
            run.finding(finding)?;
        }
        if steps.rows.iter().filter(|row| row.told > 0).count() > 1 {
            let title = "Time that ranks waited for the last to come, by step";
            // Points: of the steps between nothing is told.
            run.chart(Chart::scatter(title, "by_step", "iteration", "waited_ns"))?;
        }
        if totals.waits.len() > 1 {
            let title = "Time that ranks waited (down) for the last to come (across)";
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
}

export!(Collectives);
