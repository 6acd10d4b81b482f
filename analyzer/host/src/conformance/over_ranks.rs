//! The rule of plugins that work rank by rank: merged, parts say what the whole says.

use polars::prelude::DataFrame;
use trueno_engine::closed_types::{self, ClosedRows};
use trueno_engine::query::Database;

use super::outcome::{difference, message, taken};
use super::{Checked, Verdict, checked};
use crate::plan::{seen_by_parts, tables_of_others};
use crate::plugin::{Outcome, Plugin, Sources, Stage, gather, run_on};

const RULE: &str = "over_ranks";
const NO_OPTIONS: &str = "{}";

/// Computes a part with the run as the only rank, merges it with nothing, and finishes it. The result must equal
/// that of the whole run.
pub(super) fn over_ranks(
    plugin: &Plugin,
    database: &Database,
    frames: &[Option<DataFrame>],
    whole: &Outcome,
) -> Checked {
    if plugin.descriptor.merge_inputs.is_none() {
        return checked(RULE, Verdict::Kept, "it gets the rows of all ranks at once");
    }
    let broken = |seen: String| {
        checked(RULE, Verdict::Broken, seen)
            .mend("share the code that sums rows and makes tables between run, part and merge")
    };
    // As in a job: of other plugins' tables a part sees some only.
    let seen = seen_by_parts(&plugin.descriptor);
    let inputs = plugin.descriptor.inputs.iter().zip(frames);
    let of_part = inputs.map(|(input, frame)| {
        let of_others = tables_of_others(std::slice::from_ref(input));
        let is_seen = of_others.keys().all(|table| seen.contains(table));
        frame.clone().filter(|_| is_seen)
    });
    let mut outcome = run_on(plugin, Stage::Part, of_part.collect(), NO_OPTIONS);
    for stage in [Stage::Merge, Stage::Final] {
        if let Some(message) = message(&outcome) {
            return broken(format!("before {stage:?}: {message}"));
        }
        outcome = match merged(plugin, stage, database, &outcome) {
            Ok(outcome) => outcome,
            Err(why) => return broken(why),
        };
    }
    match difference(whole, &outcome) {
        Some(what) => broken(format!("the result merged from a part differs: {what}")),
        None => checked(
            RULE,
            Verdict::Kept,
            "the result merged from a part is the same",
        ),
    }
}

/// Runs a merging stage on the part that the previous stage returned.
fn merged(
    plugin: &Plugin,
    stage: Stage,
    database: &Database,
    part: &Outcome,
) -> Result<Outcome, String> {
    let mut database = database.clone();
    let tables = taken(part).map_or(&[][..], |taken| &taken.tables);
    for table in tables {
        let name = format!("{}.{}", plugin.descriptor.id, table.name());
        database.register(&name, closed_types::to_frame(table)?);
    }
    let sources = Sources {
        subject: &database,
        baseline: Some(&database),
    };
    let inputs = plugin.descriptor.inputs_of(stage).iter();
    let claims = inputs.map(|input| database.claims(&input.sql)).collect();
    let inputs = match gather(plugin, stage, sources, claims) {
        Ok(inputs) => inputs,
        Err(outcome) => return Err(message(&outcome).unwrap_or_default().to_owned()),
    };
    let frames = inputs
        .into_iter()
        .map(|rows| rows.map(ClosedRows::into_frame).transpose());
    let frames = frames.collect::<Result<Vec<_>, _>>();
    let frames = frames.map_err(|error| error.to_string())?;
    Ok(run_on(plugin, stage, frames, NO_OPTIONS))
}
