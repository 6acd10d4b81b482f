//! Parts of one plugin, gathered in the order of the ranks and merged.

use std::collections::BTreeMap;

use polars::prelude::DataFrame;
use trueno_engine::closed_types;
use trueno_engine::query::Database;
use trueno_model::{Problem, ranks};

use crate::plugin::{FailureKind, Outcome, Plugin, Sources, Stage, Taken, run};
use crate::sections::Sections;
use crate::side_by_side::{self, Watch};

/// Rows of parts that are kept before they are merged.
const PART_ROWS: usize = 1 << 20;

/// Parts of a plugin.
#[derive(Default)]
pub(crate) struct Parts {
    /// By table, in the order of the ranks.
    tables: BTreeMap<String, Vec<DataFrame>>,
    /// Rows of them, and of what the last merging left of them.
    rows: usize,
    merged_rows: usize,
    /// Ranks that have a part.
    made: usize,
    /// Ranks that have none, and why.
    failed: Vec<(u32, String)>,
    /// The reason why there can be no section.
    broken: Option<Outcome>,
    wrote: Option<String>,
}

impl Parts {
    fn add(&mut self, taken: Taken) -> Result<(), String> {
        for table in &taken.tables {
            let frame = closed_types::to_frame(table)?;
            let all = self.tables.entry(table.name().to_owned()).or_default();
            if let Some(first) = all.first()
                && first.schema() != frame.schema()
            {
                return Err(format!(
                    "the columns of its table {} are not those of the ranks before",
                    table.name()
                ));
            }
            self.rows += frame.height();
            all.push(frame);
        }
        self.made += 1;
        if self.wrote.is_none() {
            self.wrote = taken.wrote;
        }
        Ok(())
    }

    /// Takes what a plugin gave of a rank.
    pub(crate) fn take(&mut self, rank: u32, outcome: Option<Outcome>) {
        let why = match outcome {
            None => return,
            Some(Outcome::Finished(taken)) => match self.add(taken) {
                Ok(()) => return,
                Err(why) => why,
            },
            Some(Outcome::Failed { message, .. } | Outcome::Skipped { message }) => message,
        };
        self.failed.push((rank, why));
    }

    /// All of them, as tables that the merging reads.
    fn publish(&mut self, id: &str, database: &mut Database) -> Result<(), String> {
        for (name, frames) in std::mem::take(&mut self.tables) {
            let mut frames = frames.into_iter();
            let mut all = frames.next().unwrap_or_default();
            for frame in frames {
                all.vstack_mut(&frame).map_err(|error| error.to_string())?;
            }
            database.register(&format!("{id}.{name}"), all);
        }
        (self.rows, self.made) = (0, 0);
        Ok(())
    }

    /// Makes one part of those there are, once they have many rows.
    pub(crate) fn merge_if_many(
        &mut self,
        plugin: &Plugin,
        options: &str,
        subject: &Database,
        baseline: Option<&Database>,
    ) {
        if self.broken.is_some() || self.rows <= PART_ROWS.max(2 * self.merged_rows) {
            return;
        }
        let made = self.made;
        match merge(plugin, Stage::Merge, options, self, subject, baseline) {
            Outcome::Finished(taken) => {
                if let Err(message) = self.add(taken) {
                    self.broken = Some(failed(message));
                }
                (self.made, self.merged_rows) = (made, self.rows);
            }
            outcome => self.broken = Some(outcome),
        }
    }
}

fn merge(
    plugin: &Plugin,
    stage: Stage,
    options: &str,
    parts: &mut Parts,
    subject: &Database,
    baseline: Option<&Database>,
) -> Outcome {
    let mut database = subject.clone();
    if let Err(message) = parts.publish(&plugin.descriptor.id, &mut database) {
        return failed(message);
    }
    let sources = Sources {
        subject: &database,
        baseline,
    };
    let claims = side_by_side::claims(plugin, stage, &database, baseline);
    run(plugin, stage, sources, claims, options)
}

pub(crate) fn failed(message: String) -> Outcome {
    Outcome::Failed {
        kind: FailureKind::Rejected,
        message,
        taken: Taken::default(),
    }
}

/// Makes the section of a step from its parts.
pub(crate) fn finish(
    step: usize,
    mut parts: Parts,
    subject: &mut Database,
    baseline: Option<&Database>,
    sections: &mut Sections<'_>,
) {
    let Some(options) = sections.begin(step) else {
        return;
    };
    let plugin = sections.plugin(step);
    let id = plugin.descriptor.id.clone();
    let mut problems = Vec::new();
    let lost: Vec<u32> = parts.failed.iter().map(|(rank, _)| *rank).collect();
    let outcome = match (parts.broken.take(), parts.failed.first(), parts.made) {
        (Some(outcome), ..) => outcome,
        (None, Some((rank, why)), 0) => failed(format!("rank {rank}: {why}")),
        (None, first, _) => {
            if let Some((rank, why)) = first {
                let text = format!(
                    "plugin {id} has no part of {}, which none of its figures count: rank {rank}: {why}",
                    ranks(&lost)
                );
                problems.push(Problem::error("rank_not_analysed", text));
            }
            let wrote = parts.wrote.take();
            let mut outcome = merge(
                plugin,
                Stage::Final,
                &options,
                &mut parts,
                subject,
                baseline,
            );
            if let Outcome::Finished(taken) | Outcome::Failed { taken, .. } = &mut outcome
                && taken.wrote.is_none()
            {
                taken.wrote = wrote;
            }
            outcome
        }
    };
    sections.end(step, outcome, subject);
    sections.say(step, problems);
}
