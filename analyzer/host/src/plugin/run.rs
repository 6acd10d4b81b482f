//! Runs of plugins, in this process or in one of their own.

use std::time::Instant;

use polars::prelude::DataFrame;
use trueno_engine::closed_types::ClosedRows;
use trueno_engine::query::Claims;

use super::call::{call, empty, judge};
use super::descriptor::{Execution, Plugin, Stage};
#[cfg(target_os = "linux")]
use super::foreign_output::ForeignOutput;
use super::inputs::{Sources, gather};
use super::outcome::Outcome;
use super::{isolate, lazy_inputs};

/// Runs `plugin` with `options`, a JSON object. In this process each query runs when the plugin reads its input, so
/// at most one result is in memory besides what the plugin keeps. `claims` belong to the inputs in order; each is
/// dropped once its input was read.
pub fn run(
    plugin: &Plugin,
    stage: Stage,
    sources: Sources<'_>,
    claims: Vec<Claims>,
    options: &str,
) -> Outcome {
    let started = Instant::now();
    let outcome = run_where_it_belongs(plugin, stage, sources, claims, options);
    let id = plugin.descriptor.id.as_str();
    tracing::debug!(plugin = id, ?stage, elapsed = ?started.elapsed(), outcome = outcome.word(), "plugin ran");
    outcome
}

fn run_where_it_belongs(
    plugin: &Plugin,
    stage: Stage,
    sources: Sources<'_>,
    claims: Vec<Claims>,
    options: &str,
) -> Outcome {
    if let Execution::InProcess(functions) = &plugin.execution {
        let entry = functions.of(stage);
        #[cfg(target_os = "linux")]
        let _output = functions.is_foreign().then(ForeignOutput::begin);
        return lazy_inputs::run(plugin, entry, stage, sources, claims, options);
    }
    match gather(plugin, stage, sources, claims) {
        Ok(inputs) => lend(plugin, stage, inputs, options),
        Err(outcome) => *outcome,
    }
}

/// Runs `plugin` on these inputs, in order and with the closed types. `None` stands for a missing optional input.
pub fn run_on(
    plugin: &Plugin,
    stage: Stage,
    inputs: Vec<Option<DataFrame>>,
    options: &str,
) -> Outcome {
    let rows = inputs
        .into_iter()
        .map(|frame| frame.map(ClosedRows::of_frame));
    lend(plugin, stage, rows.collect(), options)
}

fn lend(plugin: &Plugin, stage: Stage, inputs: Vec<Option<ClosedRows>>, options: &str) -> Outcome {
    match &plugin.execution {
        Execution::InProcess(functions) => {
            let streams = inputs
                .into_iter()
                .map(|rows| rows.map_or_else(empty, ClosedRows::into_stream))
                .collect();
            #[cfg(target_os = "linux")]
            let _output = functions.is_foreign().then(ForeignOutput::begin);
            let (status, taken) = call(functions.of(stage), streams, options, stage, None);
            judge(status, taken)
        }
        Execution::Isolated(limits) => isolate::run(&plugin.code, stage, inputs, options, limits),
    }
}
