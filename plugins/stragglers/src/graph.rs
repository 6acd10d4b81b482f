//! The graph of a job, and its re-timing.
//!
//! An operation begins when those that it depends on have ended, after a *delay* of its own, in which its rank launched
//! it or did something that is not recorded. Parts of one collective, or a send and its receive, end together: when the
//! last has begun and the data are transferred. As recorded, this gives the recorded times; with other durations it gives
//! those that the job would have had.
//!
//! ```text
//! start(o) = max end(d) + delay(o)            over all d that o depends on
//! end(o)   = start(o) + work(o)               o computes
//! end(o)   = max start(p) + transfer          over all parts p of the collective; transfer: the shortest stay of a part
//! ```

use std::collections::BTreeMap;

use crate::effects::median;
use crate::job::{Job, Kind, Operation};
use crate::rows::SAME_NS;

#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Computing, or transferring the data.
    pub work: Vec<f64>,
    /// Time between the end of an operation's dependencies and its start, and between its kernels.
    pub delay: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Retimed {
    pub step_ns: Vec<f64>,
}

impl Retimed {
    pub fn total_ns(&self) -> f64 {
        self.step_ns.iter().sum()
    }
}

/// A step of the re-timing, in an order in which each only needs earlier ones.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The start of an operation, and its end unless it is part of a meeting.
    Start(u32),
    /// The common end of all parts of a meeting.
    Meet(u32),
}

/// Most meetings that may be taken apart, as a share, and how often.
const MAX_APART: f64 = 0.05;
const MAX_ROUNDS: usize = 1_000;

pub struct Graph {
    dependencies: Vec<Vec<u32>>,
    order: Vec<Event>,
    meetings: Vec<Option<u32>>,
    parts: Vec<Vec<u32>>,
    steps: Vec<u32>,
    /// By step: the number of its stretch ([`Job::stretches`]).
    stretches: Vec<usize>,
    pub recorded: Timing,
    /// Recorded length of each step: from the first start, or the end of the step before, to the last end.
    pub recorded_step_ns: Vec<f64>,
}

impl Graph {
    /// Builds the graph; `None` if many collectives were matched in an order that cannot be.
    pub fn new(job: &Job) -> Option<Self> {
        let all = &job.operations;
        let dependencies = dependencies(job);
        let mut out = Self {
            order: Vec::new(),
            meetings: all
                .iter()
                .map(|of| of.meeting.map(|at| at as u32))
                .collect(),
            parts: job
                .meetings
                .iter()
                .map(|of| of.operations.iter().map(|at| *at as u32).collect())
                .collect(),
            steps: all.iter().map(|of| of.step as u32).collect(),
            stretches: job.stretches.clone(),
            recorded: Timing {
                work: Vec::new(),
                delay: Vec::new(),
            },
            recorded_step_ns: Vec::new(),
            dependencies,
        };
        out.order = out.order()?;
        out.recorded = out.as_recorded(job);
        let steps = |of: fn(&Operation) -> i64, unit: i64, better: fn(i64, i64) -> i64| {
            let mut times = vec![unit; job.steps.len()];
            for one in all {
                times[one.step] = better(times[one.step], of(one));
            }
            times
        };
        let starts = steps(|of| of.start_ns, i64::MAX, i64::min);
        let ends = steps(|of| of.end_ns, i64::MIN, i64::max);
        out.recorded_step_ns = (0..starts.len())
            .map(|at| {
                let from_ns = if out.begins_stretch(at) {
                    starts[at]
                } else {
                    ends[at - 1]
                };
                ends[at].saturating_sub(from_ns) as f64
            })
            .collect();
        Some(out)
    }

    /// Topological order of starts and meetings. A few meetings that wait for each other were matched wrongly and are
    /// taken apart; `None` if there are many.
    fn order(&mut self) -> Option<Vec<Event>> {
        let count = self.dependencies.len();
        let mut followers: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut missing: Vec<u32> = Vec::with_capacity(count);
        for (at, needed) in self.dependencies.iter().enumerate() {
            missing.push(needed.len() as u32);
            for before in needed {
                followers[*before as usize].push(at as u32);
            }
        }
        let mut absent: Vec<usize> = self.parts.iter().map(Vec::len).collect();
        let mut ready: Vec<u32> = (0..count as u32)
            .rev()
            .filter(|at| missing[*at as usize] == 0)
            .collect();
        let mut order = Vec::with_capacity(count + self.parts.len());
        let mut has_begun = vec![false; count];
        let (mut begun, mut apart, mut rounds) = (0, 0, 0);
        loop {
            let ended = match ready.pop() {
                Some(at) => {
                    order.push(Event::Start(at));
                    has_begun[at as usize] = true;
                    begun += 1;
                    match self.meetings[at as usize] {
                        None => vec![at],
                        Some(meeting) => {
                            let left = &mut absent[meeting as usize];
                            *left -= 1;
                            if *left > 0 {
                                continue;
                            }
                            order.push(Event::Meet(meeting));
                            self.parts[meeting as usize].clone()
                        }
                    }
                }
                None if begun == count => return Some(order),
                None => {
                    let stuck = self.stuck(&absent)?;
                    (apart, rounds) = (apart + stuck.len(), rounds + 1);
                    let is_many = apart as f64 > MAX_APART * self.parts.len() as f64;
                    if is_many || rounds > MAX_ROUNDS {
                        return None;
                    }
                    let parts = stuck.into_iter().flat_map(|meeting| {
                        absent[meeting] = 0;
                        std::mem::take(&mut self.parts[meeting])
                    });
                    let parts: Vec<u32> = parts.collect();
                    for at in &parts {
                        self.meetings[*at as usize] = None;
                    }
                    parts
                        .into_iter()
                        .filter(|at| has_begun[*at as usize])
                        .collect()
                }
            };
            for before in ended {
                for follower in &followers[before as usize] {
                    let left = &mut missing[*follower as usize];
                    *left -= 1;
                    if *left == 0 {
                        ready.push(*follower);
                    }
                }
            }
        }
    }

    /// Meetings that some of their parts wait in, of the first step that has any; `None` if there are none.
    fn stuck(&self, absent: &[usize]) -> Option<Vec<usize>> {
        let waiting = || {
            let all = self.parts.iter().zip(absent).enumerate();
            let all = all.filter(|(_, (parts, absent))| (1..parts.len()).contains(absent));
            all.map(|(meeting, (parts, _))| (self.steps[parts[0] as usize], meeting))
        };
        let first = waiting().map(|(step, _)| step).min()?;
        let of_first = waiting().filter(|(step, _)| *step == first);
        Some(of_first.map(|(_, meeting)| meeting).collect())
    }

    fn as_recorded(&self, job: &Job) -> Timing {
        let all = &job.operations;
        let mut work: Vec<f64> = all.iter().map(|of| of.busy_ns as f64).collect();
        for parts in &self.parts {
            let stays = parts.iter().map(|at| &all[*at as usize]);
            let stays = stays.map(|of| of.end_ns.saturating_sub(of.start_ns));
            let transfer_ns = stays.min().unwrap_or(0).max(0) as f64;
            for at in parts {
                work[*at as usize] = transfer_ns;
            }
        }
        let waited = self.waited_alone(job, &work);
        for (work, waited_ns) in work.iter_mut().zip(&waited) {
            *work -= waited_ns;
        }
        let mut begun = vec![i64::MAX; job.steps.len()];
        for of in all {
            let begun_ns = &mut begun[self.stretches[of.step]];
            *begun_ns = (*begun_ns).min(of.start_ns);
        }
        let mut delay: Vec<f64> = Vec::with_capacity(all.len());
        for ((of, needed), alone_ns) in all.iter().zip(&self.dependencies).zip(waited) {
            let ended = needed.iter().map(|at| all[*at as usize].end_ns);
            let ready_ns = ended.max().unwrap_or(begun[self.stretches[of.step]]);
            let between_ns = match of.kind {
                Kind::Compute => of
                    .end_ns
                    .saturating_sub(of.start_ns)
                    .saturating_sub(of.busy_ns),
                _ => 0,
            };
            let waited_ns = of.start_ns.saturating_sub(ready_ns).max(0);
            delay.push(waited_ns.saturating_add(between_ns.max(0)) as f64 + alone_ns);
        }
        // Some recorders cut the wait off a part: what is left begins on all ranks at once, and only the last of them was
        // not waiting before.
        for parts in &self.parts {
            let starts = || parts.iter().map(|at| all[*at as usize].start_ns);
            let (first, last) = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
            if last.saturating_sub(first) <= SAME_NS {
                let delays = parts.iter().map(|at| delay[*at as usize]);
                let least = delays.fold(f64::MAX, f64::min);
                for at in parts {
                    delay[*at as usize] = least;
                }
            }
        }
        Timing { work, delay }
    }

    /// How much longer a part whose others are not recorded took than the transfers of its name usually do: it waited.
    fn waited_alone(&self, job: &Job, work: &[f64]) -> Vec<f64> {
        let mut transfers: BTreeMap<(Kind, u32), Vec<f64>> = BTreeMap::new();
        for (at, of) in job.operations.iter().enumerate() {
            if self.meetings[at].is_some() {
                transfers
                    .entry((of.kind, of.kernel))
                    .or_default()
                    .push(work[at]);
            }
        }
        let usual: BTreeMap<(Kind, u32), f64> = transfers
            .into_iter()
            .map(|(name, mut all)| (name, median(&mut all)))
            .collect();
        let waited_ns = |(at, of): (usize, &Operation)| {
            let usual_ns = usual.get(&(of.kind, of.kernel))?;
            let is_alone = self.is_alone(job, at);
            is_alone.then(|| (work[at] - usual_ns).max(0.0))
        };
        let all = job.operations.iter().enumerate();
        all.map(|of| waited_ns(of).unwrap_or(0.0)).collect()
    }

    /// True for a part whose others are not recorded: what it waited for is not known.
    pub fn is_alone(&self, job: &Job, at: usize) -> bool {
        job.operations[at].kind != Kind::Compute && self.meetings[at].is_none()
    }

    fn begins_stretch(&self, step: usize) -> bool {
        step == 0 || self.stretches[step] != self.stretches[step - 1]
    }

    /// True for an operation of the first step without dependencies.
    pub fn begins_recording(&self, at: usize) -> bool {
        self.steps[at] == 0 && self.dependencies[at].is_empty()
    }

    pub fn retime(&self, timing: &Timing) -> Retimed {
        let mut start = vec![0.0_f64; timing.work.len()];
        let mut end = vec![0.0_f64; timing.work.len()];
        for event in &self.order {
            match *event {
                Event::Start(at) => {
                    let at = at as usize;
                    let ended = self.dependencies[at]
                        .iter()
                        .map(|before| end[*before as usize]);
                    start[at] = ended.fold(0.0, f64::max) + timing.delay[at];
                    if self.meetings[at].is_none() {
                        end[at] = start[at] + timing.work[at];
                    }
                }
                Event::Meet(meeting) => {
                    let parts = &self.parts[meeting as usize];
                    let last = parts
                        .iter()
                        .map(|at| start[*at as usize])
                        .fold(0.0, f64::max);
                    for at in parts {
                        end[*at as usize] = last + timing.work[*at as usize];
                    }
                }
            }
        }
        let mut step_ns = vec![0.0_f64; self.stretches.len()];
        for (step, end) in self.steps.iter().zip(&end) {
            step_ns[*step as usize] = step_ns[*step as usize].max(*end);
        }
        for at in (1..step_ns.len()).rev() {
            if !self.begins_stretch(at) {
                step_ns[at] = (step_ns[at] - step_ns[at - 1]).max(0.0);
            }
        }
        Retimed { step_ns }
    }
}

/// Dependencies of each operation on its own rank: the one before it on its lane, and on each other lane the last
/// that had ended when it began. Nothing waits for a send, and sends and receives do not wait for each other. An
/// operation that ran beside the previous one of this lane is a dependency only if this one began as it ended.
fn dependencies(job: &Job) -> Vec<Vec<u32>> {
    let all = &job.operations;
    let mut lanes: BTreeMap<(usize, u32, usize), Vec<u32>> = BTreeMap::new();
    for (at, of) in all.iter().enumerate() {
        lanes
            .entry((of.rank, of.lane, job.stretches[of.step]))
            .or_default()
            .push(at as u32);
    }
    let mut of_ranks: BTreeMap<(usize, usize), Vec<Vec<u32>>> = BTreeMap::new();
    for ((rank, _, step), mut lane) in lanes {
        lane.sort_by_key(|at| {
            let of = &all[*at as usize];
            (of.start_ns, of.end_ns, *at)
        });
        of_ranks.entry((rank, step)).or_default().push(lane);
    }
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); all.len()];
    for lanes in of_ranks.values() {
        for (own, lane) in lanes.iter().enumerate() {
            // How far the other lanes had ended, as this one goes on.
            let mut ended = vec![0_usize; lanes.len()];
            let mut before: Option<u32> = None;
            for at in lane {
                let of = &all[*at as usize];
                let needed = &mut out[*at as usize];
                needed.extend(before);
                for (other, candidates) in
                    lanes.iter().enumerate().filter(|(other, _)| *other != own)
                {
                    let next = &mut ended[other];
                    while candidates.get(*next).is_some_and(|candidate| {
                        let candidate = &all[*candidate as usize];
                        candidate.end_ns <= of.start_ns.saturating_add(SAME_NS)
                            && candidate.start_ns < of.start_ns
                    }) {
                        *next += 1;
                    }
                    let last = next.checked_sub(1).map(|last| candidates[last]);
                    let last = last.filter(|last| {
                        waits(of, &all[*last as usize], before.map(|at| &all[at as usize]))
                    });
                    needed.extend(last);
                }
                before = Some(*at);
            }
        }
    }
    out
}

/// True if an operation may have waited for one of another lane that ended before it began. `before` is the
/// previous operation on its own lane.
fn waits(of: &Operation, other: &Operation, before: Option<&Operation>) -> bool {
    let is_between_two = matches!(of.kind, Kind::Send | Kind::Receive);
    match other.kind {
        Kind::Send => false,
        Kind::Receive => !is_between_two,
        Kind::Compute if of.kind != Kind::Compute => true,
        Kind::Compute | Kind::Collective => {
            let ran_beside =
                before.is_some_and(|before| before.end_ns > other.start_ns.saturating_add(SAME_NS));
            let begins_as_it_ends = of.start_ns <= other.end_ns.saturating_add(SAME_NS)
                && before.is_none_or(|before| before.end_ns.saturating_add(SAME_NS) < of.start_ns);
            !ran_beside || begins_as_it_ends
        }
    }
}
