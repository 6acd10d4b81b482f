//! Hybrid-parallel training jobs with known truth: data × tensor × pipeline parallel, with one thing wrong, or nothing.

use std::collections::BTreeMap;

use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};
use trueno_plugin::{Table, TableBuilder};

use super::{Row, RunFixture};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Planted {
    Nothing,
    /// A rank computes longer by this factor.
    Rank(u32, f64),
    /// A rank pauses before its first operation in every n-th step: rank, n, nanoseconds.
    Pause(u32, u32, i64),
    /// All ranks of a stage compute longer by this factor.
    Stage(u32, f64),
    /// All ranks of a host compute longer by this factor.
    Host(u32, f64),
    /// Gradients of one data-parallel group take longer by this factor.
    Link(u32, f64),
    /// Collectives between the ranks of a host take longer by this factor.
    HostLinks(u32, f64),
    /// Micro batches differ in length by this share of the usual length.
    Lengths(f64),
    /// The recording of this rank ends half-way.
    Cut(u32),
    /// The recording of this rank begins after a quarter of the steps.
    Late(u32),
}

/// What is wrong with the recording of an otherwise known job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flaws {
    /// Clocks of ranks differ by up to this, either way.
    pub offset_ns: i64,
    /// Clocks of ranks run faster or slower by up to this.
    pub drift_ppm: f64,
    /// The clock of one rank is set forward by this, or back, during the job.
    pub clock_step_ns: i64,
    /// Share of the operations that are not recorded.
    pub lost_share: f64,
    /// Collectives have no recorded number, as in traces of older versions of PyTorch.
    pub is_unnumbered: bool,
}

/// The order of micro batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// All forward passes, then all backward passes.
    GPipe,
    /// Alternates one forward and one backward pass.
    OneForwardOneBackward,
    /// Like `OneForwardOneBackward`, with this many chunks of the model in each stage. The number of micro
    /// batches must be a multiple of the stages.
    Interleaved(u32),
}

/// A job to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    pub data: u32,
    pub tensor: u32,
    pub stages: u32,
    /// Ranks of an expert-parallel group, which are data-parallel ranks of one stage; 1: no such groups.
    pub experts: u32,
    pub micro_batches: u32,
    pub steps: u32,
    pub schedule: Schedule,
    pub ranks_of_host: u32,
    pub planted: Planted,
    /// Programs state micro batches and stages; false: there are kernels alone, and steps.
    pub is_stated: bool,
    /// Spread of each duration.
    pub noise: f64,
    pub flaws: Flaws,
    pub seed: u64,
}

/// One operation of a rank, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation {
    pub rank: u32,
    pub name: &'static str,
    /// One of `LANES`.
    pub lane: &'static str,
    pub step: u32,
    pub micro_batch: Option<u32>,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Parts of one collective, or of a send and its receive.
    pub meeting: Option<usize>,
}

const LANES: [&str; 5] = ["compute", "pp-comm", "dp-comm", "tp-comm", "ep-comm"];
const FORWARD_NS: f64 = 10e6;
const BACKWARD_NS: f64 = 20e6;
const OPTIMIZER_NS: f64 = 5e6;
const SEND_NS: f64 = 0.3e6;
const TENSOR_NS: f64 = 0.4e6;
const EXPERTS_NS: f64 = 0.5e6;
const GRADIENTS_NS: f64 = 8e6;
const NORM_NS: f64 = 0.1e6;

/// A number in 0..1 that depends only on the arguments.
fn draw(seed: u64, numbers: [u64; 4]) -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for number in numbers {
        state ^= number
            .wrapping_add(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(state << 6)
            ^ (state >> 2);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 31;
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

fn stream(of: &Operation) -> i64 {
    let lane = LANES.iter().position(|lane| *lane == of.lane);
    lane.unwrap_or(0) as i64
}

fn operation(name: &str) -> &'static str {
    match name {
        "grads-reduce-scatter" => "reduce_scatter",
        "tp-allreduce" | "optimizer-clip-main-grad" => "all_reduce",
        "ep-alltoall" => "all_to_all",
        name if name.ends_with("recv") => "recv",
        _ => "send",
    }
}

fn bytes(name: &str) -> u64 {
    match name {
        "grads-reduce-scatter" => 1 << 30,
        "tp-allreduce" => 1 << 24,
        "ep-alltoall" => 1 << 23,
        "optimizer-clip-main-grad" => 4,
        _ => 1 << 22,
    }
}

/// Number of a meeting, with index and start of the parts that have arrived.
type Met = (usize, Vec<(usize, f64)>);

#[derive(Clone, Copy, Debug)]
enum Act {
    Compute(&'static str, Option<u32>),
    Tensor(u32, u64),
    Experts(u32, u64),
    /// Direction, and the sender's micro batch and chunk.
    Send(&'static str, u32),
    Receive(&'static str, u32),
    Gradients,
    Norm,
}

impl Pipeline {
    /// A job in which one of all kinds of things is wrong, by the seed.
    pub fn random(seed: u64) -> Self {
        let number =
            |which: u64, limit: u32| (draw(seed, [which, 1, 2, 3]) * f64::from(limit)) as u32;
        let pick = |which: u64, from: &[u32]| from[number(which, from.len() as u32) as usize];
        let (data, tensor, stages) = (
            pick(1, &[2, 3, 4]),
            pick(2, &[1, 1, 2]),
            pick(3, &[1, 2, 4]),
        );
        let per_stage = data * tensor;
        let ranks = per_stage * stages;
        let factor = 1.1 + 0.4 * draw(seed, [9, 9, 9, 9]);
        let planted = match seed % 9 {
            0 => Planted::Nothing,
            1 => Planted::Rank(number(4, ranks), factor),
            2 => Planted::Pause(number(4, ranks), 3 + number(5, 4), 40_000_000),
            3 if stages > 1 => Planted::Stage(number(4, stages), factor),
            4 if data > 2 => Planted::Host(number(4, ranks / 2), factor),
            5 if stages * tensor > 2 => Planted::Link(number(4, stages * tensor), 4.0),
            6 if stages > 1 => Planted::Lengths(0.15 + 0.2 * draw(seed, [8, 8, 8, 8])),
            7 => Planted::Cut(number(4, ranks)),
            8 if tensor > 1 && ranks >= 12 => Planted::HostLinks(number(4, ranks / 4), 4.0),
            _ => Planted::Nothing,
        };
        let planted = match planted {
            // Two ranks of one stage, which has others.
            Planted::Host(host, factor) => {
                let host = host % (ranks / 2);
                let is_of_one = per_stage.is_multiple_of(2);
                if is_of_one {
                    Planted::Host(host, factor)
                } else {
                    Planted::Nothing
                }
            }
            other => other,
        };
        // Without micro batches nothing tells that they differ.
        let is_stated = (seed / 9).is_multiple_of(2) || matches!(planted, Planted::Lengths(_));
        let micro_batches = 4 + number(6, 5);
        let are_whole_groups = stages > 1 && micro_batches.is_multiple_of(stages);
        Self {
            data,
            tensor,
            stages,
            experts: 1,
            micro_batches,
            steps: 12 + number(7, 12),
            schedule: match number(10, 3) {
                0 => Schedule::GPipe,
                1 if are_whole_groups && !is_stated => Schedule::Interleaved(2),
                _ => Schedule::OneForwardOneBackward,
            },
            ranks_of_host: match planted {
                Planted::HostLinks(..) => 4,
                _ => 2,
            },
            planted,
            is_stated,
            noise: 0.005 + 0.045 * draw(seed, [11, 11, 11, 11]),
            flaws: Flaws::default(),
            seed,
        }
    }

    /// A random job as it would be recorded: clocks are off and drift, one may be set, rows may be lost, and
    /// some jobs have experts.
    pub fn random_recorded(seed: u64) -> Self {
        let of = |which: u64| draw(seed, [which, 31, 32, 33]);
        let job = Self::random(seed);
        let by = 1e6 + 39e6 * of(1);
        let planted = match job.planted {
            Planted::Cut(rank) if of(2) < 0.5 => Planted::Late(rank),
            other => other,
        };
        Self {
            experts: if job.data.is_multiple_of(2) && of(3) < 0.5 {
                2
            } else {
                1
            },
            planted,
            flaws: Flaws {
                offset_ns: 5_000_000,
                drift_ppm: 20.0,
                clock_step_ns: match of(4) {
                    draw if draw < 0.15 => by as i64,
                    draw if draw < 0.3 => -by as i64,
                    _ => 0,
                },
                lost_share: match of(5) {
                    draw if draw < 0.3 => 0.001 + 0.02 * of(6),
                    _ => 0.0,
                },
                is_unnumbered: of(7) < 0.3,
            },
            ..job
        }
    }

    fn chunks(&self) -> u32 {
        match self.schedule {
            Schedule::Interleaved(chunks) => chunks,
            _ => 1,
        }
    }

    pub fn ranks(&self) -> u32 {
        self.data * self.tensor * self.stages
    }

    /// Stage, data and tensor of a rank.
    pub fn place(&self, rank: u32) -> (u32, u32, u32) {
        let per_stage = self.data * self.tensor;
        (
            rank / per_stage,
            rank % per_stage / self.tensor,
            rank % self.tensor,
        )
    }

    fn rank(&self, (stage, data, tensor): (u32, u32, u32)) -> u32 {
        (stage * self.data + data) * self.tensor + tensor
    }

    /// The same job as its fix would make it.
    pub fn fixed(&self) -> Self {
        let planted = match self.planted {
            // The work stays, and is spread evenly.
            Planted::Stage(..) => Planted::Stage(u32::MAX, self.mean_stage()),
            Planted::Lengths(_) => Planted::Lengths(0.0),
            _ => Planted::Nothing,
        };
        Self {
            planted,
            ..self.clone()
        }
    }

    fn mean_stage(&self) -> f64 {
        match self.planted {
            Planted::Stage(_, factor) => 1.0 + (factor - 1.0) / f64::from(self.stages),
            _ => 1.0,
        }
    }

    fn length(&self, data: u32, step: u32, micro_batch: u32, spread: f64) -> f64 {
        let of = |data: u32, micro_batch: u32| {
            let numbers = [77, u64::from(data), u64::from(step), u64::from(micro_batch)];
            1.0 + spread * (draw(self.seed, numbers) * 2.0 - 1.0) * 1.7
        };
        // All steps have as many tokens.
        let all = (0..self.data).flat_map(|data| (0..self.micro_batches).map(move |of| (data, of)));
        let sum: f64 = all.map(|(data, micro_batch)| of(data, micro_batch)).sum();
        of(data, micro_batch) * f64::from(self.data * self.micro_batches) / sum
    }

    fn compute_ns(
        &self,
        rank: u32,
        step: u32,
        name: &'static str,
        micro_batch: Option<u32>,
    ) -> f64 {
        let (stage, data, _) = self.place(rank);
        let base = match name {
            "forward-compute" => FORWARD_NS,
            "backward-compute" => BACKWARD_NS,
            _ => OPTIMIZER_NS,
        };
        let numbers = [
            u64::from(rank),
            u64::from(step),
            micro_batch.map_or(99, u64::from),
            base as u64,
        ];
        let mut ns = base * (1.0 + self.noise * (draw(self.seed, numbers) * 2.0 - 1.0));
        ns *= match self.planted {
            Planted::Rank(slow, factor) if slow == rank => factor,
            Planted::Host(host, factor) if rank / self.ranks_of_host == host => factor,
            _ => 1.0,
        };
        if let Some(micro_batch) = micro_batch {
            ns *= match self.planted {
                Planted::Stage(slow, factor) if slow == stage || slow == u32::MAX => factor,
                Planted::Lengths(spread) => self.length(data, step, micro_batch, spread),
                _ => 1.0,
            };
        }
        ns
    }

    fn program(&self, rank: u32) -> Vec<Act> {
        let (stage, ..) = self.place(rank);
        let (last, all) = (self.stages - 1, self.micro_batches);
        let meets = |out: &mut Vec<Act>, number: u32, direction: u64| {
            if self.tensor > 1 {
                out.push(Act::Tensor(number, direction));
            }
            if self.experts > 1 {
                out.push(Act::Experts(number, direction));
            }
        };
        let mut out = Vec::new();
        let chunks = self.chunks();
        // Work of a chunk of a micro batch; `number`: of both together.
        let forward = |out: &mut Vec<Act>, of: u32, chunk: u32| {
            let number = chunk * all + of;
            if stage > 0 {
                out.push(Act::Receive("forward", number));
            } else if chunk > 0 {
                out.push(Act::Receive("forward", number - all));
            }
            out.push(Act::Compute("forward-compute", Some(number)));
            meets(out, number, 0);
            if stage < last || chunk + 1 < chunks {
                out.push(Act::Send("forward", number));
            }
        };
        let backward = |out: &mut Vec<Act>, of: u32, chunk: u32| {
            let number = chunk * all + of;
            if stage < last {
                out.push(Act::Receive("backward", number));
            } else if chunk + 1 < chunks {
                out.push(Act::Receive("backward", number + all));
            }
            out.push(Act::Compute("backward-compute", Some(number)));
            meets(out, number, 1);
            if stage > 0 || chunk > 0 {
                out.push(Act::Send("backward", number));
            }
        };
        let works = all * chunks;
        let warm_up = match self.schedule {
            Schedule::GPipe => works,
            Schedule::OneForwardOneBackward => (last - stage).min(all),
            Schedule::Interleaved(_) => {
                ((last - stage) * 2 + (chunks - 1) * self.stages).min(works)
            }
        };
        // Groups of as many micro batches as stages go through one chunk, then through the next.
        let place = |work: u32, is_forward: bool| {
            if chunks == 1 {
                return (work, 0);
            }
            let chunk = work / self.stages % chunks;
            let of = work / (self.stages * chunks) * self.stages + work % self.stages;
            (
                of,
                if is_forward {
                    chunk
                } else {
                    chunks - 1 - chunk
                },
            )
        };
        for work in 0..works + warm_up {
            if work < works {
                let (of, chunk) = place(work, true);
                forward(&mut out, of, chunk);
            }
            if let Some(work) = work.checked_sub(warm_up) {
                let (of, chunk) = place(work, false);
                backward(&mut out, of, chunk);
            }
        }
        out.extend([Act::Gradients, Act::Norm, Act::Compute("optimizer", None)]);
        out
    }

    /// The meeting of an act: a key shared by its ranks, their number, and the time of the transfer.
    fn meeting(&self, rank: u32, step: u32, act: Act) -> Option<([u32; 5], usize, f64)> {
        let (stage, data, tensor) = self.place(rank);
        let jitter = |numbers: [u64; 4]| 1.0 + self.noise * draw(self.seed, numbers);
        let within_host = |first: (u32, u32, u32), last: (u32, u32, u32)| match self.planted {
            Planted::HostLinks(host, factor) => {
                let hosts = [first, last].map(|place| self.rank(place) / self.ranks_of_host);
                if hosts == [host; 2] { factor } else { 1.0 }
            }
            _ => 1.0,
        };
        match act {
            Act::Compute(..) => None,
            Act::Tensor(of, direction) => {
                let key = [0, step, stage * 1_000 + data, of, direction as u32];
                let numbers = key.map(u64::from);
                let jitter = jitter([numbers[1], numbers[2], numbers[3], numbers[4]]);
                let ns = TENSOR_NS * within_host((stage, data, 0), (stage, data, self.tensor - 1));
                Some((key, self.tensor as usize, ns * jitter))
            }
            Act::Experts(of, direction) => {
                let group = (stage * 1_000 + data / self.experts) * 10 + tensor;
                let key = [5, step, group, of, direction as u32];
                let numbers = key.map(u64::from);
                let numbers = [numbers[1], numbers[2], numbers[3], 5 + numbers[4]];
                let first = data / self.experts * self.experts;
                let last = (stage, first + self.experts - 1, tensor);
                let ns = EXPERTS_NS * within_host((stage, first, tensor), last);
                Some((key, self.experts as usize, ns * jitter(numbers)))
            }
            Act::Send(direction, of) | Act::Receive(direction, of) => {
                let is_send = matches!(act, Act::Send(..));
                let from = match (direction, is_send) {
                    (_, true) => stage,
                    ("forward", false) => (stage + self.stages - 1) % self.stages,
                    _ => (stage + 1) % self.stages,
                };
                let key = [
                    1 + u32::from(direction == "backward"),
                    step,
                    self.rank((from, data, tensor)),
                    of,
                    0,
                ];
                let numbers = key.map(u64::from);
                Some((
                    key,
                    2,
                    SEND_NS * jitter([numbers[0], numbers[1], numbers[2], numbers[3]]),
                ))
            }
            Act::Gradients => {
                let group = stage * self.tensor + tensor;
                let factor = match self.planted {
                    Planted::Link(slow, factor) if slow == group => factor,
                    _ => 1.0,
                };
                let key = [3, step, group, 0, 0];
                let of_host = within_host((stage, 0, tensor), (stage, self.data - 1, tensor));
                let ns = GRADIENTS_NS
                    * factor
                    * of_host
                    * jitter([3, u64::from(step), u64::from(group), 0]);
                Some((key, self.data as usize, ns))
            }
            Act::Norm => Some(([4, step, 0, 0, 0], self.ranks() as usize, NORM_NS)),
        }
    }

    /// All operations that recordings cover, by rank and start.
    pub fn simulate(&self) -> Vec<Operation> {
        let all = self.whole().into_iter();
        all.filter(|of| self.is_covered(of)).collect()
    }

    fn is_covered(&self, of: &Operation) -> bool {
        match self.planted {
            Planted::Cut(rank) => of.rank != rank || of.step < self.steps / 2,
            Planted::Late(rank) => of.rank != rank || of.step >= self.steps / 4,
            _ => true,
        }
    }

    fn whole(&self) -> Vec<Operation> {
        let programs: Vec<Vec<Act>> = (0..self.ranks()).map(|rank| self.program(rank)).collect();
        let acts = programs[0]
            .len()
            .max(programs.iter().map(Vec::len).max().unwrap_or(0));
        let mut out: Vec<Operation> =
            Vec::with_capacity(acts * programs.len() * self.steps as usize);
        let mut now = vec![0.0_f64; programs.len()];
        let mut meetings: BTreeMap<[u32; 5], Met> = BTreeMap::new();
        for step in 0..self.steps {
            let mut next = vec![0_usize; programs.len()];
            let mut blocked = vec![false; programs.len()];
            loop {
                let ready = (0..programs.len())
                    .find(|rank| !blocked[*rank] && next[*rank] < programs[*rank].len());
                let Some(rank) = ready else { break };
                let act = programs[rank][next[rank]];
                let number = rank as u32;
                if let (0, Planted::Pause(slow, every, ns)) = (next[rank], self.planted)
                    && slow == number
                    && step % every == 1
                {
                    now[rank] += ns as f64;
                }
                next[rank] += 1;
                let (name, lane, micro_batch) = match act {
                    Act::Compute(name, of) => (name, "compute", of),
                    Act::Tensor(..) => ("tp-allreduce", "tp-comm", None),
                    Act::Experts(..) => ("ep-alltoall", "ep-comm", None),
                    Act::Send("forward", _) => ("forward-send", "pp-comm", None),
                    Act::Send(..) => ("backward-send", "pp-comm", None),
                    Act::Receive("forward", _) => ("forward-recv", "pp-comm", None),
                    Act::Receive(..) => ("backward-recv", "pp-comm", None),
                    Act::Gradients => ("grads-reduce-scatter", "dp-comm", None),
                    Act::Norm => ("optimizer-clip-main-grad", "dp-comm", None),
                };
                let start = now[rank];
                let place = out.len();
                out.push(Operation {
                    rank: number,
                    name,
                    lane,
                    step,
                    micro_batch,
                    start_ns: start as i64,
                    end_ns: start as i64,
                    meeting: None,
                });
                let Some((key, size, transfer_ns)) = self.meeting(number, step, act) else {
                    now[rank] = start + self.compute_ns(number, step, name, micro_batch);
                    out[place].end_ns = now[rank] as i64;
                    continue;
                };
                let count = meetings.len();
                let (of, come) = meetings.entry(key).or_insert((count, Vec::new()));
                out[place].meeting = Some(*of);
                come.push((place, start));
                blocked[rank] = !matches!(act, Act::Send(..));
                if come.len() == size {
                    let last = come.iter().map(|(_, start)| *start).fold(0.0, f64::max);
                    for (place, _) in come.iter() {
                        let of = &mut out[*place];
                        of.end_ns = (last + transfer_ns) as i64;
                        let rank = of.rank as usize;
                        if !of.name.ends_with("send") {
                            now[rank] = last + transfer_ns;
                            blocked[rank] = false;
                        }
                    }
                }
            }
        }
        out.sort_by_key(|of| (of.rank, of.start_ns, of.end_ns));
        out
    }

    /// What the ranks record of [`simulate`](Self::simulate), by their own clocks. The number is the place in it.
    pub fn recorded(&self) -> Vec<(usize, Operation)> {
        let all = self.simulate();
        let wall_ns = all.iter().map(|of| of.end_ns).max().unwrap_or(0);
        let lost = |at: &usize| draw(self.seed, [41, *at as u64, 0, 0]) < self.flaws.lost_share;
        let local = |of: Operation| Operation {
            start_ns: self.local_ns(of.rank, of.start_ns, wall_ns),
            end_ns: self.local_ns(of.rank, of.end_ns, wall_ns),
            ..of
        };
        let all = all.into_iter().enumerate().filter(|(at, _)| !lost(at));
        all.map(|(at, of)| (at, local(of))).collect()
    }

    fn local_ns(&self, rank: u32, ns: i64, wall_ns: i64) -> i64 {
        let flaws = self.flaws;
        let of_rank = |which: u64| draw(self.seed, [which, u64::from(rank), 42, 43]) * 2.0 - 1.0;
        let offset_ns = of_rank(1) * flaws.offset_ns as f64;
        let drift_ns = of_rank(2) * flaws.drift_ppm * 1e-6 * ns as f64;
        let set = (draw(self.seed, [44, 0, 0, 0]) * f64::from(self.ranks())) as u32;
        let set_ns = (0.25 + 0.5 * draw(self.seed, [45, 0, 0, 0])) * wall_ns as f64;
        let is_set = rank == set && ns as f64 > set_ns;
        let step_ns = if is_set { flaws.clock_step_ns } else { 0 };
        // All begin late enough to have no negative times.
        100_000_000 + ns + (offset_ns + drift_ns) as i64 + step_ns
    }

    /// Time of all steps.
    pub fn wall_ns(&self) -> i64 {
        self.simulate()
            .iter()
            .map(|of| of.end_ns)
            .max()
            .unwrap_or(0)
    }

    fn id(rank: u32, at: usize) -> u64 {
        (u64::from(rank) << KEY_BITS) + at as u64 + 1
    }

    /// The job as plugin `stragglers` reads it, of one rank or all.
    pub fn inputs(&self, only: Option<u32>) -> Vec<TableBuilder> {
        let all: Vec<(usize, Operation)> = self.simulate().into_iter().enumerate().collect();
        let mut out = self.operations(&all, only);
        out.extend(self.around());
        out
    }

    /// What `stragglers` reads of [`recorded`](Self::recorded) besides the meetings, which `collectives` finds.
    pub fn recorded_inputs(&self, only: Option<u32>) -> Vec<TableBuilder> {
        let mut out = self.operations(&self.recorded(), only);
        out.push(self.ranks_table());
        out
    }

    fn operations(&self, all: &[(usize, Operation)], only: Option<u32>) -> Vec<TableBuilder> {
        let own = || {
            all.iter()
                .filter(|(_, of)| only.is_none_or(|rank| of.rank == rank))
        };
        let rows = || own().map(|(at, of)| (Self::id(of.rank, *at), of));
        let stream = |of: &Operation| Some(stream(of));
        let kernels = Table::build("kernels")
            .u64("id", rows().map(|(id, _)| id))
            .text("name", rows().map(|(_, of)| self.kernel_name(of)))
            .i64(
                "device",
                rows().map(|(_, of)| i64::from(of.rank) << PLACE_BITS),
            )
            .i64("stream", rows().map(|(_, of)| stream(of)))
            .i64("start_ns", rows().map(|(_, of)| of.start_ns))
            .i64("dur_ns", rows().map(|(_, of)| of.end_ns - of.start_ns))
            .u64("step", rows().map(|(_, of)| u64::from(of.step)))
            // Launched in the order of the program, where launches are recorded.
            .i64(
                "called_ns",
                (0_i64..)
                    .zip(rows())
                    .map(|(place, _)| self.seed.is_multiple_of(3).then_some(place)),
            );
        let stated = rows().filter(|(_, of)| of.meeting.is_some());
        let stated: Vec<(u64, &str)> = stated.map(|(id, of)| (id, operation(of.name))).collect();
        let stated = Table::build("stated")
            .u64("kernel", stated.iter().map(|(id, _)| *id))
            .text("operation", stated.iter().map(|(_, operation)| *operation));
        let batches: Vec<(u64, i64)> = rows()
            .filter_map(|(id, of)| {
                Some((id, i64::from(of.micro_batch.filter(|_| self.is_stated)?)))
            })
            .collect();
        let micro_batches = Table::build("micro_batches")
            .u64("span", batches.iter().map(|(id, _)| *id))
            .i64("micro_batch", batches.iter().map(|(_, of)| *of));
        vec![kernels, stated, micro_batches]
    }

    /// What `collectives` reads of [`recorded`](Self::recorded): kernels state their collectives.
    pub fn collective_inputs(&self) -> Vec<TableBuilder> {
        let all = self.recorded();
        let row = |at: usize, of: &Operation, name: &'static str| Row {
            id: Self::id(of.rank, at),
            name,
            start_ns: of.start_ns,
            dur_ns: of.end_ns - of.start_ns,
            ..Row::default()
        };
        let kernels = all.iter().map(|(at, of)| {
            let device = i64::from(of.rank) << PLACE_BITS;
            row(*at, of, self.kernel_name(of)).stream(device, stream(of))
        });
        let run = RunFixture {
            wall_ns: all.iter().map(|(_, of)| of.end_ns).max(),
            kernels: kernels.collect(),
            ..RunFixture::default()
        };
        let mut numbers: Vec<u64> = Vec::new();
        let mut next: BTreeMap<(u32, Vec<u32>, &str), u64> = BTreeMap::new();
        for of in &self.whole() {
            let next = next.entry((of.rank, self.group(of), of.lane)).or_default();
            if self.is_covered(of) {
                numbers.push(*next);
            }
            *next += 1;
        }
        let peer = |of: &Operation| {
            let (stage, data, tensor) = self.place(of.rank);
            let other = match of.name {
                "forward-send" | "backward-recv" => (stage + 1) % self.stages,
                "forward-recv" | "backward-send" => (stage + self.stages - 1) % self.stages,
                _ => return None,
            };
            Some(self.rank((other, data, tensor)))
        };
        let stated = || all.iter().filter(|(_, of)| of.meeting.is_some());
        let groups: Vec<Vec<u32>> = stated().map(|(_, of)| self.group(of)).collect();
        let elements = || stated().map(|(_, of)| bytes(of.name) / 2);
        let is_numbered = !self.is_stated && !self.flaws.is_unnumbered;
        let steps: Vec<(usize, Operation)> = all
            .chunk_by(|a, b| (a.1.rank, a.1.step) == (b.1.rank, b.1.step))
            .map(|of_step| {
                let (at, first) = of_step[0];
                let end_ns = of_step.iter().map(|(_, of)| of.end_ns).max();
                (
                    at,
                    Operation {
                        end_ns: end_ns.unwrap_or(first.end_ns),
                        ..first
                    },
                )
            })
            .collect();
        let own = vec![
            Table::build("stated").i64("n", [stated().count() as i64]),
            Table::build("job").u64("rank", (0..self.ranks()).map(u64::from)),
            Table::build("collectives")
                .u64("span", stated().map(|_| None::<u64>))
                .u64("kernel", stated().map(|(at, of)| Self::id(of.rank, *at)))
                .i64("time_ns", stated().map(|(_, of)| of.start_ns))
                .i64("dur_ns", stated().map(|(_, of)| of.end_ns - of.start_ns))
                .text(
                    "communicator",
                    stated().map(|(_, of)| self.communicator(of)),
                )
                .u64(
                    "sequence",
                    stated().map(|(at, _)| Some(numbers[*at]).filter(|_| is_numbered)),
                )
                .text("operation", stated().map(|(_, of)| operation(of.name)))
                .text("element_type", stated().map(|_| "BFloat16"))
                .u64("elements_in", elements())
                .u64("elements_out", elements())
                .i64("group_size", groups.iter().map(|of| of.len() as i64))
                .text("group_ranks", groups.iter().map(|of| format!("{of:?}")))
                .i64("peer", stated().map(|(_, of)| peer(of).map(i64::from))),
            Table::build("iterations_of_kernels")
                .u64("id", stated().map(|(at, of)| Self::id(of.rank, *at)))
                .u64("iteration", stated().map(|(_, of)| u64::from(of.step))),
            Table::build("steps")
                .u64("id", steps.iter().map(|(at, of)| Self::id(of.rank, *at)))
                .text("name", steps.iter().map(|_| "step"))
                .u64("iteration", steps.iter().map(|(_, of)| u64::from(of.step)))
                .i64("start_ns", steps.iter().map(|(_, of)| of.start_ns))
                .i64(
                    "dur_ns",
                    steps.iter().map(|(_, of)| of.end_ns - of.start_ns),
                ),
        ];
        own.into_iter().chain(run.inputs()).collect()
    }

    /// Ranks of the communicator of an operation.
    fn group(&self, of: &Operation) -> Vec<u32> {
        let own = self.place(of.rank);
        let is_member = |rank: &u32| {
            let (stage, data, tensor) = self.place(*rank);
            match of.lane {
                "tp-comm" => (stage, data) == (own.0, own.1),
                "ep-comm" => {
                    (stage, tensor) == (own.0, own.2) && data / self.experts == own.1 / self.experts
                }
                "pp-comm" => (data, tensor) == (own.1, own.2),
                "dp-comm" if of.name == "grads-reduce-scatter" => (stage, tensor) == (own.0, own.2),
                _ => true,
            }
        };
        (0..self.ranks()).filter(is_member).collect()
    }

    fn communicator(&self, of: &Operation) -> String {
        let (stage, data, tensor) = self.place(of.rank);
        match of.name {
            "tp-allreduce" => format!("tensor of stage {stage} data {data}"),
            "ep-alltoall" => {
                let first = data / self.experts * self.experts;
                format!("experts of stage {stage} tensor {tensor} from {first}")
            }
            "grads-reduce-scatter" => format!("data of stage {stage} tensor {tensor}"),
            "optimizer-clip-main-grad" => "all".to_owned(),
            _ => format!("pipeline of data {data} tensor {tensor}"),
        }
    }

    /// Tables of the whole job.
    pub fn around(&self) -> Vec<TableBuilder> {
        let all = self.simulate();
        let id = |at: usize| Self::id(all[at].rank, at);
        let mut met: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, of) in all.iter().enumerate() {
            if let Some(meeting) = of.meeting {
                met.entry(meeting).or_default().push(at);
            }
        }
        // What a rank did not record has no match.
        let sizes = |of: &Operation| match of.name {
            "tp-allreduce" => self.tensor as usize,
            "ep-alltoall" => self.experts as usize,
            "grads-reduce-scatter" => self.data as usize,
            "optimizer-clip-main-grad" => self.ranks() as usize,
            _ => 2,
        };
        met.retain(|_, parts| parts.len() == sizes(&all[parts[0]]));
        let rows = || {
            met.iter()
                .flat_map(|(meeting, parts)| parts.iter().map(move |at| (*meeting, parts, *at)))
        };
        let receiver = |parts: &[usize]| {
            let mut all = parts.iter().map(|at| &all[*at]);
            all.find(|of| of.name.ends_with("recv"))
                .map(|of| u64::from(of.rank))
        };
        let bytes = |name: &str| (!self.is_stated).then(|| bytes(name));
        let meetings = Table::build("meetings")
            .u64("instance", rows().map(|(meeting, ..)| meeting as u64))
            .u64("rank", rows().map(|(_, _, at)| u64::from(all[at].rank)))
            .u64("id", rows().map(|(_, _, at)| id(at)))
            .i64("arrive_ns", rows().map(|(_, _, at)| all[at].start_ns))
            .i64("uncertainty_ns", rows().map(|_| 1_000_i64))
            .text(
                "operation",
                rows().map(|(_, _, at)| match operation(all[at].name) {
                    "recv" => "send",
                    name => name,
                }),
            )
            .u64("bytes", rows().map(|(_, _, at)| bytes(all[at].name)))
            .text(
                "communicator",
                rows().map(|(_, _, at)| self.communicator(&all[at])),
            )
            .u64("receiver", rows().map(|(_, parts, _)| receiver(parts)));
        vec![meetings, self.ranks_table()]
    }

    fn ranks_table(&self) -> TableBuilder {
        let ranks = || 0..self.ranks();
        let place = |of: fn((u32, u32, u32)) -> u32| {
            ranks().map(move |rank| self.is_stated.then(|| u64::from(of(self.place(rank)))))
        };
        Table::build("ranks")
            .u64("rank", ranks().map(u64::from))
            .text(
                "host_name",
                ranks().map(|rank| format!("node{}", rank / self.ranks_of_host)),
            )
            .u64("pipeline", place(|of| of.0))
            .u64("data", place(|of| of.1))
            .u64("tensor", place(|of| of.2))
    }

    fn kernel_name(&self, of: &Operation) -> &'static str {
        match of.name {
            name if self.is_stated => name,
            "forward-compute" | "backward-compute" | "optimizer" => "gemm",
            "grads-reduce-scatter" => "ncclDevKernel_ReduceScatter_Sum_bf16",
            "tp-allreduce" | "optimizer-clip-main-grad" => "ncclDevKernel_AllReduce_Sum_bf16",
            _ => "ncclDevKernel_SendRecv",
        }
    }

    /// The job as the JSON of a timeline.
    pub fn timeline(&self) -> String {
        let lanes = ["compute", "pp-comm", "tp-comm", "dp-comm"];
        let lane =
            |of: &Operation| lanes.iter().position(|lane| *lane == of.lane).unwrap_or(0) as u32;
        let mut events: Vec<String> = self
            .simulate()
            .iter()
            .map(|of| {
                let (_, data, _) = self.place(of.rank);
                let (start, dur) = (of.start_ns as f64 / 1e3, (of.end_ns - of.start_ns) as f64 / 1e3);
                let batch = of.micro_batch.map_or(-1, i64::from);
                format!(
                    r#"{{"name": "{}", "cat": "{0}", "pid": {data}, "tid": {}, "ts": {start:.3}, "dur": {dur:.3}, "ph": "X", "args": {{"step": {}, "model_chunk": -1, "mb_id": {batch}, "seq_id": 0}}}}"#,
                    of.name,
                    of.rank * 4 + lane(of),
                    of.step
                )
            })
            .collect();
        for rank in 0..self.ranks() {
            let (stage, data, tensor) = self.place(rank);
            for (at, lane) in (0..).zip(lanes) {
                events.push(format!(
                    r#"{{"name": "thread_name", "pid": {data}, "tid": {}, "ph": "M", "args": {{"name": "PP rank {stage}, TP rank {tensor}, {lane}"}}}}"#,
                    rank * 4 + at
                ));
            }
        }
        for data in 0..self.data {
            events.push(format!(
                r#"{{"name": "process_name", "pid": {data}, "ph": "M", "args": {{"name": "DP rank [{data}]"}}}}"#
            ));
        }
        format!("[{}]", events.join(",\n"))
    }
}
