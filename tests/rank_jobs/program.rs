//! A training job that is simulated: ranks that load, launch and compute, and sum up gradients in two kinds of groups.

use std::path::Path;

use serde_json::json;
use trueno_format::run_json::RunJson;
use trueno_testing::{Made, Value};

/// Durations of the parts of one rank's step, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub input: i64,
    pub launch: i64,
    pub compute: i64,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub steps: Vec<Vec<Step>>,
    /// Number of ranks in a tensor-parallel group.
    pub group: usize,
    /// Time of each all-reduce after the last rank arrived.
    pub transfer: i64,
    /// Offset of each rank's clock in nanoseconds, and its drift in parts per million.
    pub clocks: Vec<(i64, i64)>,
    /// As in traces of 2021: no communicator is stated, each rank has its own device number, and the last
    /// rank's recording begins two steps later.
    pub is_old: bool,
}

/// Names of computing kernels. A late rank has a kernel of its own, so that a rule can select it.
pub const GEMM: &str = "gemm";
pub const LATE_GEMM: &str = "gemm_of_the_late_rank";
pub const LOADER: &str = "enumerate(DataLoader)";

/// Writes the rows of one rank, or nothing if only times are needed.
struct Rank {
    made: Option<Made>,
    clock: (i64, i64),
    ids: i64,
    end: i64,
    device: i64,
    is_on: bool,
}

const STREAM: i64 = 7;

impl Rank {
    fn local(&self, ns: i64) -> i64 {
        10_000_000 + self.clock.0 + ns + ns * self.clock.1 / 1_000_000
    }

    fn row(&mut self, table: &str, (from, to): (i64, i64), more: &[(&str, Value<'_>)]) -> i64 {
        self.ids += 1;
        self.end = self.end.max(to);
        let (start, end) = (self.local(from), self.local(to));
        let id = self.ids;
        if let Some(made) = self.made.as_mut().filter(|_| self.is_on) {
            let mut values = vec![
                ("id", id.into()),
                ("start_ns", start.into()),
                ("dur_ns", (end - start).into()),
            ];
            values.extend_from_slice(more);
            made.row(table, &values);
        }
        id
    }

    fn brick(&mut self, at: (i64, i64), kind: &'static str, name: &'static str) -> i64 {
        let values = [
            ("kind", kind.into()),
            ("name", name.into()),
            ("thread", 0.into()),
        ];
        self.row("bricks", at, &values)
    }

    /// A launch and its kernel, on the computing stream or a communicator's.
    fn kernel(&mut self, called: (i64, i64), at: (i64, i64), of: (Option<i64>, i64), name: &str) {
        let (brick, stream) = of;
        let correlation = self.ids + 1;
        let call = [
            ("name", "cudaLaunchKernel".into()),
            ("thread", 0.into()),
            ("correlation", correlation.into()),
        ];
        self.row("calls", called, &call);
        let mut kernel = vec![
            ("name", name.into()),
            ("thread", 0.into()),
            ("device", self.device.into()),
            ("stream", stream.into()),
            ("correlation", correlation.into()),
            ("timing", "device".into()),
        ];
        kernel.extend(brick.map(|brick| ("brick", brick.into())));
        self.row("kernels", at, &kernel);
    }
}

/// Duration of the launch of an all-reduce, and of the call that waits for the stream.
const CALL: i64 = 8_000;

impl Job {
    /// Runs the job and returns the time from the first row to the last. If `into` is set, writes a folder of
    /// ranks.
    pub fn run(&self, into: Option<&Path>) -> i64 {
        let mut ranks: Vec<Rank> = self
            .clocks
            .iter()
            .enumerate()
            .map(|(rank, clock)| {
                let facts: RunJson = serde_json::from_value(json!({
                    "format": {"name": "trueno-run", "major": 1, "minor": 0},
                    "state": "finished",
                    "clock": {"source": "tsc", "origin_realtime_ns": 1_700_000_000_000_000_000_i64},
                }))
                .expect("a run.json");
                let made =
                    into.map(|job| Made::with_facts(&job.join(format!("rank={rank}")), facts));
                Rank {
                    made,
                    clock: *clock,
                    ids: 0,
                    end: 0,
                    device: if self.is_old { rank as i64 } else { 0 },
                    is_on: true,
                }
            })
            .collect();
        // By rank: when the host and the stream go on.
        let mut host = vec![0_i64; ranks.len()];
        let mut stream = vec![0_i64; ranks.len()];
        for step in 0..self.steps[0].len() {
            let last = ranks.len() - 1;
            ranks[last].is_on = !self.is_old || step >= 2;
            for (rank, of) in ranks.iter_mut().enumerate() {
                let Step {
                    input,
                    launch,
                    compute,
                } = self.steps[rank][step];
                let begin = host[rank];
                of.brick((begin, begin + input), "brick", LOADER);
                let called = (begin + input, begin + input + launch);
                let from = called.1.max(stream[rank]);
                let name = if self.is_late(rank) { LATE_GEMM } else { GEMM };
                of.kernel(called, (from, from + compute), (None, STREAM), name);
                (host[rank], stream[rank]) = (called.1, from + compute);
            }
            for first in (0..ranks.len()).step_by(self.group) {
                if self.group > 1 {
                    let members: Vec<usize> = (first..first + self.group).collect();
                    self.all_reduce("tp", &members, step, (&mut ranks, &mut host, &mut stream));
                }
            }
            let all: Vec<usize> = (0..ranks.len()).collect();
            self.all_reduce("dp", &all, step, (&mut ranks, &mut host, &mut stream));
            for (rank, of) in ranks.iter_mut().enumerate() {
                let until = stream[rank].max(host[rank] + CALL) + 1_000;
                let wait = [
                    ("kind", "stream".into()),
                    ("thread", 0.into()),
                    ("device", of.device.into()),
                    ("stream", STREAM.into()),
                ];
                of.row("syncs", (host[rank], until), &wait);
                host[rank] = until;
            }
        }
        let end = ranks.iter().map(|rank| rank.end).max().unwrap_or(0);
        for rank in ranks {
            let wall = rank.local(end);
            if let Some(made) = rank.made {
                made.finish(wall);
            }
        }
        end
    }

    pub fn is_late(&self, rank: usize) -> bool {
        let sum = |rank: usize| -> i64 {
            self.steps[rank]
                .iter()
                .map(|s| s.input + s.compute + s.launch)
                .sum()
        };
        (0..self.steps.len()).max_by_key(|rank| sum(*rank)) == Some(rank)
    }

    fn all_reduce(
        &self,
        group: &str,
        members: &[usize],
        step: usize,
        (ranks, host, stream): (&mut [Rank], &mut [i64], &mut [i64]),
    ) {
        let called: Vec<(i64, i64)> = members
            .iter()
            .map(|rank| (host[*rank], host[*rank] + CALL))
            .collect();
        let arrive: Vec<i64> = members
            .iter()
            .zip(&called)
            .map(|(rank, called)| stream[*rank].max(called.1))
            .collect();
        let last = arrive.iter().max().copied().unwrap_or(0);
        for ((rank, called), arrive) in members.iter().zip(called).zip(arrive) {
            let of = &mut ranks[*rank];
            let name = if self.is_old {
                "nccl:all_reduce"
            } else {
                "record_param_comms"
            };
            let call = of.brick(called, "function", name);
            let leave = last + self.transfer;
            // All on one stream, or each communicator on its own as PyTorch has it.
            let stream_of = match (self.is_old, group) {
                (true, "tp") => STREAM + 1,
                (true, _) => STREAM + 2,
                (false, _) => STREAM,
            };
            of.kernel(
                called,
                (arrive, leave),
                (Some(call), stream_of),
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            );
            let (start, dur) = (of.local(called.0), of.local(called.1) - of.local(called.0));
            let list: Vec<String> = members.iter().map(usize::to_string).collect();
            let list = format!("[{}]", list.join(","));
            if let Some(made) = of.made.as_mut().filter(|_| !self.is_old) {
                made.row(
                    "collectives",
                    &[
                        ("span", call.into()),
                        ("thread", 0.into()),
                        ("time_ns", start.into()),
                        ("dur_ns", dur.into()),
                        ("communicator", group.into()),
                        ("sequence", (step as i64).into()),
                        ("operation", "all_reduce".into()),
                        ("element_type", "Float".into()),
                        ("elements_in", 65_536.into()),
                        ("elements_out", 65_536.into()),
                        ("group_size", (members.len() as i64).into()),
                        ("group_ranks", list.as_str().into()),
                    ],
                );
            }
            (host[*rank], stream[*rank]) = (called.1, leave);
        }
    }
}
