//! Time of devices: what kind of work they did and what of it was exposed, how long it took from the host's call to
//! the work, how long work stood in its stream's queue, and when a device did nothing and why.
//!
//! An *operation* is a kernel or a transfer of a device, with the device's own times. Its *call* is the outermost row of
//! `calls` of its correlation. All figures are differences of recorded times; what has no call, or times that only
//! contain the work, is counted and is part of nothing else.

pub mod exposure;
pub mod exposure_tables;
pub mod findings;
pub mod idle;
pub mod inputs;
pub mod kernels;
pub mod launch;
pub mod occupancy;
pub mod operations;
pub mod parts;
pub mod queue;
pub mod sums;
pub mod tables;

use serde::Deserialize;
use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use crate::sums::Sums;

pub struct Device;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub gap_rows: usize,
    pub steps: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            gap_rows: 20,
            steps: 1_000,
        }
    }
}

impl Plugin for Device {
    const ID: &'static str = "device";
    const SUMMARY: &'static str = "What devices did and waited for: computation, exposed communication and copies, launches, idle time.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let sums = Sums::from_rows(run, &options)?;
        emit(run, &sums)
    }
}

impl Parts for Device {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, options: Options) -> Result<()> {
        let sums = Sums::from_rows(run, &options)?;
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let sums = parts::read(run, &options)?;
        if run.is_final() {
            emit(run, &sums)
        } else {
            parts::emit(run, &sums)
        }
    }
}

fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    if sums.is_empty() {
        return Ok(()); // A run of the host alone.
    }
    run.emit(exposure_tables::exposure(&sums.scopes))?;
    run.emit(tables::idle(&sums.places))?;
    if !sums.kernels.is_empty() {
        run.emit(kernels::table(&sums.kernels))?;
    }
    run.emit(tables::launches(&sums.names))?;
    run.emit(tables::gaps(&sums.gaps))?;
    if !sums.copies.is_empty() {
        run.emit(exposure_tables::copies_by_direction(&sums.copies))?;
    }
    if !sums.steps.is_empty() {
        run.emit(exposure_tables::by_step(&sums.steps))?;
    }
    if (sums.steps.len() as u64) < sums.counts.steps {
        run.finding(findings::steps_left_out(
            sums.steps.len(),
            sums.counts.steps,
        ))?;
    }
    for finding in findings::findings(sums) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Device, parts, as trueno_plugin_v1_device);
