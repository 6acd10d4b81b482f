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
pub mod launch;
pub mod operations;
pub mod queue;
pub mod tables;

use serde::Deserialize;
use trueno_analysis::steps;
use trueno_plugin::{Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Device;

/// Options of the plugin.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Rows of `gaps`, the longest.
    pub gap_rows: usize,
    /// Iterations in `exposure_by_step`, the first.
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
        let loaded = operations::Loaded::load(run)?;
        run.check_cancelled()?;
        if loaded.operations.is_empty() && loaded.left_out == 0 {
            return Ok(()); // A run of the host alone.
        }
        let scopes = exposure::scopes(&loaded);
        let mut steps = steps::read(run, loaded.window)?;
        let all_steps = steps.len();
        steps.truncate(options.steps);
        let places = idle::places(&loaded);
        let names = launch::by_name(&loaded);
        run.emit(exposure_tables::exposure(&scopes))?;
        run.emit(tables::idle(&places))?;
        run.emit(tables::launches(&loaded, &names))?;
        run.emit(tables::gaps(&loaded, &places, options.gap_rows))?;
        if loaded.names.iter().any(|name| name.is_transfer) {
            run.emit(exposure_tables::copies_by_direction(&loaded))?;
        }
        if !steps.is_empty() {
            run.emit(exposure_tables::by_step(&steps, &scopes))?;
        }
        if steps.len() < all_steps {
            run.finding(findings::steps_left_out(steps.len(), all_steps))?;
        }
        for finding in findings::findings(&loaded, &places) {
            run.finding(finding)?;
        }
        Ok(())
    }
}

export!(Device);
