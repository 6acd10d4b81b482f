//! Tables of parts: series are of one rank, so only the counts are added up.

use std::collections::BTreeMap;

use trueno_analysis::producer::Producer;
use trueno_plugin::{Error, Input, Result, Run, Table, table_row};

use crate::analysis::Analysis;
use crate::declared::Counts;
use crate::outlier_cause::OutlierCause;
use crate::series::{Iteration, LeftOut};
use crate::tables::{self, Judged};
use crate::warm_up::SteadyState;

pub const MERGE_INPUTS: [Input; 4] = [
    Input::sql("series", "SELECT * FROM throughput.series"),
    Input::sql("judged", "SELECT * FROM throughput.judged"),
    Input::sql("counts", "SELECT * FROM throughput.counts"),
    Input::sql("run", "SELECT clock_source FROM run").optional(),
];

table_row! {
    struct SeriesRow<'a> {
        thread: i64,
        name: &'a str,
        steady_from: Option<u64>,
        is_too_short: bool,
    }
}
table_row! {
    struct JudgedRow<'a> {
        thread: i64,
        id: u64,
        number: Option<u64>,
        start_ns: i64,
        wall_ns: i64,
        gap_ns: Option<i64>,
        phase: Option<&'a str>,
        outlier: Option<&'a str>,
        cause_kind: Option<&'a str>,
        cause_name: Option<&'a str>,
        excess_ns: Option<f64>,
        tokens: Option<f64>,
        samples: Option<f64>,
    }
}
table_row! {
    struct CountsRow {
        bound: u64,
        nested: u64,
        broken: u64,
        outside: u64,
        cut: u64,
        values_broken: u64,
        unusable: u64,
        tokens_on_iterations: u64,
        samples_on_iterations: u64,
        tokens_anywhere: u64,
        samples_anywhere: u64,
    }
}

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, analysis: &Analysis) -> Result<()> {
    let series = || analysis.results.iter();
    let rows = series().map(|result| SeriesRow {
        thread: result.thread,
        name: &result.name,
        steady_from: match result.steady_state {
            SteadyState::From(first) => Some(first as u64),
            SteadyState::TooFew | SteadyState::Never => None,
        },
        is_too_short: result.steady_state == SteadyState::TooFew,
    });
    run.emit(Table::build("series").rows(rows))?;
    let rows = series().flat_map(|result| {
        result.rows.iter().map(|row| {
            let cause = row.cause.as_ref();
            JudgedRow {
                thread: result.thread,
                id: row.iteration.id,
                number: row.iteration.number,
                start_ns: row.iteration.start_ns,
                wall_ns: row.iteration.wall_ns,
                gap_ns: row.iteration.gap_ns,
                phase: row.phase,
                outlier: row.outlier,
                cause_kind: cause.map(|cause| cause.name.0.as_str()),
                cause_name: cause.map(|cause| cause.name.1.as_str()),
                excess_ns: cause.map(|cause| cause.excess_ns),
                tokens: row.work[0],
                samples: row.work[1],
            }
        })
    });
    run.emit(Table::build("judged").rows(rows))?;
    let (left_out, declared) = (&analysis.left_out, &analysis.declared);
    let counts = CountsRow {
        bound: left_out.bound,
        nested: left_out.nested,
        broken: left_out.broken,
        outside: left_out.outside,
        cut: left_out.cut,
        values_broken: declared.broken,
        unusable: declared.unusable,
        tokens_on_iterations: declared.readings[0],
        samples_on_iterations: declared.readings[1],
        tokens_anywhere: declared.anywhere[0],
        samples_anywhere: declared.anywhere[1],
    };
    run.emit(Table::build("counts").rows([counts]))
}

/// Reads all parts there are.
///
/// # Errors
/// An input lacks a column, or has it in another type or null; the tables do not fit each other.
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
    let (mut left_out, mut declared) = (LeftOut::default(), Counts::default());
    for row in run.table("counts")?.read::<CountsRow>()? {
        let row = row?;
        let [tokens, samples] = &mut declared.readings;
        let [any_tokens, any_samples] = &mut declared.anywhere;
        for (sum, more) in [
            (&mut left_out.bound, row.bound),
            (&mut left_out.nested, row.nested),
            (&mut left_out.broken, row.broken),
            (&mut left_out.outside, row.outside),
            (&mut left_out.cut, row.cut),
            (&mut declared.broken, row.values_broken),
            (&mut declared.unusable, row.unusable),
            (tokens, row.tokens_on_iterations),
            (samples, row.samples_on_iterations),
            (any_tokens, row.tokens_anywhere),
            (any_samples, row.samples_anywhere),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
    Ok(Analysis {
        producer: Producer::of_run(&run.table("run")?),
        results: results.into_values().collect(),
        left_out,
        declared,
    })
}

fn series(table: &Table) -> Result<BTreeMap<i64, tables::Result>> {
    let mut results = BTreeMap::new();
    for row in table.read::<SeriesRow>()? {
        let row = row?;
        let steady_state = match row.steady_from {
            Some(first) => SteadyState::From(usize::try_from(first).unwrap_or(usize::MAX)),
            None if row.is_too_short => SteadyState::TooFew,
            None => SteadyState::Never,
        };
        let result = tables::Result {
            name: row.name.to_owned(),
            thread: row.thread,
            steady_state,
            rows: Vec::new(),
        };
        results.insert(row.thread, result);
    }
    Ok(results)
}

/// Adds the iterations to their series. They are sorted.
fn judged(table: &Table, results: &mut BTreeMap<i64, tables::Result>) -> Result<()> {
    for row in table.read::<JudgedRow>()? {
        let row = row?;
        let Some(result) = results.get_mut(&row.thread) else {
            return Err(Error::bad_input(format!(
                "`series` lacks thread {}, which `judged` has",
                row.thread
            )));
        };
        let cause = || {
            Some(OutlierCause {
                name: (row.cause_kind?.to_owned(), row.cause_name?.to_owned()),
                excess_ns: row.excess_ns?,
            })
        };
        result.rows.push(Judged {
            iteration: Iteration {
                id: row.id,
                number: row.number,
                start_ns: row.start_ns,
                wall_ns: row.wall_ns,
                gap_ns: row.gap_ns,
            },
            phase: one_of(row.phase, &["warm-up", "steady"])?,
            outlier: one_of(row.outlier, &["slow", "fast"])?,
            cause: cause(),
            work: [row.tokens, row.samples],
        });
    }
    Ok(())
}

/// Finds `text` among `texts`, to get a `'static` string.
fn one_of(text: Option<&str>, texts: &[&'static str]) -> Result<Option<&'static str>> {
    let Some(text) = text else {
        return Ok(None);
    };
    match texts.iter().find(|known| **known == text) {
        Some(known) => Ok(Some(known)),
        None => Err(Error::bad_input(format!("`{text}` is none of {texts:?}"))),
    }
}
