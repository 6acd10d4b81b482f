//! Plugins over the ranks of a job.
//!
//! One that can work rank by rank makes a part of each, with the rows of that rank alone in memory, and merges the
//! parts; any other gets all rows at once, as long as they are not too many. Both ways give the same, so that a
//! report does not depend on which was taken. As many ranks are worked on at once as there are cores, while they are
//! small, all plugins of a rank one after the other, so that a column that several of them read is read once.
//!
//! A plugin that makes no part of some rank loses that rank, not its section.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use trueno_engine::cores;
use trueno_engine::query::Database;
use trueno_engine::run::Run;

use crate::plan::{Step, tables_of_others};
use crate::plugin::{Outcome, Stage};
use crate::rank_parts::{Parts, failed, finish};
use crate::request::Request;
use crate::sections::Sections;
use crate::side_by_side::{self, Databases, Watch};

/// Rows of ranks that are worked on at once: some 600 MB.
const ROWS_AT_ONCE: u64 = 8_000_000;

/// The ranks of a job.
pub(crate) struct Ranks<'a> {
    /// Their numbers.
    pub(crate) numbers: &'a [u32],
    /// Makes the database of one, with all that plugins read; the message says why it cannot.
    pub(crate) open: &'a (dyn Fn(u32) -> Result<Database, String> + Sync),
}

/// Runs all steps.
pub(crate) fn run_all(
    request: &Request<'_>,
    steps: &[Step],
    ranks: &Ranks<'_>,
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
                // Of an optional one a part sees nothing: merging reads it.
                let needed = needs.iter().filter(|(_, is_optional)| !**is_optional);
                needed
                    .map(|((other, _), _)| other)
                    .all(|other| is_through(other))
            })
            .collect();
        if !wave.is_empty() {
            let job = Job {
                request,
                steps,
                subject,
                baseline,
            };
            parts.extend(job.parts(&wave, ranks, sections));
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
        side_by_side::run_all(
            &some,
            plugins,
            Stage::Whole,
            cores::count(),
            databases,
            &mut watch,
        );
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
        let Some(message) = self.sections.too_many(place) else {
            return Some(options);
        };
        self.sections.skip(place, message);
        None
    }

    fn end(&mut self, step: usize, outcome: Outcome, database: &mut Database) {
        self.sections.end(self.places[step], outcome, database);
    }
}

/// Data that parts are made from.
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
        ranks: &Ranks<'_>,
        sections: &Sections<'_>,
    ) -> BTreeMap<usize, Parts> {
        let plugins = &self.request.registry.plugins;
        let some: Vec<Step> = wave.iter().map(|&step| self.steps[step].clone()).collect();
        let options: Vec<String> = wave.iter().map(|&step| sections.options(step)).collect();
        let mut parts: Vec<Parts> = wave.iter().map(|_| Parts::default()).collect();
        let needed = some.iter().flat_map(|step| {
            let inputs = &plugins[step.plugin].descriptor.inputs;
            let needs = tables_of_others(inputs).into_iter();
            needs.filter(|(_, is_optional)| !is_optional)
        });
        let tables: BTreeSet<String> = needed
            .map(|((plugin, table), _)| format!("{plugin}.{table}"))
            .collect();
        let job = self.subject;
        let open = |rank: u32| -> Result<Database, String> {
            let mut database = (ranks.open)(rank)?;
            for table in &tables {
                database.register_from(table, job);
            }
            Ok(database)
        };
        let count = ranks.numbers.len();
        let at_once = at_once(self.request.run);
        let threads = (cores::count() / at_once).max(1);
        let baseline = self.baseline;
        let left = Mutex::new(ranks.numbers.iter().copied().enumerate());
        let work = |send: &Sender<Said>| {
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((place, rank)) = next else {
                    return;
                };
                // Somebody listens for as long as a rank is worked on.
                let _ = send.send(Said::Begins(place, rank));
                let mut watch = OfRank {
                    options: &options,
                    gave: some.iter().map(|_| None).collect(),
                };
                match open(rank) {
                    Ok(mut database) => {
                        let databases = Databases {
                            subject: &mut database,
                            baseline,
                        };
                        let stage = Stage::Part;
                        side_by_side::run_all(
                            &some, plugins, stage, threads, databases, &mut watch,
                        );
                    }
                    Err(message) => {
                        let failed = || Some(failed(message.clone()));
                        watch.gave = some.iter().map(|_| failed()).collect();
                    }
                }
                let _ = send.send(Said::Ends(place, rank, watch.gave));
            }
        };
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for number in 0..at_once {
                let thread = thread::Builder::new().name(format!("ranks {number}"));
                let (work, to) = (&work, send.clone());
                let started = thread.spawn_scoped(scope, move || work(&to));
                if started.is_err() && number == 0 {
                    work(&send);
                }
            }
            drop(send);
            let mut early = BTreeMap::new();
            let mut next = 0;
            for said in receive {
                match said {
                    Said::Begins(place, rank) => {
                        (self.request.before_each)(&named(rank, place, count))
                    }
                    Said::Ends(place, rank, gave) => {
                        (self.request.after_each)(&named(rank, place, count));
                        early.insert(place, (rank, gave));
                    }
                }
                // In the order of the ranks, whichever is through first.
                while let Some((rank, gave)) = early.remove(&next) {
                    next += 1;
                    for (((step, options), parts), outcome) in
                        some.iter().zip(&options).zip(&mut parts).zip(gave)
                    {
                        if let Some(outcome) = outcome {
                            parts.take(rank, outcome);
                        }
                        let plugin = &plugins[step.plugin];
                        parts.merge_if_many(plugin, options, self.subject, baseline);
                    }
                }
            }
        });
        wave.iter().copied().zip(parts).collect()
    }
}

/// Told by those who work on ranks: place and number of one that begins, or has ended with these outcomes.
enum Said {
    Begins(usize, u32),
    Ends(usize, u32, Vec<Option<Outcome>>),
}

fn named(rank: u32, place: usize, count: usize) -> String {
    format!("rank {rank} ({} of {count})", place + 1)
}

/// Ranks to work on at once: as many as there are cores, while their rows together are few.
fn at_once(run: &Run) -> usize {
    let ranks = run.ranks();
    let rows = ranks.iter().map(|(_, rank)| rank.facts().rows);
    let largest = rows.max().unwrap_or(0).max(1);
    let few = usize::try_from(ROWS_AT_ONCE / largest).unwrap_or(usize::MAX);
    cores::count().min(few).min(ranks.len()).max(1)
}

/// Outcomes of plugins for a rank.
struct OfRank<'a> {
    options: &'a [String],
    gave: Vec<Option<Outcome>>,
}

impl Watch for OfRank<'_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        Some(self.options[step].clone())
    }

    fn end(&mut self, step: usize, outcome: Outcome, _: &mut Database) {
        self.gave[step] = Some(outcome);
    }
}
