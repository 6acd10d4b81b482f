//! Which ranks, stages and micro batches take longer than their peers.
//!
//! Peers of a rank are the ranks of its stage. `excess` of a rank in a step is how much longer its operations take than
//! the medians of its peers in the same operations. Micro batches differ where sequences do: an operation then takes
//! longer in forward and backward alike, on all stages, and what is common to a pipeline is no excess of a rank.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Graph;
use crate::job::{Job, Kind};

/// Smallest excess over all steps that counts.
const MIN_EXCESS: f64 = 0.02;
/// Smallest excess in a single step that counts.
const MIN_STEP_EXCESS: f64 = 0.1;
/// An excess must be at least this many standard errors.
const ERRORS: f64 = 4.0;
/// Lower bound for the noise between steps, which cannot be estimated from few steps.
const MIN_NOISE: f64 = 0.02;
/// Converts a median absolute deviation to a standard deviation of normally distributed values.
const MAD: f64 = 1.4826;
/// Standard error of a median over that of a mean, for normally distributed values.
const MEDIAN_ERROR: f64 = 1.2533;
/// Minimum correlation between forward and backward time of micro batches for sequence lengths to be the cause. The
/// OSDI paper takes 0.9 over whole jobs; here the means of steps are subtracted first.
const MIN_CORRELATION: f64 = 0.8;
/// Number of micro batches needed to compute a correlation.
const MIN_MICRO_BATCHES: usize = 12;
/// Minimum standard deviation between the micro batches of a step, relative to their mean.
const MIN_SPREAD: f64 = 0.02;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Persistent,
    /// Every n-th step.
    Periodic(usize),
    Transient,
}

/// By how much, and when, a rank is slower than its peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Slow {
    pub pattern: Pattern,
    /// Indices of the steps, in order.
    pub steps: Vec<usize>,
    pub factor: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfRank {
    pub work_ns: f64,
    pub delay_ns: f64,
    /// By step: its computing time over that of its peers, minus 1; `None` if it has no peers in the step.
    pub excess: Vec<Option<f64>>,
    /// By step: its delays minus those of its peers; `None` if it has no peers.
    pub late_ns: Vec<Option<f64>>,
    /// Set if its computing is slower.
    pub slow: Option<Slow>,
    /// Set if it is delayed by something other than computing.
    pub held: Option<Slow>,
}

impl OfRank {
    pub fn median_excess(&self) -> Option<f64> {
        let mut known: Vec<f64> = self.excess.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| median(&mut known))
    }

    /// How much longer it computes in all steps; 1 if it is not slow in all.
    pub fn persistent_factor(&self) -> f64 {
        match &self.slow {
            Some(Slow {
                pattern: Pattern::Persistent,
                factor,
                ..
            }) => *factor,
            _ => 1.0,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lengths {
    /// Correlation between forward and backward.
    pub correlation: f64,
    /// Standard deviation of micro batches over their mean, within steps.
    pub spread_share: f64,
    /// By pipeline, step and micro batch: work over the usual.
    pub factors: BTreeMap<(u32, usize, i64), f64>,
}

#[derive(Clone, Debug, Default)]
pub struct Effects {
    pub ranks: Vec<OfRank>,
    /// Median computing time of one operation, by stage and name.
    pub usual_ns: BTreeMap<(u32, u32), f64>,
    /// Names of operations that all stages compute for micro batches.
    pub shared_names: BTreeSet<u32>,
    pub lengths: Option<Lengths>,
}

/// Stage, step, name and slot: identifies the same operation on all peers.
type SlotKey = (u32, usize, u32, i64);

/// The median; of an even number of values the mean of the middle two. 0 if there are none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// Median of sorted values, leaving out the one at `at`.
pub fn median_without(sorted: &[f64], at: usize) -> f64 {
    let rest = sorted.len() - 1;
    let value = |place: usize| sorted[if place < at { place } else { place + 1 }];
    match rest {
        0 => sorted[0],
        n if n % 2 == 1 => value(n / 2),
        n => f64::midpoint(value(n / 2 - 1), value(n / 2)),
    }
}

fn deviation(values: &[f64], middle: f64) -> f64 {
    let mut apart: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&mut apart) * MAD
}

impl Effects {
    pub fn new(job: &Job, graph: &Graph) -> Self {
        let mut out = Self {
            ranks: vec![OfRank::default(); job.ranks.len()],
            ..Self::default()
        };
        let work = &graph.recorded.work;
        for (at, of) in job.operations.iter().enumerate() {
            let rank = &mut out.ranks[of.rank];
            if !graph.begins_recording(at) && !graph.is_alone(job, at) {
                rank.delay_ns += graph.recorded.delay[at];
            }
            if of.kind == Kind::Compute {
                rank.work_ns += work[at];
            }
        }
        out.usual_ns = usual(job, work, |_| 1.0);
        out.shared_names = shared_names(job);
        out.lengths = lengths(job, work, &out.usual_ns);
        out.compare(job, work);
        out.compare_delays(job, graph);
        // What slow ranks add is not the work of their stage.
        let factors: Vec<f64> = out.ranks.iter().map(OfRank::persistent_factor).collect();
        out.usual_ns = usual(job, work, |rank| factors[rank]);
        out
    }

    /// Factor by which the operation's micro batch takes longer than usual.
    pub fn length_factor(&self, job: &Job, at: usize) -> f64 {
        let of = &job.operations[at];
        let (Some(lengths), Some(micro_batch)) = (&self.lengths, of.micro_batch) else {
            return 1.0;
        };
        let key = (job.ranks[of.rank].column, of.step, micro_batch);
        lengths.factors.get(&key).copied().unwrap_or(1.0)
    }

    fn compare(&mut self, job: &Job, work: &[f64]) {
        let mut own: BTreeMap<(SlotKey, usize), f64> = BTreeMap::new();
        for (at, of) in job.operations.iter().enumerate() {
            if of.kind == Kind::Compute && !job.is_short(of.rank, of.step) {
                // Joined kernels need not be joined alike on all ranks.
                let slot = if job.is_joined(of) { 0 } else { of.slot };
                let key = (job.ranks[of.rank].stage, of.step, of.name, slot);
                *own.entry((key, of.rank)).or_default() += work[at] / self.length_factor(job, at);
            }
        }
        let mut keys: BTreeMap<SlotKey, Vec<(f64, usize)>> = BTreeMap::new();
        for ((key, rank), ns) in own {
            keys.entry(key).or_default().push((ns, rank));
        }
        let mut sums = vec![vec![(0.0, 0.0); job.steps.len()]; job.ranks.len()];
        for ((_, step, ..), mut all) in keys {
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let sorted: Vec<f64> = all.iter().map(|(ns, _)| *ns).collect();
            if sorted.len() < 2 {
                continue;
            }
            for (place, (ns, rank)) in all.into_iter().enumerate() {
                let sum = &mut sums[rank][step];
                *sum = (sum.0 + ns, sum.1 + median_without(&sorted, place));
            }
        }
        for (of, sums) in self.ranks.iter_mut().zip(sums) {
            of.excess = sums
                .into_iter()
                .map(|(own, peers)| (peers > 0.0).then(|| own / peers - 1.0))
                .collect();
            of.slow = slow(&of.excess, MIN_EXCESS, MIN_STEP_EXCESS);
        }
    }

    fn compare_delays(&mut self, job: &Job, graph: &Graph) {
        let mut sums = vec![vec![0.0; job.ranks.len()]; job.steps.len()];
        let mut longest = vec![0.0_f64; job.ranks.len()];
        for (at, of) in job.operations.iter().enumerate() {
            // What a rank did before its recording began is not known.
            if !graph.begins_recording(at) && !graph.is_alone(job, at) {
                let delay_ns = graph.recorded.delay[at];
                sums[of.step][of.rank] += delay_ns;
                longest[of.rank] = longest[of.rank].max(delay_ns);
            }
        }
        // One late start in the only step is an accident, and no property of a rank.
        let is_accident: Vec<bool> = match &sums[..] {
            [only] => only
                .iter()
                .zip(&longest)
                .map(|(all, one)| one * 2.0 >= *all)
                .collect(),
            _ => vec![false; job.ranks.len()],
        };
        let stages = job.recorded_stages();
        for (step, sums) in sums.iter().enumerate() {
            for stage in stages.iter().copied() {
                let peers = job
                    .ranks
                    .iter()
                    .enumerate()
                    .filter(|(_, rank)| rank.stage == stage);
                let (short, peers): (Vec<usize>, Vec<usize>) = peers
                    .map(|(at, _)| at)
                    .partition(|at| job.is_short(*at, step));
                for rank in short {
                    self.ranks[rank].late_ns.push(None);
                }
                let mut all: Vec<(f64, usize)> =
                    peers.into_iter().map(|at| (sums[at], at)).collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let sorted: Vec<f64> = all.iter().map(|(ns, _)| *ns).collect();
                for (place, (ns, rank)) in all.iter().enumerate() {
                    let has_peers = sorted.len() > 1;
                    let late_ns = has_peers.then(|| ns - median_without(&sorted, place));
                    self.ranks[*rank].late_ns.push(late_ns);
                }
            }
        }
        for (of, is_accident) in self.ranks.iter_mut().zip(is_accident) {
            let shares = of.late_ns.iter().zip(&graph.recorded_step_ns);
            let shares: Vec<Option<f64>> = shares
                .map(|(late_ns, step_ns)| late_ns.filter(|_| *step_ns > 0.0).map(|ns| ns / step_ns))
                .collect();
            of.held = slow(&shares, MIN_EXCESS, MIN_EXCESS).filter(|_| !is_accident);
        }
    }
}

/// Decides whether a rank is slow in all steps or in some, from its values by step.
fn slow(values: &[Option<f64>], min: f64, min_of_step: f64) -> Option<Slow> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    if known.is_empty() {
        return None;
    }
    let middle = median(&mut known.clone());
    let spread = deviation(&known, middle);
    let error = MEDIAN_ERROR * spread.max(MIN_NOISE) / (known.len() as f64).sqrt();
    let numbered = values.iter().enumerate();
    if middle >= min && middle >= ERRORS * error {
        let steps = numbered.filter_map(|(step, value)| value.map(|_| step));
        return Some(Slow {
            pattern: Pattern::Persistent,
            steps: steps.collect(),
            factor: 1.0 + middle,
        });
    }
    let limit = middle.max(0.0) + (6.0 * spread).max(min_of_step);
    let steps: Vec<usize> = numbered
        .filter_map(|(step, value)| value.filter(|value| *value >= limit).map(|_| step))
        .collect();
    if steps.is_empty() || known.len() < 3 {
        return None;
    }
    let own: Vec<f64> = steps.iter().filter_map(|step| values[*step]).collect();
    let apart: BTreeSet<usize> = steps.windows(2).map(|two| two[1] - two[0]).collect();
    let pattern = match apart.into_iter().collect::<Vec<_>>().as_slice() {
        [apart] if steps.len() > 2 && *apart > 1 => Pattern::Periodic(*apart),
        _ => Pattern::Transient,
    };
    Some(Slow {
        pattern,
        factor: 1.0 + own.iter().sum::<f64>() / own.len() as f64,
        steps,
    })
}

/// Median computing time of one operation, by stage and name. `factor` is how much longer than usual a rank takes.
fn usual(job: &Job, work: &[f64], factor: impl Fn(usize) -> f64) -> BTreeMap<(u32, u32), f64> {
    let mut all: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for (at, of) in job.operations.iter().enumerate() {
        if of.kind == Kind::Compute {
            let key = (job.ranks[of.rank].stage, of.name);
            all.entry(key).or_default().push(work[at] / factor(of.rank));
        }
    }
    all.into_iter()
        .map(|(key, mut values)| (key, median(&mut values)))
        .collect()
}

fn shared_names(job: &Job) -> BTreeSet<u32> {
    let mut stages: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for of in &job.operations {
        if of.kind == Kind::Compute && of.micro_batch.is_some() {
            stages
                .entry(of.name)
                .or_default()
                .insert(job.ranks[of.rank].stage);
        }
    }
    let recorded = job.recorded_stages().len();
    let all = stages.into_iter().filter(|(_, of)| of.len() == recorded);
    all.map(|(name, _)| name).collect()
}

/// Finds whether micro batches differ in all of their computing.
fn lengths(job: &Job, work: &[f64], usual_ns: &BTreeMap<(u32, u32), f64>) -> Option<Lengths> {
    type Key = (u32, usize, i64);
    let mut by_name: BTreeMap<u32, (f64, BTreeMap<Key, Vec<f64>>)> = BTreeMap::new();
    for (at, of) in job.operations.iter().enumerate() {
        let (Some(micro_batch), Kind::Compute) = (of.micro_batch, of.kind) else {
            continue;
        };
        let rank = &job.ranks[of.rank];
        let usual_ns = usual_ns.get(&(rank.stage, of.name)).copied().unwrap_or(0.0);
        if usual_ns > 0.0 {
            let entry = by_name.entry(of.name).or_default();
            entry.0 += work[at];
            let key = (rank.column, of.step, micro_batch);
            entry.1.entry(key).or_default().push(work[at] / usual_ns);
        }
    }
    let mut names: Vec<(f64, BTreeMap<Key, f64>)> = by_name
        .into_values()
        .map(|(ns, all)| {
            let all = all.into_iter().map(|(key, mut of)| (key, median(&mut of)));
            (ns, all.collect())
        })
        .collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    let [(_, first), (_, second), ..] = names.as_slice() else {
        return None;
    };
    // Micro batches of one step against each other: a rank that is slow for a while is so in all of them.
    let within = |all: &BTreeMap<Key, f64>| {
        let mut steps: BTreeMap<(u32, usize), Vec<f64>> = BTreeMap::new();
        for ((column, step, _), value) in all {
            steps.entry((*column, *step)).or_default().push(*value);
        }
        let means: BTreeMap<(u32, usize), f64> = steps
            .into_iter()
            .filter(|(_, values)| values.len() > 1)
            .map(|(key, values)| (key, values.iter().sum::<f64>() / values.len() as f64))
            .filter(|(_, mean)| *mean > 0.0)
            .collect();
        let centred = all.iter().filter_map(|(key, value)| {
            let mean = means.get(&(key.0, key.1))?;
            Some((*key, value / mean - 1.0))
        });
        centred.collect::<BTreeMap<Key, f64>>()
    };
    let (a, b) = (within(first), within(second));
    let pairs: Vec<(f64, f64)> = a
        .iter()
        .filter_map(|(key, a)| Some((*a, *b.get(key)?)))
        .collect();
    if pairs.len() < MIN_MICRO_BATCHES {
        return None;
    }
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (aa, bb, ab) = (
        sum(&|p| p.0 * p.0),
        sum(&|p| p.1 * p.1),
        sum(&|p| p.0 * p.1),
    );
    let correlation = ab / (aa * bb).sqrt();
    let spread_share = (aa / pairs.len() as f64).sqrt();
    if !(correlation >= MIN_CORRELATION && spread_share >= MIN_SPREAD) {
        return None;
    }
    let mut columns: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((column, ..), value) in first {
        columns.entry(*column).or_default().push(*value);
    }
    // Sequences of one pipeline may be longer than those of another by chance.
    let mut of_all: Vec<f64> = first.values().copied().collect();
    let middle_of_all = median(&mut of_all);
    let middles: BTreeMap<u32, f64> = columns
        .into_iter()
        .map(|(column, mut all)| {
            let middle = median(&mut all);
            let error = MEDIAN_ERROR * deviation(&all, middle) / (all.len() as f64).sqrt();
            let is_own = (middle - middle_of_all).abs() > ERRORS * error;
            (column, if is_own { middle } else { middle_of_all })
        })
        .collect();
    let factors = first.iter().filter_map(|(key, a)| {
        let both = f64::midpoint(*a, second.get(key).copied().unwrap_or(*a));
        let factor = both / middles[&key.0];
        (factor > 0.0 && factor.is_finite()).then_some((*key, factor))
    });
    Some(Lengths {
        correlation,
        spread_share,
        factors: factors.collect(),
    })
}
