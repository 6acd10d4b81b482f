//! Iterations: when the program settled, what an iteration takes from then on, which ones fell out
//! and through what, and the work per second that the program declares.
//!
//! A *series* is the iterations of one thread, by time; where the report is about a part of the run, those
//! that lie whole in it. Rates of tokens and samples come only from
//! counters of that name on the row of an iteration; `elements` of bricks say nothing about tokens.

pub mod declared;
pub mod findings;
pub mod inputs;
pub mod outlier_cause;
pub mod self_times;
pub mod series;
pub mod statistics;
pub mod tables;
pub mod warm_up;

use serde::Deserialize;
use trueno_plugin::{Chart, Input, Plugin, Result, Run, export};

/// The plugin.
pub struct Throughput;

/// Options of the plugin.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Iterations whose median must be near the later median for the series to have settled.
    pub window: u64,
    /// Largest distance from it, as a share.
    pub tolerance: f64,
    /// Median absolute deviations from the median on which an iteration is an outlier.
    pub mads: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            window: 5,
            tolerance: 0.1,
            mads: 5.0,
        }
    }
}

impl Plugin for Throughput {
    const ID: &'static str = "throughput";
    const SUMMARY: &'static str = "Iterations: warm-up, steady state, outliers, work per second.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let loaded = series::Loaded::load(run)?;
        if loaded.series.is_empty() {
            return run.finding(findings::nothing_recorded(&loaded));
        }
        let declared = declared::Declared::load(run, &loaded.ids)?;
        let names = self_times::load(run)?;
        let mut results = Vec::with_capacity(loaded.series.len());
        for series in &loaded.series {
            run.check_cancelled()?;
            results.push(tables::Result::judge(series, &declared, &names, &options));
        }
        run.emit(tables::summary(&results))?;
        run.emit(tables::iterations(&results))?;
        for finding in findings::findings(&loaded, &results, &declared, &options) {
            run.finding(finding)?;
        }
        run.chart(
            Chart::line("wall time of iterations", "iterations", "number", "wall_ns")
                .series("series")
                .label("outlier")
                .axes("iteration", "wall time"),
        )
    }
}

export!(Throughput);
