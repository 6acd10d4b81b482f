//! Inputs whose queries are run when the plugin reads them.
//!
//! All are planned first, so that a wrong one is known before the plugin is called.
//!
//! So no two results are in memory at once, unless a plugin reads two of them side by side, batch by batch:
//! `divergence` does so with the statistics of its runs. In isolation all are run before, for they cross in one file.

use std::cell::RefCell;
use std::rc::Rc;

use polars_arrow::datatypes::Field;
use trueno_engine::closed_types::{self, ClosedRows};
use trueno_engine::query::{Claims, Planned, QueryError};
use trueno_plugin::abi;
use trueno_plugin::arrow::ArrowArrayStream;

use super::call::{call, empty, judge};
use super::descriptor::{Input, Plugin, Stage};
use super::inputs::{Obstacle, Sources, database};
use super::outcome::{FailureKind, Outcome};

/// Error of a query that was planned but failed to run.
type Failure = Rc<RefCell<Option<String>>>;

pub(super) fn run(
    plugin: &Plugin,
    entry: abi::RunFn,
    stage: Stage,
    sources: Sources<'_>,
    claims: Vec<Claims>,
    options: &str,
) -> Outcome {
    let failure = Failure::default();
    let inputs = plugin.descriptor.inputs_of(stage).iter().zip(claims);
    let streams = inputs.map(|(input, claims)| stream(input, sources, claims, &failure));
    let streams = match streams.collect::<Result<Vec<_>, Obstacle>>() {
        Ok(streams) => streams,
        Err(obstacle) => return obstacle.into(),
    };
    let (status, taken) = call(entry, streams, options, stage, None);
    match failure.take() {
        Some(message) => Outcome::Failed {
            kind: FailureKind::Query,
            message,
            taken,
        },
        None => judge(status, taken),
    }
}

fn stream(
    input: &Input,
    sources: Sources<'_>,
    claims: Claims,
    failure: &Failure,
) -> Result<ArrowArrayStream, Obstacle> {
    let Some(database) = database(input, sources)? else {
        return Ok(empty());
    };
    let wrong = |why: String| Obstacle::Wrong(format!("input {}: {why}", input.name));
    let planned = match database.planned(&input.sql) {
        Ok(planned) => planned,
        Err(QueryError::UnknownTable { .. }) if input.optional => return Ok(empty()),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let columns = planned
        .columns()
        .map_err(|error| wrong(error.to_string()))?;
    let (of, name, failure) = (columns.clone(), input.name.clone(), Rc::clone(failure));
    Ok(closed_types::lend_later(&columns, move || {
        let rows = rows(planned, &of).inspect_err(|why| {
            failure.replace(Some(format!("input {name}: {why}")));
        });
        Ok(rows?.holding(claims))
    }))
}

/// Runs the query. Its columns must be the ones that were announced.
fn rows(planned: Planned, columns: &[Field]) -> Result<ClosedRows, String> {
    let rows = planned.rows().map_err(|error| error.to_string())?;
    if rows.fields() == columns {
        Ok(rows)
    } else {
        Err("its columns are not those that were planned".to_owned())
    }
}
