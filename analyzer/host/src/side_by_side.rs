//! Runs the plugins of a plan, those that do not wait for each other side by side.
//!
//! What they give does not depend on it: a plugin sees the tables of those it reads, which are through by then, and
//! results are put together in the order of the plan. Plugins run beside others only while their inputs together are
//! no more than half as much again as the largest inputs of a plugin of the plan, and half a GiB at most: columns that
//! two of them read are in memory once, so a report then needs hardly more memory than one after the other.
//!
//! A column is kept until the last plugin that reads it is through. Where inputs are
//! very large, nothing runs beside the plugin with the largest, and a column is kept for the plugins that run only: of a
//! hundred million rows that saves a gigabyte.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::thread;

use trueno_engine::query::{Claims, Database};

use crate::plan::Step;
use crate::plugin::{Outcome, Plugin, Sources, Stage, run};

/// Plugins run side by side while their inputs exceed the largest one by at most this, or by half of it if that is
/// less. For a hundred million rows half would be gigabytes.
const MOST_BESIDE_BYTES: u64 = 1 << 29;
/// If a plugin's inputs are larger than this unpacked, columns are read again rather than kept: some thirty million
/// rows.
const VERY_LARGE_BYTES: u64 = 8 << 30;
/// Enough to plan the queries of most plugins. Only what is touched takes memory.
const STACK_BYTES: usize = 16 << 20;

pub(crate) struct Databases<'a> {
    pub(crate) subject: &'a mut Database,
    pub(crate) baseline: Option<&'a Database>,
}

/// Called when plugins begin and end, on one thread, one after the other.
pub(crate) trait Watch {
    /// The options of a plugin that is ready, a JSON object. `None` skips it.
    fn begin(&mut self, step: usize) -> Option<String>;

    /// Handles its outcome, and publishes the tables that others read.
    fn end(&mut self, step: usize, outcome: Outcome, database: &mut Database);
}

pub(crate) fn run_all(
    steps: &[Step],
    plugins: &[Plugin],
    stage: Stage,
    most_threads: usize,
    databases: Databases<'_>,
    watch: &mut dyn Watch,
) {
    let Databases { subject, baseline } = databases;
    let sizes: Vec<Option<u64>> = steps
        .iter()
        .map(|step| input_bytes(&plugins[step.plugin], subject, baseline))
        .collect();
    let claims_of =
        |step: &Step, subject: &Database| claims(&plugins[step.plugin], stage, subject, baseline);
    let mut queue = Queue::new(steps, sizes, most_threads);
    let mut to_read: Vec<Vec<Claims>> = if queue.is_very_large {
        steps.iter().map(|_| Vec::new()).collect()
    } else {
        steps.iter().map(|step| claims_of(step, subject)).collect()
    };
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        loop {
            while let Some(step) = queue.next() {
                // By now there are tables of plugins that it reads.
                let claims = claims_of(&steps[step], subject);
                to_read[step].clear();
                let Some(options) = watch.begin(step) else {
                    queue.end(step);
                    continue;
                };
                let plugin = &plugins[steps[step].plugin];
                let (tables, send) = (subject.clone(), send.clone());
                let work = move || {
                    let sources = Sources {
                        subject: &tables,
                        baseline,
                    };
                    let outcome = run(plugin, stage, sources, claims, &options);
                    // Somebody waits for as long as a plugin runs.
                    let _ = send.send((step, outcome));
                };
                let thread = thread::Builder::new().name(steps[step].id.clone());
                let started = thread.stack_size(STACK_BYTES).spawn_scoped(scope, work);
                if let Err(error) = started {
                    let message = format!("no thread can be started for it: {error}");
                    watch.end(step, Outcome::Skipped { message }, subject);
                    queue.end(step);
                }
            }
            if !queue.is_running() {
                return;
            }
            let Ok((step, outcome)) = receive.recv() else {
                return;
            };
            watch.end(step, outcome, subject);
            queue.end(step);
        }
    });
}

struct Queue<'a> {
    steps: &'a [Step],
    places: BTreeMap<&'a str, usize>,
    /// How many others wait for a step, and for those that wait for it. 0 where inputs are large: in the order of the
    /// plan, columns are needed for a shorter time.
    waiting: Vec<usize>,
    states: Vec<State>,
    sizes: Vec<Option<u64>>,
    most_bytes: u64,
    /// Columns are read again by each plugin rather than kept for the next.
    is_very_large: bool,
    most_threads: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    Runs,
    Through,
}

impl<'a> Queue<'a> {
    fn new(steps: &'a [Step], sizes: Vec<Option<u64>>, most_threads: usize) -> Self {
        let places = steps
            .iter()
            .enumerate()
            .map(|(at, step)| (step.id.as_str(), at));
        let places: BTreeMap<&str, usize> = places.collect();
        let largest_bytes = sizes.iter().flatten().copied().max().unwrap_or(0);
        let is_very_large = largest_bytes > VERY_LARGE_BYTES;
        let beside_bytes = if is_very_large {
            0
        } else {
            MOST_BESIDE_BYTES.min(largest_bytes / 2)
        };
        Self {
            steps,
            waiting: if largest_bytes == 0 {
                waiting(steps, &places)
            } else {
                vec![0; steps.len()]
            },
            places,
            states: vec![State::Waits; steps.len()],
            most_bytes: largest_bytes.saturating_add(beside_bytes),
            is_very_large,
            sizes,
            most_threads,
        }
    }

    /// Starts and returns a step that may begin: one for which most others wait, the first of the plan among equals.
    fn next(&mut self) -> Option<usize> {
        let all = 0..self.steps.len();
        let ready = all.clone().filter(|&step| self.may_begin(step));
        let ready = ready.min_by_key(|&step| Reverse(self.waiting[step]));
        // Whatever the plan says, a step runs once nothing else does.
        let any = || {
            if self.is_running() {
                None
            } else {
                all.into_iter()
                    .find(|&step| self.states[step] == State::Waits)
            }
        };
        let step = ready.or_else(any)?;
        self.states[step] = State::Runs;
        Some(step)
    }

    fn may_begin(&self, step: usize) -> bool {
        let is_through = |need: &crate::plan::Need| {
            let place = self.places.get(need.plugin.as_str());
            place.is_none_or(|&place| self.states[place] == State::Through)
        };
        let needs = &self.steps[step].needs;
        self.states[step] == State::Waits
            && (self.steps[step].blocked.is_some() || needs.iter().all(is_through))
            && self.has_room(step)
    }

    /// A plugin whose input size is unknown runs alone.
    fn has_room(&self, step: usize) -> bool {
        let running = (0..self.steps.len()).filter(|&other| self.states[other] == State::Runs);
        let running: Vec<Option<u64>> = running.map(|other| self.sizes[other]).collect();
        if running.is_empty() || self.steps[step].blocked.is_some() {
            return true;
        }
        let all = running.iter().chain([&self.sizes[step]]);
        let sum = all.copied().sum::<Option<u64>>();
        running.len() < self.most_threads && sum.is_some_and(|sum| sum <= self.most_bytes)
    }

    fn end(&mut self, step: usize) {
        self.states[step] = State::Through;
    }

    fn is_running(&self) -> bool {
        self.states.contains(&State::Runs)
    }
}

fn waiting(steps: &[Step], places: &BTreeMap<&str, usize>) -> Vec<usize> {
    let mut behind = vec![BTreeSet::new(); steps.len()];
    for (at, step) in steps.iter().enumerate().rev() {
        for need in &step.needs {
            if let Some(&place) = places.get(need.plugin.as_str()) {
                let all: BTreeSet<usize> = behind[at].iter().copied().chain([at]).collect();
                behind[place].extend(all);
            }
        }
    }
    behind.iter().map(BTreeSet::len).collect()
}

/// `None` if the size is unknown before the input is read.
fn input_bytes(plugin: &Plugin, subject: &Database, baseline: Option<&Database>) -> Option<u64> {
    // Those of the whole and of a part; merging is done for one plugin after the other.
    let inputs = plugin.descriptor.inputs.iter();
    let of = inputs.map(|input| match (input.baseline, baseline) {
        (false, _) => subject.bytes_of(&input.sql),
        (true, Some(baseline)) => baseline.bytes_of(&input.sql),
        (true, None) => Some(0),
    });
    of.sum()
}

pub(crate) fn claims(
    plugin: &Plugin,
    stage: Stage,
    subject: &Database,
    baseline: Option<&Database>,
) -> Vec<Claims> {
    let inputs = plugin.descriptor.inputs_of(stage).iter();
    let of = inputs.map(|input| match (input.baseline, baseline) {
        (false, _) => subject.claims(&input.sql),
        (true, Some(baseline)) => baseline.claims(&input.sql),
        (true, None) => Claims::default(),
    });
    of.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Need;

    fn step(id: &str, needs: &[&str]) -> Step {
        let need = |plugin: &&str| Need {
            plugin: (*plugin).to_owned(),
            table: "rows".to_owned(),
            optional: true,
        };
        Step {
            plugin: 0,
            id: id.to_owned(),
            shown: true,
            needs: needs.iter().map(need).collect(),
            blocked: None,
        }
    }

    fn begun(queue: &mut Queue<'_>) -> Vec<String> {
        let mut begun = Vec::new();
        while let Some(step) = queue.next() {
            begun.push(queue.steps[step].id.clone());
        }
        begun
    }

    fn end(queue: &mut Queue<'_>, id: &str) {
        queue.end(queue.places[id]);
    }

    #[test]
    fn a_plugin_waits_for_those_it_reads_and_others_do_not() {
        let steps = [
            step("lanes", &[]),
            step("path", &["lanes"]),
            step("memory", &[]),
            step("answer", &["path", "memory"]),
        ];
        let mut queue = Queue::new(&steps, vec![Some(1), Some(4), Some(3), Some(1)], 4);
        assert_eq!(begun(&mut queue), ["lanes", "memory"]);
        end(&mut queue, "lanes");
        assert_eq!(begun(&mut queue), [] as [&str; 0], "it has no room");
        end(&mut queue, "memory");
        assert_eq!(begun(&mut queue), ["path"]);
        end(&mut queue, "path");
        assert_eq!(begun(&mut queue), ["answer"]);
        end(&mut queue, "answer");
        assert!(!queue.is_running());
    }

    #[test]
    fn what_most_others_wait_for_begins_first() {
        let steps = [
            step("alone", &[]),
            step("memory", &[]),
            step("lanes", &[]),
            step("path", &["lanes"]),
            step("answer", &["memory", "path"]),
        ];
        let mut queue = Queue::new(&steps, vec![Some(0); 5], 1);
        for id in ["lanes", "memory", "path", "alone", "answer"] {
            assert_eq!(begun(&mut queue), [id]);
            end(&mut queue, id);
        }
    }

    #[test]
    fn no_more_is_read_at_once_than_half_as_much_again_as_the_largest_reads() {
        let steps = ["large", "half", "third", "unknown"].map(|id| step(id, &[]));
        let sizes = vec![Some(10), Some(9), Some(6), None];
        let mut queue = Queue::new(&steps, sizes.clone(), 4);
        assert_eq!(begun(&mut queue), ["large"]);
        end(&mut queue, "large");
        assert_eq!(begun(&mut queue), ["half", "third"]);
        end(&mut queue, "half");
        assert_eq!(begun(&mut queue), [] as [&str; 0], "its size is not known");
        end(&mut queue, "third");
        assert_eq!(begun(&mut queue), ["unknown"]);
        let mut queue = Queue::new(&steps, sizes, 1);
        assert_eq!(begun(&mut queue), ["large"]);
        end(&mut queue, "large");
        assert_eq!(begun(&mut queue), ["half"], "there is one core");
    }

    #[test]
    fn beside_very_large_inputs_there_is_room_for_half_a_gibibyte() {
        let steps = ["large", "half", "small"].map(|id| step(id, &[]));
        const GIB: u64 = 1 << 30;
        let mut queue = Queue::new(&steps, vec![Some(6 * GIB), Some(3 * GIB), Some(GIB / 2)], 4);
        assert_eq!(begun(&mut queue), ["large", "small"]);
        end(&mut queue, "large");
        assert_eq!(begun(&mut queue), ["half"]);
        let mut queue = Queue::new(&steps, vec![Some(9 * GIB), Some(3 * GIB), Some(GIB / 2)], 4);
        assert_eq!(begun(&mut queue), ["large"], "larger ones run alone");
    }

    #[test]
    fn plugins_that_wait_for_each_other_run_even_so() {
        let steps = [step("one", &["other"]), step("other", &["one"])];
        let mut queue = Queue::new(&steps, vec![Some(1), Some(1)], 2);
        assert_eq!(begun(&mut queue), ["one"]);
        end(&mut queue, "one");
        assert_eq!(begun(&mut queue), ["other"]);
    }
}
