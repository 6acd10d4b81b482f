//! Plugins over the ranks of a job.
//!
//! One that can work rank by rank makes a part of each, with the rows of that rank alone in memory, and merges the
//! parts; any other gets all rows at once, of a window those of it. Both ways give the same, so that a report does not
//! depend on which was taken. Where all rows are too many and no window was chosen, it gets those of a typical iteration. As many ranks are worked on at once as there are
//! cores, while they are small, all plugins of a rank one after the other, so that a column that several of them read
//! is read once.
//!
//! A plugin that makes no part of some rank loses that rank, not its section.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use trueno_engine::cores;
use trueno_engine::query::{Database, Plans};
use trueno_engine::run::Run;
use trueno_model::{Level, Problem, SectionStatus, Window};

use crate::excerpt::Excerpt;
use crate::plan::{PluginSelection, Step, seen_by_parts};
use crate::plugin::{Outcome, Plugin, Stage};
use crate::rank_parts::{Part, Parts, failed, finish};
use crate::request::Request;
use crate::sections::{OfWindow, Sections};
use crate::side_by_side::{self, Databases, Watch};
use crate::together::{Rows, Together, too_many, typical_iteration};
use crate::window::{self, WindowSpec};

/// Limit on rows of ranks in memory at once, some 600 MB.
const ROWS_AT_ONCE: u64 = 8_000_000;

pub(crate) struct Ranks<'a> {
    pub(crate) numbers: &'a [u32],
    pub(crate) open: &'a (dyn Fn(u32) -> Result<Database, String> + Sync),
    /// Runs plugins over a window of the job. `None` if that fails.
    pub(crate) in_window: &'a dyn Fn(WindowSpec, &PluginSelection) -> Option<OfWindow>,
    /// `None` for the whole job.
    pub(crate) window: Option<&'a Window>,
}

/// Runs all steps. With `only`, computes just the parts of these ranks and what they need, and reports ranks whose
/// parts are missing.
pub(crate) fn run_all(
    request: &Request<'_>,
    steps: &[Step],
    ranks: &Ranks<'_>,
    only: Option<&BTreeSet<u32>>,
    databases: Databases<'_>,
    sections: &mut Sections<'_>,
) -> Made {
    let plugins = &request.registry.plugins;
    let Databases { subject, baseline } = databases;
    let mut made = Made::default();
    let mut left: Vec<usize> = (0..steps.len()).collect();
    let mut parts: BTreeMap<usize, Parts> = BTreeMap::new();
    let mut excerpt: Option<Result<Excerpt, String>> = None;
    let mut may_take_part = ranks.window.is_none();
    // A plugin that does not know the window would take what lies outside for missing.
    let is_cut = |step: &usize| {
        let plugin = &plugins[steps[*step].plugin];
        plugin.descriptor.reads(window::TABLE) && too_many(request, plugin).is_some()
    };
    let seen = |step: usize| seen_by_parts(&plugins[steps[step].plugin].descriptor);
    while !left.is_empty() {
        let has_parts = |step: usize| {
            let plugin = &plugins[steps[step].plugin].descriptor;
            plugin.merge_inputs.is_some() && steps[step].blocked.is_none()
        };
        let without: Vec<usize> = left
            .iter()
            .copied()
            .filter(|step| has_parts(*step) && !parts.contains_key(step))
            .collect();
        let awaited = without.iter().flat_map(|step| seen(*step));
        let awaited: BTreeSet<String> = awaited.map(|(id, _)| id).collect();
        if only.is_some() {
            // What no part waits for is not for whoever makes some of them.
            left.retain(|step| without.contains(step) || awaited.contains(&steps[*step].id));
            if left.is_empty() {
                break;
            }
        }
        let is_through = |id: &str| !left.iter().any(|&step| steps[step].id == id);
        // Of those that have no parts yet, all that need nobody who is not through.
        let is_ready = |step: &usize| seen(*step).iter().all(|(other, _)| is_through(other));
        let wave: Vec<usize> = without.iter().copied().filter(is_ready).collect();
        if !wave.is_empty() {
            let job = Job {
                request,
                steps,
                subject,
                baseline,
                only,
                awaited: &awaited,
            };
            parts.extend(job.parts(&wave, ranks, sections, &mut made));
            made.rounds += 1;
            if !made.missing.is_empty() {
                break;
            }
            continue;
        }
        if may_take_part {
            let is_whole = |step: &usize| steps[*step].blocked.is_none() && !has_parts(*step);
            let of_left = left.iter().copied();
            let large: Vec<usize> = of_left.filter(is_whole).filter(is_cut).collect();
            let ids = || large.iter().map(|step| steps[*step].id.as_str());
            if !large.is_empty() {
                may_take_part = false;
                if let Some(part) = in_typical_iteration(request, ranks, ids()) {
                    sections.add_part(&large, part, subject);
                    left.retain(|step| !large.contains(step));
                    continue;
                }
            }
        }
        let is_ready = |step: usize| {
            let needs = &steps[step].needs;
            needs.iter().all(|need| is_through(&need.plugin))
        };
        let ready = left.iter().copied().find(|step| is_ready(*step));
        // Whatever the plan says, a step runs once nothing else does.
        let Some(step) = ready.or(left.first().copied()) else {
            break;
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
        let mut run = |places: Vec<usize>, rows: Rows<'_>, subject: &mut Database| {
            let some: Vec<Step> = places.iter().map(|&step| steps[step].clone()).collect();
            let sections = &mut *sections;
            let mut watch = Together {
                places,
                rows,
                sections,
            };
            let databases = Databases { subject, baseline };
            side_by_side::run_all(
                &some,
                plugins,
                Stage::Whole,
                cores::count(),
                databases,
                &mut watch,
            );
        };
        let Some(window) = ranks.window else {
            run(together, Rows::All, subject);
            continue;
        };
        let (large, small): (Vec<usize>, Vec<usize>) = together.into_iter().partition(is_cut);
        run(small, Rows::All, subject);
        if large.is_empty() {
            continue;
        }
        // Read once, with what plugins that wait for these read.
        let excerpt = excerpt.get_or_insert_with(|| {
            let waiting = left.iter().copied().filter(|step| !has_parts(*step));
            let all = large.iter().copied().chain(waiting);
            let plugins: Vec<&Plugin> = all.map(|step| &plugins[steps[step].plugin]).collect();
            Excerpt::read(
                &plugins,
                subject,
                ranks,
                window,
                request.over_ranks.max_rows,
            )
        });
        match excerpt {
            Ok(excerpt) => {
                let names: Vec<String> = large
                    .iter()
                    .map(|step| format!("{}.", steps[*step].id))
                    .collect();
                let mut database = excerpt.over(subject);
                run(large, Rows::Excerpt, &mut database);
                let gave = database.table_names().filter(|table| {
                    names
                        .iter()
                        .any(|plugin| table.starts_with(plugin.as_str()))
                });
                for table in gave {
                    subject.register_from(table, &database);
                }
            }
            Err(why) => run(large, Rows::None(why.as_str()), subject),
        }
    }
    made
}

/// What plugins find in an iteration of median length of all ranks. `None` if no iterations were recorded.
fn in_typical_iteration<'s>(
    request: &Request<'_>,
    ranks: &Ranks<'_>,
    ids: impl Iterator<Item = &'s str>,
) -> Option<OfWindow> {
    let (iteration, rank) = typical_iteration(request.run)?;
    let selection = PluginSelection {
        only: ids.map(str::to_owned).collect(),
        skip: request.selection.skip.clone(),
    };
    let window = WindowSpec::Iteration(u64::try_from(iteration).ok()?);
    let mut part = (ranks.in_window)(window, &selection)?;
    let done = part.sections.iter();
    let done = done.filter(|section| section.status != SectionStatus::Skipped);
    let ids: Vec<&str> = done.map(|section| section.plugin.as_str()).collect();
    if !ids.is_empty() {
        part.problems.push(Problem {
            severity: Level::Info,
            code: "analysed_in_part".into(),
            text: format!(
                "{} analysed iteration {iteration} only, of median length on rank {rank}: there are more rows of all ranks than \
                 are read at once (hint: --window or --from and --to choose another part; --max-rows N allows all, at some 80 \
                 bytes of memory a row)",
                ids.join(", ")
            ),
        });
    }
    Some(part)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Passes over the ranks. Plugins that read merged results of others need another pass.
    pub rounds: usize,
    /// Parts computed here, one per pass and rank.
    pub made: usize,
    pub kept: usize,
    /// Ranks whose parts could not be cached. [`PartCache::messages`](crate::PartCache::messages) says why.
    pub not_kept: Vec<u32>,
    /// Ranks whose parts the next pass needs and that another process has not computed yet.
    pub missing: Vec<u32>,
}

struct Job<'a> {
    request: &'a Request<'a>,
    steps: &'a [Step],
    subject: &'a Database,
    baseline: Option<&'a Database>,
    /// Ranks to compute parts of; `None` means all.
    only: Option<&'a BTreeSet<u32>>,
    /// Plugins whose merged results parts wait for. With `only`, no others are merged here.
    awaited: &'a BTreeSet<String>,
}

impl Job<'_> {
    fn parts(
        &self,
        wave: &[usize],
        ranks: &Ranks<'_>,
        sections: &Sections<'_>,
        made: &mut Made,
    ) -> BTreeMap<usize, Parts> {
        let plugins = &self.request.registry.plugins;
        let some: Vec<Step> = wave.iter().map(|&step| self.steps[step].clone()).collect();
        let options: Vec<String> = wave.iter().map(|&step| sections.options(step)).collect();
        let mut parts: Vec<Parts> = wave.iter().map(|_| Parts::default()).collect();
        let seen = some
            .iter()
            .flat_map(|step| seen_by_parts(&plugins[step.plugin].descriptor));
        let tables: BTreeSet<String> = seen
            .map(|(plugin, table)| format!("{plugin}.{table}"))
            .collect();
        let job = self.subject;
        let plans = Plans::default();
        let open = |rank: u32| -> Result<Database, String> {
            let mut database = (ranks.open)(rank)?;
            for table in &tables {
                database.register_from(table, job);
            }
            database.share_plans(&plans);
            Ok(database)
        };
        let (folder, only) = (self.request.over_ranks.part_cache, self.only);
        let is_needed = |step: &Step| only.is_none() || self.awaited.contains(&step.id);
        let is_needed: Vec<bool> = some.iter().map(is_needed).collect();
        let are_merged = is_needed.contains(&true);
        let kept = folder.and_then(|kept| {
            let plugins = some.iter().map(|step| &plugins[step.plugin]);
            let of = kept.of(plugins.zip(&options));
            of.map_err(|error| kept.say(error.to_string())).ok()
        });
        let say = |text: String| {
            if let Some(folder) = folder {
                folder.say(text);
            }
        };
        let count = ranks.numbers.len();
        let at_once = at_once(self.request.run);
        let threads = (cores::count() / at_once).max(1);
        let baseline = self.baseline;
        let make = |rank: u32| -> Vec<Part> {
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
                    side_by_side::run_all(&some, plugins, stage, threads, databases, &mut watch);
                }
                Err(message) => {
                    let failed = || Some(Part::Missing(failed(message.clone())));
                    watch.gave = some.iter().map(|_| failed()).collect();
                }
            }
            let none = || Part::Missing(failed("it was not run".to_owned()));
            watch
                .gave
                .into_iter()
                .map(|part| part.unwrap_or_else(none))
                .collect()
        };
        let is_asked = |rank: u32| only.is_none_or(|only| only.contains(&rank));
        let is_kept = |rank: u32| kept.as_ref().is_some_and(|kept| kept.has(rank));
        // Looked at once: others make theirs meanwhile, and a part that is neither read nor missing would be left out.
        let others = ranks.numbers.iter().filter(|rank| !is_asked(**rank));
        let is_missing = |rank: &&u32| are_merged && !is_kept(**rank);
        let missing: BTreeSet<u32> = others.filter(is_missing).copied().collect();
        let are_read = are_merged && missing.is_empty();
        let left = Mutex::new(ranks.numbers.iter().copied().enumerate());
        let work = |send: &Sender<Said>| {
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((place, rank)) = next else {
                    return;
                };
                // Somebody listens for as long as a rank is worked on.
                let _ = send.send(Said::Begins(place, rank));
                let mut found = Found::default();
                if !is_asked(rank) && !are_read {
                    found.is_missing = missing.contains(&rank);
                    let _ = send.send(Said::Ends(place, rank, found));
                    continue;
                }
                // Damaged parts of its own are made again here, also if only others need them.
                let is_read = |at: usize| is_asked(rank) || is_needed[at];
                match kept
                    .as_ref()
                    .map_or(Ok(None), |kept| kept.read(rank, is_read))
                {
                    Ok(Some(parts)) => (found.parts, found.was_kept) = (parts, true),
                    Ok(None) => {}
                    Err(why) => say(format!("{why}; it is computed again")),
                }
                if !found.was_kept {
                    found.parts = make(rank);
                    let written = kept.as_ref().map(|kept| {
                        // What could not be read would be missing in a part.
                        let failed = self.request.run.others_failed();
                        failed.map_or_else(|| kept.write(rank, &found.parts), Err)
                    });
                    if let Some(Err(why)) = written {
                        say(format!("the parts of rank {rank} are not saved: {why}"));
                        found.is_not_kept = true;
                    }
                }
                let _ = send.send(Said::Ends(place, rank, found));
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
                    Said::Ends(place, rank, found) => {
                        (self.request.after_each)(&named(rank, place, count));
                        early.insert(place, (rank, found));
                    }
                }
                // In the order of the ranks, whichever is through first.
                while let Some((rank, found)) = early.remove(&next) {
                    next += 1;
                    made.add(rank, &found);
                    for (at, part) in found.parts.into_iter().enumerate() {
                        if is_needed[at] {
                            parts[at].take(rank, part);
                            let plugin = &plugins[some[at].plugin];
                            parts[at].merge_if_many(plugin, &options[at], self.subject, baseline);
                        }
                    }
                }
            }
        });
        wave.iter().copied().zip(parts).collect()
    }
}

/// Message of a worker: a rank (its index and number) begins, or has ended with these parts.
enum Said {
    Begins(usize, u32),
    Ends(usize, u32, Found),
}

/// One part per plugin for a rank; empty if another process computes them.
#[derive(Default)]
struct Found {
    parts: Vec<Part>,
    was_kept: bool,
    is_not_kept: bool,
    /// Another process has not computed them yet, and they are needed for merging.
    is_missing: bool,
}

impl Made {
    fn add(&mut self, rank: u32, found: &Found) {
        match () {
            () if found.is_missing => self.missing.push(rank),
            () if found.was_kept => self.kept += 1,
            () if !found.parts.is_empty() => self.made += 1,
            () => {}
        }
        if found.is_not_kept {
            self.not_kept.push(rank);
        }
    }
}

fn named(rank: u32, place: usize, count: usize) -> String {
    format!("rank {rank} ({} of {count})", place + 1)
}

/// Number of ranks to work on at once: one per core, as long as their rows fit into [`ROWS_AT_ONCE`].
fn at_once(run: &Run) -> usize {
    let ranks = run.ranks();
    let rows = ranks.iter().map(|(_, rank)| rank.facts().rows);
    let largest = rows.max().unwrap_or(0).max(1);
    let few = usize::try_from(ROWS_AT_ONCE / largest).unwrap_or(usize::MAX);
    cores::count().min(few).min(ranks.len()).max(1)
}

struct OfRank<'a> {
    options: &'a [String],
    gave: Vec<Option<Part>>,
}

impl Watch for OfRank<'_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        Some(self.options[step].clone())
    }

    fn end(&mut self, step: usize, outcome: Outcome, _: &mut Database) {
        self.gave[step] = Some(outcome.into());
    }
}
