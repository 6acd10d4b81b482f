//! Iterations: when the program settled, what an iteration takes from then on, which ones fell out
//! and through what, and the work per second that the program declares.
//!
//! A *series* is the iterations of one thread, by time; where the report is about a part of the run, those
//! that lie whole in it. Rates of tokens and samples come only from
//! counters of that name on the row of an iteration; `elements` of bricks say nothing about tokens.

pub mod analysis;
pub mod declared;
pub mod findings;
pub mod inputs;
pub mod outlier_cause;
pub mod parts;
pub mod self_times;
pub mod series;
pub mod statistics;
pub mod tables;
pub mod warm_up;

use serde::Deserialize;
use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use crate::analysis::Analysis;

pub struct Throughput;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Number of iterations whose median must be near the later median for the series to have settled.
    pub window: u64,
    /// Maximum distance between those medians, as a share.
    pub tolerance: f64,
    /// An iteration is an outlier from this many median absolute deviations on.
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
            return run.finding(findings::nothing_recorded(
                &loaded.left_out,
                loaded.producer,
            ));
        }
        Analysis::judge(run, &loaded, &options)?.emit(run, &options)
    }
}

impl Parts for Throughput {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, options: Options) -> Result<()> {
        let loaded = series::Loaded::load(run)?;
        let analysis = Analysis::judge(run, &loaded, &options)?;
        parts::emit(run, &analysis)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let analysis = parts::load(run)?;
        if run.is_final() {
            analysis.emit(run, &options)
        } else {
            parts::emit(run, &analysis)
        }
    }
}

export!(Throughput, parts, as trueno_plugin_v1_throughput);
