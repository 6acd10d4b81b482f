//! Plugins over the ranks of a job.
//!
//! One that can work rank by rank makes a part of each, with the rows of that rank alone in memory, and merges the
//! parts; any other gets all rows at once, as long as they are not too many. Both ways give the same, so that a
//! report does not depend on which was taken. Ranks are worked on one after the other, all plugins of a
//! rank side by side: a column that several of them read is read once.
//!
//! A plugin that makes no part of some rank loses that rank, not its section.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::DataFrame;
use trueno_engine::closed_types;
use trueno_engine::query::Database;
use trueno_model::{Problem, ranks};

use crate::build::{Request, Sections};
use crate::plan::{Step, tables_of_others};
use crate::plugin::{FailureKind, Outcome, Plugin, Sources, Stage, Taken, run};
use crate::side_by_side::{self, Databases, Watch};

/// Rows of parts that are kept before they are merged.
const PART_ROWS: usize = 1 << 20;

/// Runs all steps.
pub(crate) fn run_all(
    request: &Request<'_>,
    steps: &[Step],
    mut ranks: Vec<(u32, Database)>,
    databases: Databases<'_>,
    sections: &mut Sections<'_>,
) {
    let plugins = &request.registry.plugins;
    let Databases { subject, baseline } = databases;
    let mut left: Vec<usize> = (0..steps.len()).collect();
    let mut parts: BTreeMap<usize, Parts> = BTreeMap::new();
    while !left.is_empty() {
        let is_through = |id: &str| !left.iter().any(|&step| steps[step].id == id);
        let has_parts = |step: usize| {
            let plugin = &plugins[steps[step].plugin].descriptor;
            plugin.merge_inputs.is_some() && steps[step].blocked.is_none()
        };
        // Of those that have no parts yet, all that need nobody who is not through.
        let wave: Vec<usize> = left
            .iter()
            .copied()
            .filter(|step| has_parts(*step) && !parts.contains_key(step))
            .filter(|&step| {
                let inputs = &plugins[steps[step].plugin].descriptor.inputs;
                let needs = tables_of_others(inputs);
                needs.keys().all(|(other, _)| is_through(other))
            })
            .collect();
        if !wave.is_empty() {
            let job = Job {
                request,
                steps,
                subject,
                baseline,
            };
            parts.extend(job.parts(&wave, &mut ranks, sections));
            continue;
        }
        let is_ready = |step: usize| {
            let needs = &steps[step].needs;
            needs.iter().all(|need| is_through(&need.plugin))
        };
        let ready = left.iter().copied().find(|step| is_ready(*step));
        // Whatever the plan says, a step runs once nothing else does.
        let Some(step) = ready.or(left.first().copied()) else {
            return;
        };
        if let Some(parts) = parts.remove(&step) {
            finish(step, parts, subject, baseline, sections);
            left.retain(|other| *other != step);
            continue;
        }
        // All that are ready and get all rows, side by side.
        let together: Vec<usize> = left
            .iter()
            .copied()
            .filter(|&other| other == step || (is_ready(other) && !parts.contains_key(&other)))
            .collect();
        left.retain(|step| !together.contains(step));
        let some: Vec<Step> = together.iter().map(|&step| steps[step].clone()).collect();
        let places = together;
        let mut watch = Together { places, sections };
        let databases = Databases {
            subject: &mut *subject,
            baseline,
        };
        side_by_side::run_all(&some, plugins, Stage::Whole, databases, &mut watch);
    }
}

/// Steps that get all rows at once.
struct Together<'a, 'b> {
    /// The step of each, in the plan.
    places: Vec<usize>,
    sections: &'a mut Sections<'b>,
}

impl Watch for Together<'_, '_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        let place = self.places[step];
        let options = self.sections.begin(place)?;
        match self.sections.too_many(place) {
            None => Some(options),
            Some(message) => {
                self.sections.skip(place, message);
                None
            }
        }
    }

    fn end(&mut self, step: usize, outcome: Outcome, database: &mut Database) {
        self.sections.end(self.places[step], outcome, database);
    }
}

/// Parts of a plugin.
#[derive(Default)]
struct Parts {
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
}

/// What parts are made from.
struct Job<'a> {
    request: &'a Request<'a>,
    steps: &'a [Step],
    subject: &'a Database,
    baseline: Option<&'a Database>,
}

impl Job<'_> {
    /// The parts of these steps, of all ranks.
    fn parts(
        &self,
        wave: &[usize],
        ranks: &mut [(u32, Database)],
        sections: &Sections<'_>,
    ) -> BTreeMap<usize, Parts> {
        let plugins = &self.request.registry.plugins;
        let some: Vec<Step> = wave.iter().map(|&step| self.steps[step].clone()).collect();
        let options: Vec<String> = wave.iter().map(|&step| sections.options(step)).collect();
        let mut parts: Vec<Parts> = wave.iter().map(|_| Parts::default()).collect();
        let inputs = some.iter().flat_map(|step| &step.needs);
        let tables: BTreeSet<String> = inputs
            .map(|need| format!("{}.{}", need.plugin, need.table))
            .collect();
        let count = ranks.len();
        for (number, (rank, database)) in ranks.iter_mut().enumerate() {
            let says = format!("rank {rank} ({} of {count})", number + 1);
            (self.request.before_each)(&says);
            for table in &tables {
                database.register_from(table, self.subject);
            }
            let mut watch = OfRank {
                rank: *rank,
                options: &options,
                parts: &mut parts,
            };
            let databases = Databases {
                subject: database,
                baseline: self.baseline,
            };
            side_by_side::run_all(&some, plugins, Stage::Part, databases, &mut watch);
            for ((step, options), parts) in some.iter().zip(&options).zip(&mut parts) {
                if parts.rows > PART_ROWS.max(2 * parts.merged_rows) {
                    self.merge(&plugins[step.plugin], options, parts);
                }
            }
            (self.request.after_each)(&says);
        }
        wave.iter().copied().zip(parts).collect()
    }

    /// Makes one part of those there are.
    fn merge(&self, plugin: &Plugin, options: &str, parts: &mut Parts) {
        let made = parts.made;
        match merge(
            plugin,
            Stage::Merge,
            options,
            parts,
            self.subject,
            self.baseline,
        ) {
            Outcome::Finished(taken) => {
                if let Err(message) = parts.add(taken) {
                    parts.broken = Some(failed(message));
                }
                (parts.made, parts.merged_rows) = (made, parts.rows);
            }
            outcome => parts.broken = Some(outcome),
        }
    }
}

/// Parts of a rank.
struct OfRank<'a> {
    rank: u32,
    options: &'a [String],
    parts: &'a mut [Parts],
}

impl Watch for OfRank<'_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        let is_broken = self.parts[step].broken.is_some();
        (!is_broken).then(|| self.options[step].clone())
    }

    fn end(&mut self, step: usize, outcome: Outcome, _: &mut Database) {
        let parts = &mut self.parts[step];
        let why = match outcome {
            Outcome::Finished(taken) => match parts.add(taken) {
                Ok(()) => return,
                Err(why) => why,
            },
            Outcome::Failed { message, .. } | Outcome::Skipped { message } => message,
        };
        parts.failed.push((self.rank, why));
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
    let inputs = plugin.descriptor.inputs_of(stage).iter();
    let claims = inputs.map(|input| database.claims(&input.sql)).collect();
    run(plugin, stage, sources, claims, options)
}

fn failed(message: String) -> Outcome {
    Outcome::Failed {
        kind: FailureKind::Rejected,
        message,
        taken: Taken::default(),
    }
}

/// Makes the section of a step from its parts.
fn finish(
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
