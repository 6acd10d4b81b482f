//! Counters: of the CPU around bricks, and whatever else was read over time.
//!
//! A count that is missing has no figure: a rate is of those calls for which both of its counts are there.

pub mod bricks;
pub mod inputs;
pub mod load;
pub mod parts;
pub mod sums;
pub mod values;

use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use crate::sums::Sums;

pub struct Counters;

impl Plugin for Counters {
    const ID: &'static str = "counters";
    const SUMMARY: &'static str = "Cycles, instructions, caches and CPU time by brick, where they were counted; values over time.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = ();

    fn run(run: &mut Run, _options: ()) -> Result<()> {
        let sums = load::load(run)?;
        emit(run, &sums)
    }
}

impl Parts for Counters {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, _options: ()) -> Result<()> {
        let sums = load::load(run)?;
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, _options: ()) -> Result<()> {
        let sums = parts::read(run)?;
        if run.is_final() {
            emit(run, &sums)
        } else {
            parts::emit(run, &sums)
        }
    }
}

fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    if !sums.bricks.is_empty() {
        run.emit(bricks::table(&sums.bricks))?;
    }
    if !sums.values.is_empty() {
        run.emit(values::table(&sums.values))?;
    }
    Ok(())
}

export!(Counters, parts, as trueno_plugin_v1_counters);
