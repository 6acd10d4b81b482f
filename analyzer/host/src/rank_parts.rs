//! Parts of one plugin, gathered in the order of the ranks and merged.

use std::collections::BTreeMap;

use polars::prelude::DataFrame;
use trueno_engine::closed_types;
use trueno_engine::query::Database;
use trueno_model::{Problem, ranks};

use crate::plugin::{FailureKind, Outcome, Plugin, PluginOutput, Sources, Stage, run};
use crate::sections::Sections;
use crate::side_by_side::{self, Watch};

/// Parts are merged once they have more rows than this.
const PART_ROWS: usize = 1 << 20;

pub(crate) enum Part {
    Made {
        tables: Vec<(String, DataFrame)>,
        wrote: Option<String>,
    },
    Missing(Outcome),
    /// It is cached, and nothing here needs its tables.
    Unread,
}

impl From<Outcome> for Part {
    fn from(outcome: Outcome) -> Self {
        let taken = match outcome {
            Outcome::Finished(taken) => taken,
            outcome => return Self::Missing(outcome),
        };
        let tables = taken.tables.iter();
        let tables =
            tables.map(|table| Ok((table.name().to_owned(), closed_types::to_frame(table)?)));
        match tables.collect::<Result<Vec<_>, String>>() {
            Ok(tables) => Self::Made {
                tables,
                wrote: taken.wrote,
            },
            Err(why) => Self::Missing(failed(why)),
        }
    }
}

#[derive(Default)]
pub(crate) struct Parts {
    /// By table, in the order of ranks.
    tables: BTreeMap<String, Vec<DataFrame>>,
    /// Rows now, and rows that the last merge left.
    rows: usize,
    merged_rows: usize,
    made: usize,
    failed: Vec<(u32, Outcome)>,
    broken: Option<Outcome>,
    wrote: Option<String>,
}

impl Parts {
    /// Adds the tables of one part, all of them or none.
    fn add(
        &mut self,
        tables: Vec<(String, DataFrame)>,
        wrote: Option<String>,
    ) -> Result<(), String> {
        for (name, frame) in &tables {
            let before = self.tables.get(name).and_then(|all| all.first());
            if before.is_some_and(|first| first.schema() != frame.schema()) {
                return Err(format!(
                    "the columns of its table {name} are not those of the ranks before"
                ));
            }
        }
        for (name, frame) in tables {
            self.rows += frame.height();
            self.tables.entry(name).or_default().push(frame);
        }
        self.made += 1;
        if self.wrote.is_none() {
            self.wrote = wrote;
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, rank: u32, part: Part) {
        let outcome = match part {
            Part::Made { tables, wrote } => match self.add(tables, wrote) {
                Ok(()) => return,
                Err(why) => failed(why),
            },
            Part::Missing(outcome) => outcome,
            Part::Unread => return,
        };
        self.failed.push((rank, outcome));
    }

    /// The outcome of a plugin without any part: the common one, or else that of the first rank.
    fn of_none(&mut self) -> Option<Outcome> {
        let all_same = self
            .failed
            .windows(2)
            .all(|two| message(&two[0].1) == message(&two[1].1));
        let (rank, mut outcome) = self.failed.drain(..).next()?;
        if !all_same
            && let Outcome::Failed { message, .. } | Outcome::Skipped { message } = &mut outcome
        {
            *message = format!("rank {rank}: {message}");
        }
        Some(outcome)
    }

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

    /// Merges the parts into one if they have many rows.
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
        match merge(plugin, Stage::Merge, options, self, subject, baseline).into() {
            Part::Made { tables, wrote } => {
                if let Err(message) = self.add(tables, wrote) {
                    self.broken = Some(failed(message));
                }
                (self.made, self.merged_rows) = (made, self.rows);
            }
            Part::Missing(outcome) => self.broken = Some(outcome),
            Part::Unread => {}
        }
    }
}

fn message(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Finished(_) => "",
        Outcome::Failed { message, .. } | Outcome::Skipped { message } => message,
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
        taken: PluginOutput::default(),
    }
}

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
    let broken = match parts.made {
        0 => parts.broken.take().or_else(|| parts.of_none()),
        _ => parts.broken.take(),
    };
    let outcome = broken.unwrap_or_else(|| {
        if let Some((rank, first)) = parts.failed.first() {
            let lost: Vec<u32> = parts.failed.iter().map(|(rank, _)| *rank).collect();
            let text = format!(
                "plugin {id} has no part of {}, so its figures leave that out: rank {rank}: {}",
                ranks(&lost),
                message(first)
            );
            problems.push(Problem::error("rank_not_analysed", text));
        }
        let wrote = parts.wrote.take();
        let stage = Stage::Final;
        let mut outcome = merge(plugin, stage, &options, &mut parts, subject, baseline);
        if let Outcome::Finished(taken) | Outcome::Failed { taken, .. } = &mut outcome
            && taken.wrote.is_none()
        {
            taken.wrote = wrote;
        }
        outcome
    });
    sections.end(step, outcome, subject);
    sections.say(step, problems);
}

#[cfg(test)]
mod tests {
    use trueno_plugin::Table;

    use super::*;

    fn part(tables: Vec<Table>) -> Part {
        let taken = PluginOutput {
            tables,
            ..PluginOutput::default()
        };
        Outcome::Finished(taken).into()
    }

    fn sums(values: &[i64]) -> Table {
        let table = Table::build("sums").i64("ns", values.iter().copied());
        table.finish().unwrap()
    }

    fn missing(message: &str) -> Part {
        Part::Missing(Outcome::Skipped {
            message: message.to_owned(),
        })
    }

    #[test]
    fn a_part_with_other_columns_counts_in_none_of_its_tables() {
        let mut parts = Parts::default();
        parts.take(0, part(vec![sums(&[1, 2])]));
        let odd = Table::build("sums").text("ns", ["1"]).finish().unwrap();
        let counts = Table::build("counts").u64("n", [3_u64]).finish().unwrap();
        parts.take(4, part(vec![counts, odd]));
        assert_eq!((parts.made, parts.rows), (1, 2));
        assert!(!parts.tables.contains_key("counts"));
        let (rank, outcome) = &parts.failed[0];
        assert_eq!(*rank, 4);
        assert!(message(outcome).contains("table sums are not those"));
    }

    #[test]
    fn a_failure_on_all_ranks_alike_is_that_of_the_whole() {
        let mut parts = Parts::default();
        parts.take(0, missing("no second run"));
        parts.take(1, missing("no second run"));
        let alike = parts.of_none().unwrap();
        assert!(matches!(alike, Outcome::Skipped { message } if message == "no second run"));
        let mut parts = Parts::default();
        parts.take(2, Part::Missing(failed("it crashed".to_owned())));
        parts.take(3, Part::Missing(failed("it was too slow".to_owned())));
        let first = parts.of_none().unwrap();
        assert_eq!(message(&first), "rank 2: it crashed");
    }
}
