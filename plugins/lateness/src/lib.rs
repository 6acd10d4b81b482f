//! Reasons why ranks come last in collectives: more of something than the others since the collective before.
//!
//! Plugin `collectives` says between which times: from leaving the collective that all ranks of this one were in, to
//! arriving here (`collectives.stretches`). How each rank spent them is [measured](usage) by its own clock, and
//! [`cause`] compares the last with the others.

pub mod cause;
pub mod over_ranks;
pub mod tables;
pub mod usage;

use trueno_analysis::lanes;
use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

pub struct Lateness;

const INPUTS: [Input; lanes::INPUTS.len() + 2] = {
    let mut all = [usage::STRETCHES; lanes::INPUTS.len() + 2];
    let mut at = 0;
    while at < lanes::INPUTS.len() {
        all[at] = lanes::INPUTS[at];
        at += 1;
    }
    all[at] = over_ranks::PIPELINE;
    all
};

impl Plugin for Lateness {
    const ID: &'static str = "lateness";
    const SUMMARY: &'static str =
        "Why ranks arrive last at collectives: what they spent more time on than the others.";
    const INPUTS: &'static [Input] = &INPUTS;
    type Options = ();

    fn run(run: &mut Run, _options: ()) -> Result<()> {
        let usages = usage::Usages::read(run)?;
        emit(run, usages)
    }
}

impl Parts for Lateness {
    const MERGE_INPUTS: &'static [Input] = &over_ranks::MERGE_INPUTS;

    fn part(run: &mut Run, _options: ()) -> Result<()> {
        let usages = usage::Usages::read(run)?;
        over_ranks::emit(run, &usages)
    }

    fn merge(run: &mut Run, _options: ()) -> Result<()> {
        let usages = over_ranks::read(run)?;
        if run.is_final() {
            emit(run, usages)
        } else {
            over_ranks::emit(run, &usages)
        }
    }
}

fn emit(run: &mut Run, usages: usage::Usages) -> Result<()> {
    let explained = cause::explain(usages);
    if explained.is_empty() {
        return Ok(());
    }
    let causes = tables::Causes::new(&explained);
    run.emit(causes.table())?;
    run.emit(tables::explained(&explained))?;
    // Stages of a pipeline wait for each other by design: plugin `stragglers` tells what is lost.
    let is_pipeline = run.table(over_ranks::PIPELINE.name())?.rows() > 0;
    if let Some(finding) = causes.finding().filter(|_| !is_pipeline) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Lateness, parts, as trueno_plugin_v1_lateness);
