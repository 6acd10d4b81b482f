//! CPU time by function, thread and brick, estimated from samples; and [waits], measured.
//!
//! A sample is a moment at which a profiler saw a thread run, with the functions that were open there. So nothing here is
//! measured time: shares are estimates with an [`interval`], and times are sums of the periods that samples
//! stand for. Samples of several events are never added up. A profiler that watches the clock also samples threads that
//! wait: those samples stand apart ([`sampled_waits`]).

pub mod enclosing;
pub mod findings;
pub mod function;
pub mod inputs;
pub mod interval;
pub mod load;
pub mod parts;
pub mod sampled_waits;
pub mod stacks;
pub mod sums;
pub mod tables;
pub mod tree;
pub mod waits;

use serde::Deserialize;
use trueno_plugin::{Chart, Input, Parts, Plugin, Result, Run, export};

use crate::sums::Sums;

pub struct Samples;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Maximum number of functions of a brick with their own row, the hottest first. The others share one row.
    pub functions_per_brick: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            functions_per_brick: 10,
        }
    }
}

impl Plugin for Samples {
    const ID: &'static str = "samples";
    const SUMMARY: &'static str = "CPU time by function, thread and brick, estimated from samples; shares with 95 % intervals. Waits of threads, measured.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let sums = load::load(run)?;
        emit(run, &sums, &options)
    }
}

impl Parts for Samples {
    const MERGE_INPUTS: &'static [Input] = &parts::MERGE_INPUTS;

    fn part(run: &mut Run, _options: Options) -> Result<()> {
        let sums = load::load(run)?;
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let sums = parts::read(run)?;
        if run.is_final() {
            emit(run, &sums, &options)
        } else {
            parts::emit(run, &sums)
        }
    }
}

fn emit(run: &mut Run, sums: &Sums, options: &Options) -> Result<()> {
    if !sums.waits.is_empty() {
        run.emit(waits::tables::scheduling(&sums.waits))?;
        run.emit(waits::tables::waits(&sums.waits))?;
        run.emit(waits::calls::wait_calls(&sums.waits))?;
        if !sums.waits.wakers.is_empty() {
            run.emit(waits::wakers::wakers(&sums.waits))?;
        }
        run.emit(waits::states::states(&sums.waits))?;
        run.chart(Chart::stacked_bar(
            "Lifetimes of threads: running, runnable and waiting, measured",
            "states",
            "label",
            "state_ns",
            "state",
        ))?;
        let chart = Chart::bar(
            "Time waited by function, measured",
            "waits",
            "function",
            "waited_ns",
        );
        run.chart(chart.series("call"))?;
        for finding in waits::findings::findings(&sums.waits) {
            run.finding(finding)?;
        }
    }
    if sums.events.values().any(|event| !event.waiting.is_empty()) {
        run.emit(sampled_waits::table(sums))?;
    }
    let events = sums.events_in_order();
    if events.is_empty() {
        return match sampled_waits::finding(sums) {
            Some(finding) => run.finding(finding),
            None => Ok(()),
        };
    }
    run.emit(tables::functions(&events))?;
    if events.iter().any(|(_, event)| !event.bricks.is_empty()) {
        run.emit(tables::bricks(&events, options.functions_per_brick))?;
    }
    run.emit(tables::threads(&events, &sums.thread_names))?;
    let chart = Chart::bar(
        "Samples by function that ran",
        "functions",
        "function",
        "self_share",
    );
    run.chart(match events.len() {
        1 => chart,
        _ => chart.series("event"),
    })?;
    for finding in findings::findings(sums) {
        run.finding(finding)?;
    }
    if let Some(finding) = sampled_waits::finding(sums) {
        run.finding(finding)?;
    }
    if sums.waits.is_empty() {
        run.finding(waits::findings::not_measured())
    } else {
        Ok(())
    }
}

export!(Samples, parts, as trueno_plugin_v1_samples);
