//! Emission of tables, findings and the chart, from sums over a run.

use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::roofline::ceilings::{BASELINE_CEILINGS, CEILINGS, Ceilings};
use trueno_plugin::{Chart, Result, Run, Scale};

use crate::backends::{self, Entry};
use crate::calls::{Calls, RowCalls};
use crate::operators::Operators;
use crate::sums::Sums;
use crate::{
    Options, findings, nesting, not_measurable, point_rows, points, rates, roofs, rows, summary,
    tables, wider_sets,
};

pub struct Surroundings {
    ceilings: Ceilings,
    baseline: Vec<Entry>,
}

impl Surroundings {
    /// Reads the ceilings and, if there is one, the baseline.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, options: &Options, name_groups: &NameGroups) -> Result<Self> {
        Ok(Self {
            ceilings: Ceilings::read(run, CEILINGS.name(), options.nominal)?,
            baseline: baseline_entries(run, options, name_groups)?,
        })
    }
}

/// Entries of the baseline, relative to its own ceilings; empty without a baseline.
fn baseline_entries(
    run: &mut Run,
    options: &Options,
    name_groups: &NameGroups,
) -> Result<Vec<Entry>> {
    let limits = Ceilings::read(run, BASELINE_CEILINGS.name(), options.nominal)?;
    let mut rows = rows::load(run, "baseline_", name_groups)?;
    let standing = nesting::nesting(&mut rows);
    let sums = Sums::of_rows(&mut rows, &standing);
    let calls = RowCalls {
        rows: &rows,
        standing: &standing,
    };
    let points = points::points(&sums, &calls, &limits, options);
    Ok(backends::entries(&sums.texts, &calls, &points, None))
}

/// Emits all tables, findings and charts.
///
/// # Errors
/// An input of operators lacks a column; the host refuses a table.
pub fn emit(
    run: &mut Run,
    options: &Options,
    surroundings: Surroundings,
    sums: &Sums,
    calls: &impl Calls,
) -> Result<()> {
    let Surroundings {
        ceilings: limits,
        baseline,
    } = surroundings;
    let texts = &sums.texts;
    let points = points::points(sums, calls, &limits, options);
    run.check_cancelled()?;
    let mut compared = backends::entries(texts, calls, &points, Some(&baseline));
    compared.extend(baseline);
    let compared = backends::compare(compared);
    if options.compare_backends {
        run.emit(tables::backends(&compared))?;
        return run.finding(
            findings::backend_finding(&compared).unwrap_or_else(|| findings::no_idle(&compared)),
        );
    }
    let summary = summary::summary(sums, &points);
    let rates = rates::rates(sums);
    let excluded = not_measurable::rows(sums, &points);

    let ordered = tables::in_order(&points, texts);
    let operators = Operators::read(run)?;
    run.emit(tables::summary(&summary, &operators))?;
    let own = point_rows::of_points(&ordered, &limits, texts);
    let all = point_rows::merged(own, point_rows::of_operators(&operators.shapes));
    run.emit(point_rows::table(&all))?;
    run.emit(tables::bricks(&summary, texts))?;
    run.emit(tables::categories(&summary, texts))?;
    run.emit(tables::not_measurable(&excluded))?;
    run.emit(tables::rates(&rates, texts))?;
    run.emit(tables::ceilings_used(&ordered, &limits))?;
    run.emit(tables::backends(&compared))?;
    run.emit(tables::at_roof(&summary::at_roof(&points), texts))?;
    let has_rows = sums.busy_ns.iter().any(Option::is_some);
    for finding in findings::point_findings(&ordered, texts, has_rows, &operators) {
        run.finding(finding)?;
    }
    if let Some(finding) = findings::ceiling_finding(&ordered, &limits) {
        run.finding(finding)?;
    }
    if let Some(finding) = findings::backend_finding(&compared) {
        run.finding(finding)?;
    }
    let wider = wider_sets::wider_sets(&ordered, texts, &limits);
    if let Some(finding) = wider_sets::finding(&wider, texts) {
        run.emit(wider_sets::table(&wider, texts))?;
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
