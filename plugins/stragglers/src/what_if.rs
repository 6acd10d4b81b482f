//! The job without each of the things that slow it down, by re-timing.

use std::collections::{BTreeMap, BTreeSet};

use crate::Options;
use crate::effects::{Effects, Pattern, Slow, median, median_without};
use crate::graph::{Graph, Timing};
use crate::job::{Job, Kind, Operation};

/// A link is slow if it takes at least this factor of its peers' time.
const MIN_LINK_FACTOR: f64 = 1.3;
/// Delays above the usual matter to a job whose steps they lengthen by more than this share.
const MAX_OF_DELAYS: f64 = 0.02;
/// A host is slow if at least this share of its ranks is.
const MIN_OF_HOST: f64 = 0.75;

/// What a re-timing changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The work of micro batches is spread evenly over stages.
    Stages,
    /// Each operation of this stage takes the mean of its kind.
    Stage(u32),
    /// Each operation of this data-parallel rank takes the mean of its kind.
    Data(u32),
    /// This rank, by index, is as fast as its peers.
    Rank(usize),
    /// The ranks of this host are as fast as their peers.
    Host(String),
    /// The transfers of this link, by index, are as fast as its peers'.
    Link(usize),
    /// The transfers within this host are as fast as those within the others.
    HostLinks(String),
    Transfers,
    /// In each step all ranks of a stage take the same time; their sum does not change.
    Alike,
    /// All micro batches of a step take the same time.
    Lengths,
    /// Operations of one kind take their mean, communication its median.
    Kind(u32),
    Delays,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub scope: Scope,
    pub retimed_ns: f64,
    pub gain_ns: f64,
    /// Share of the recorded length of all steps.
    pub gain_share: f64,
    /// Its time over that of its peers; `None` if nothing is compared.
    pub factor: Option<f64>,
    /// The difference to its peers is more than chance.
    pub stands_out: bool,
}

/// All re-timings of a job. Totals are over all steps.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    pub recorded_ns: f64,
    /// Re-timed with the recorded durations. The difference to `recorded_ns` is what the graph lacks.
    pub retimed_ns: f64,
    pub step_ns: Vec<f64>,
    pub without_delays_ns: f64,
    /// Each operation takes the mean of its kind, without delays.
    pub ideal_ns: f64,
    /// Share of the ideal time that an average rank waits in the pipeline.
    pub bubble_share: Option<f64>,
    pub rows: Vec<Row>,
}

impl WhatIf {
    pub fn new(job: &Job, graph: &Graph, effects: &Effects, options: Options) -> Self {
        let recorded = &graph.recorded;
        let retimed = graph.retime(recorded);
        let usual = usual_delays(job, graph, retimed.total_ns());
        let usual_ns = graph.retime(&usual).total_ns();
        let without_delays = |work: Vec<f64>| Timing {
            delay: vec![0.0; work.len()],
            work,
        };
        let ideal = ideal(job, &recorded.work);
        let mut out = Self {
            recorded_ns: graph.recorded_step_ns.iter().sum(),
            retimed_ns: retimed.total_ns(),
            step_ns: retimed.step_ns,
            without_delays_ns: graph
                .retime(&without_delays(recorded.work.clone()))
                .total_ns(),
            ideal_ns: graph.retime(&without_delays(ideal.clone())).total_ns(),
            ..Self::default()
        };
        out.bubble_share = (job.stages() > 1)
            .then(|| bubble_share(job, graph, &ideal))
            .flatten();
        let mut add = |scope: Scope, timing: &Timing, factor: Option<f64>, stands_out: bool| {
            let base_ns = if has_delays(effects, &scope) {
                out.retimed_ns
            } else {
                usual_ns
            };
            let gain_ns = base_ns - graph.retime(timing).total_ns();
            out.rows.push(Row {
                scope,
                retimed_ns: out.retimed_ns - gain_ns,
                gain_ns,
                gain_share: if out.retimed_ns > 0.0 {
                    gain_ns / out.retimed_ns
                } else {
                    0.0
                },
                factor,
                stands_out,
            });
        };
        let with_work = |of: &dyn Fn(usize) -> f64| Timing {
            work: (0..recorded.work.len()).map(of).collect(),
            delay: usual.delay.clone(),
        };
        let at_mean = |is_in: &dyn Fn(usize) -> bool| {
            with_work(&|at| {
                if is_in(at) {
                    ideal[at]
                } else {
                    recorded.work[at]
                }
            })
        };
        let of = |at: usize| &job.operations[at];
        let rank = |at: usize| &job.ranks[of(at).rank];
        if job.stages() > 1 {
            let stages = StageWork::new(job, effects);
            let balanced = with_work(&|at| recorded.work[at] * stages.balance(job, at));
            add(Scope::Stages, &balanced, Some(stages.factor), true);
            for stage in job.recorded_stages() {
                let factor = stages.factor_of(stage);
                add(
                    Scope::Stage(stage),
                    &at_mean(&|at| rank(at).stage == stage),
                    factor,
                    false,
                );
            }
        }
        let data: BTreeSet<u32> = job.ranks.iter().filter_map(|rank| rank.data).collect();
        let are_few = (2..=options.retimed_ranks).contains(&data.len());
        for data in data.iter().filter(|_| are_few) {
            add(
                Scope::Data(*data),
                &at_mean(&|at| rank(at).data == Some(*data)),
                None,
                false,
            );
        }
        let peers = PeerDelays::new(job, graph, effects);
        for (rank, stands_out) in candidates(effects, options) {
            let is_one: &dyn Fn(usize) -> bool = &|of| of == rank;
            let factor = factor(effects, rank);
            let scope = Scope::Rank(rank);
            let base = if has_delays(effects, &scope) {
                recorded
            } else {
                &usual
            };
            let timing = peers.as_peers(job, base, effects, is_one);
            add(scope, &timing, factor, stands_out);
        }
        for (host, ranks) in slow_hosts(job, effects) {
            let of_host: &dyn Fn(usize) -> bool = &|of| ranks.contains(&of);
            let factors = ranks.iter().filter_map(|rank| factor(effects, *rank));
            let factors: Vec<f64> = factors.collect();
            let mean = factors.iter().sum::<f64>() / factors.len() as f64;
            let factor = (!factors.is_empty()).then_some(mean);
            let timing = peers.as_peers(job, recorded, effects, of_host);
            add(Scope::Host(host), &timing, factor, true);
        }
        let links = SlowLinks::new(job, &recorded.work);
        let as_peers = |is_in: &dyn Fn(usize) -> bool| {
            with_work(&|at| {
                let link = of(at).meeting.map(|meeting| job.meetings[meeting].link);
                let link = link.filter(|link| is_in(*link));
                let factor = link.and_then(|link| links.factors.get(&link)?.get(&of(at).name));
                recorded.work[at] / factor.copied().unwrap_or(1.0)
            })
        };
        for link in links.factors.keys() {
            let timing = as_peers(&|of| of == *link);
            add(Scope::Link(*link), &timing, links.factor(*link), true);
        }
        for (host, of_host) in links.hosts(job) {
            let timing = as_peers(&|of| of_host.contains(&of));
            let factors = of_host.iter().filter_map(|link| links.factor(*link));
            let most = factors.fold(1.0, f64::max);
            add(Scope::HostLinks(host), &timing, Some(most), true);
        }
        add(
            Scope::Transfers,
            &with_work(&|at| match of(at).kind {
                Kind::Compute => recorded.work[at],
                _ => 0.0,
            }),
            None,
            false,
        );
        add(Scope::Alike, &alike(job, recorded), None, false);
        if effects.lengths.is_some() {
            let even = even_lengths(job, effects, &recorded.work);
            add(Scope::Lengths, &with_work(&|at| even[at]), None, true);
        }
        let names: BTreeSet<u32> = job.operations.iter().map(|of| of.name).collect();
        for name in names
            .iter()
            .filter(|_| names.len() <= options.retimed_ranks)
        {
            add(
                Scope::Kind(*name),
                &at_mean(&|at| of(at).name == *name),
                None,
                false,
            );
        }
        add(
            Scope::Delays,
            &without_delays(recorded.work.clone()),
            None,
            true,
        );
        out.rows.sort_by(|a, b| {
            b.gain_ns
                .total_cmp(&a.gain_ns)
                .then_with(|| a.scope.cmp(&b.scope))
        });
        out
    }

    /// Length of the steps without delays over their length with every operation at the mean of its kind
    /// (equation 1 of the OSDI paper).
    pub fn slowdown(&self) -> Option<f64> {
        (self.ideal_ns > 0.0).then(|| self.without_delays_ns / self.ideal_ns)
    }
}

/// The recorded times, with delays cut to what operations of their kind have at least: a rank that waits for a collective
/// that is not recorded would not wait as long if the slow rank were faster. The recorded delays, if the steps depend
/// on them.
fn usual_delays(job: &Job, graph: &Graph, recorded_ns: f64) -> Timing {
    let recorded = &graph.recorded;
    let mut all: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (of, ns) in job.operations.iter().zip(&recorded.delay) {
        all.entry(of.name).or_default().push(*ns);
    }
    let usual: BTreeMap<u32, f64> = all
        .into_iter()
        .map(|(name, mut delays)| {
            delays.sort_unstable_by(f64::total_cmp);
            (name, delays[delays.len() / 10])
        })
        .collect();
    let delays = job.operations.iter().zip(&recorded.delay);
    let cut = Timing {
        work: recorded.work.clone(),
        delay: delays.map(|(of, ns)| ns.min(usual[&of.name])).collect(),
    };
    let is_same = graph.retime(&cut).total_ns() >= (1.0 - MAX_OF_DELAYS) * recorded_ns;
    if is_same { cut } else { recorded.clone() }
}

/// True if the change is about delays, so that they are as recorded.
fn has_delays(effects: &Effects, scope: &Scope) -> bool {
    match scope {
        Scope::Rank(rank) => {
            let of = &effects.ranks[*rank];
            of.held.is_some() && of.slow.is_none()
        }
        Scope::Host(_) | Scope::Alike | Scope::Delays => true,
        _ => false,
    }
}

/// Ranks to re-time: those that stand out, then those with the largest excess.
fn candidates(effects: &Effects, options: Options) -> Vec<(usize, bool)> {
    let mut all: Vec<(bool, f64, usize)> = effects
        .ranks
        .iter()
        .enumerate()
        .filter_map(|(at, of)| {
            let excess = of.median_excess()?;
            Some((of.slow.is_some() || of.held.is_some(), excess, at))
        })
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let all = all.into_iter().take(options.retimed_ranks);
    all.map(|(stands_out, _, at)| (at, stands_out)).collect()
}

fn factor(effects: &Effects, rank: usize) -> Option<f64> {
    let of = &effects.ranks[rank];
    let slow = of.slow.as_ref().map(|slow| slow.factor);
    slow.or_else(|| Some(1.0 + of.median_excess()?))
}

/// Work of each kind: the mean of computing by name, the median of communication by name. Joined kernels get, in
/// sum over a rank and step, the average of their stage.
fn ideal(job: &Job, work: &[f64]) -> Vec<f64> {
    let key = |of: &Operation| (of.kind == Kind::Compute, of.name);
    let mut all: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (of, ns) in job.operations.iter().zip(work) {
        all.entry(key(of)).or_default().push(*ns);
    }
    let middle: BTreeMap<_, f64> = all
        .into_iter()
        .map(|(key, mut values)| match key.0 {
            true => (key, values.iter().sum::<f64>() / values.len() as f64),
            false => (key, median(&mut values)),
        })
        .collect();
    let sums = sums_of_steps(job, work, |of| job.is_joined(of));
    let mut stages: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for ((rank, _), ns) in &sums {
        let of = stages.entry(job.ranks[*rank].stage).or_default();
        *of = (of.0 + ns, of.1 + 1.0);
    }
    let of = |(of, ns): (&Operation, &f64)| match sums.get(&(of.rank, of.step)) {
        Some(sum) if job.is_joined(of) && *sum > 0.0 => {
            let (all, count) = stages[&job.ranks[of.rank].stage];
            ns * all / count / sum
        }
        _ => middle[&key(of)],
    };
    job.operations.iter().zip(work).map(of).collect()
}

fn sums_of_steps(
    job: &Job,
    values: &[f64],
    is_in: impl Fn(&Operation) -> bool,
) -> BTreeMap<(usize, usize), f64> {
    let mut out = BTreeMap::new();
    for (of, value) in job
        .operations
        .iter()
        .zip(values)
        .filter(|(of, _)| is_in(of))
    {
        *out.entry((of.rank, of.step)).or_default() += value;
    }
    out
}

/// Share of time waiting in a pipeline of equal ranks whose transfers take no time.
fn bubble_share(job: &Job, graph: &Graph, ideal: &[f64]) -> Option<f64> {
    let is_compute = |at: usize| job.operations[at].kind == Kind::Compute;
    let work = (0..ideal.len()).map(|at| if is_compute(at) { ideal[at] } else { 0.0 });
    let work: Vec<f64> = work.collect();
    let busy_ns = work.iter().sum::<f64>() / job.ranks.len() as f64;
    let timing = Timing {
        delay: vec![0.0; work.len()],
        work,
    };
    let total_ns = graph.retime(&timing).total_ns();
    (total_ns > 0.0).then(|| (1.0 - busy_ns / total_ns).max(0.0))
}

/// Work of each stage for a micro batch.
pub struct StageWork {
    /// By stage with recorded ranks: usual work of a micro batch, or of a rank if no micro batches are stated.
    stages: BTreeMap<u32, f64>,
    /// By name: mean over stages.
    means: BTreeMap<u32, f64>,
    usual_ns: BTreeMap<(u32, u32), f64>,
    /// The largest work over the mean of the other stages.
    pub factor: f64,
}

impl StageWork {
    pub fn new(job: &Job, effects: &Effects) -> Self {
        let recorded = job.recorded_stages();
        let mut stages: BTreeMap<u32, f64> = recorded.iter().map(|stage| (*stage, 0.0)).collect();
        let mut means: BTreeMap<u32, f64> = BTreeMap::new();
        if effects.shared_names.is_empty() {
            let mut ranks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for (of, rank) in effects.ranks.iter().zip(&job.ranks) {
                // What a slow rank adds is not the work of its stage.
                let work_ns = of.work_ns / of.persistent_factor();
                ranks.entry(rank.stage).or_default().push(work_ns);
            }
            for (stage, mut all) in ranks {
                stages.insert(stage, median(&mut all));
            }
        }
        for ((stage, name), ns) in &effects.usual_ns {
            if effects.shared_names.contains(name) {
                *stages.entry(*stage).or_default() += ns;
                *means.entry(*name).or_default() += ns / recorded.len() as f64;
            }
        }
        let mut out = Self {
            stages,
            means,
            usual_ns: effects.usual_ns.clone(),
            factor: 1.0,
        };
        out.factor = out.factor_of(out.longest()).unwrap_or(1.0);
        out
    }

    pub fn of(&self, stage: u32) -> f64 {
        self.stages[&stage]
    }

    pub fn longest(&self) -> u32 {
        let all = self.stages.iter();
        let longest = all.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        longest.map_or(0, |(stage, _)| *stage)
    }

    pub fn factor_of(&self, stage: u32) -> Option<f64> {
        let others = self.stages.iter().filter(|(other, _)| **other != stage);
        let others_ns = others.map(|(_, ns)| ns).sum::<f64>() / (self.stages.len() - 1) as f64;
        (others_ns > 0.0).then(|| self.of(stage) / others_ns)
    }

    /// Factor that gives an operation the time it would take if all stages had the same work.
    fn balance(&self, job: &Job, at: usize) -> f64 {
        let of = &job.operations[at];
        let stage = job.ranks[of.rank].stage;
        if of.kind != Kind::Compute {
            return 1.0;
        }
        let (mean, own) = if self.means.is_empty() {
            let mean = self.stages.values().sum::<f64>() / self.stages.len() as f64;
            (Some(mean), Some(self.of(stage)))
        } else {
            (
                self.means.get(&of.name).copied(),
                self.usual_ns.get(&(stage, of.name)).copied(),
            )
        };
        let ratio = mean
            .zip(own.filter(|own| *own > 0.0))
            .map(|(mean, own)| mean / own);
        ratio.unwrap_or(1.0)
    }
}

/// Delays of all operations in stages with a delayed rank.
struct PeerDelays(BTreeMap<(u32, usize, u32, i64), Vec<f64>>);

impl PeerDelays {
    fn new(job: &Job, graph: &Graph, effects: &Effects) -> Self {
        let stages: BTreeSet<u32> = effects
            .ranks
            .iter()
            .zip(&job.ranks)
            .filter_map(|(of, rank)| of.held.as_ref().map(|_| rank.stage))
            .collect();
        let mut all: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for (at, of) in job.operations.iter().enumerate() {
            let stage = job.ranks[of.rank].stage;
            if stages.contains(&stage) {
                let key = (stage, of.step, of.name, of.slot);
                all.entry(key).or_default().push(graph.recorded.delay[at]);
            }
        }
        all.values_mut()
            .for_each(|values| values.sort_unstable_by(f64::total_cmp));
        Self(all)
    }

    /// Makes some ranks as fast as their peers: in the steps in which they are slow, or in all steps if they do
    /// not stand out.
    fn as_peers(
        &self,
        job: &Job,
        base: &Timing,
        effects: &Effects,
        is_one: &dyn Fn(usize) -> bool,
    ) -> Timing {
        let mut timing = base.clone();
        for (at, of) in job
            .operations
            .iter()
            .enumerate()
            .filter(|(_, of)| is_one(of.rank))
        {
            let rank = &effects.ranks[of.rank];
            if of.kind == Kind::Compute {
                timing.work[at] /= match &rank.slow {
                    Some(Slow {
                        pattern: Pattern::Persistent,
                        factor,
                        ..
                    }) => *factor,
                    Some(slow) if slow.steps.binary_search(&of.step).is_ok() => {
                        1.0 + rank.excess[of.step].unwrap_or(0.0)
                    }
                    Some(_) => 1.0,
                    None => 1.0 + rank.median_excess().unwrap_or(0.0).max(0.0),
                };
            }
            let is_held = rank
                .held
                .as_ref()
                .is_some_and(|held| held.steps.binary_search(&of.step).is_ok());
            let key = (job.ranks[of.rank].stage, of.step, of.name, of.slot);
            if let Some(delays) = self.0.get(&key).filter(|_| is_held) {
                let lower = delays[(delays.len() - 1) / 2];
                timing.delay[at] = timing.delay[at].min(lower);
            }
        }
        timing
    }
}

/// Hosts with nearly all ranks slow, if the job has other hosts.
fn slow_hosts(job: &Job, effects: &Effects) -> Vec<(String, BTreeSet<usize>)> {
    let mut hosts: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, rank) in job.ranks.iter().enumerate() {
        if let Some(host) = &rank.host {
            hosts.entry(host).or_default().insert(at);
        }
    }
    if hosts.len() < 2 {
        return Vec::new();
    }
    let steps = |rank: &usize| {
        let of = &effects.ranks[*rank];
        let all = of.slow.iter().chain(&of.held);
        all.flat_map(|slow| slow.steps.clone())
            .collect::<BTreeSet<usize>>()
    };
    let all = hosts.into_iter().filter(|(_, ranks)| {
        let slow: Vec<BTreeSet<usize>> = ranks.iter().map(steps).collect();
        let are_most = |count: usize| count > 1 && count as f64 >= MIN_OF_HOST * ranks.len() as f64;
        let together = (0..job.steps.len())
            .filter(|step| are_most(slow.iter().filter(|of| of.contains(step)).count()));
        // Ranks that are slow at other times are so for reasons of their own.
        let most = slow.iter().map(BTreeSet::len).max().unwrap_or(0);
        let together = together.count();
        together > 0 && together * 2 >= most
    });
    all.map(|(host, ranks)| (host.to_owned(), ranks)).collect()
}

/// Links that are slower than others with the same operations.
struct SlowLinks {
    factors: BTreeMap<usize, BTreeMap<u32, f64>>,
    compared: BTreeSet<usize>,
}

impl SlowLinks {
    fn new(job: &Job, work: &[f64]) -> Self {
        let mut all: BTreeMap<(u32, usize), BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
        for meeting in &job.meetings {
            let Some(first) = meeting.operations.first() else {
                continue;
            };
            let ranks = job.links[meeting.link].ranks.len();
            let key = (job.operations[*first].name, ranks);
            let links = all.entry(key).or_default();
            links.entry(meeting.link).or_default().push(work[*first]);
        }
        let mut out = Self {
            factors: BTreeMap::new(),
            compared: BTreeSet::new(),
        };
        for ((name, _), links) in all {
            let links = links
                .into_iter()
                .map(|(link, mut times)| (link, median(&mut times)));
            let mut links: Vec<(usize, f64)> = links.collect();
            links.sort_by(|a, b| a.1.total_cmp(&b.1));
            let sorted: Vec<f64> = links.iter().map(|(_, ns)| *ns).collect();
            for (place, (link, ns)) in links.iter().enumerate().filter(|_| links.len() > 2) {
                out.compared.insert(*link);
                let usual_ns = median_without(&sorted, place);
                if usual_ns > 0.0 && ns / usual_ns >= MIN_LINK_FACTOR {
                    let of_link = out.factors.entry(*link).or_default();
                    of_link.insert(name, ns / usual_ns);
                }
            }
        }
        out
    }

    fn factor(&self, link: usize) -> Option<f64> {
        let all = self.factors.get(&link)?.values().copied();
        Some(all.fold(1.0, f64::max))
    }

    /// Hosts with nearly all internal links slow, if the job has other hosts.
    fn hosts(&self, job: &Job) -> Vec<(String, BTreeSet<usize>)> {
        let mut hosts: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for link in &self.compared {
            if let Some(host) = job.host_of(&job.links[*link]) {
                hosts.entry(host).or_default().insert(*link);
            }
        }
        let is_slow = |link: &&usize| self.factors.contains_key(link);
        let all = hosts.iter().filter(|(_, links)| {
            let slow = links.iter().filter(is_slow).count();
            hosts.len() > 1 && slow > 1 && slow as f64 >= MIN_OF_HOST * links.len() as f64
        });
        all.map(|(host, links)| ((*host).to_owned(), links.clone()))
            .collect()
    }
}

/// Sets computing and delays of each rank and step to the mean of the ranks of its stage.
fn alike(job: &Job, recorded: &Timing) -> Timing {
    let even = |values: &[f64], is_in: &dyn Fn(&Operation) -> bool| {
        let sums = sums_of_steps(job, values, is_in);
        let mut stages: BTreeMap<(u32, usize), (f64, f64)> = BTreeMap::new();
        for ((rank, step), ns) in &sums {
            let of = stages.entry((job.ranks[*rank].stage, *step)).or_default();
            *of = (of.0 + ns, of.1 + 1.0);
        }
        let of = |(of, ns): (&Operation, &f64)| {
            let (all, count) = stages
                .get(&(job.ranks[of.rank].stage, of.step))
                .copied()
                .unwrap_or((0.0, 1.0));
            match sums.get(&(of.rank, of.step)) {
                Some(own) if is_in(of) && *own > 0.0 => ns * all / count / own,
                _ => *ns,
            }
        };
        job.operations.iter().zip(values).map(of).collect()
    };
    Timing {
        work: even(&recorded.work, &|of| of.kind == Kind::Compute),
        delay: even(&recorded.delay, &|_| true),
    }
}

/// Sets operations of micro batches to the mean of their stage and step, which spreads the same work evenly. A slow rank
/// stays as slow.
fn even_lengths(job: &Job, effects: &Effects, work: &[f64]) -> Vec<f64> {
    let factors: Vec<f64> = effects
        .ranks
        .iter()
        .map(|of| of.slow.as_ref().map_or(1.0, |slow| slow.factor.max(1.0)))
        .collect();
    let factor = |at: usize| factors[job.operations[at].rank];
    let key = |at: usize| {
        let of = &job.operations[at];
        let is_of_batch = of.kind == Kind::Compute && of.micro_batch.is_some();
        is_of_batch.then(|| (job.ranks[of.rank].stage, of.name, of.step))
    };
    let mut sums: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for (at, ns) in work.iter().enumerate() {
        if let Some(key) = key(at) {
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + ns / factor(at), sum.1 + 1.0);
        }
    }
    let even = |(at, ns): (usize, &f64)| {
        key(at).map_or(*ns, |key| sums[&key].0 / sums[&key].1 * factor(at))
    };
    work.iter().enumerate().map(even).collect()
}
