//! Jobs with known truth: ranks with clocks of their own, groups, a rank that is late for a reason.

use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};
use trueno_plugin::{Table, TableBuilder};

use super::{Row, RunFixture};

/// Reason why a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Its kernel takes longer.
    Compute,
    /// Its input takes longer.
    Input,
    /// Its launches take longer.
    Launch,
    /// Its host does something else.
    Host,
}

impl Planted {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Compute, Self::Input, Self::Launch, Self::Host];
}

/// A pseudo-random generator with the same numbers on every machine (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as i64 % limit.max(1)
    }

    fn around(&mut self, spread: i64) -> i64 {
        self.below(2 * spread + 1) - spread
    }
}

/// A job to be simulated.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its ranks.
    pub ranks: u32,
    /// Ranks of a tensor-parallel group; 1: no such groups.
    pub tensor_parallel: u32,
    /// Each rank sends to the next in each step.
    pub is_pipeline: bool,
    /// Its steps, each with an all-reduce of all ranks.
    pub steps: i64,
    /// Who is late, for which reason, by how much in each step.
    pub late: Option<(u32, Planted, i64)>,
    /// Offset and drift (ppm) of each rank's clock.
    pub clocks: Vec<(i64, i64)>,
    /// Time of a transfer.
    pub transfer_ns: i64,
    /// Parts in this many of a thousand are not recorded.
    pub dropped: i64,
    /// The programs state numbers of collectives.
    pub states_sequence: bool,
    /// The programs state their collectives; false: there are kernels alone.
    pub is_stated: bool,
    /// Seed of all that is drawn.
    pub seed: u64,
}

impl Job {
    /// A job with a late rank and clocks that are off.
    pub fn random(seed: u64) -> Self {
        let mut random = Random(seed * 2_654_435_761 + 1);
        let ranks = [2, 4, 8][random.below(3) as usize];
        let tensor_parallel = if ranks > 2 {
            [1, 2][random.below(2) as usize]
        } else {
            1
        };
        let planted = Planted::ALL[random.below(4) as usize];
        let late = (
            random.below(ranks.into()) as u32,
            planted,
            1_500_000 + random.below(3_000_000),
        );
        let clocks = (0..ranks)
            .map(|_| (random.around(5_000_000), random.around(20)))
            .collect();
        Self {
            ranks,
            tensor_parallel,
            is_pipeline: false,
            steps: 12 + random.below(20),
            late: Some(late),
            clocks,
            transfer_ns: 40_000 + random.below(200_000),
            dropped: [0, 0, 20][random.below(3) as usize],
            states_sequence: true,
            is_stated: true,
            seed,
        }
    }

    /// The clock of a rank at a true time.
    pub fn local(&self, rank: u32, true_ns: i64) -> i64 {
        let (offset_ns, ppm) = self.clocks[rank as usize];
        // All begin late enough to have no negative times.
        true_ns + 20_000_000 + offset_ns + true_ns * ppm / 1_000_000
    }

    fn group(&self, rank: u32) -> Vec<u32> {
        let first = rank / self.tensor_parallel * self.tensor_parallel;
        (first..first + self.tensor_parallel).collect()
    }

    /// Rows of all ranks, as the engine lends them.
    pub fn inputs(&self) -> Vec<TableBuilder> {
        self.simulate().of(None).tables()
    }

    /// Rows of one rank, as the engine lends them to a part.
    pub fn inputs_of(&self, rank: u32) -> Vec<TableBuilder> {
        self.simulate().of(Some(rank)).tables()
    }

    /// Threads, streams and what ran on them, of one rank or all.
    pub fn lanes(&self, only: Option<u32>) -> Vec<TableBuilder> {
        self.simulate().of(only).run.inputs()
    }

    /// The ranks, as the table `job`.
    pub fn ranks_table(&self) -> TableBuilder {
        Table::build("job").u64("rank", (0..self.ranks).map(u64::from))
    }

    /// From leaving the all-reduce of all ranks to arriving at the next, of the late rank and then of the others.
    pub fn stretches(&self) -> TableBuilder {
        let met = self.simulate().met;
        let late = self.late.map_or(0, |(rank, ..)| rank);
        let mut rows = Vec::new();
        for step in 1..self.steps {
            let of = |step: i64| met.iter().filter(move |(of, ..)| *of == step);
            let came = || of(step).map(|(_, _, arrive_ns, _)| *arrive_ns);
            let last_ns = came().max().unwrap_or(0);
            let caused_ns: i64 = came().map(|ns| last_ns - ns).sum();
            for ((_, rank, _, left_ns), (_, _, arrive_ns, _)) in of(step - 1).zip(of(step)) {
                let from_ns = self.local(*rank, *left_ns);
                let dur_ns = self.local(*rank, *arrive_ns) - from_ns;
                rows.push((step, *rank, from_ns, dur_ns, caused_ns));
            }
        }
        Table::build("stretches")
            .u64("instance", rows.iter().map(|row| row.0 as u64))
            .u64("rank", rows.iter().map(|row| u64::from(row.1)))
            .bool("is_last", rows.iter().map(|row| row.1 == late))
            .i64("start_ns", rows.iter().map(|row| row.2))
            .i64("dur_ns", rows.iter().map(|row| row.3))
            .i64("caused_ns", rows.iter().map(|row| row.4))
    }

    fn simulate(&self) -> Rows<'_> {
        let mut rows = Rows::new(self);
        let mut now = vec![0_i64; self.ranks as usize];
        for step in 0..self.steps {
            let begun = now.clone();
            for rank in 0..self.ranks {
                rows.work(rank, step, &mut now[rank as usize]);
            }
            if self.is_pipeline {
                for rank in 1..self.ranks {
                    rows.send(rank - 1, rank, step, &mut now);
                }
            }
            if self.tensor_parallel > 1 {
                for first in (0..self.ranks).step_by(self.tensor_parallel as usize) {
                    rows.all_reduce("tp", &self.group(first), step, 8_192, &mut now);
                    for rank in self.group(first) {
                        rows.kernel(rank, "gemm", &mut now[rank as usize], 300_000);
                    }
                }
            }
            rows.all_reduce(
                "dp",
                &(0..self.ranks).collect::<Vec<_>>(),
                step,
                1 << 20,
                &mut now,
            );
            for (rank, begun_ns) in (0..).zip(begun) {
                let row = rows.row(rank, "step", begun_ns, now[rank as usize]);
                rows.steps.push((row, step));
            }
        }
        rows
    }
}

struct Stated {
    span: u64,
    start_ns: i64,
    dur_ns: i64,
    communicator: &'static str,
    sequence: u64,
    operation: &'static str,
    peer: Option<u32>,
    elements: u64,
    ranks: Vec<u32>,
}

struct Rows<'a> {
    job: &'a Job,
    random: Random,
    run: RunFixture,
    stated: Vec<Stated>,
    kernels_of_calls: Vec<(u64, u64)>,
    steps: Vec<(Row, i64)>,
    /// Step, rank, arrival and leaving of the all-reduces of all ranks, in true time.
    met: Vec<(i64, u32, i64, i64)>,
    ids: u64,
}

impl<'a> Rows<'a> {
    fn new(job: &'a Job) -> Self {
        Self {
            job,
            random: Random(job.seed * 977 + 13),
            run: RunFixture::default(),
            stated: Vec::new(),
            kernels_of_calls: Vec::new(),
            steps: Vec::new(),
            met: Vec::new(),
            ids: 0,
        }
    }

    fn row(&mut self, rank: u32, name: &'static str, from_ns: i64, to_ns: i64) -> Row {
        self.ids += 1;
        let start_ns = self.job.local(rank, from_ns);
        Row {
            id: u64::from(rank) << KEY_BITS | self.ids,
            thread: Some(i64::from(rank) << PLACE_BITS),
            name,
            start_ns,
            dur_ns: self.job.local(rank, to_ns) - start_ns,
            ..Row::default()
        }
    }

    fn on_device(rank: u32, row: Row) -> Row {
        Row {
            device: Some(i64::from(rank) << PLACE_BITS),
            stream: Some(7),
            ..row
        }
    }

    fn kernel(&mut self, rank: u32, name: &'static str, now: &mut i64, dur_ns: i64) {
        let dur_ns = dur_ns + self.random.around(dur_ns / 50 + 1);
        let row = self.row(rank, name, *now, *now + dur_ns);
        self.run.kernels.push(Self::on_device(rank, row));
        *now += dur_ns;
    }

    fn brick(
        &mut self,
        rank: u32,
        name: &'static str,
        category: Option<&'static str>,
        now: &mut i64,
        dur_ns: i64,
    ) {
        let dur_ns = dur_ns + self.random.around(dur_ns / 50 + 1);
        let row = self.row(rank, name, *now, *now + dur_ns);
        self.run.bricks.push(Row {
            kind: "brick",
            category,
            ..row
        });
        *now += dur_ns;
    }

    fn work(&mut self, rank: u32, _step: i64, now: &mut i64) {
        let late = |planted: Planted| match self.job.late {
            Some((who, why, by_ns)) if who == rank && why == planted => by_ns,
            _ => 0,
        };
        let [input, launch, host, compute] = [
            300_000 + late(Planted::Input),
            200_000 + late(Planted::Launch),
            150_000 + late(Planted::Host),
            4_000_000 + late(Planted::Compute),
        ];
        self.brick(
            rank,
            "enumerate(DataLoader)",
            Some("data loading"),
            now,
            input,
        );
        self.brick(rank, "optimizer hooks", None, now, host);
        let dur_ns = launch + self.random.around(launch / 50);
        let row = self.row(rank, "cudaLaunchKernel", *now, *now + dur_ns);
        self.run.calls.push(row);
        *now += dur_ns;
        self.kernel(rank, "gemm", now, compute);
    }

    fn all_reduce(
        &mut self,
        communicator: &'static str,
        ranks: &[u32],
        step: i64,
        elements: u64,
        now: &mut [i64],
    ) {
        let last_ns = ranks
            .iter()
            .map(|rank| now[*rank as usize])
            .max()
            .unwrap_or(0);
        for rank in ranks {
            let arrive_ns = now[*rank as usize];
            // Ranks leave up to a fifth of the transfer apart.
            let leave_ns =
                last_ns + self.job.transfer_ns + self.random.below(self.job.transfer_ns / 5);
            now[*rank as usize] = leave_ns;
            if communicator == "dp" {
                self.met.push((step, *rank, arrive_ns, leave_ns));
            }
            if self.random.below(1_000) < self.job.dropped {
                continue;
            }
            let stated = Stated {
                span: 0,
                start_ns: 0,
                dur_ns: 0,
                communicator,
                sequence: step as u64,
                operation: "all_reduce",
                peer: None,
                elements,
                ranks: ranks.to_vec(),
            };
            let name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
            self.part(*rank, name, arrive_ns, leave_ns, stated);
        }
    }

    /// A send and its receive. Both ranks leave when everything has been sent; each numbers its own operations.
    fn send(&mut self, from: u32, to: u32, step: i64, now: &mut [i64]) {
        let came = [from, to].map(|rank| now[rank as usize]);
        let leave_ns = came[0].max(came[1]) + self.job.transfer_ns;
        for (rank, operation, peer) in [(from, "send", to), (to, "recv", from)] {
            let stated = Stated {
                span: 0,
                start_ns: 0,
                dur_ns: 0,
                communicator: "pp",
                sequence: step as u64 * 2 + u64::from(rank),
                operation,
                peer: Some(peer),
                elements: 4_096,
                ranks: (0..self.job.ranks).collect(),
            };
            let arrive_ns = now[rank as usize];
            self.part(rank, "ncclDevKernel_SendRecv", arrive_ns, leave_ns, stated);
            now[rank as usize] = leave_ns;
        }
    }

    /// An NCCL kernel and the call that records its collective.
    fn part(&mut self, rank: u32, name: &'static str, from_ns: i64, to_ns: i64, stated: Stated) {
        let call = self.row(rank, "record_param_comms", from_ns - 5_000, from_ns - 1_000);
        let work = self.row(rank, name, from_ns, to_ns);
        if self.job.is_stated {
            self.kernels_of_calls.push((work.id, call.id));
            self.stated.push(Stated {
                span: call.id,
                start_ns: call.start_ns,
                dur_ns: call.dur_ns,
                ..stated
            });
        }
        self.run.kernels.push(Self::on_device(rank, work));
        self.run.bricks.push(Row {
            kind: "function",
            ..call
        });
    }

    fn of(mut self, only: Option<u32>) -> Self {
        let ends = self.run.kernels.iter().map(|row| row.start_ns + row.dur_ns);
        self.run.wall_ns = ends.max();
        let is_one = |id: u64| only.is_none_or(|rank| id >> KEY_BITS == u64::from(rank));
        for rows in [
            &mut self.run.kernels,
            &mut self.run.bricks,
            &mut self.run.calls,
        ] {
            rows.retain(|row| is_one(row.id));
        }
        self.stated.retain(|of| is_one(of.span));
        self.kernels_of_calls.retain(|(kernel, _)| is_one(*kernel));
        self.steps.retain(|(row, _)| is_one(row.id));
        self
    }

    fn tables(self) -> Vec<TableBuilder> {
        let stated = || self.stated.iter();
        let none = || stated().map(|_| None::<u64>);
        let groups: Vec<String> = stated().map(|of| format!("{:?}", of.ranks)).collect();
        let own = vec![
            Table::build("stated").i64("n", [self.stated.len() as i64]),
            Table::build("missing").text("code", [""; 0]),
            self.job.ranks_table(),
            Table::build("collectives")
                .u64("span", stated().map(|of| of.span))
                .u64("kernel", none())
                .i64("time_ns", stated().map(|of| of.start_ns))
                .i64("dur_ns", stated().map(|of| of.dur_ns))
                .text("communicator", stated().map(|of| of.communicator))
                .u64(
                    "sequence",
                    stated().map(|of| Some(of.sequence).filter(|_| self.job.states_sequence)),
                )
                .text("operation", stated().map(|of| of.operation))
                .text("element_type", stated().map(|_| "Float"))
                .u64("elements_in", stated().map(|of| of.elements))
                .u64("elements_out", stated().map(|of| of.elements))
                .i64("group_size", stated().map(|of| of.ranks.len() as i64))
                .text("group_ranks", &groups)
                .i64("peer", stated().map(|of| of.peer.map(i64::from))),
            Table::build("kernels_of_calls")
                .u64("id", self.kernels_of_calls.iter().map(|row| row.0))
                .u64("brick", self.kernels_of_calls.iter().map(|row| row.1)),
            Table::build("kernels_below_calls")
                .u64("id", [0_u64; 0])
                .u64("brick", [0_u64; 0]),
            Table::build("steps")
                .u64("id", self.steps.iter().map(|(row, _)| row.id))
                .text("name", self.steps.iter().map(|(row, _)| row.name))
                .u64("iteration", self.steps.iter().map(|(_, step)| *step as u64))
                .i64("start_ns", self.steps.iter().map(|(row, _)| row.start_ns))
                .i64("dur_ns", self.steps.iter().map(|(row, _)| row.dur_ns)),
        ];
        own.into_iter().chain(self.run.inputs()).collect()
    }
}
