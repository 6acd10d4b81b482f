//! A picture of a recording at a moment, as data.

use std::collections::BTreeMap;

use serde::Serialize;
use trueno_analysis::roofline::ceilings::Ceilings;
use trueno_format::BrickId;
use trueno_format::observe::EventKind;
use trueno_model::categories::CategoryRules;

use crate::gauges::Gauges;
use crate::roof::{KernelRoof, kernel_roof};
use crate::warnings::Warning;
use crate::window::{Label, Sums};

/// Category of time that a thread waited for others.
pub const WAITING: &str = "waiting";
/// Category of iterations and layers themselves, and of kernels directly in them.
pub const OUTSIDE: &str = "outside bricks";
const UNCATEGORISED: &str = "uncategorised";

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// `recording`, and after the end `finished`, `failed`, `recovered` or `killed`.
    pub state: &'static str,
    /// The run's label, or the program's name.
    pub label: String,
    pub run_id: String,
    pub pid: Option<u32>,
    pub elapsed_ns: Option<i64>,
    pub window: WindowFacts,
    pub iterations: Iterations,
    pub threads: Threads,
    /// Self time of rows by category, the most first.
    pub categories: Vec<Part>,
    /// Self time of bricks, functions and tasks by name, the most first.
    pub bricks: Vec<Part>,
    /// Kernels by name and backend, the most time first.
    pub kernels: Vec<Kernel>,
    pub gauges: Gauges,
    /// Rows in segments so far, by table.
    pub written_rows: BTreeMap<&'static str, u64>,
    pub dropped_rows: BTreeMap<&'static str, u64>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WindowFacts {
    pub from_ns: i64,
    pub to_ns: i64,
    /// Time since the newest event; null if there was none.
    pub newest_event_age_ns: Option<i64>,
    /// Rows known to be open because others ended in them. Their self time is not in the sums yet.
    pub open_rows: u64,
    /// Records overwritten before they were read, since the start of watching.
    pub overwritten_records: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Iterations {
    pub ended: u64,
    pub per_s: Option<f64>,
    pub mean_ns: Option<f64>,
    pub longest_ns: Option<u64>,
    pub tokens_per_s: Option<f64>,
    pub samples_per_s: Option<f64>,
    pub not_measured: Option<&'static str>,
}

/// Time of threads. The parts add up to `time_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Threads {
    pub recording: usize,
    /// Sum of the time that threads existed.
    pub time_ns: u64,
    /// In ended bricks, functions, tasks and kernels.
    pub work_ns: u64,
    pub waiting_ns: u64,
    /// In ended iterations and layers, but in none of their bricks.
    pub outside_bricks_ns: u64,
    /// In no ended row: in an open one, or in none.
    pub not_ended_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub time_ns: u64,
    pub share: Option<f64>,
    pub ended: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    pub name: String,
    /// Empty if unknown.
    pub backend: String,
    /// The device it ran on; null for a thread.
    pub device: Option<u32>,
    pub calls: u64,
    /// Sum of durations; for a device by its clock. Null if the device did not report it.
    pub time_ns: Option<u64>,
    #[serde(flatten)]
    pub roof: KernelRoof,
}

/// Names, rules and ceilings that turn numbers into a snapshot.
pub struct Meaning<'a> {
    pub name: &'a dyn Fn(u32) -> String,
    pub rules: &'a CategoryRules,
    pub ceilings: &'a Ceilings,
}

impl Meaning<'_> {
    fn category(&self, label: &Label) -> String {
        let by_rule = |name: &str| self.rules.category(name).map(str::to_owned);
        let name = (self.name)(label.name);
        match label.kind {
            EventKind::Wait => WAITING.to_owned(),
            EventKind::Iteration | EventKind::Layer => OUTSIDE.to_owned(),
            EventKind::Kernel => by_rule(&name).unwrap_or_else(|| OUTSIDE.to_owned()),
            _ if label.category != 0 => (self.name)(label.category),
            EventKind::Brick if let Some(brick) = BrickId::from_name(&name) => {
                brick.category().name().to_owned()
            }
            _ => by_rule(&name).unwrap_or_else(|| UNCATEGORISED.to_owned()),
        }
    }
}

impl Snapshot {
    /// Adds the sums of a window. `thread_ns` is the time that threads existed.
    pub fn add_sums(&mut self, sums: &Sums, thread_ns: u64, meaning: &Meaning<'_>) {
        (self.window.from_ns, self.window.to_ns) = (sums.from_ns, sums.to_ns);
        self.window.open_rows = sums.open_rows;
        self.iterations = iterations(sums);
        let covered_ns = sums.covered_ns();
        // Threads that came and went between two looks have left rows alone.
        self.threads.time_ns = thread_ns.max(covered_ns);
        self.threads.not_ended_ns = self.threads.time_ns - covered_ns;
        let whole_ns = self.threads.time_ns;
        let share = |time_ns: u64| (whole_ns > 0).then(|| time_ns as f64 / whole_ns as f64);
        let mut categories: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut bricks: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for (label, sum) in &sums.rows {
            let category = meaning.category(label);
            match label.kind {
                EventKind::Wait => self.threads.waiting_ns += sum.time_ns,
                EventKind::Iteration | EventKind::Layer => {
                    self.threads.outside_bricks_ns += sum.time_ns;
                }
                _ => {
                    self.threads.work_ns += sum.time_ns;
                    let name = (meaning.name)(label.name);
                    let all = bricks.entry((name, category.clone())).or_default();
                    *all = (all.0 + sum.time_ns, all.1 + sum.ended);
                }
            }
            let all = categories.entry(category).or_default();
            *all = (all.0 + sum.time_ns, all.1 + sum.ended);
        }
        let part = |name, category, (time_ns, ended): (u64, u64)| Part {
            name,
            category,
            time_ns,
            share: share(time_ns),
            ended,
        };
        let parts = categories.into_iter();
        self.categories = parts.map(|(name, sum)| part(name, None, sum)).collect();
        let parts = bricks.into_iter();
        self.bricks = parts
            .map(|((name, category), sum)| part(name, Some(category), sum))
            .collect();
        let most_first = |a: &Part, b: &Part| b.time_ns.cmp(&a.time_ns);
        self.categories.sort_by(most_first);
        self.bricks.sort_by(most_first);
        self.kernels = sums
            .kernels
            .iter()
            .map(|(label, sum)| {
                let backend = match label.backend {
                    0 => String::new(),
                    number => (meaning.name)(number),
                };
                Kernel {
                    name: (meaning.name)(label.name),
                    device: label.device,
                    calls: sum.calls,
                    time_ns: (label.kind != EventKind::UntimedDeviceKernel).then_some(sum.time_ns),
                    roof: kernel_roof(label, sum, &backend, meaning.ceilings),
                    backend,
                }
            })
            .collect();
        // By name first, so that what takes the same time keeps its place.
        self.kernels.sort_by(|a, b| {
            let by_time = b.time_ns.cmp(&a.time_ns);
            by_time
                .then_with(|| (&a.name, &a.backend, a.device).cmp(&(&b.name, &b.backend, b.device)))
        });
    }
}

fn iterations(sums: &Sums) -> Iterations {
    let of = &sums.iterations;
    let seconds = sums.length_ns() as f64 / 1e9;
    let rate = |count: f64| (seconds > 0.0).then(|| count / seconds);
    let has_any = of.ended > 0;
    Iterations {
        ended: of.ended,
        per_s: rate(of.ended as f64).filter(|_| has_any),
        mean_ns: has_any.then(|| of.time_ns as f64 / of.ended as f64),
        longest_ns: has_any.then_some(of.longest_ns),
        tokens_per_s: of.tokens.and_then(rate),
        samples_per_s: of.samples.and_then(rate),
        not_measured: (!has_any).then_some("no iteration ended in the window"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{IterationSum, RowSum};

    #[test]
    fn parts_add_up_and_waits_are_no_work() {
        let names = ["", "qkv", "mine", "join", "decode", "gemv_avx512", "Norm"];
        let name = |number: u32| names[number as usize].to_owned();
        let label = |kind, name, category| Label {
            kind,
            name,
            category,
        };
        let sum = |time_ns, ended| RowSum { time_ns, ended };
        let sums = Sums {
            from_ns: 0,
            to_ns: 2_000_000_000,
            rows: BTreeMap::from([
                (label(EventKind::Brick, 1, 0), sum(500, 5)),
                (label(EventKind::Brick, 2, 6), sum(200, 2)),
                (label(EventKind::Function, 2, 0), sum(100, 1)),
                (label(EventKind::Wait, 3, 0), sum(50, 1)),
                (label(EventKind::Iteration, 4, 0), sum(30, 3)),
                (label(EventKind::Kernel, 5, 0), sum(20, 1)),
            ]),
            iterations: IterationSum {
                ended: 3,
                time_ns: 900,
                longest_ns: 400,
                tokens: Some(8.0),
                samples: None,
            },
            ..Sums::default()
        };
        let meaning = Meaning {
            name: &name,
            rules: &CategoryRules::default(),
            ceilings: &Ceilings::default(),
        };
        let mut found = Snapshot::default();
        found.add_sums(&sums, 1000, &meaning);
        let threads = &found.threads;
        assert_eq!((threads.work_ns, threads.waiting_ns), (820, 50));
        assert_eq!((threads.outside_bricks_ns, threads.not_ended_ns), (30, 100));
        assert_eq!(
            found
                .categories
                .iter()
                .map(|part| part.time_ns)
                .sum::<u64>(),
            900
        );
        assert_eq!(found.categories[0].name, "Attention");
        assert_eq!(found.categories[0].share, Some(0.5));
        assert!(
            found
                .categories
                .iter()
                .any(|part| part.name == WAITING && part.time_ns == 50)
        );
        // Recorded, not by a rule.
        assert!(
            found
                .categories
                .iter()
                .any(|part| part.name == "Norm" && part.time_ns == 200)
        );
        assert!(
            found
                .bricks
                .iter()
                .all(|part| part.name != "join" && part.name != "decode")
        );
        assert_eq!(found.iterations.per_s, Some(1.5));
        assert_eq!(found.iterations.tokens_per_s, Some(4.0));
        assert_eq!(found.iterations.samples_per_s, None);
        assert_eq!(found.iterations.mean_ns, Some(300.0));

        let mut none = Snapshot::default();
        none.add_sums(&Sums::default(), 0, &meaning);
        assert_eq!(none.iterations.per_s, None);
        assert!(none.iterations.not_measured.is_some());
    }
}
