//! The job: operations with their places, ranks with their roles.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::interner::Texts;
use trueno_analysis::quantiles::lower_median;
use trueno_plugin::{Result, Run};

use crate::rows::{Row, Rows};

/// What an operation does to other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Compute,
    Send,
    Receive,
    Collective,
}

/// An operation of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Place of its rank in [`Job::ranks`].
    pub rank: usize,
    /// Unique in the job.
    pub lane: u32,
    pub kind: Kind,
    /// Operations of one kind of work: their name, and the size of a communication.
    pub name: u32,
    /// Place of its step in [`Job::steps`].
    pub step: usize,
    pub micro_batch: Option<i64>,
    /// Among those of its rank, name and step: the micro batch, or the place in their order.
    pub slot: i64,
    /// On the clock of the reference rank.
    pub start_ns: i64,
    pub end_ns: i64,
    pub busy_ns: i64,
    /// Place in [`Job::meetings`].
    pub meeting: Option<usize>,
}

/// A collective, or a send with its receive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    pub operations: Vec<usize>,
    /// Place in [`Job::links`].
    pub link: usize,
}

/// What a transfer runs over: a communicator, or two ranks of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    pub communicator: String,
    pub ranks: Vec<u32>,
}

/// Place of a rank in the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    pub number: u32,
    pub host: Option<String>,
    pub stage: u32,
    /// Ranks of one pipeline: they work on the same micro batches.
    pub column: u32,
    pub data: Option<u32>,
    pub tensor: Option<u32>,
}

/// The job.
#[derive(Debug, Default)]
pub struct Job {
    pub ranks: Vec<Rank>,
    /// By rank and start.
    pub operations: Vec<Operation>,
    pub meetings: Vec<Meeting>,
    pub links: Vec<Link>,
    pub names: Texts,
    /// Numbers of the steps; one without a number if none are recorded.
    pub steps: Vec<Option<u64>>,
    /// Steps do not overlap: each is re-timed for itself.
    pub are_steps_apart: bool,
    /// Stages are stated, not inferred.
    pub are_stages_stated: bool,
    /// The job is known to have had more ranks.
    pub is_missing_ranks: bool,
    /// Ranks whose recordings lack a part of the others'.
    pub incomplete: Vec<Incomplete>,
}

/// A rank whose recording begins later or ends earlier than those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete {
    pub rank: u32,
    pub begins_late_ns: i64,
    pub ends_early_ns: i64,
    /// Steps of others that it lacks; 0 where no step is recorded on all ranks.
    pub steps: usize,
}

/// Share of the whole that a recording without steps may end before the others.
const MAX_EARLY: f64 = 0.1;

/// Rank and stream; sends and receives of one name are in order among themselves.
type LaneKey = (usize, u64, Option<(Kind, u32)>);

/// A part of a rank in a collective.
struct Part {
    instance: u64,
    operation: String,
    bytes: Option<u64>,
    communicator: String,
    receiver: Option<u32>,
    arrive_ns: i64,
    /// Of its time on the clock of the reference; `None`: clocks were not compared.
    uncertainty_ns: Option<i64>,
}

impl Job {
    /// Reads the job around the operations; `None`: it has one rank, or no operations that ranks meet in.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, rows: Rows) -> Result<Option<Self>> {
        let parts = parts(run)?;
        let mut out = Self {
            is_missing_ranks: run.table("missing")?.rows() > 0,
            ..Self::default()
        };
        let stated = out.read_ranks(run, &rows)?;
        if out.ranks.len() < 2 || parts.is_empty() {
            return Ok(None);
        }
        let offsets = offsets(&rows.rows, &parts);
        let mut rows = rows;
        out.incomplete = cut_to_common(&mut rows.rows, &offsets);
        out.add_operations(&rows, &parts, &offsets);
        if out.meetings.is_empty() {
            return Ok(None);
        }
        out.place(&stated);
        out.number_slots();
        out.are_steps_apart = out.are_apart();
        Ok(Some(out))
    }

    /// Ranks with operations, and the stages that are stated.
    fn read_ranks(&mut self, run: &mut Run, rows: &Rows) -> Result<BTreeMap<u32, u32>> {
        let table = run.table("ranks")?;
        let number = table.u64("rank")?;
        let host = table.text("host_name")?;
        let (pipeline, data, tensor) = (
            table.u64("pipeline")?,
            table.u64("data")?,
            table.u64("tensor")?,
        );
        let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
        let with_rows: BTreeSet<u32> = rows.rows.iter().map(|row| row.rank).collect();
        let mut stages = BTreeMap::new();
        for row in 0..table.rows() {
            let Some(rank) = small(number.get(row)).filter(|rank| with_rows.contains(rank)) else {
                continue;
            };
            stages.extend(small(pipeline.get(row)).map(|stage| (rank, stage)));
            self.ranks.push(Rank {
                number: rank,
                host: host.get(row).map(str::to_owned),
                data: small(data.get(row)),
                tensor: small(tensor.get(row)),
                ..Rank::default()
            });
        }
        Ok(stages)
    }

    fn add_operations(
        &mut self,
        rows: &Rows,
        parts: &BTreeMap<u64, Part>,
        offsets: &BTreeMap<u32, i64>,
    ) {
        let places: BTreeMap<u32, usize> = self
            .ranks
            .iter()
            .enumerate()
            .map(|(at, rank)| (rank.number, at))
            .collect();
        let in_job = rows
            .rows
            .iter()
            .filter(|row| places.contains_key(&row.rank));
        let steps: BTreeSet<Option<u64>> = in_job.map(|row| row.step).collect();
        // Where some operations are of no step, they would be a step of their own.
        self.steps = if steps.contains(&None) {
            vec![None]
        } else {
            steps.into_iter().collect()
        };
        let mut lanes: BTreeMap<LaneKey, u32> = BTreeMap::new();
        let mut meetings: BTreeMap<u64, usize> = BTreeMap::new();
        let mut links: BTreeMap<Link, usize> = BTreeMap::new();
        let mut members: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for row in &rows.rows {
            if let Some(part) = parts.get(&row.id).filter(|_| row.is_communication) {
                members.entry(part.instance).or_default().push(row.rank);
            }
        }
        for row in &rows.rows {
            let Some(rank) = places.get(&row.rank).copied() else {
                continue;
            };
            let part = parts.get(&row.id).filter(|_| row.is_communication);
            // Without another recorded part there is nothing to join.
            let part = part.filter(|part| members[&part.instance].len() > 1);
            let kind = match part {
                _ if !row.is_communication => Kind::Compute,
                Some(part) if part.receiver == Some(row.rank) => Kind::Receive,
                Some(part) if part.receiver.is_some() => Kind::Send,
                _ => Kind::Collective,
            };
            let name = rows.names.text(row.name);
            let name = match part.and_then(|part| Some((part, part.bytes?))) {
                Some((part, bytes)) => self
                    .names
                    .number(&format!("{} of {bytes} B", part.operation)),
                None => self.names.number(name),
            };
            let is_between_two = matches!(kind, Kind::Send | Kind::Receive);
            let lane = (rank, row.lane, is_between_two.then_some((kind, row.name)));
            let next = lanes.len() as u32;
            let lane = *lanes.entry(lane).or_insert(next);
            let offset_ns = offsets.get(&row.rank).copied().unwrap_or(0);
            let at = self.operations.len();
            let meeting = part.map(|part| {
                let next = self.meetings.len();
                let meeting = *meetings.entry(part.instance).or_insert(next);
                if meeting == next {
                    let mut ranks = members[&part.instance].clone();
                    ranks.sort_unstable();
                    let link = Link {
                        communicator: part.communicator.clone(),
                        ranks,
                    };
                    let next = links.len();
                    let link = *links.entry(link).or_insert(next);
                    self.meetings.push(Meeting {
                        operations: Vec::new(),
                        link,
                    });
                }
                self.meetings[meeting].operations.push(at);
                meeting
            });
            let step = self.steps.binary_search(&row.step).unwrap_or(0);
            self.operations.push(Operation {
                rank,
                lane,
                kind,
                name,
                step,
                micro_batch: row.micro_batch,
                slot: 0,
                start_ns: row.start_ns.saturating_add(offset_ns),
                end_ns: row.end_ns.saturating_add(offset_ns),
                busy_ns: row.busy_ns,
                meeting,
            });
        }
        let mut ordered: Vec<(usize, Link)> =
            links.into_iter().map(|(link, at)| (at, link)).collect();
        ordered.sort();
        self.links = ordered.into_iter().map(|(_, link)| link).collect();
    }

    /// Gives ranks their stages and pipelines: as stated, or from who sends to whom first.
    fn place(&mut self, stated: &BTreeMap<u32, u32>) {
        let mut first: BTreeMap<(usize, usize), i64> = BTreeMap::new();
        for meeting in &self.meetings {
            let of = |kind: Kind| {
                let mut all = meeting.operations.iter().map(|at| &self.operations[*at]);
                all.find(|of| of.kind == kind)
            };
            if let (Some(from), Some(to)) = (of(Kind::Send), of(Kind::Receive)) {
                let ns = first.entry((from.rank, to.rank)).or_insert(i64::MAX);
                *ns = (*ns).min(from.end_ns.min(to.end_ns));
            }
        }
        let mut column: Vec<usize> = (0..self.ranks.len()).collect();
        for (from, to) in first.keys() {
            let (a, b) = (
                column[*from].min(column[*to]),
                column[*from].max(column[*to]),
            );
            column
                .iter_mut()
                .filter(|of| **of == b)
                .for_each(|of| *of = a);
        }
        self.are_stages_stated = stated.len() == self.ranks.len();
        let mut stages = vec![0_u32; self.ranks.len()];
        if self.are_stages_stated {
            for (stage, rank) in stages.iter_mut().zip(&self.ranks) {
                *stage = stated[&rank.number];
            }
        } else {
            // Activations go forward before gradients come back.
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
            for _ in 0..self.ranks.len() {
                let before = stages.clone();
                for (from, to) in &forward {
                    stages[*to] = stages[*to].max(stages[*from] + 1);
                }
                if stages == before {
                    break;
                }
            }
            // A circle of sends is no pipeline.
            if stages
                .iter()
                .any(|stage| *stage as usize >= self.ranks.len())
            {
                stages.fill(0);
            }
        }
        for (at, rank) in self.ranks.iter_mut().enumerate() {
            rank.stage = stages[at];
            rank.column = column[at] as u32;
        }
    }

    fn number_slots(&mut self) {
        let mut next: BTreeMap<(usize, u32, usize), i64> = BTreeMap::new();
        for of in &mut self.operations {
            let place = next.entry((of.rank, of.name, of.step)).or_default();
            of.slot = of.micro_batch.unwrap_or(*place);
            *place += 1;
        }
    }

    /// True if each step ends on all ranks before the next begins on any.
    fn are_apart(&self) -> bool {
        let mut times = vec![(i64::MAX, i64::MIN); self.steps.len()];
        for of in &self.operations {
            let of_step = &mut times[of.step];
            *of_step = (of_step.0.min(of.start_ns), of_step.1.max(of.end_ns));
        }
        times.windows(2).all(|two| two[0].1 <= two[1].0)
    }

    pub fn stages(&self) -> u32 {
        self.ranks
            .iter()
            .map(|rank| rank.stage.saturating_add(1))
            .max()
            .unwrap_or(1)
    }

    /// Stages that have a recorded rank.
    pub fn recorded_stages(&self) -> BTreeSet<u32> {
        self.ranks.iter().map(|rank| rank.stage).collect()
    }

    /// Micro batches of a step of a rank, as stated; the most of any.
    pub fn micro_batches(&self) -> Option<usize> {
        let all: BTreeSet<(usize, usize, i64)> = self
            .operations
            .iter()
            .filter_map(|of| Some((of.rank, of.step, of.micro_batch?)))
            .collect();
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (rank, step, _) in all {
            *counts.entry((rank, step)).or_default() += 1;
        }
        counts.into_values().max()
    }

    /// Stage in words.
    pub fn stage_name(&self, stage: u32) -> String {
        match stage {
            0 => "the first stage".to_owned(),
            stage if stage + 1 == self.stages() => format!("stage {stage} (the last)"),
            stage => format!("stage {stage}"),
        }
    }
}

/// Leaves what all ranks recorded, and says which of them lack the rest.
fn cut_to_common(rows: &mut Vec<Row>, offsets: &BTreeMap<u32, i64>) -> Vec<Incomplete> {
    let mut spans: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    let mut steps: BTreeMap<u32, BTreeSet<Option<u64>>> = BTreeMap::new();
    for row in rows.iter() {
        let offset_ns = offsets.get(&row.rank).copied().unwrap_or(0);
        let times = (
            row.start_ns.saturating_add(offset_ns),
            row.end_ns.saturating_add(offset_ns),
        );
        let span = spans.entry(row.rank).or_insert(times);
        *span = (span.0.min(times.0), span.1.max(times.1));
        steps.entry(row.rank).or_default().insert(row.step);
    }
    let first_ns = spans.values().map(|span| span.0).min().unwrap_or(0);
    let last_ns = spans.values().map(|span| span.1).max().unwrap_or(0);
    let all: BTreeSet<Option<u64>> = steps.values().flatten().copied().collect();
    let common: BTreeSet<Option<u64>> = all
        .iter()
        .filter(|step| steps.values().all(|own| own.contains(step)))
        .copied()
        .collect();
    let are_known = all.len() > 1 && !all.contains(&None) && !common.is_empty();
    let most_early_ns = (MAX_EARLY * last_ns.saturating_sub(first_ns) as f64) as i64;
    let incomplete = spans.iter().map(|(rank, span)| Incomplete {
        rank: *rank,
        begins_late_ns: span.0.saturating_sub(first_ns),
        ends_early_ns: last_ns.saturating_sub(span.1),
        steps: if are_known {
            all.len() - steps[rank].len()
        } else {
            0
        },
    });
    let incomplete: Vec<Incomplete> = incomplete
        .filter(|of| of.steps > 0 || !are_known && of.ends_early_ns > most_early_ns)
        .collect();
    if are_known {
        rows.retain(|row| common.contains(&row.step));
    } else if !incomplete.is_empty() {
        let until_ns = spans.values().map(|span| span.1).min().unwrap_or(last_ns);
        rows.retain(|row| {
            let offset_ns = offsets.get(&row.rank).copied().unwrap_or(0);
            row.end_ns.saturating_add(offset_ns) <= until_ns
        });
    }
    incomplete
}

/// Parts of ranks in matched collectives, by the row of their kernel.
fn parts(run: &mut Run) -> Result<BTreeMap<u64, Part>> {
    let table = run.table("meetings")?;
    let (instance, id) = (table.u64("instance")?, table.u64("id")?);
    let (arrive, bytes) = (table.i64("arrive_ns")?, table.u64("bytes")?);
    let uncertainty = table.i64("uncertainty_ns")?;
    let (operation, communicator) = (table.text("operation")?, table.text("communicator")?);
    let receiver = table.u64("receiver")?;
    let part = |row: usize| {
        let part = Part {
            instance: instance.get(row)?,
            operation: operation.get(row)?.to_owned(),
            bytes: bytes.get(row),
            communicator: communicator.get(row).unwrap_or_default().to_owned(),
            receiver: receiver.get(row).and_then(|rank| u32::try_from(rank).ok()),
            arrive_ns: arrive.get(row)?,
            uncertainty_ns: uncertainty.get(row),
        };
        Some((id.get(row)?, part))
    };
    Ok((0..table.rows()).filter_map(part).collect())
}

/// What to add to times of a rank to have them on the clock of the reference; nothing, where the clocks may agree.
fn offsets(rows: &[Row], parts: &BTreeMap<u64, Part>) -> BTreeMap<u32, i64> {
    let mut all: BTreeMap<u32, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
    for row in rows {
        let part = parts.get(&row.id);
        if let Some((part, uncertainty_ns)) =
            part.and_then(|part| Some((part, part.uncertainty_ns?)))
        {
            let of_rank = all.entry(row.rank).or_default();
            of_rank.0.push(part.arrive_ns.saturating_sub(row.start_ns));
            of_rank.1.push(uncertainty_ns);
        }
    }
    let certain = all
        .into_iter()
        .filter_map(|(rank, (mut offsets, mut uncertainties))| {
            let offset_ns = lower_median(&mut offsets)?;
            let uncertainty_ns = lower_median(&mut uncertainties)?;
            (offset_ns.abs() > uncertainty_ns).then_some((rank, offset_ns))
        });
    certain.collect()
}
