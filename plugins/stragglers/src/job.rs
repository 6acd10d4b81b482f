//! The job: operations with their places, ranks with their roles.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::interner::Texts;
use trueno_analysis::quantiles::lower_median;
use trueno_plugin::{Result, Run};

use crate::parallel::Parallel;
use crate::rows::{COMPUTATION, Direction, Row, Rows};
use crate::schedule::{Places, Schedule, Transfer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Compute,
    Send,
    Receive,
    Collective,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Index into [`Job::ranks`].
    pub rank: usize,
    /// Unique in the job.
    pub lane: u32,
    pub kind: Kind,
    /// Number of the kind of work: its name and, for communication, its size.
    pub name: u32,
    /// Number of the name of its first kernel.
    pub kernel: u32,
    /// Index into [`Job::steps`].
    pub step: usize,
    pub micro_batch: Option<i64>,
    /// Number among the operations of the same rank, name and step: the micro batch, or the position in their
    /// order.
    pub slot: i64,
    /// On the clock of the reference rank.
    pub start_ns: i64,
    pub end_ns: i64,
    pub busy_ns: i64,
    pub kernels: u64,
    /// Index into [`Job::meetings`].
    pub meeting: Option<usize>,
}

/// A collective, or a send with its receive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    pub operations: Vec<usize>,
    /// Index into [`Job::links`].
    pub link: usize,
}

/// What a transfer runs over: a communicator, or two ranks of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    pub communicator: String,
    pub ranks: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    pub number: u32,
    pub host: Option<String>,
    pub stage: u32,
    /// Number of its pipeline. Ranks of one pipeline work on the same micro batches.
    pub column: u32,
    pub data: Option<u32>,
    pub tensor: Option<u32>,
}

#[derive(Debug, Default)]
pub struct Job {
    pub ranks: Vec<Rank>,
    /// Sorted by rank and start.
    pub operations: Vec<Operation>,
    pub meetings: Vec<Meeting>,
    pub links: Vec<Link>,
    pub names: Texts,
    pub schedule: Schedule,
    computation: Option<u32>,
    /// Numbers of the steps. If none are recorded, a single step without a number.
    pub steps: Vec<Option<u64>>,
    /// By step: the number of the stretch that is re-timed together. Steps that overlap and follow each other are of
    /// one stretch.
    pub stretches: Vec<usize>,
    /// Stages come from the user or the run, not from the order of transfers.
    pub are_stages_stated: bool,
    /// The job is known to have had more ranks than were recorded.
    pub is_missing_ranks: bool,
    pub incomplete: Vec<Incomplete>,
    /// Ranks, by index, and steps in which they lack kernels that they usually have.
    short: BTreeSet<(usize, usize)>,
}

/// A rank whose recording begins later or ends earlier than the others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete {
    pub rank: u32,
    pub begins_late_ns: i64,
    pub ends_early_ns: i64,
    /// Number of steps missing; 0 if no step is recorded on all ranks.
    pub steps: usize,
}

const SHOWN_RANKS: usize = 8;
/// A recording without steps is incomplete if it begins later or ends earlier than the others by more than this
/// share of the whole.
const MAX_APART: f64 = 0.1;
/// At most this share of a rank's operations may lie outside all steps, if the job has steps.
const MAX_OUTSIDE: f64 = 0.5;

/// A clock is taken for set if it jumps by more than this, and by more than a part in [`MAX_DRIFT`] of the time.
const MIN_JUMP_NS: i64 = 50_000;
const MAX_DRIFT: i64 = 1_000;

/// Rank and stream. Sends and receives of one name have their own order.
type LaneKey = (usize, u64, Option<(Kind, u32)>);

/// One rank's part in a matched collective.
struct Part {
    instance: u64,
    operation: String,
    bytes: Option<u64>,
    communicator: String,
    receiver: Option<u32>,
    arrive_ns: i64,
    /// Uncertainty of its time on the reference clock; `None` if the clocks were not compared.
    uncertainty_ns: Option<i64>,
}

impl Job {
    /// Builds the job from the operations; `None` if it has only one rank, or no operations in which ranks
    /// meet.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run, rows: Rows, parallel: Option<Parallel>) -> Result<Option<Self>> {
        let parts = parts(run)?;
        let mut out = Self {
            is_missing_ranks: run.table("missing")?.rows() > 0,
            ..Self::default()
        };
        let mut stated = out.read_ranks(run, &rows)?;
        if out.ranks.len() < 2 || parts.is_empty() {
            return Ok(None);
        }
        if let Some(parallel) = parallel {
            parallel.check(
                out.ranks.iter().map(|rank| rank.number),
                out.is_missing_ranks,
            )?;
            for rank in &mut out.ranks {
                let place = parallel.place(rank.number);
                stated.insert(rank.number, place.stage);
                (rank.data, rank.tensor) = (Some(place.data), Some(place.tensor));
            }
        }
        let clocks = Clocks::new(&rows.rows, &parts);
        let mut rows = rows;
        leave_outside_steps(&mut rows.rows);
        let numbers: BTreeSet<Option<u64>> = rows.rows.iter().map(|row| row.step).collect();
        let mut begun = begins(run)?;
        for (rank, begun_ns) in &mut begun {
            *begun_ns = clocks.on_reference(*rank, *begun_ns);
        }
        clocks.leave_jumps(&mut rows.rows);
        out.incomplete = cut_to_common(&mut rows.rows, &clocks, &begun);
        out.computation = Some(out.names.number(COMPUTATION));
        out.add_operations(&rows, &parts, &clocks);
        if out.meetings.is_empty() {
            return Ok(None);
        }
        out.place(&stated);
        out.number_slots();
        out.short = out.short();
        out.stretches = out.stretches(&numbers, clocks.uncertainty_ns);
        Ok(Some(out))
    }

    /// Adds ranks with operations, and returns the stages that are stated.
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

    fn add_operations(&mut self, rows: &Rows, parts: &BTreeMap<u64, Part>, clocks: &Clocks) {
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
        let groups = groups(parts, &members);
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
                Some(_) => Kind::Collective,
                None => match row.direction {
                    Some(Direction::Send) => Kind::Send,
                    Some(Direction::Receive) => Kind::Receive,
                    None => Kind::Collective,
                },
            };
            let name = rows.names.text(row.name);
            let kernel = self.names.number(name);
            let name = match part.and_then(|part| Some((part, part.bytes?))) {
                Some((part, bytes)) => self
                    .names
                    .number(&format!("{} of {bytes} B", part.operation)),
                None => kernel,
            };
            let is_between_two = matches!(kind, Kind::Send | Kind::Receive);
            let lane = (rank, row.lane, is_between_two.then_some((kind, row.name)));
            let next = lanes.len() as u32;
            let lane = *lanes.entry(lane).or_insert(next);
            let at = self.operations.len();
            let meeting = part.map(|part| {
                let next = self.meetings.len();
                let meeting = *meetings.entry(part.instance).or_insert(next);
                if meeting == next {
                    let link = Link {
                        communicator: part.communicator.clone(),
                        ranks: groups[&part.instance].clone(),
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
                kernel,
                step,
                micro_batch: row.micro_batch,
                slot: 0,
                start_ns: clocks.on_reference(row.rank, row.start_ns),
                end_ns: clocks.on_reference(row.rank, row.end_ns),
                busy_ns: row.busy_ns,
                kernels: row.kernels,
                meeting,
            });
        }
        let mut ordered: Vec<(usize, Link)> =
            links.into_iter().map(|(link, at)| (at, link)).collect();
        ordered.sort();
        self.links = ordered.into_iter().map(|(_, link)| link).collect();
    }

    /// Sets the stage and pipeline of each rank.
    fn place(&mut self, stated: &BTreeMap<u32, u32>) {
        let transfers = self.transfers();
        let places = Places::of(&transfers, self.ranks.len());
        self.are_stages_stated = stated.len() == self.ranks.len();
        for (at, rank) in self.ranks.iter_mut().enumerate() {
            rank.stage = stated
                .get(&rank.number)
                .filter(|_| self.are_stages_stated)
                .map_or(places.stages[at], |stage| *stage);
            rank.column = places.columns[at];
        }
        self.schedule = Schedule::new(self, &transfers);
        if self
            .ranks
            .iter()
            .all(|rank| rank.data.is_none() && rank.tensor.is_none())
        {
            self.infer_groups();
        }
    }

    /// Matches sends with receives, sorted by the time they were complete.
    fn transfers(&self) -> Vec<Transfer> {
        let transfer = |meeting: &Meeting| {
            let of = |kind: Kind| {
                let mut all = meeting.operations.iter().map(|at| &self.operations[*at]);
                all.find(|of| of.kind == kind)
            };
            let (from, to) = (of(Kind::Send)?, of(Kind::Receive)?);
            Some(Transfer {
                over_ns: from.end_ns.min(to.end_ns),
                step: from.step,
                from: from.rank,
                to: to.rank,
            })
        };
        let mut all: Vec<Transfer> = self.meetings.iter().filter_map(transfer).collect();
        all.sort_unstable();
        all
    }

    /// Sets the tensor- and data-parallel groups of ranks, if each rank is in two kinds of groups within its
    /// stage. The tensor-parallel groups are the ones that meet more often.
    fn infer_groups(&mut self) {
        let mut meetings: BTreeMap<&Link, usize> = BTreeMap::new();
        for meeting in &self.meetings {
            let first = meeting.operations.first().map(|at| &self.operations[*at]);
            if first.is_some_and(|of| of.kind == Kind::Collective) {
                *meetings.entry(&self.links[meeting.link]).or_default() += 1;
            }
        }
        let stages: BTreeMap<u32, u32> =
            self.ranks.iter().map(|of| (of.number, of.stage)).collect();
        let mut groups: BTreeMap<u32, BTreeMap<&[u32], usize>> = BTreeMap::new();
        for (link, count) in meetings {
            let mut of_stages = link.ranks.iter().map(|rank| stages.get(rank));
            let first = of_stages.next();
            if of_stages.all(|stage| Some(stage) == first) {
                for rank in &link.ranks {
                    *groups
                        .entry(*rank)
                        .or_default()
                        .entry(&link.ranks)
                        .or_default() += count;
                }
            }
        }
        let mut places: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for (rank, all) in &groups {
            let mut all: Vec<(usize, &[u32])> =
                all.iter().map(|(of, count)| (*count, *of)).collect();
            all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            let [(_, tensor), (_, data)] = all.as_slice() else {
                return;
            };
            let in_both = tensor.iter().filter(|rank| data.contains(rank)).count();
            let place = |of: &[u32]| of.iter().position(|other| other == rank);
            let (Some(tensor), Some(data), 1) = (place(tensor), place(data), in_both) else {
                return;
            };
            places.insert(*rank, (data as u32, tensor as u32));
        }
        if places.len() == self.ranks.len() {
            for rank in &mut self.ranks {
                let (data, tensor) = places[&rank.number];
                (rank.data, rank.tensor) = (Some(data), Some(tensor));
            }
        }
    }

    pub fn hosts(&self) -> usize {
        let all: BTreeSet<&str> = self
            .ranks
            .iter()
            .filter_map(|of| of.host.as_deref())
            .collect();
        all.len()
    }

    /// The host of a link, if all its ranks are on one.
    pub fn host_of(&self, link: &Link) -> Option<&str> {
        let mut hosts = link.ranks.iter().map(|number| {
            let mut all = self.ranks.iter();
            all.find(|rank| rank.number == *number)?.host.as_deref()
        });
        let first = hosts.next()??;
        hosts.all(|host| host == Some(first)).then_some(first)
    }

    /// Description of a link: `the data-parallel group of stage 0, ranks 5, 13, 21, 29`.
    pub fn link_name(&self, link: &Link) -> String {
        let ranks: Vec<&Rank> = link
            .ranks
            .iter()
            .filter_map(|number| self.ranks.iter().find(|rank| rank.number == *number))
            .collect();
        let are_alike = |of: &dyn Fn(&Rank) -> Option<u32>| {
            let mut all = ranks.iter().map(|rank| of(rank));
            let first = all.next().flatten();
            first.is_some() && all.all(|value| value == first)
        };
        let stage = are_alike(&|rank| Some(rank.stage));
        let (data, tensor) = (are_alike(&|rank| rank.data), are_alike(&|rank| rank.tensor));
        let numbers: Vec<String> = link
            .ranks
            .iter()
            .take(SHOWN_RANKS)
            .map(u32::to_string)
            .collect();
        let more = if link.ranks.len() > SHOWN_RANKS {
            ", …"
        } else {
            ""
        };
        let numbers = format!("ranks {}{more}", numbers.join(", "));
        let of_stage = match ranks.first() {
            Some(rank) if self.stages() > 1 => format!(" of {}", self.stage_name(rank.stage)),
            _ => String::new(),
        };
        match (stage, data, tensor) {
            (true, false, true) => format!("the data-parallel group{of_stage} ({numbers})"),
            (true, true, false) => format!("the tensor-parallel group{of_stage} ({numbers})"),
            (false, true, true) => format!("the pipeline of {numbers}"),
            _ if link.communicator.is_empty() => numbers,
            _ => format!("communicator {} ({numbers})", link.communicator),
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

    /// Stretches by step. If each step ends on all ranks before the next begins on any, as far as clocks tell, each
    /// is its own; otherwise one begins where a step of `numbers` is left out.
    fn stretches(&self, numbers: &BTreeSet<Option<u64>>, uncertainty_ns: i64) -> Vec<usize> {
        let mut times = vec![(i64::MAX, i64::MIN); self.steps.len()];
        for of in &self.operations {
            let of_step = &mut times[of.step];
            *of_step = (of_step.0.min(of.start_ns), of_step.1.max(of.end_ns));
        }
        let overlaps = |two: &[(i64, i64)]| two[0].1.saturating_sub(two[1].0) > uncertainty_ns;
        let are_apart = !times.windows(2).any(overlaps);
        let place = |step: &Option<u64>| numbers.range(..step).count();
        let follow = |two: &[Option<u64>]| place(&two[1]) == place(&two[0]) + 1;
        let breaks = self.steps.windows(2).map(|two| are_apart || !follow(two));
        let mut out = vec![0];
        for is_break in breaks {
            out.push(out[out.len() - 1] + usize::from(is_break));
        }
        out
    }

    pub fn stages(&self) -> u32 {
        self.ranks
            .iter()
            .map(|rank| rank.stage.saturating_add(1))
            .max()
            .unwrap_or(1)
    }

    /// Where a rank has fewer kernels than in most of its steps, and most of its peers do not: some are not recorded.
    fn short(&self) -> BTreeSet<(usize, usize)> {
        let mut counts = vec![vec![0; self.steps.len()]; self.ranks.len()];
        for of in &self.operations {
            counts[of.rank][of.step] += of.kernels.cast_signed();
        }
        let usual = |counts: &Vec<i64>| lower_median(&mut counts.clone()).unwrap_or(0);
        let usual: Vec<i64> = counts.iter().map(usual).collect();
        let is_short = |rank: usize, step: usize| counts[rank][step] < usual[rank];
        let mut out = BTreeSet::new();
        for step in 0..self.steps.len() {
            for stage in self.recorded_stages() {
                let peers =
                    || (0..self.ranks.len()).filter(|rank| self.ranks[*rank].stage == stage);
                let short: Vec<usize> = peers().filter(|rank| is_short(*rank, step)).collect();
                if short.len() * 2 <= peers().count() {
                    out.extend(short.into_iter().map(|rank| (rank, step)));
                }
            }
        }
        out
    }

    /// True if a rank, by index, lacks kernels in a step that it and its peers usually have.
    pub fn is_short(&self, rank: usize, step: usize) -> bool {
        self.short.contains(&(rank, step))
    }

    /// True for joined computing kernels.
    pub fn is_joined(&self, of: &Operation) -> bool {
        of.kind == Kind::Compute && Some(of.name) == self.computation
    }

    pub fn recorded_stages(&self) -> BTreeSet<u32> {
        self.ranks.iter().map(|rank| rank.stage).collect()
    }

    /// Largest number of stated micro batches in a step of a rank.
    pub fn stated_micro_batches(&self) -> Option<usize> {
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

    pub fn stage_name(&self, stage: u32) -> String {
        match stage {
            0 => "the first stage".to_owned(),
            stage if stage + 1 == self.stages() => format!("stage {stage} (the last)"),
            stage => format!("stage {stage}"),
        }
    }
}

/// Ranks of each instance. Where some rank did not record its part, those of another instance of the communicator that
/// has all of these and more.
fn groups(
    parts: &BTreeMap<u64, Part>,
    members: &BTreeMap<u64, Vec<u32>>,
) -> BTreeMap<u64, Vec<u32>> {
    type Instances = Vec<u64>;
    let mut of_communicators: BTreeMap<(&str, bool), BTreeMap<BTreeSet<u32>, Instances>> =
        BTreeMap::new();
    let mut seen = BTreeSet::new();
    for part in parts.values() {
        let Some(ranks) = members.get(&part.instance) else {
            continue;
        };
        if seen.insert(part.instance) {
            let key = (part.communicator.as_str(), part.receiver.is_some());
            let ranks = ranks.iter().copied().collect();
            let of_communicator = of_communicators.entry(key).or_default();
            of_communicator
                .entry(ranks)
                .or_default()
                .push(part.instance);
        }
    }
    let mut out = BTreeMap::new();
    for ((communicator, _), sets) in of_communicators {
        let mut sets: Vec<(BTreeSet<u32>, Instances)> = sets.into_iter().collect();
        sets.sort_by_key(|(ranks, _)| Reverse(ranks.len()));
        let mut whole: Vec<BTreeSet<u32>> = Vec::new();
        for (ranks, instances) in sets {
            let is_named = !communicator.is_empty();
            let place = whole
                .iter()
                .position(|of| is_named && of.is_superset(&ranks));
            let place = place.unwrap_or_else(|| {
                whole.push(ranks);
                whole.len() - 1
            });
            let ranks: Vec<u32> = whole[place].iter().copied().collect();
            out.extend(
                instances
                    .into_iter()
                    .map(|instance| (instance, ranks.clone())),
            );
        }
    }
    out
}

/// Drops the few operations of a rank outside all steps: a recording may begin or end within a step.
fn leave_outside_steps(rows: &mut Vec<Row>) {
    let mut counts: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for row in rows.iter() {
        let (outside, all) = counts.entry(row.rank).or_default();
        *outside += usize::from(row.step.is_none());
        *all += 1;
    }
    rows.retain(|row| {
        let (outside, all) = counts[&row.rank];
        row.step.is_some() || outside as f64 > MAX_OUTSIDE * all as f64
    });
}

/// Drops what was not recorded on all ranks, and returns the ranks that caused it. `begun` says when recordings
/// began, on the reference clock.
fn cut_to_common(
    rows: &mut Vec<Row>,
    clocks: &Clocks,
    begun: &BTreeMap<u32, i64>,
) -> Vec<Incomplete> {
    let mut spans: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    let mut steps: BTreeMap<u32, BTreeSet<Option<u64>>> = BTreeMap::new();
    for row in rows.iter() {
        let times = (
            clocks.on_reference(row.rank, row.start_ns),
            clocks.on_reference(row.rank, row.end_ns),
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
    let most_ns = (MAX_APART * last_ns.saturating_sub(first_ns) as f64) as i64;
    let first_begun_ns = begun.values().copied().min().unwrap_or(first_ns);
    let incomplete = spans.iter().map(|(rank, span)| {
        let begins_late_ns = match begun.get(rank) {
            Some(ns) => ns.saturating_sub(first_begun_ns),
            None if are_known => span.0.saturating_sub(first_ns),
            // It may have been late itself.
            None => 0,
        };
        Incomplete {
            rank: *rank,
            begins_late_ns,
            ends_early_ns: last_ns.saturating_sub(span.1),
            steps: if are_known {
                all.len() - steps[rank].len()
            } else {
                0
            },
        }
    });
    let is_incomplete = |of: &Incomplete| {
        let is_shorter = of.ends_early_ns > most_ns || of.begins_late_ns > most_ns;
        of.steps > 0 || !are_known && is_shorter
    };
    let incomplete: Vec<Incomplete> = incomplete.filter(is_incomplete).collect();
    if are_known {
        rows.retain(|row| common.contains(&row.step));
    } else if !incomplete.is_empty() {
        let late = incomplete.iter().filter(|of| of.begins_late_ns > most_ns);
        let late = late.filter_map(|of| begun.get(&of.rank));
        let from_ns = late.copied().max().unwrap_or(i64::MIN);
        let until_ns = spans.values().map(|span| span.1).min().unwrap_or(last_ns);
        rows.retain(|row| {
            clocks.on_reference(row.rank, row.start_ns) >= from_ns
                && clocks.on_reference(row.rank, row.end_ns) <= until_ns
        });
    }
    incomplete
}

fn begins(run: &mut Run) -> Result<BTreeMap<u32, i64>> {
    let table = run.table("begins")?;
    let (rank, offset) = (table.u64("rank")?, table.i64("offset_ns")?);
    let begin = |row: usize| Some((u32::try_from(rank.get(row)?).ok()?, offset.get(row)?));
    Ok((0..table.rows()).filter_map(begin).collect())
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

/// Clocks of the ranks against that of the reference, by their parts in collectives.
struct Clocks {
    of_ranks: BTreeMap<u32, Vec<Reading>>,
    /// Of times on the clocks of two ranks, for most of them.
    uncertainty_ns: i64,
}

/// What to add to the times of a rank from here on to get those of the reference.
#[derive(Clone, Copy)]
struct Reading {
    from_ns: i64,
    offset_ns: i64,
}

impl Clocks {
    /// Leaves out ranks whose clocks may agree with the reference.
    fn new(rows: &[Row], parts: &BTreeMap<u64, Part>) -> Self {
        let mut all: BTreeMap<u32, (Vec<Reading>, Vec<i64>)> = BTreeMap::new();
        for row in rows {
            let part = parts.get(&row.id);
            if let Some((part, uncertainty_ns)) =
                part.and_then(|part| Some((part, part.uncertainty_ns?)))
            {
                let of_rank = all.entry(row.rank).or_default();
                of_rank.0.push(Reading {
                    from_ns: row.start_ns,
                    offset_ns: part.arrive_ns.saturating_sub(row.start_ns),
                });
                of_rank.1.push(uncertainty_ns);
            }
        }
        let mut most_ns = 0;
        let certain = all
            .into_iter()
            .filter_map(|(rank, (mut readings, mut uncertainties))| {
                let mut offsets: Vec<i64> = readings.iter().map(|of| of.offset_ns.abs()).collect();
                let offset_ns = lower_median(&mut offsets)?;
                let uncertainty_ns = lower_median(&mut uncertainties)?;
                readings.sort_by_key(|of| of.from_ns);
                most_ns = most_ns.max(uncertainty_ns);
                (offset_ns > uncertainty_ns).then_some((rank, readings))
            });
        Self {
            of_ranks: certain.collect(),
            uncertainty_ns: most_ns.saturating_mul(2),
        }
    }

    fn on_reference(&self, rank: u32, ns: i64) -> i64 {
        let readings = self.of_ranks.get(&rank).map_or(&[][..], Vec::as_slice);
        let next = readings.partition_point(|of| of.from_ns <= ns);
        let reading = readings.get(next.saturating_sub(1));
        ns.saturating_add(reading.map_or(0, |of| of.offset_ns))
    }

    /// Drops the steps in which a clock was set, if others are left: their times are wrong, and nothing says where.
    fn leave_jumps(&self, rows: &mut Vec<Row>) {
        let is_jump = |two: &&[Reading]| {
            let apart_ns = two[1].from_ns.saturating_sub(two[0].from_ns);
            let by_ns = two[1].offset_ns.saturating_sub(two[0].offset_ns);
            by_ns.abs() > MIN_JUMP_NS.saturating_add(apart_ns.abs() / MAX_DRIFT)
        };
        let jumps: Vec<(u32, i64, i64)> = self
            .of_ranks
            .iter()
            .flat_map(|(rank, all)| all.windows(2).map(move |two| (*rank, two)))
            .filter(|(_, two)| is_jump(two))
            .map(|(rank, two)| (rank, two[0].from_ns, two[1].from_ns))
            .collect();
        let is_of_jump = |row: &&Row| {
            let mut jumps = jumps.iter();
            jumps.any(|(rank, from_ns, to_ns)| {
                row.rank == *rank && row.start_ns >= *from_ns && row.start_ns <= *to_ns
            })
        };
        let all: BTreeSet<Option<u64>> = rows.iter().map(|row| row.step).collect();
        let wrong = rows.iter().filter(is_of_jump).map(|row| row.step);
        let wrong: BTreeSet<Option<u64>> = wrong.collect();
        if !all.contains(&None) && wrong.len() * 2 < all.len() {
            rows.retain(|row| !wrong.contains(&row.step));
        }
    }
}
