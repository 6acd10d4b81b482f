//! Distance of work from what the machine can do.
//!
//! FLOPs and bytes are what the program *declared*, or what a profiler *counted* (`counters` of source
//! `ncu`); both stand side by side. FLOPs that the CPU counted around a brick (`counters` of source `measured`; not
//! those that were scaled) are taken with the bytes declared: *flops counted*. Ceilings are the run's own (`ceilings`), measured ones unless nominal
//! ones are asked for: the compute ceiling of the row's instruction set and precision, and the bandwidth of
//! the stated level of memory, both of one thread. That is the bandwidth of plain loads and stores; only
//! work that is faster is held against stores that pass the caches by. What was not recorded and had to be
//! assumed stands in a column. The model: [`trueno_analysis::roofline::model`].
//!
//! A point is the sum of all calls of a name and backend, inclusive of what is nested. Sums over the run,
//! bricks and categories take innermost rows with work only ([`nesting`]), so that nothing counts twice.
//! Rows without figures, and points above the roof ([`above_roof`]), are listed with their reason and part of no
//! efficiency; what says only its bytes, as a copy does, or only its FLOPs, has the rate of that ([`rates`]).
//!
//! Operators whose work the plugin `operators` derived from their shapes are points too ([`operators`]), with the
//! roofs that it chose.

pub mod above_roof;
pub mod backends;
pub mod counted;
pub mod excluded;
pub mod findings;
pub mod inputs;
pub mod label;
pub mod nesting;
pub mod not_measurable;
pub mod operators;
pub mod point_rows;
pub mod points;
pub mod rates;
pub mod roofs;
pub mod rows;
pub mod summary;
pub mod tables;
mod wider_sets;

use serde::Deserialize;
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::roofline::ceilings;
use trueno_plugin::{Chart, Error, Input, Plugin, Result, Run, Scale, export};

use crate::operators::Operators;

/// The plugin.
pub struct Roofline;

/// Options of a user.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// True if nominal ceilings may be used.
    pub nominal: bool,
    /// Of work whose precision is neither counted nor said with its backend (`avx512 f64`).
    pub precision: String,
    /// The level of memory whose traffic the bytes are: `dram`, `l3`, `l2` or `l1`.
    pub memory: String,
    /// Gives the table `backends`, and the findings about it, alone.
    pub compare_backends: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nominal: false,
            precision: "f32".to_owned(),
            memory: "dram".to_owned(),
            compare_backends: false,
        }
    }
}

/// Levels of memory, the nearest first.
pub const MEMORY: [&str; 4] = ["l1", "l2", "l3", "dram"];

impl Plugin for Roofline {
    const ID: &'static str = "roofline";
    const SUMMARY: &'static str = "How far work is from what the machine can do.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        if !MEMORY.contains(&options.memory.to_lowercase().as_str()) {
            return Err(Error::bad_option(format!(
                "memory `{}` is no level of memory (expected one of {})",
                options.memory,
                MEMORY.join(", ")
            )));
        }
        let limits = ceilings::Ceilings::read(run, ceilings::CEILINGS.name(), options.nominal)?;
        let name_groups = NameGroups::read(run)?;
        let baseline = baseline_entries(run, &options, &name_groups)?;
        let mut rows = rows::load(run, "", &name_groups)?;
        run.check_cancelled()?;
        let standing = nesting::nesting(&mut rows);
        let points = points::points(&mut rows, &standing, &limits, &options);
        run.check_cancelled()?;
        let mut compared = backends::entries(&rows, &standing, &points, Some(&baseline));
        compared.extend(baseline);
        if options.compare_backends {
            let compared = backends::compare(compared);
            run.emit(tables::backends(&compared))?;
            return run.finding(
                findings::backend_finding(&compared)
                    .unwrap_or_else(|| findings::no_idle(&compared)),
            );
        }
        let summary = summary::summary(&mut rows, &standing, &points);
        let rates = rates::rates(&rows, &standing);
        let has_rows = !rows.lanes.is_empty();
        rows.lanes.clear();
        let excluded = not_measurable::rows(&rows, &points);
        let compared = backends::compare(compared);

        let memory = options.memory.to_lowercase();
        let ordered = tables::in_order(&points, &rows.texts);
        let operators = Operators::read(run)?;
        run.emit(tables::summary(&summary, &operators))?;
        let own = point_rows::of_points(&ordered, &limits, &rows.texts, &memory);
        let all = point_rows::merged(own, point_rows::of_operators(&operators.shapes));
        run.emit(point_rows::table(&all))?;
        run.emit(tables::bricks(&summary, &rows.texts))?;
        run.emit(tables::categories(&summary, &rows.texts))?;
        run.emit(tables::not_measurable(&excluded))?;
        run.emit(tables::rates(&rates, &rows.texts))?;
        run.emit(tables::ceilings_used(&ordered, &limits))?;
        run.emit(tables::backends(&compared))?;
        run.emit(tables::at_roof(&summary::at_roof(&points), &rows.texts))?;
        for finding in findings::point_findings(&ordered, &rows.texts, has_rows, &operators) {
            run.finding(finding)?;
        }
        if let Some(finding) = findings::ceiling_finding(&ordered, &limits) {
            run.finding(finding)?;
        }
        if let Some(finding) = findings::backend_finding(&compared) {
            run.finding(finding)?;
        }
        let wider = wider_sets::wider_sets(&ordered, &rows.texts, &limits, &memory);
        if let Some(finding) = wider_sets::finding(&wider, &rows.texts) {
            run.emit(wider_sets::table(&wider, &rows.texts))?;
            run.finding(finding)?;
        }
        if let Some(roofs) = roofs::roofs(&ordered, &limits, &operators.roofs) {
            run.emit(roofs)?;
            let chart = Chart::scatter("Roofline", "points", "flops_per_byte", "flops_per_s")
                .series("source")
                .label("name")
                .size("dur_ns")
                .lines("roofs", "flops_per_byte", "flops_per_s", Some("roof"))
                .axes("FLOP/byte", "FLOP/s")
                .scales(Scale::Log, Scale::Log);
            run.chart(chart)?;
        }
        Ok(())
    }
}

/// The baseline's entries, against its own ceilings; none without a baseline.
fn baseline_entries(
    run: &mut Run,
    options: &Options,
    name_groups: &NameGroups,
) -> Result<Vec<backends::Entry>> {
    let input = ceilings::BASELINE_CEILINGS.name();
    let limits = ceilings::Ceilings::read(run, input, options.nominal)?;
    let mut rows = rows::load(run, "baseline_", name_groups)?;
    let standing = nesting::nesting(&mut rows);
    let points = points::points(&mut rows, &standing, &limits, options);
    Ok(backends::entries(&rows, &standing, &points, None))
}

export!(Roofline);
