//! Waiting by step of the job: training steps, iterations.

use std::collections::BTreeMap;

use trueno_analysis::steps::Step;
use trueno_plugin::{Table, TableBuilder};

use crate::arrivals::Job;
use crate::parts::Loaded;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfStep {
    /// Name on the first rank.
    pub name: String,
    pub iteration: u64,
    pub dur_ns: BTreeMap<u32, i64>,
    pub collectives: u64,
    /// Collectives whose last rank is known.
    pub with_last: u64,
    /// By rank: sum of the others' waits for it.
    pub caused_ns: BTreeMap<u32, i64>,
    /// By rank: its waits for others, in collectives where they are known.
    pub waited_ns: BTreeMap<u32, i64>,
}

impl OfStep {
    /// The rank that others waited for longest.
    pub fn worst(&self) -> Option<(u32, i64)> {
        let all = self.caused_ns.iter().filter(|(_, ns)| **ns > 0);
        let worst = all.max_by_key(|(rank, ns)| (**ns, std::cmp::Reverse(**rank)));
        worst.map(|(rank, ns)| (*rank, *ns))
    }

    /// How far the longest rank of a step exceeds the mean, with the waits for last arrivals subtracted. `None`
    /// if the last rank of some collective is unknown.
    pub fn imbalance(&self) -> Option<f64> {
        let work_ns = self.dur_ns.iter().map(|(rank, ns)| {
            let waited_ns = self.waited_ns.get(rank).copied().unwrap_or(0);
            ns.saturating_sub(waited_ns).max(0) as f64
        });
        let work_ns: Vec<f64> = work_ns.collect();
        let mean_ns = work_ns.iter().sum::<f64>() / work_ns.len() as f64;
        let most_ns = work_ns.iter().copied().fold(0.0, f64::max);
        (self.with_last > 0
            && self.with_last == self.collectives
            && work_ns.len() > 1
            && mean_ns > 0.0)
            .then(|| most_ns / mean_ns - 1.0)
    }
}

/// Steps that several ranks have, in order.
#[derive(Clone, Debug, Default)]
pub struct OfSteps {
    pub rows: Vec<OfStep>,
}

impl OfSteps {
    /// Sums collectives by the step that they were called in. Steps without a number are skipped: they cannot
    /// be matched between ranks.
    pub fn new(loaded: &Loaded, job: &Job) -> Self {
        let mut of_ranks: BTreeMap<u32, Vec<&Step>> = BTreeMap::new();
        for step in &loaded.steps {
            let rank = u32::try_from(step.rank).unwrap_or(0);
            of_ranks.entry(rank).or_default().push(step);
        }
        let mut rows: BTreeMap<u64, OfStep> = BTreeMap::new();
        for (rank, steps) in &of_ranks {
            for step in steps {
                let Some(iteration) = step.iteration else {
                    continue;
                };
                let row = rows.entry(iteration).or_insert_with(|| OfStep {
                    name: step.name.clone(),
                    iteration,
                    ..OfStep::default()
                });
                // Several threads of a rank may count the same steps.
                let dur_ns = row.dur_ns.entry(*rank).or_default();
                *dur_ns = (*dur_ns).max(step.end_ns.saturating_sub(step.start_ns));
            }
        }
        let step_at = |rank: u32, ns: i64| {
            let steps = of_ranks.get(&rank)?;
            let ns = ns.saturating_add(loaded.around.origin_ns);
            let next = steps.partition_point(|step| step.start_ns <= ns);
            let step = steps.get(next.checked_sub(1)?)?;
            step.iteration.filter(|_| ns < step.end_ns)
        };
        for one in &job.instances {
            let of = one
                .arrivals
                .iter()
                .find_map(|of| step_at(of.rank, loaded.facts[of.part].called_ns));
            let Some(row) = of.and_then(|iteration| rows.get_mut(&iteration)) else {
                continue;
            };
            row.collectives += 1;
            row.with_last += u64::from(one.last.is_some());
            for (place, of) in one.arrivals.iter().enumerate() {
                let waited_ns = one.waited_ns(place).unwrap_or(0);
                let sum = row.waited_ns.entry(of.rank).or_default();
                *sum = sum.saturating_add(waited_ns);
            }
            if let Some(last) = one.last {
                let sum = row.caused_ns.entry(one.arrivals[last].rank).or_default();
                *sum = sum.saturating_add(one.caused_ns());
            }
        }
        let rows = rows.into_values();
        Self {
            rows: rows.filter(|row| row.dur_ns.len() > 1).collect(),
        }
    }

    /// Number of steps in which others waited longest for this rank, and number of steps that have such a rank.
    pub fn caused_most(&self, rank: u32) -> (u64, u64) {
        let worst = self.rows.iter().filter_map(OfStep::worst);
        worst.fold((0, 0), |(own, all), (of, _)| {
            (own + u64::from(of == rank), all + 1)
        })
    }

    pub fn table(&self) -> TableBuilder {
        let rows = || self.rows.iter();
        let waited_ns = |row: &OfStep| {
            row.waited_ns
                .values()
                .fold(0, |a: i64, b| a.saturating_add(*b))
        };
        Table::build("by_step")
            .text("step", rows().map(|row| &row.name))
            .u64("iteration", rows().map(|row| row.iteration))
            .u64("ranks", rows().map(|row| row.dur_ns.len() as u64))
            .i64(
                "longest_ns",
                rows().map(|row| row.dur_ns.values().copied().max()),
            )
            .u64("collectives", rows().map(|row| row.collectives))
            .u64("with_last", rows().map(|row| row.with_last))
            .i64(
                "waited_ns",
                rows().map(|row| (row.with_last > 0).then(|| waited_ns(row))),
            )
            .u64(
                "last_rank",
                rows().map(|row| row.worst().map(|(rank, _)| u64::from(rank))),
            )
            .i64("caused_ns", rows().map(|row| row.worst().map(|(_, ns)| ns)))
            .f64("imbalance_share", rows().map(OfStep::imbalance))
    }
}
