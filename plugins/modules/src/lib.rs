//! Time by `nn.Module`, as PyTorch's profiler records modules with `with_modules=True` or `with_stack=True`.
//!
//! A kernel belongs to the innermost module that was running on the thread that launched it. Kernels of the backward
//! pass are launched by autograd, outside of every module.

mod calls;
mod sums;
mod tables;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use trueno_analysis::wording::percent;
use trueno_plugin::{Chart, Finding, Input, Parts, Plugin, Result, Run, Severity, export};

use crate::calls::{Calls, Names};
use crate::sums::Sums;
use crate::tables::{ClassRow, classes};

const PREFIX: &str = "nn.Module: ";

pub struct Modules;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    pub module_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { module_rows: 1_000 }
    }
}

impl Plugin for Modules {
    const ID: &'static str = "modules";
    const SUMMARY: &'static str = "Host and device time by nn.Module, and by class of module.";
    const INPUTS: &'static [Input] = &calls::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        let names = Names::read(run)?;
        if names.is_empty() {
            return Ok(());
        }
        let calls = Calls::load(run, &names)?;
        emit(run, &Sums::of(&calls), &options)
    }
}

impl Parts for Modules {
    const MERGE_INPUTS: &'static [Input] = &sums::MERGE_INPUTS;

    /// A rank without modules has a part too: its kernels count among those outside of all.
    fn part(run: &mut Run, _options: Options) -> Result<()> {
        let names = Names::read(run)?;
        let calls = Calls::load(run, &names)?;
        Sums::of(&calls).emit(run)
    }

    fn merge(run: &mut Run, options: Options) -> Result<()> {
        let sums = Sums::read(run)?;
        if run.is_final() {
            emit(run, &sums, &options)
        } else {
            sums.emit(run)
        }
    }
}

fn emit(run: &mut Run, sums: &Sums, options: &Options) -> Result<()> {
    if sums.modules.is_empty() {
        return Ok(());
    }
    let classes = classes(sums);
    run.emit(tables::class_table(&classes))?;
    run.emit(tables::module_table(sums, options.module_rows))?;
    let time = if sums.device_ns > 0 {
        "own_device_ns"
    } else {
        "own_host_ns"
    };
    run.chart(Chart::bar(
        "Own time by class of module",
        "classes",
        "class",
        time,
    ))?;
    match finding(sums, &classes) {
        Some(finding) => run.finding(finding),
        None => Ok(()),
    }
}

/// Names the class with the most device time, and the share outside any module.
fn finding(sums: &Sums, classes: &[ClassRow<'_>]) -> Option<Finding> {
    let first = classes.first()?;
    let own_ns = first.own_device_ns.filter(|ns| *ns > 0)?;
    let share = |ns: i64| ns as f64 / sums.device_ns as f64;
    let title = format!(
        "{} takes {} of the device time in its own kernels, the most of {} module classes",
        first.class,
        percent(share(own_ns)),
        classes.len()
    );
    let mut finding = Finding::new("largest_module_class", Severity::Info, title)
        .evidence("SELECT * FROM modules.classes");
    if sums.outside_ns > 0 {
        finding = finding.detail(format!(
            "{} of the device time belongs to no module, such as that of the backward pass and the optimizer",
            percent(share(sums.outside_ns))
        ));
    }
    Some(finding)
}

export!(Modules, parts, as trueno_plugin_v1_modules);
