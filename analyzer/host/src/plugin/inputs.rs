//! Inputs of a plugin: its queries, and the databases they are asked of.

use trueno_engine::closed_types::ClosedRows;
use trueno_engine::query::{Claims, Database, Planned, QueryError};

use super::descriptor::{Input, Plugin, Stage};
use super::host::PluginOutput;
use super::outcome::{FailureKind, Outcome};

#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Published tables of the run, and tables of plugins that ran before.
    pub subject: &'a Database,
    pub baseline: Option<&'a Database>,
}

pub(super) enum Obstacle {
    Wrong(String),
    Missing(String),
}

impl From<Obstacle> for Outcome {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Wrong(message) => Outcome::Failed {
                kind: FailureKind::Query,
                message,
                taken: PluginOutput::default(),
            },
            Obstacle::Missing(message) => Outcome::Skipped { message },
        }
    }
}

/// Results of the plugin's queries, in order. Each holds its claims on cached columns.
///
/// # Errors
/// The outcome of the plugin's run when one cannot be answered.
pub fn gather(
    plugin: &Plugin,
    stage: Stage,
    sources: Sources<'_>,
    claims: Vec<Claims>,
) -> Result<Vec<Option<ClosedRows>>, Box<Outcome>> {
    let inputs = plugin.descriptor.inputs_of(stage);
    // Before anything is read: what is missing makes all that was read worth nothing.
    let missing = inputs
        .iter()
        .find_map(|input| database(input, sources).err());
    if let Some(obstacle) = missing {
        return Err(Box::new(obstacle.into()));
    }
    let answers = inputs.iter().zip(claims);
    let answers = answers.map(|(input, claims)| {
        let rows = ask(input, sources)?;
        Ok(rows.map(|rows| rows.holding(claims)))
    });
    answers
        .collect::<Result<_, Obstacle>>()
        .map_err(|obstacle| Box::new(obstacle.into()))
}

/// Rows of one input; `None` if it is optional and its table is missing.
fn ask(input: &Input, sources: Sources<'_>) -> Result<Option<ClosedRows>, Obstacle> {
    let Some(database) = database(input, sources)? else {
        return Ok(None);
    };
    match database.planned(&input.sql).and_then(Planned::rows) {
        Ok(rows) => Ok(Some(rows)),
        Err(QueryError::UnknownTable { .. }) if input.optional => Ok(None),
        Err(error) => Err(Obstacle::Wrong(format!("input {}: {error}", input.name))),
    }
}

/// The database of an input; `None` if the input is optional and there is no baseline.
pub(super) fn database<'a>(
    input: &Input,
    sources: Sources<'a>,
) -> Result<Option<&'a Database>, Obstacle> {
    match (input.baseline, sources.baseline) {
        (false, _) => Ok(Some(sources.subject)),
        (true, Some(baseline)) => Ok(Some(baseline)),
        (true, None) if input.optional => Ok(None),
        (true, None) => {
            let message =
                "it compares with a second run, and none was given (hint: --baseline RUN)";
            Err(Obstacle::Missing(message.to_owned()))
        }
    }
}
