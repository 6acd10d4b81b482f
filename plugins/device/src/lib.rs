//! Waits of devices: how long it took from the host's call to the work, how long work stood in its stream's
//! queue, and when a device did nothing and why.
//!
//! An *operation* is a kernel or a transfer of a device, with the device's own times. Its *call* is the outermost row of
//! `calls` of its correlation. All figures are differences of recorded times; what has no call, or times that only
//! contain the work, is counted and is part of nothing else.

pub mod findings;
pub mod idle;
pub mod inputs;
pub mod launch;
pub mod operations;
pub mod queue;
pub mod tables;

use serde::Deserialize;
use trueno_plugin::{Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Device;

/// Options of the plugin.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Rows of `gaps`, the longest.
    pub gap_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { gap_rows: 20 }
    }
}

impl Plugin for Device {
    const ID: &'static str = "device";
    const SUMMARY: &'static str =
        "What devices waited for: launches, queues, idle time and its cause.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let loaded = operations::Loaded::load(run)?;
        run.check_cancelled()?;
        if loaded.operations.is_empty() && loaded.left_out == 0 {
            return Ok(()); // A run of the host alone.
        }
        let places = idle::places(&loaded);
        let names = launch::by_name(&loaded);
        run.emit(tables::idle(&places))?;
        run.emit(tables::launches(&loaded, &names))?;
        run.emit(tables::gaps(&loaded, &places, options.gap_rows))?;
        for finding in findings::findings(&loaded, &places) {
            run.finding(finding)?;
        }
        Ok(())
    }
}

export!(Device);
