//! Stages of a pipeline, and the order of its micro batches, from who sends to whom and when.

use std::collections::{BTreeMap, BTreeSet};

use crate::job::{Job, Kind};

/// A send with its receive, ordered by time. Ranks are indices into [`Job::ranks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    pub over_ns: i64,
    pub step: usize,
    pub from: usize,
    pub to: usize,
}

/// Stages and pipelines of ranks, inferred from their transfers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub stages: Vec<u32>,
    /// Number of each rank's pipeline.
    pub columns: Vec<u32>,
}

impl Places {
    /// `transfers` must be sorted by time.
    pub fn of(transfers: &[Transfer], ranks: usize) -> Self {
        let mut columns: Vec<usize> = (0..ranks).collect();
        let pairs: BTreeSet<(usize, usize)> = transfers.iter().map(|of| (of.from, of.to)).collect();
        for (from, to) in pairs {
            let (a, b) = (
                columns[from].min(columns[to]),
                columns[from].max(columns[to]),
            );
            let of_other = columns.iter_mut().filter(|of| **of == b);
            of_other.for_each(|of| *of = a);
        }
        let mut steps: BTreeMap<(usize, usize), Vec<&Transfer>> = BTreeMap::new();
        for of in transfers {
            steps
                .entry((columns[of.from], of.step))
                .or_default()
                .push(of);
        }
        // A recording may begin within a step: most steps decide.
        let mut votes: BTreeMap<usize, BTreeMap<Vec<usize>, usize>> = BTreeMap::new();
        for ((column, _), all) in &steps {
            let size = columns.iter().filter(|of| *of == column).count();
            if let Some(chain) = chain(all).filter(|chain| chain.len() == size) {
                *votes.entry(*column).or_default().entry(chain).or_default() += 1;
            }
        }
        let mut stages = vec![0_u32; ranks];
        let all: BTreeSet<usize> = steps.keys().map(|(column, _)| *column).collect();
        for column in all {
            let of_column = votes.get(&column).and_then(|chains| {
                let most = chains.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
                most.map(|(chain, _)| chain)
            });
            match of_column {
                Some(chain) => (0..)
                    .zip(chain)
                    .for_each(|(stage, rank)| stages[*rank] = stage),
                None => branched(transfers, &columns, column, &mut stages),
            }
        }
        Self {
            stages,
            columns: columns.into_iter().map(|column| column as u32).collect(),
        }
    }
}

/// Ranks of a pipeline in order: the first sends before it receives, and each sends first to the next. The last one
/// sends gradients back or, if stages hold several chunks of the model, to the first.
fn chain(transfers: &[&Transfer]) -> Option<Vec<usize>> {
    let mut receivers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut begun: BTreeSet<usize> = BTreeSet::new();
    let mut first = None;
    for of in transfers {
        receivers.entry(of.from).or_insert(of.to);
        if !begun.contains(&of.from) && first.is_none() {
            first = Some(of.from);
        }
        begun.extend([of.from, of.to]);
    }
    let mut out = vec![first?];
    while let Some(next) = receivers.get(out.last()?) {
        if out.contains(next) {
            break;
        }
        out.push(*next);
    }
    Some(out)
}

/// Sets the stages of ranks whose transfers form no chain, as when one stage feeds two: activations go forward
/// before gradients come back. A cycle is not a pipeline.
fn branched(transfers: &[Transfer], columns: &[usize], column: usize, stages: &mut [u32]) {
    let mut first: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for of in transfers.iter().filter(|of| columns[of.from] == column) {
        first.entry((of.from, of.to)).or_insert(of.over_ns);
    }
    let is_forward = |(from, to): &(usize, usize), ns: i64| {
        first
            .get(&(*to, *from))
            .is_none_or(|back_ns| (ns, from) < (*back_ns, to))
    };
    let forward: Vec<(usize, usize)> = first
        .iter()
        .filter(|(pair, ns)| is_forward(pair, **ns))
        .map(|(pair, _)| *pair)
        .collect();
    let ranks = columns.iter().filter(|of| **of == column).count() as u32;
    for _ in 0..ranks {
        for (from, to) in &forward {
            stages[*to] = stages[*to].max(stages[*from] + 1);
        }
    }
    if forward
        .iter()
        .any(|(from, to)| stages[*to] <= stages[*from])
    {
        let own = stages
            .iter_mut()
            .zip(columns)
            .filter(|(_, of)| **of == column);
        own.for_each(|(stage, _)| *stage = 0);
    }
}

/// How the pipeline orders micro batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    pub micro_batches: Option<usize>,
    /// True if programs state the micro batches, false if they were counted from transfers.
    pub is_stated: bool,
    /// Parts of the model in each stage; more than one if interleaved.
    pub chunks: Option<usize>,
    /// `GPipe`, `1F1B` or `interleaved 1F1B`; `None` if the order of transfers does not show it.
    pub name: Option<&'static str>,
}

impl Schedule {
    pub fn new(job: &Job, transfers: &[Transfer]) -> Self {
        let stated = job.stated_micro_batches();
        let stages = job.stages();
        let mut out = Self {
            micro_batches: stated,
            is_stated: stated.is_some(),
            ..Self::default()
        };
        if stages < 2 {
            return out;
        }
        let stage = |rank: usize| job.ranks[rank].stage;
        // By pipeline and step: transfers from the first stage to the second, and from the last to the first.
        let mut counts: BTreeMap<(u32, usize), (usize, usize)> = BTreeMap::new();
        // Transfers of the first stage before it received one.
        let mut ahead: BTreeMap<(u32, usize), (usize, bool)> = BTreeMap::new();
        for of in transfers {
            let key = (job.ranks[of.from].column, of.step);
            let count = counts.entry(key).or_default();
            let of_first = ahead.entry(key).or_default();
            if stage(of.from) == 0 && stage(of.to) == 1 {
                count.0 += 1;
                of_first.0 += usize::from(!of_first.1);
            }
            if stage(of.from) == stages - 1 && stage(of.to) == 0 && stages > 2 {
                count.1 += 1;
            }
            of_first.1 |= stage(of.to) == 0;
        }
        let most = |all: Vec<usize>| {
            let mut times: BTreeMap<usize, usize> = BTreeMap::new();
            for value in all {
                *times.entry(value).or_default() += 1;
            }
            let most = times
                .into_iter()
                .max_by_key(|(value, times)| (*times, *value));
            most.map(|(value, _)| value)
        };
        let batches = most(
            counts
                .values()
                .map(|(next, around)| next.saturating_sub(*around))
                .collect(),
        );
        let next = most(counts.values().map(|(next, _)| *next).collect());
        let Some((batches, next)) = batches.zip(next).filter(|(batches, _)| *batches > 0) else {
            return out;
        };
        // Two stages send both ways between the same ranks: how often is then no number of micro batches.
        if stages == 2 && is_interleaved(job, transfers) {
            out.name = Some("interleaved 1F1B");
            return out;
        }
        out.chunks = next.is_multiple_of(batches).then_some(next / batches);
        out.micro_batches = stated.or(out.chunks.map(|_| batches));
        let ahead = most(ahead.into_values().map(|(ahead, _)| ahead).collect());
        out.name = match (out.chunks, ahead) {
            (Some(chunks), _) if chunks > 1 => Some("interleaved 1F1B"),
            // With so few micro batches both are the same.
            (Some(_), _) if batches <= stages as usize => None,
            (Some(_), Some(ahead)) if ahead >= batches => Some("GPipe"),
            (Some(_), Some(ahead)) if ahead <= stages as usize => Some("1F1B"),
            _ => None,
        };
        out
    }

    /// Share of time waiting in a pipeline of p equal stages, m micro batches and v chunks a stage: (p − 1) /
    /// (v · m + p − 1). Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
    /// Clusters Using Megatron-LM" (SC 2021), for GPipe and 1F1B. The paper divides by the ideal time, this by
    /// the whole. `times` multiplies the number of micro batches.
    pub fn bubble(&self, stages: u32, times: usize) -> Option<f64> {
        let micro_batches = (self.micro_batches? * times * self.chunks.unwrap_or(1)) as f64;
        let others = f64::from(stages) - 1.0;
        (stages > 1).then(|| others / (micro_batches + others))
    }
}

/// If the last of two stages computes less than this share of its largest amount between two sends before the first
/// send, that part was forward only.
const MAX_FORWARD: f64 = 0.6;

/// True if the last stage first sends what it computed forward. Without chunks, its first send is a gradient.
fn is_interleaved(job: &Job, transfers: &[Transfer]) -> bool {
    let ends = |of: &Transfer| job.ranks[of.to].stage == 0 && job.ranks[of.from].stage == 1;
    let Some(rank) = transfers.iter().find(|of| ends(of)).map(|of| of.from) else {
        return false;
    };
    let Some(step) = transfers.iter().map(|of| of.step).max() else {
        return false;
    };
    let own = transfers.iter().filter(|of| of.step == step);
    let sent: Vec<i64> = own
        .filter(|of| of.from == rank)
        .map(|of| of.over_ns)
        .collect();
    let mut between_ns = vec![0_i64; sent.len()];
    for of in &job.operations {
        let is_own = of.rank == rank && of.step == step && of.kind == Kind::Compute;
        let place = sent.partition_point(|ns| *ns < of.end_ns);
        if let Some(sum) = between_ns.get_mut(place).filter(|_| is_own) {
            *sum = sum.saturating_add(of.busy_ns);
        }
    }
    let first_ns = between_ns.first().copied().unwrap_or(0);
    let most_ns = between_ns.iter().copied().max().unwrap_or(0);
    (first_ns as f64) < MAX_FORWARD * most_ns as f64
}
