//! Operators by shape: useful FLOPs, least bytes, rates, and the distance from the roof.
//!
//! Traces of PyTorch state the shapes of operators (table `signatures`); [`trueno_operator_model`] says what work
//! such a call is. Device time of a call is that of the kernels and copies that it and what it called began; in a
//! run without devices its time on the host stands in its place. In sums each kernel counts once, for the innermost
//! operator around its launch that has a model. What has no model is listed with its device time, and the first
//! figure is the share of device time that has one.

pub mod at_roof;
pub mod before_recording;
pub mod calls;
pub mod chart;
pub mod compared;
pub mod device_classes;
pub mod device_time;
pub mod findings;
pub mod groups;
pub mod inputs;
pub mod judged;
pub mod nominal;
pub mod operations;
pub mod parts;
pub mod ranks;
pub mod recomputed;
pub mod result_dims;
pub mod roofs;
pub mod rows;
pub mod run_sums;
pub mod tables;
pub mod work;

use serde::Deserialize;
use trueno_analysis::window::Window;
use trueno_plugin::{Input, Parts, Plugin, Result, Run, export};

use crate::calls::WithoutSignatures;
use crate::inputs::Side;
use crate::judged::Judged;
use crate::roofs::Roofs;
use crate::rows::Row;
use crate::run_sums::{Facts, RunSums};

pub struct Operators;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Whether nominal ceilings may replace ceilings that were not measured.
    pub nominal: bool,
    /// Share of a nominal ceiling that counts as the roof.
    pub achievable_share: f64,
    /// User rules as TOML; they are tried before the plugin's own.
    pub rules: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nominal: true,
            achievable_share: 1.0,
            rules: String::new(),
        }
    }
}

impl Plugin for Operators {
    const ID: &'static str = "operators";
    const SUMMARY: &'static str =
        "Operators by shape: FLOPs, bytes, rates, distance from the roof.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let window = Window::read(run)?;
        let without = WithoutSignatures::Nothing;
        let sums = RunSums::load(run, Side::Run, window, without, &options)?;
        let roofs = roofs(run, &sums.facts, &options)?;
        finish(run, sums, roofs, &options)
    }
}

impl Parts for Operators {
    const MERGE_INPUTS: &'static [Input] = &inputs::MERGE_INPUTS;

    fn part(run: &mut Run, options: Options) -> Result<()> {
        let window = Window::read(run)?;
        let without = WithoutSignatures::PyTorch;
        let sums = RunSums::load(run, Side::Run, window, without, &options)?;
        parts::emit(run, &sums)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let facts = parts::read_facts(run)?;
        let roofs = roofs(run, &facts, &options)?;
        let sums = parts::read(run, facts, &roofs.classes)?;
        if run.is_final() {
            finish(run, sums, roofs, &options)
        } else {
            parts::emit(run, &sums)
        }
    }
}

/// Reads the roofs, if the run has operators that may lie below them.
fn roofs(run: &mut Run, facts: &Facts, options: &Options) -> Result<Roofs> {
    if facts.has_signatures {
        Roofs::read(run, Side::Run, options.nominal, options.achievable_share)
    } else {
        Ok(Roofs::default())
    }
}

/// Emits the section from the sums over all ranks, and compares it with the baseline.
fn finish(run: &mut Run, sums: RunSums, roofs: Roofs, options: &Options) -> Result<()> {
    let facts = sums.facts;
    if !facts.has_signatures {
        return if facts.is_pytorch {
            run.finding(findings::no_shapes())
        } else {
            Ok(())
        };
    }
    if !facts.is_any_known && !facts.is_pytorch {
        return Ok(()); // Bricks of a program's own, whose FLOPs `roofline` takes as declared.
    }
    let judged = Judged::new(sums, roofs);
    emit(run, &judged)?;
    let without = WithoutSignatures::Nothing;
    let baseline = RunSums::load(run, Side::Baseline, None, without, options)?;
    if baseline.facts.has_signatures {
        let (nominal, share) = (options.nominal, options.achievable_share);
        let roofs = Roofs::read(run, Side::Baseline, nominal, share)?;
        let baseline = Judged::new(baseline, roofs);
        let compared = compared::compared(&judged, &baseline);
        run.emit(compared::table(&compared))?;
        if let Some(finding) = compared::finding(&compared) {
            run.finding(finding)?;
        }
    }
    Ok(())
}

fn emit(run: &mut Run, judged: &Judged) -> Result<()> {
    let Judged {
        device,
        on,
        roofs,
        rows,
    } = judged;
    let on = *on;
    let name = |row: &Row| Some(row.name.clone());
    let by_name = tables::grouped(rows, name, |row| row.total(on?));
    let family = |row: &Row| {
        let is_counted = row.sums.counted_calls > 0;
        Some(
            row.work
                .as_ref()
                .ok()
                .filter(|_| is_counted)?
                .family
                .clone(),
        )
    };
    let by_category = tables::grouped(rows, family, Row::counted);
    if device.count > 0 {
        run.emit(tables::coverage(device))?;
    }
    run.emit(tables::groups("by_category", "category", &by_category))?;
    run.emit(tables::groups("by_name", "name", &by_name))?;
    run.emit(tables::by_shape(rows, on))?;
    run.emit(tables::not_modelled(rows))?;
    if let Some(on) = on
        && let Some(points) = chart::points(rows, on)
    {
        run.emit(points)?;
        run.emit(chart::roofs(rows, &roofs.ceilings, on))?;
        run.chart(chart::roofline())?;
    }
    if let Some(on) = on.filter(|_| rows.iter().any(|row| row.placed().is_some())) {
        run.emit(at_roof::at_roof(rows, on))?;
    }
    for finding in findings::findings(rows, device, on, roofs) {
        run.finding(finding)?;
    }
    Ok(())
}

export!(Operators, parts, as trueno_plugin_v1_operators);
