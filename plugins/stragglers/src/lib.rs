//! What slows a job of several ranks down: a pipeline stage, a rank, a host, a link, the lengths of sequences.
//!
//! Each rank records its operations. [`rows`] gathers them, [`job`] gives each rank its place in the job, and [`graph`]
//! joins operations by the order of their lanes and by the collectives, sends and receives that ranks took part in. A
//! graph can be *re-timed*: with other durations, when would each operation end? [`effects`] says which ranks, stages and
//! micro batches take longer than their peers, [`what_if`] re-times the job without each of these, and [`causes`] orders
//! what was found by what it costs.
//!
//! The method is that of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025).

pub mod causes;
pub mod effects;
pub mod findings;
pub mod graph;
pub mod job;
pub mod parallel;
pub mod rows;
pub mod schedule;
pub mod tables;
pub mod what_if;

use serde::Deserialize;
use trueno_plugin::{Chart, Input, Parts, Plugin, Result, Run, export};

use crate::effects::Effects;
use crate::graph::Graph;
use crate::job::Job;
use crate::parallel::Parallel;
use crate::rows::Rows;
use crate::what_if::WhatIf;

pub struct Stragglers;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// A cause must cost at least this share of a step.
    pub min_gain_share: f64,
    /// Maximum number of ranks that are re-timed one by one, those with the largest excess first.
    pub retimed_ranks: usize,
    /// Degrees of parallelism, as in `dp=4,tp=8,pp=2`. If `None`, they are inferred from groups and sends.
    pub parallel: Option<Parallel>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_gain_share: 0.01,
            retimed_ranks: 32,
            parallel: None,
        }
    }
}

impl Plugin for Stragglers {
    const ID: &'static str = "stragglers";
    const SUMMARY: &'static str = "What slows a job of several ranks down: stage, rank, host, link or sequence lengths, by re-timing.";
    const INPUTS: &'static [Input] = &rows::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let rows = Rows::read(run)?;
        emit(run, rows, options)
    }
}

impl Parts for Stragglers {
    const MERGE_INPUTS: &'static [Input] = &rows::MERGE_INPUTS;

    fn part(run: &mut Run, _options: Options) -> Result<()> {
        Rows::read(run)?.emit(run)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let rows = Rows::read_parts(run)?;
        if run.is_final() {
            emit(run, rows, options)
        } else {
            rows.emit(run)
        }
    }
}

fn emit(run: &mut Run, rows: Rows, options: Options) -> Result<()> {
    let Some(job) = Job::read(run, rows, options.parallel)? else {
        return Ok(());
    };
    run.check_cancelled()?;
    let Some(graph) = Graph::new(&job) else {
        return run.finding(findings::no_order());
    };
    let effects = Effects::new(&job, &graph);
    run.check_cancelled()?;
    let what_if = WhatIf::new(&job, &graph, &effects, options);
    let causes = causes::causes(&job, &effects, &what_if, options);
    run.emit(tables::causes(&causes))?;
    run.emit(tables::what_if(&job, &what_if))?;
    run.emit(tables::job(&job, &what_if))?;
    run.emit(tables::by_rank(&job, &effects))?;
    if job.stages() > 1 {
        run.emit(tables::by_stage(&job, &effects))?;
    }
    if job.steps.len() > 1 {
        run.emit(tables::by_step(&job, &effects, &what_if))?;
        let title = "Work of ranks against their peers, by step";
        run.chart(Chart::heatmap(
            title,
            "by_step",
            "step",
            "rank",
            "excess_share",
        ))?;
    }
    for finding in findings::findings(&job, &what_if, &causes) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Stragglers, parts, as trueno_plugin_v1_stragglers);
