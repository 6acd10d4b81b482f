//! Tables of parts: series are of one rank, so only the counts are added up.

use std::collections::BTreeMap;

use trueno_plugin::{Error, Input, Result, Run, Table};

use crate::analysis::Analysis;
use crate::declared::Counts;
use crate::outlier_cause::OutlierCause;
use crate::series::{Iteration, LeftOut};
use crate::tables::{self, Judged};
use crate::warm_up::SteadyState;

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 3] = [
    Input::sql(
        "series",
        "SELECT thread, name, steady_from, is_too_short FROM throughput.series",
    ),
    Input::sql(
        "judged",
        "SELECT thread, id, number, start_ns, wall_ns, gap_ns, phase, outlier, cause_kind, cause_name, excess_ns, \
         tokens, samples FROM throughput.judged",
    ),
    Input::sql(
        "counts",
        "SELECT bound, nested, broken, outside, cut, values_broken, unusable, tokens_on_iterations, \
         samples_on_iterations, tokens_anywhere, samples_anywhere FROM throughput.counts",
    ),
];

/// Columns of table `counts`.
const COUNTS: [&str; 11] = [
    "bound",
    "nested",
    "broken",
    "outside",
    "cut",
    "values_broken",
    "unusable",
    "tokens_on_iterations",
    "samples_on_iterations",
    "tokens_anywhere",
    "samples_anywhere",
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, analysis: &Analysis) -> Result<()> {
    let series = || analysis.results.iter();
    let steady_from = |result: &tables::Result| match result.steady_state {
        SteadyState::From(first) => Some(first as u64),
        SteadyState::TooFew | SteadyState::Never => None,
    };
    let is_too_short = |result: &tables::Result| result.steady_state == SteadyState::TooFew;
    run.emit(
        Table::build("series")
            .i64("thread", series().map(|result| result.thread))
            .text("name", series().map(|result| &result.name))
            .u64("steady_from", series().map(steady_from))
            .bool("is_too_short", series().map(is_too_short)),
    )?;
    let rows = series().flat_map(|result| result.rows.iter().map(|row| (result.thread, row)));
    let rows: Vec<(i64, &Judged)> = rows.collect();
    let each = || rows.iter().map(|row| row.1);
    let cause = || each().map(|row| row.cause.as_ref());
    run.emit(
        Table::build("judged")
            .i64("thread", rows.iter().map(|row| row.0))
            .u64("id", each().map(|row| row.iteration.id))
            .u64("number", each().map(|row| row.iteration.number))
            .i64("start_ns", each().map(|row| row.iteration.start_ns))
            .i64("wall_ns", each().map(|row| row.iteration.wall_ns))
            .i64("gap_ns", each().map(|row| row.iteration.gap_ns))
            .text("phase", each().map(|row| row.phase))
            .text("outlier", each().map(|row| row.outlier))
            .text("cause_kind", cause().map(|cause| Some(&cause?.name.0)))
            .text("cause_name", cause().map(|cause| Some(&cause?.name.1)))
            .f64("excess_ns", cause().map(|cause| Some(cause?.excess_ns)))
            .f64("tokens", each().map(|row| row.work[0]))
            .f64("samples", each().map(|row| row.work[1])),
    )?;
    let (left_out, declared) = (&analysis.left_out, &analysis.declared);
    let counts = [
        left_out.bound,
        left_out.nested,
        left_out.broken,
        left_out.outside,
        left_out.cut,
        declared.broken,
        declared.unusable,
        declared.readings[0],
        declared.readings[1],
        declared.anywhere[0],
        declared.anywhere[1],
    ];
    let columns = COUNTS.iter().zip(counts);
    let table = Table::build("counts");
    run.emit(columns.fold(table, |table, (name, count)| table.u64(name, [count])))
}

/// Reads all parts there are.
///
/// # Errors
/// An input lacks a column or has it in another type; the tables do not fit each other.
pub fn load(run: &mut Run) -> Result<Analysis> {
    let mut results = series(&run.table("series")?)?;
    judged(&run.table("judged")?, &mut results)?;
    let too_late = results.values().find(|result| {
        matches!(result.steady_state, SteadyState::From(first) if first > result.rows.len())
    });
    if let Some(result) = too_late {
        return Err(Error::bad_input(format!(
            "the steady state of {} begins after its last iteration",
            result.name
        )));
    }
    let table = run.table("counts")?;
    let mut counts = [0_u64; COUNTS.len()];
    for (sum, name) in counts.iter_mut().zip(COUNTS) {
        let column = table.u64(name)?;
        *sum = column.iter().flatten().fold(0, u64::saturating_add);
    }
    let [
        bound,
        nested,
        broken,
        outside,
        cut,
        values_broken,
        unusable,
        work @ ..,
    ] = counts;
    Ok(Analysis {
        results: results.into_values().collect(),
        left_out: LeftOut {
            bound,
            nested,
            broken,
            outside,
            cut,
        },
        declared: Counts {
            broken: values_broken,
            readings: [work[0], work[1]],
            anywhere: [work[2], work[3]],
            unusable,
        },
    })
}

/// Series by thread, without iterations.
fn series(table: &Table) -> Result<BTreeMap<i64, tables::Result>> {
    let (thread, name) = (table.i64("thread")?, table.text("name")?);
    let (from, is_too_short) = (table.u64("steady_from")?, table.bool("is_too_short")?);
    let mut results = BTreeMap::new();
    for row in 0..table.rows() {
        let thread = thread.get(row).unwrap_or_default();
        let steady_state = match from.get(row) {
            Some(first) => SteadyState::From(usize::try_from(first).unwrap_or(usize::MAX)),
            None if is_too_short.get(row) == Some(true) => SteadyState::TooFew,
            None => SteadyState::Never,
        };
        let result = tables::Result {
            name: name.get(row).unwrap_or_default().to_owned(),
            thread,
            steady_state,
            rows: Vec::new(),
        };
        results.insert(thread, result);
    }
    Ok(results)
}

/// Gives each series its iterations, which stand in order.
fn judged(table: &Table, results: &mut BTreeMap<i64, tables::Result>) -> Result<()> {
    let (thread, id) = (table.i64("thread")?, table.u64("id")?);
    let (number, gap_ns) = (table.u64("number")?, table.i64("gap_ns")?);
    let (start_ns, wall_ns) = (table.i64("start_ns")?, table.i64("wall_ns")?);
    let (phase, outlier) = (table.text("phase")?, table.text("outlier")?);
    let (kind, name) = (table.text("cause_kind")?, table.text("cause_name")?);
    let excess_ns = table.f64("excess_ns")?;
    let (tokens, samples) = (table.f64("tokens")?, table.f64("samples")?);
    for row in 0..table.rows() {
        let thread = thread.get(row).unwrap_or_default();
        let Some(result) = results.get_mut(&thread) else {
            return Err(Error::bad_input(format!(
                "`series` lacks thread {thread}, which `judged` has"
            )));
        };
        let cause = || {
            Some(OutlierCause {
                name: (kind.get(row)?.to_owned(), name.get(row)?.to_owned()),
                excess_ns: excess_ns.get(row)?,
            })
        };
        result.rows.push(Judged {
            iteration: Iteration {
                id: id.get(row).unwrap_or_default(),
                number: number.get(row),
                start_ns: start_ns.get(row).unwrap_or_default(),
                wall_ns: wall_ns.get(row).unwrap_or_default(),
                gap_ns: gap_ns.get(row),
            },
            phase: one_of(phase.get(row), &["warm-up", "steady"])?,
            outlier: one_of(outlier.get(row), &["slow", "fast"])?,
            cause: cause(),
            work: [tokens.get(row), samples.get(row)],
        });
    }
    Ok(())
}

/// The same text, one of those.
fn one_of(text: Option<&str>, texts: &[&'static str]) -> Result<Option<&'static str>> {
    let Some(text) = text else {
        return Ok(None);
    };
    match texts.iter().find(|known| **known == text) {
        Some(known) => Ok(Some(known)),
        None => Err(Error::bad_input(format!("`{text}` is none of {texts:?}"))),
    }
}
